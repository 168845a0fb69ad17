"""One sum keeps its light: that under the mouse, else the pinned one, else that of the sentence."""

from typing import Any

import numpy as np
import pytest

from scalarviz.pages.scene_data import layout_data
from scalarviz.scene.bead_arrays import beads_of
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.lights import FOCUS_SECONDS, focus_of, lights
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web
from tests.pages.samples import convolved, made
from tests.pictures.view.measures import look, projection, stage_of, trained
from tests.sessions import advanced
from tests.studio import Studio


def luminance(pixels: np.ndarray) -> np.ndarray:
    """Relative luminance, as contrasts are computed from."""
    parts = pixels / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ [0.2126, 0.7152, 0.0722])


def with_pin(stage: Stage, row: int) -> Stage:
    stage.pin(row)
    return stage


def with_neuron(stage: Stage, name: str, place: int) -> Stage:
    stage.hover_neuron = name, place
    return stage


def told(operations: int) -> Stage:
    s = advanced(made(3, 4, 2), 1)
    s.advance(operations, "operation")
    return stage_of(s, (1280, 800))


CASES: dict[str, Any] = {
    "a pinned weight": lambda: with_pin(stage_of(made(3, 4, 2), (1280, 800)), 5),
    "a pinned bias": lambda: with_pin(stage_of(made(3, 4, 2), (1280, 800)), 13),
    "a neuron": lambda: with_neuron(stage_of(made(3, 4, 2), (1280, 800)), "tanh 0", 2),
    "an input": lambda: with_neuron(stage_of(made(3, 4, 2), (1280, 800)), "inputs", 1),
    "the 1": lambda: with_neuron(stage_of(made(3, 4, 2), (1280, 800)), "inputs", 3),
    "a kernel": lambda: with_pin(stage_of(convolved(), (1280, 800)), 11),
    "a sum that is told": lambda: told(2),
    "products that are told": lambda: told(8),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cells_and_neurons_of_a_sum_are_in_focus_and_a_page_has_the_same(case: str) -> None:
    stage = CASES[case]()
    frame_data = stage.frame_data()
    focus, layout = focus_of(frame_data), frame_data.layout
    assert focus is not None
    lit = set()
    for each, (left, top, right, bottom) in zip(layout.plates, focus.cells, strict=True):
        row, column, indices = each.cells()
        inside = (column >= left) & (column <= right) & (row >= top) & (row <= bottom)
        lit |= set(indices[inside].tolist())
    assert lit == focus.rows
    fans = [layout.fan_of(row) for row in focus.rows]
    ends = np.concatenate([fan.ends[[unit]] for fan, unit in fans if fan is not None] or [[]])
    for line, mask in zip(layout.neurons, focus.neurons, strict=True):
        known = (np.abs(line.points[:, np.newaxis] - ends) < 1e-9).all(axis=2).any(axis=1)
        assert mask[: len(line.points)][known].all()
    caption, moment = frame_data.words.caption, frame_data.moment
    pieces = () if caption is None else caption.pieces
    found = in_web(
        "layout arrays lights",
        """
        const layout = new Layout(unpackedAll(data.layout));
        const focus = focusOf({layout, ...data.frame});
        return {cells: focus.cells, neurons: focus.neurons, rows: [...focus.rows]};""",
        layout=layout_data(layout),
        frame={
            "hoverRow": -1,
            "pinnedRow": -1 if stage.pinned is None else stage.pinned,
            "hoverNeuron": stage.hover_neuron,
            "pinnedNeuron": None,
            "moment": None if moment is None else {"kind": moment.kind},
            "caption": None if caption is None else {"rows": list(caption.rows)},
            "pieces": [{"row": piece.row} for piece in pieces],
        },
    )
    np.testing.assert_array_equal(found["cells"], focus.cells)
    assert found["neurons"] == [mask.tolist() for mask in focus.neurons]
    assert set(found["rows"]) == focus.rows


def test_at_rest_and_at_a_step_nothing_falls_back() -> None:
    s = advanced(made(3, 4, 2), 1)
    assert focus_of(stage_of(s, (1280, 800)).frame_data()) is None
    s.advance(len(s.operations), "operation")
    assert focus_of(stage_of(s, (1280, 800)).frame_data()) is None


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_out_of_focus_has_half_the_light_or_the_contrast_that_is_kept(
    studio: Studio, theme: str
) -> None:
    size = 1280, 800
    stage = stage_of(trained("rgb"), size, theme=theme)
    seen, rest = look(stage), studio.stage(stage, size=size)
    stage.hover_neuron = "tanh 0", 2
    frame_data = stage.frame_data()
    focus = focus_of(frame_data)
    assert focus is not None
    after = studio.stage(stage, size=size)
    dims = lights(frame_data.layout, None, None, 1.0, focus)
    assert (dims.outside == dims.level).all() and (dims.plates == 1.0).all()
    ground, out, kept = luminance(rest[200, 5]), [], []
    for number, row in enumerate(seen.rows.tolist()):
        own = seen.picture == number
        was, now = (float(np.median(luminance(each[own]))) for each in (rest, after))
        (kept if row in focus.rows else out).append((was, now))
    was, now = np.array(out).T
    # The front of a cube near zero has little more at rest than the contrast that is kept.
    least = 3.2 * (ground + 0.05) - 0.05 if theme == "dark" else (ground + 0.05) / 12.0 - 0.05
    apart, before, kept_light = np.abs(now - ground), np.abs(was - ground), abs(least - ground)
    assert (apart <= np.maximum(0.5 * before, kept_light)).all()
    assert np.median(apart / before) < 0.95
    was, now = np.array(kept).T
    np.testing.assert_allclose(now, was, atol=0.02)


def test_no_wire_is_before_a_cube() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    stage.hover_neuron = "tanh 0", 2
    frame_data, see = stage.frame_data(), projection(stage)
    lit = lights(frame_data.layout, None, None, 1.0, focus_of(frame_data))
    beads = beads_of(frame_data, lit, THEMES["dark"], see.camera)
    farthest = max(see(plate.corners()).depth.max() for plate in frame_data.layout.plates)
    assert min(see(beads.starts).depth.min(), see(beads.ends).depth.min()) > farthest


@pytest.mark.parametrize("calm", [False, True])
def test_all_else_falls_back_within_a_moment(calm: bool) -> None:
    stage = Stage(made(3, 4, 2))
    stage.reduced_motion = calm
    stage.tick(1.0)
    assert stage.frame_data().attention == 1.0
    stage.hover_neuron = "tanh 0", 1
    found = []
    for now in (1.0, 1.0 + FOCUS_SECONDS / 2, 1.0 + FOCUS_SECONDS, 3.0):
        stage.tick(now)
        found.append(stage.frame_data().attention)
    assert found == pytest.approx([1.0] * 4 if calm else [0.0, 0.5, 1.0, 1.0])
