"""Playing a sweep in the background, and drawing it in a notebook."""

import time
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.notebook.session_display import show_sweep
from scalarviz.stage.encoders import png
from scalarviz.stage.sweep_look import SweepLook
from tests.sessions import advanced
from tests.sweeps.making import diverging, raising, xor
from tests.waiting import until


def wait(runs: Any) -> None:
    until(lambda: not runs.playing)


@pytest.mark.slow
def test_a_sweep_plays_pauses_and_goes_on_to_the_same_bits() -> None:
    runs = sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(4))
    runs.play(3000, every=10)
    while runs.progressed.step < 30:
        time.sleep(0.001)
    runs.pause()
    step = runs.progressed.step
    assert not runs.playing and 30 <= step <= 3000
    assert runs.table().columns["runs"] == [4, 4]  # what is known so far
    assert runs.progressed.step == step
    runs.play(3000, every=10)
    wait(runs)
    whole = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(4)), 3000, every=10)
    assert runs.runs().columns == whole.runs().columns


def test_an_error_of_all_settings_is_raised_by_pause() -> None:
    runs = sv.sweep(raising, {"hidden": [5]}, seeds=[0])
    runs.play(10)
    wait(runs)
    with pytest.raises(ValueError, match="five"):
        runs.pause()
    runs.pause()  # once


@pytest.mark.slow
def test_results_can_be_read_while_it_plays() -> None:
    runs = sv.sweep(diverging, {"lr": [1e-3, 10.0]}, seeds=range(4))
    runs.play(2000, every=5)
    seen = 0
    while runs.playing:
        if runs.knows(0) and runs.knows(1):
            columns = runs.runs().columns
            assert len({len(column) for column in columns.values()}) == 1
            seen += 1
    assert seen and runs.table().columns["failed"] == [0, 4]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook shows, in order: the bytes of pictures."""
    import IPython.display

    found: list[Any] = []

    class Place:
        def update(self, image: Any) -> None:
            found.append(image.data)

    def display(each: Any, display_id: bool = False) -> Place:
        found.append(each.data if display_id else each)
        return Place()

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr("scalarviz.faces.notebook.session_display.BETWEEN", 0.0)
    return found


def test_a_notebook_shows_pictures_while_it_trains(shown: list[Any]) -> None:
    runs = sv.sweep(xor, {}, seeds=range(3))
    show_sweep(runs, 12, "auto", (320, 200), play=True)
    pictures = shown
    assert len(pictures) == 12 and all(each.startswith(b"\x89PNG") for each in pictures)
    assert runs.progressed.done == 3 and pictures[0] != pictures[-1]


def test_a_notebook_draws_the_sweep_as_it_is_asked_to(shown: list[Any]) -> None:
    runs = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(3)), 40)
    look = SweepLook(networks="maps", group="hidden", order="seed")
    show_sweep(runs, 40, "light", (320, 200), look, play=False)
    same = sv.picture(
        runs, size=(320, 200), theme="light", networks="maps", group="hidden", order="seed"
    )
    assert shown == [png(same)]
