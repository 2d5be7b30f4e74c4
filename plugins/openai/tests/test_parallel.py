"""Calls that run at the same time: their order, their number, and one that raises."""

import time
from functools import partial

import pytest

from trimtab_openai._parallel import call_in_parallel


def test_parallel_jobs_keep_their_order_and_the_limit():
    running, most = [], []

    def job(n):
        running.append(n)
        most.append(len(running))
        time.sleep(0.01)
        running.remove(n)
        return n

    assert call_in_parallel([partial(job, n) for n in range(9)], 3) == list(range(9))
    assert max(most) <= 3


def test_a_job_that_raises_keeps_others_from_starting():
    begun = []

    def job(n):
        begun.append(n)
        raise KeyError(n)

    with pytest.raises(KeyError, match="0"):
        call_in_parallel([partial(job, n) for n in range(9)], 1)
