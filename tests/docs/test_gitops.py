"""Every command of docs/gitops.md runs as it stands and prints what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.collected import bring
from tests.process.server import KEY, ROOT, Server, environment, manage

PAGE = ROOT / "docs" / "gitops.md"
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.DOTALL)
NEXT = "-- next block --"
CATALOG = """
format = "routeradmin.catalog/1"
[[providers]]
id = "acme"
category = "cloud"
[[accounts]]
id = "acme"
provider_id = "acme"
auth_kind = "anonymous"
billing_kind = "metered"
[[endpoints]]
id = "acme"
account_id = "acme"
base_url = "https://api.acme.example/v1/"
[[models]]
id = "large"
upstream_name = "large"
[[serving_models]]
id = "left"
endpoint_id = "acme"
model_id = "large"
protocol = "chat-completions"
weight = 2
[[routes]]
id = "chat"
alias = "chat"
[[targets]]
id = "chat-1"
route_id = "chat"
serving_model_id = "left"
position = 0
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose catalog is revision 1, with weights that the export writes out."""
    directory = bring(tmp_path / "data")
    server = Server(directory, env={"ROUTERADMIN_BOOTSTRAP_KEY": KEY}).start()
    try:
        file = tmp_path / "first.toml"
        file.write_text(CATALOG)
        assert manage(directory, "import_catalog", str(file)).returncode == 0
        yield server
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page's commands use curl")
def test_the_commands_of_the_page_do_what_it_says(server: Server, tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    script = f"\necho '{NEXT}'\n".join(text for kind, text in blocks if kind == "sh")
    host, port = server.address
    more = {"CONFIG": str(tmp_path / "config"), "ROUTERADMIN": f"http://{host}:{port}"}
    done = subprocess.run(
        ["bash", "-uc", script.replace(".venv/bin/python", sys.executable)],
        cwd=ROOT,
        env=environment(server.directory, **more, KEY=KEY),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    printed = iter(done.stdout.split(NEXT))
    output = ""
    for kind, text in blocks:
        if kind == "sh":
            output = next(printed, "")
            continue
        for line in text.splitlines():
            assert line in output.splitlines(), (line, output, done.stderr)
