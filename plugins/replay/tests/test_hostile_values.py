"""Wrong types in any field: a reader never raises, whatever it is given."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from trimtab_replay._recording import Item, TranscriptReader
from trimtab_replay._transcript import Transcript

from .telling import DATA, all_readers

READERS = all_readers()
TOLD = json.loads((DATA.parent / "told.json").read_text())
FIXTURES = sorted(name for name in TOLD if not name.endswith(".eval"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(
        ["", "x", "{", "[1]", "0", "2026-03-02", "9999-12-31T23:59:59-23:00", "\udcff"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def rows_of(name: str) -> list[Any]:
    text = (DATA / name).read_text()
    return (
        [json.loads(line) for line in text.splitlines()] if "jsonl" in name else [json.loads(text)]
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value within `value`."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def read(reader: TranscriptReader, rows: list[Any]) -> list[Item]:
    """Sniff at and read `rows`, without the walk that would catch a fault."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        source = Transcript(path, "run.jsonl", lambda skipped: None)
        assert reader.sniff(source) >= 0
        return [entry.item for each in reader.read(source) for entry in each.entries]


@pytest.mark.parametrize("name", FIXTURES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_wrong_type_in_any_field_raises_nothing(name, data):
    rows = rows_of(name)
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        row = data.draw(st.integers(0, len(rows) - 1), label="row")
        place = data.draw(st.sampled_from(places(rows[row])), label="place")
        rows[row] = replaced(rows[row], place, data.draw(VALUES, label="value"))
    assert isinstance(read(READERS[TOLD[name]["reader"]], rows), list)


@pytest.mark.parametrize("name", sorted(READERS))
@given(rows=st.lists(VALUES, max_size=4))
@settings(max_examples=10, deadline=None)
def test_json_of_any_shape_raises_nothing(name, rows):
    assert isinstance(read(READERS[name], rows), list)


@pytest.mark.parametrize("fixture", FIXTURES)
def test_a_foreign_format_raises_nothing(fixture):
    rows = rows_of(fixture)
    assert all(isinstance(read(reader, rows), list) for reader in READERS.values())
