"""The points by which the loop detector weighs a run are those of the fit."""

from __future__ import annotations

import evidence as fit
import pytest

from trimtab_doom_loop import _evidence as shipped


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_shipped_points_tell_what_those_of_the_fit_do(corpus) -> None:
    """They are fitted to recorded runs, too, which are not in the repository."""
    if not (corpus / "trajectories").is_dir():
        pytest.skip("TRIMTAB_CORPUS names no folder with recorded runs")
    given = fit.labelled(fit.everything())
    fitted = fit.at_odds(given)
    rows = [facts for facts, _, _ in given]
    told = [shipped.points_of(facts) > 0 for facts in rows]
    again = [fit.points_with(facts, *fitted) > 0 for facts in rows]

    # Steps that gain equally much may be taken in another order, and rules change what is weighed.
    differing = sum(one != other for one, other in zip(told, again, strict=True))
    assert differing <= 0.03 * len(rows), f"{differing} of {len(rows)}: fit again"


def test_a_fact_that_alone_tells_loops_from_work_gets_points() -> None:
    none = shipped.Facts(*[0.0] * len(shipped.Facts._fields))
    loops = [(none._replace(alike=4.0), True, 1.0)] * 40
    work = [(none._replace(alike=float(n % 2)), False, 1.0) for n in range(60)]
    start, points = fit.fitted([*loops, *work])

    assert set(points) == {"alike"}
    assert start < 0 < start + sum(added for _, added in points["alike"])
