"""The points by which the loop detector weighs a run are those of the fit."""

from __future__ import annotations

import evidence as fit
import pytest

from trimtab_doom_loop import _evidence as shipped


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_shipped_points_are_those_of_the_fit(corpus) -> None:
    """They are fitted to recorded runs, too, which are not in the repository."""
    if not (corpus / "trajectories").is_dir():
        pytest.skip("TRIMTAB_CORPUS names no folder with recorded runs")
    start, points = fit.at_odds(fit.labelled(fit.everything()))

    assert pytest.approx(start, abs=0.01) == shipped.START
    assert {fact: dict(steps) for fact, steps in shipped.POINTS.items()} == {
        fact: pytest.approx(dict(steps), abs=0.01) for fact, steps in points.items()
    }


def test_a_fact_that_alone_tells_loops_from_work_gets_points() -> None:
    none = shipped.Facts(*[0.0] * len(shipped.Facts._fields))
    loops = [(none._replace(alike=4.0), True, 1.0)] * 40
    work = [(none._replace(alike=float(n % 2)), False, 1.0) for n in range(60)]
    start, points = fit.fitted([*loops, *work])

    assert set(points) == {"alike"}
    assert start < 0 < start + sum(added for _, added in points["alike"])
