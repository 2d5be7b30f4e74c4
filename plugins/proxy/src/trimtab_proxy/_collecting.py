"""When memory of conversations that ended is freed."""

from __future__ import annotations

import gc

_THRESHOLDS = (700, 5, 2)


def collect_often() -> None:
    """Let the garbage collector look for ended conversations soon; for a process of our own.

    A session and its run refer to each other, so only a full collection frees them. By default one
    comes after 70,000 new objects, which some 170 conversations make. What exists when this is
    called, modules above all, is left out of collections, so that they stay short.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # the next full one waits for a quarter more than this one has left
    gc.set_threshold(*_THRESHOLDS)
