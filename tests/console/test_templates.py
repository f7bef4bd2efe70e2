"""Templates keep to the content security policy and never switch escaping off."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from django.template.loader import get_template

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
REFUSED = {
    "a script without src": r"<script(?![^>]*\ssrc=)",
    "an inline style": r"\sstyle\s*=|<style",
    "an inline handler": r"\son[a-z]+\s*=",
    "an htmx handler": r"hx-on|data-hx-on",
    "an expression": r"javascript:|[\"']js:",
    "unescaped output": r"\|\s*safe\b|autoescape\s+off",
    "a deferred script": r"<script[^>]*\b(defer|async)\b",
}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_holds_nothing_that_the_policy_refuses(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = [what for what, pattern in REFUSED.items() if re.search(pattern, text)]
    assert not found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_htmx_does_a_plain_browser_can_do_too(path: Path) -> None:
    for tag in re.findall(r"<(?:form|a|button)\b[^>]*\bhx-(?:get|post)\b[^>]*>", path.read_text()):
        if "hx-post" in tag:
            assert 'method="post"' in tag
            assert " action=" in tag
        else:
            assert " href=" in tag


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_form_that_posts_carries_its_token(path: Path) -> None:
    text = path.read_text()
    for form in re.findall(r'<form\b[^>]*method="post".*?</form>', text, re.S):
        assert "{% csrf_token %}" in form


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_template_compiles(path: Path) -> None:
    get_template(str(path.relative_to(ROOT / "templates")))


def test_what_is_pushed_needs_no_request() -> None:
    for path in (ROOT / "templates/console/live").glob("_cell_*.html"):
        text = path.read_text()
        assert not re.search(r"\brequest\.|csrf_token|<(button|input|form|select)\b", text), path


def test_vendored_files_are_the_published_ones() -> None:
    vendor = ROOT / "static/vendor"
    for line in (vendor / "SHA256SUMS").read_text().splitlines():
        wanted, name = line.split()
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == wanted
