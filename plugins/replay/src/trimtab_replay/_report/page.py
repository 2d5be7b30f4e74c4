"""Puts data, style and script into one page that fetches nothing and can't be broken out of."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

_FOR_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def page(data: Mapping[str, Any]) -> str:
    """Return the page; `data` as `ReportData.as_dict` returns it."""
    style, script = _asset("style.css"), _asset("script.js")
    return Template(_asset("page.html")).substitute(
        title=escape(str(data["title"])),
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        style=style,
        script=script,
        data=embedded(data),
    )


def embedded(data: Mapping[str, Any]) -> str:
    """Return `data` as JSON that can stand in a script element: ASCII, no tag, no entity."""
    return json.dumps(data, separators=(",", ":")).translate(_FOR_SCRIPT)


def _asset(name: str) -> str:
    return files("trimtab_replay._report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
