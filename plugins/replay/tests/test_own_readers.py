"""Every reader of this package holds to the contract of readers, on one of its recorded files."""

from __future__ import annotations

import json

import pytest

from trimtab_replay.testing import ReaderConformance

from .telling import DATA, all_readers

TOLD = json.loads((DATA.parent / "told.json").read_text())
READERS = all_readers()
FILES = {told["reader"]: name for name, told in sorted(TOLD.items(), reverse=True)}


class TestOwnReaders(ReaderConformance):
    @pytest.fixture(autouse=True, params=sorted(FILES))
    def _reader(self, request, monkeypatch):
        made, name = READERS[request.param], FILES[request.param]
        monkeypatch.setattr(type(self), "reader", staticmethod(lambda: made), raising=False)
        self.sample = (DATA / name).read_bytes()
        self.file = name.rpartition("/")[2]
