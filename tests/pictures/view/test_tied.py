"""The color that goes in and the color that comes out stand beside their neurons."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts.decimals import short
from scalarviz.pages.scene_data import camera_data, layout_data
from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.labels import Tied, draw_thread, draw_tied, tied_colors
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web
from tests.pages.samples import SEE, box_data
from tests.pictures.view.measures import look, projection, stage_of
from tests.sessions import advanced

SIZES = [(1280, 800), (1366, 700), (800, 500), (1920, 1080)]


def colours(*hidden: int) -> sv.Session:
    net = sv.Network([3, *hidden, 3], "tanh", "sigmoid", seed=1)
    return advanced(sv.Session(net, data.Rgb(), "mse", batch=64, engine="python"), 3)


def tied(stage: Stage) -> list[Tied]:
    frame_data, see = stage.frame_data(), projection(stage)
    return tied_colors(see, frame_data, frame_data.division(*stage._extent).scale)


@pytest.mark.some(3)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("hidden", [(8,), (4,), (6, 5)])
def test_colors_are_near_their_neurons_and_cover_nothing(
    size: tuple[int, int], hidden: tuple[int, ...]
) -> None:
    stage = stage_of(colours(*hidden), size)
    seen, see, found = look(stage), projection(stage), tied(stage)
    assert [list(each.colors) for each in found] == [
        ["IN"],
        ["OUT", "goal"],
    ]
    division = stage.frame_data().division(*size)
    for each in found:
        _, y, _, side = each.place
        color = each.box.x, y - side / 2, each.box.right, y + side / 2
        left, top, right, bottom = map(round, color)
        assert (seen.picture[top:bottom, left:right] == -1).all(), "something is below a color"
        assert division.scene.x <= left < right <= division.exhibit.x
        assert each.box.y >= division.scene.y
        spheres, reach = see(each.line.points), each.line.radius
        aside = np.maximum(np.maximum(color[0] - spheres.xy[:, 0], spheres.xy[:, 0] - right), 0.0)
        apart = np.maximum(np.maximum(color[1] - spheres.xy[:, 1], spheres.xy[:, 1] - bottom), 0.0)
        far = np.hypot(aside, apart) - reach * spheres.unit
        assert 0.0 < far.min() <= 120.0 * division.scale


def test_they_are_those_of_the_sample_and_the_gap_is_named() -> None:
    stage = stage_of(colours(8), (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    (given,), (answer, goal) = (each.colors.values() for each in tied(stage))
    assert np.allclose(given, frame_data.buffers.values["inputs"])
    assert np.allclose(goal, 1.0 - given)
    canvas = Canvas2D(1280, 800)
    draw_tied(canvas, see, frame_data, THEMES["dark"], 1.0)
    assert canvas.words == ["IN", "OUT", "goal", f"off by {short(np.abs(answer - goal).max())}"]


def test_where_the_gap_stands_below_it_leaves_the_wires_of_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage, canvas = stage_of(colours(8), (720, 450)), Canvas2D(720, 450)
    placed: dict[str, tuple[float, float]] = {}
    monkeypatch.setattr(canvas, "text", lambda x, y, words, **_: placed.update({words: (x, y)}))
    draw_tied(canvas, projection(stage), stage.frame_data(), THEMES["dark"], 1.0)
    (x, y), (goal, _) = next(placed[words] for words in placed if "off" in words), placed["goal"]
    assert y > placed["OUT"][1] and 0.5 * (placed["OUT"][0] + goal) < x <= goal


def test_what_is_not_computed_yet_is_empty() -> None:
    s = colours(8)
    s.advance(1, "operation")
    stage = stage_of(s, (1280, 800))
    canvas = Canvas2D(1280, 800)
    draw_tied(canvas, projection(stage), stage.frame_data(), THEMES["dark"], 1.0)
    assert canvas.words == ["IN", "OUT", "goal"]


def test_only_colors_have_them() -> None:
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Circle(), "mse", engine="python"), 1)
    assert tied(stage_of(s, (1280, 800))) == []


@pytest.mark.parametrize("size", SIZES[:3])
def test_a_page_has_them_at_the_same_places(size: tuple[int, int]) -> None:
    stage = stage_of(colours(8), size)
    see, frame_data = projection(stage), stage.frame_data()
    body = f"""{SEE}
    const layout = new Layout(unpackedAll(data.layout));
    const found = tiedColors({{frame: {{layout, ...data.frame}}, see, scale: data.scale}});
    return found.map(({{box, x, y, side, colors}}) =>
      [box.x, box.y, box.width, box.height, x, y, side, ...Object.values(colors).flat()]);"""
    buffers = frame_data.buffers
    numbers = {"values": buffers.values, "answers": buffers.answers, "target": buffers.target}
    found = in_web(
        "camera layout arrays labels",
        body,
        layout=layout_data(frame_data.layout),
        camera=camera_data(see.camera),
        box=box_data(see.box),
        size=size,
        reach=see.reach,
        scale=frame_data.division(*size).scale,
        frame=numbers,
    )
    for own, other in zip(tied(stage), found, strict=True):
        x, y, _, side = own.place
        expected = [*own.box.place, x, y, side, *np.concatenate([*own.colors.values()])]
        np.testing.assert_allclose(other, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["circle", "texture"])
def test_a_thread_leads_from_the_output_to_the_point_in_use(name: str) -> None:
    """A click where it ends would put in the same point."""
    pixels = np.random.default_rng(0).random((9, 15, 3))
    learned = data.Circle() if name == "circle" else data.Texture(pixels)
    s = sv.Session(sv.Network([2, 4, 3 if name == "texture" else 1]), learned, engine="python")
    stage = stage_of(advanced(s, 1), (1280, 800))
    frame_data = stage.frame_data()
    canvas, exhibit = Canvas2D(1280, 800), frame_data.exhibit
    assert exhibit is not None and exhibit.spot() is None
    exhibit.paint(canvas, frame_data.division(1280, 800).exhibit, THEMES["dark"])
    spot = exhibit.spot()
    assert spot is not None
    given = frame_data.buffers.values["inputs"]
    np.testing.assert_allclose([*exhibit.inputs_at(*spot).values()], given, atol=1e-3)
    before, see, line = canvas._quads.count, projection(stage), frame_data.layout.neurons[-1]
    draw_thread(canvas, see, line, spot, THEMES["dark"])
    (thread,) = canvas._quads.rows(1.0)[before:]
    middle, seen = thread[canvas2d.MIDDLE], see(line.points)
    start = 2.0 * middle - spot
    apart = np.hypot(*(start - seen.xy.mean(axis=0)))
    assert apart == pytest.approx(line.radius * seen.unit.max(), abs=0.5)
