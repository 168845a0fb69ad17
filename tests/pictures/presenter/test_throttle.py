"""How often expensive work is repeated while a training plays."""

import pytest

from scalarviz.pictures.presenter import throttle
from scalarviz.pictures.presenter.throttle import LONGEST, REST, Throttle


@pytest.mark.parametrize(("takes", "rests"), [(0.1, 0.1 * REST), (30.0, LONGEST)])
def test_work_rests_longer_than_it_takes_but_not_for_long(
    takes: float, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(throttle, "perf_counter", lambda: now)
    work = Throttle()
    assert work.due
    with work.doing():
        now += takes
    assert not work.due
    now += rests - 0.01
    assert not work.due
    now += 0.02
    assert work.due
