"""How often expensive work is repeated while a training plays."""

import pytest

from scalarviz.stage import background
from scalarviz.stage.background import LONGEST_REST, REST, Throttle


@pytest.mark.parametrize(("takes", "rests"), [(0.1, 0.1 * REST), (30.0, LONGEST_REST)])
def test_work_rests_longer_than_it_takes_but_not_for_long(
    takes: float, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(background, "perf_counter", lambda: now)
    work = Throttle()
    assert work.due
    with work.doing():
        now += takes
    assert not work.due
    now += rests - 0.01
    assert not work.due
    now += 0.02
    assert work.due
