"""``POST /api/v1/select`` over HTTP, beside an empty ASGI app and an ordinary async ninja view.

All three run on uvicorn with uvloop and httptools, one core for the server and one for the load.
Rounds alternate, medians are printed, and the ratios are what counts.
"""

from __future__ import annotations

import json
from statistics import median

from benchmarks.load import Load, Measured, measure
from benchmarks.servers import CLIENT_CPU, KEY, routeradmin, uvicorn

CATALOG = """
format = "routeradmin.catalog/1"
[[providers]]
id = "lab"
category = "self-hosted"
[[accounts]]
id = "local"
provider_id = "lab"
auth_kind = "anonymous"
billing_kind = "self-hosted"
[[endpoints]]
id = "box"
account_id = "local"
base_url = "http://127.0.0.1:9/v1"
[[models]]
id = "small"
upstream_name = "small"
[[routes]]
id = "chat"
alias = "chat"
""" + "".join(
    f"""
[[serving_models]]
id = "d{n}"
endpoint_id = "box"
model_id = "small"
protocol = "chat-completions"
rpm_limit = 2000000000
max_parallel_requests = 1000000
[[targets]]
id = "t{n}"
route_id = "chat"
serving_model_id = "d{n}"
position = 0
"""
    for n in range(10)
)
BODY = json.dumps({"model": "chat", "input_tokens": 200})
ROUNDS = 5
SECONDS = 3.0


def load(port: int, path: str, connections: int) -> Load:
    return Load(
        port=port,
        path=path,
        connections=connections,
        seconds=SECONDS,
        method="POST",
        body=BODY,
        headers={"authorization": f"Bearer {KEY}"},
        cpu=CLIENT_CPU,
    )


def run() -> None:
    with (
        uvicorn("benchmarks.empty_app:application") as empty,
        routeradmin(CATALOG, "benchmarks.settings") as product,
    ):
        subjects = {
            "empty ASGI app": (empty, "/"),
            "select": (product, "/api/v1/select"),
            "async ninja view": (product, "/bench/select"),
        }
        for connections in (16, 64):
            rows: dict[str, list[Measured]] = {name: [] for name in subjects}
            for _ in range(ROUNDS):
                for name, (port, path) in subjects.items():
                    rows[name].append(measure(load(port, path, connections)))
            show(connections, rows)


def show(connections: int, rows: dict[str, list[Measured]]) -> None:
    base = median(one.rps for one in rows["empty ASGI app"])
    print(f"\nPOST select, {connections} connections, {ROUNDS} rounds of {SECONDS:g} s (medians)")
    for name, measured in rows.items():
        rps = median(one.rps for one in measured)
        wrong = sum(one.wrong for one in measured)
        print(
            f"  {name:18} {rps:9.0f} req/s  {rps / base:6.1%} of empty   "
            f"p50 {median(one.p50_ms for one in measured):6.2f} ms  "
            f"p99 {median(one.p99_ms for one in measured):6.2f} ms"
            + (f"   {wrong} wrong answers" if wrong else "")
        )
