"""Pictures of sweeps: what stands on them, by cells, words and pixels."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import THEMES
from scalarviz.errors import OrderError
from scalarviz.sweeps.panels import layers_side_by_side, panels_of
from scalarviz.sweeps.sweep import Sweep
from scalarviz.view.sweep_panels import divided, draw_panels
from tests.sweeps.making import diverging, raising, xor
from tests.wording import refused


@pytest.fixture(scope="module")
def runs() -> Sweep:
    made = sv.sweep(xor, {"hidden": [2, 3], "lr": [0.5, 2.0]}, seeds=range(12))
    made.advance(200)
    return made


def test_cells_are_the_weights_of_each_layer_with_biases_last() -> None:
    program = sv.Network([2, 3, 1], seed=0).program
    none = -1
    assert layers_side_by_side(program).tolist() == [
        [0, 1, 6, none, 9],
        [2, 3, 7, none, 10],
        [4, 5, 8, none, 11],
        [none, none, none, none, 12],
    ]


def test_networks_stand_in_the_order_of_their_losses(runs: Sweep) -> None:
    shown = panels_of(runs)
    panel = shown.panels[3]
    last = panel.losses[:, -1]
    assert (np.diff(last) >= 0).all() and panel.name == "hidden 3, lr 2"
    best = int(np.argmin(runs.outcome(3).final_losses))
    cells = panel.pictures[0][np.isfinite(panel.pictures[0])]
    assert sorted(cells) == pytest.approx(sorted(runs.outcome(3).values[best].tolist()))
    assert panel.mean[-1] == pytest.approx(runs.table().columns["loss"][3])


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (360, 640)])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_setting_is_named_and_panels_do_not_overlap(
    runs: Sweep, size: tuple[int, int], theme: str
) -> None:
    canvas = Canvas2D(*size)
    draw_panels(canvas, panels_of(runs), THEMES[theme])
    for hidden in (2, 3):
        assert any(words.startswith(f"hidden {hidden}, lr") for words in canvas.words)
    boxes = divided(*map(float, size), 4, 2)
    assert len(boxes) == 4
    for i, a in enumerate(boxes):
        assert a.x >= 0 and a.right <= size[0] and a.bottom <= size[1]
        for b in boxes[:i]:
            assert a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y


def test_more_settings_than_fit_are_counted() -> None:
    assert len(divided(800.0, 500.0, 200, 0)) < 200
    canvas = Canvas2D(800, 500)
    many = sv.sweep(xor, {"lr": [0.1 * i for i in range(1, 41)]}, seeds=[0])
    many.advance(2)
    draw_panels(canvas, panels_of(many), THEMES["dark"])
    assert any(words.endswith("more") for words in canvas.words)


def test_a_picture_has_lines_and_networks_where_they_belong(runs: Sweep, tmp_path: Path) -> None:
    frame = sv.picture(runs, tmp_path / "sweep.png", size=(800, 500), samples=1)
    assert (tmp_path / "sweep.png").stat().st_size > 5000
    ground = frame[498, 2].astype(int)
    differs = (abs(frame.astype(int) - ground) > 40).any(axis=2)
    for box in divided(800.0, 500.0, 4, 2):
        part = differs[int(box.y + 40) : int(box.bottom), int(box.x) : int(box.right)]
        left, right = np.array_split(part, 2, axis=1)
        assert 0.01 < left.mean() < 0.6 and right.mean() > 0.2


def test_networks_that_failed_have_a_frame_and_errors_are_written() -> None:
    failed = sv.sweep(diverging, {"lr": [10.0]}, seeds=range(4))
    failed.advance(60)
    frame = sv.picture(failed, size=(800, 500), samples=1).astype(int)
    red = (abs(frame - [0xFF, 0x5D, 0x5D]) < 30).all(axis=2)
    assert red.sum() > 100
    named = sv.sweep(raising, {"hidden": [4, 5]}, seeds=range(2))
    named.advance(10)
    canvas = Canvas2D(800, 500)
    draw_panels(canvas, panels_of(named), THEMES["dark"])
    assert any("five is not for me" in words for words in canvas.words)


def test_a_sweep_without_results_is_refused() -> None:
    with refused(OrderError):
        sv.picture(sv.sweep(xor, {}), size=(100, 100))
