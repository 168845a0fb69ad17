"""A window that is asked to close, once or often: it ends, and leaves nothing."""

import random
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.base.process.test_endings import HUP, INT, RGB, TERM, Ended

WATCH = ("watch", *RGB)
BEGIN = """
print("begins")
from scalarviz.faces.window import frame
tick = frame.MainWindow._tick
def told(self):
    tick(self)
    if self.view.drawn and not hasattr(self, "told"):
        self.told = print("drawn")
frame.MainWindow._tick = told
from scalarviz.faces.cli.commands import main
main()
"""

LATE = "scalarviz opens a window, which takes some seconds here\n"  # on a busy machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "codes"),
    [
        ([TERM, *[INT, HUP] * 10], (129, 130, 143)),
        pytest.param([INT], (130,), marks=pytest.mark.slow),
        pytest.param([TERM], (143,), marks=pytest.mark.slow),
    ],
)
def test_a_window_ends_however_often_it_is_asked(
    signals: list[signal.Signals], codes: tuple[int], tmp_path: Path, screen: Mapping[str, str]
) -> None:
    ended = Ended(WATCH, signals, tmp_path, after="drawn", apart=0.003, begin=BEGIN, **screen)
    assert ended.code in codes and ended.seconds < 3.0
    assert not (ended.processes or ended.files) and ended.errors in ("", LATE)


@pytest.mark.slow
def test_the_compiler_of_a_first_start_ends_with_it(
    tmp_path: Path, screen: Mapping[str, str]
) -> None:
    cache = {"SCALARVIZ_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "here").mkdir()
    words = ("watch", "rgb", "--engine", "cpu")
    ended = Ended(
        words, [TERM], tmp_path / "here", after="drawn", wait=0.5, begin=BEGIN, **screen | cache
    )
    assert (ended.code, ended.processes, ended.files) == (143, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_window_ends_whenever_it_is_asked(
    seed: int, tmp_path: Path, screen: Mapping[str, str]
) -> None:
    chance = random.Random(seed)
    signals = chance.choices([INT, TERM, HUP], k=chance.randint(1, 20))
    wait, apart = chance.uniform(0.3, 4.0), chance.choice([0.0, 0.003, 0.05])
    given = {"handles": False, "wait": wait, "apart": apart, "begin": BEGIN}
    ended = Ended(WATCH, signals, tmp_path, **given, **screen)
    assert ended.code in [each for s in (INT, TERM, HUP) for each in (128 + s, -s)], ended.errors
    assert ended.seconds < 6.0 and not ended.processes and not ended.files
