"""Names and colors beside neurons, the legend and the key to the marks.

Legible, and never over cubes.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text, texts
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.scene_data import colors_of, layout_data
from scalarviz.scene.callout import draw_callout, draw_spoken
from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import CubeValues, FrameData
from scalarviz.scene.labels import Tied, draw_doors, draw_labels, draw_tied, is_on, tied_color
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.legend import (
    SIZE,
    SMALL,
    draw_legend,
    draw_squares,
    explain_in_corner,
    legend_box,
    mark_rows,
)
from scalarviz.scene.lights import lights
from scalarviz.scene.overlay import draw_marks_key, extra_marks
from scalarviz.scene.picture import draw_scenery
from scalarviz.scene.visuals.shaders import LEAST
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.node import in_web
from tests.pages.states import SEE, box_data
from tests.scene.measures import NOTHING, Words, look, projection, stage_of, trained
from tests.sessions import advanced

DARK = THEMES["dark"]
FAST = ["rgb", "xor", "xnor", "circle", "normalized", "expression"]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("digits", "retrain", "texture")]
every_size = pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)


class Boxes(Words):
    """A canvas that remembers its boxes, too."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.boxes: list[tuple[Box, object]] = []

    def box(self, x, y, width, height, fill, **look):
        self.boxes.append((Box(x, y, width, height), fill))
        super().box(x, y, width, height, fill, **look)


def covered(stage: Stage, place: Box) -> int:
    """How many pixels of cubes and spheres are in a box."""
    picture, part = look(stage).picture, np.round([place.x, place.right, place.y, place.bottom])
    left, right, top, bottom = np.maximum(part.astype(int), 0)
    return int((picture[top:bottom, left:right] != NOTHING).sum())


@pytest.mark.some(3)
@every_size
@pytest.mark.parametrize("name", [*FAST, *SLOW])
def test_the_name_of_a_layer_lies_over_no_cube_and_no_sphere(
    name: str, size: tuple[int, int]
) -> None:
    stage, canvas = stage_of(trained(name), size), Boxes(*size)
    data = stage.frame_data()
    draw_labels(canvas, projection(stage), data, DARK, 1.0)
    found = [each for each in canvas.found if each[0].startswith("layer")]
    assert len(found) >= sum(label.around is not None for label in data.layout.labels) - 1
    assert [words for words, place in found if covered(stage, place)] == []
    for words, place in found:
        below = [box for box, fill in canvas.boxes if fill == DARK.ground]
        assert any(box.x <= place.x and box.right >= place.right for box in below), words


@pytest.mark.some(1)
@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "xnor", "circle", "normalized"])
def test_the_name_of_an_input_lies_over_no_cube(name: str, size: tuple[int, int]) -> None:
    stage, canvas = stage_of(trained(name), size), Words(*size)
    data, names = stage.frame_data(), stage.plan.neurons[0].names
    lit = lights(data.layout, stage.session.network.program, None, 1.0)
    draw_scenery(canvas, projection(stage), data, lit, DARK, 1.0)
    found = [each for each in canvas.found if each[0] in names]
    assert len(found) >= len(names)
    assert [words for words, place in found if covered(stage, place)] == []


TIED_SIZES = [(1280, 800), (1366, 700), (800, 500), (1920, 1080)]


def colours(*hidden: int) -> sv.Session:
    net = sv.Network([3, *hidden, 3], "tanh", "sigmoid", seed=1)
    return advanced(sv.Session(net, data.Rgb(), "mse", batch=64, engine="python"), 3)


def tied(stage: Stage) -> Tied | None:
    frame_data, see = stage.frame_data(), projection(stage)
    return tied_color(see, frame_data, frame_data.division(*stage._extent).scale)


@pytest.mark.some(3)
@pytest.mark.parametrize("size", TIED_SIZES)
@pytest.mark.parametrize("hidden", [(8,), (4,), (6, 5)])
def test_the_color_that_goes_in_is_near_its_neurons_and_covers_nothing(
    size: tuple[int, int], hidden: tuple[int, ...]
) -> None:
    stage = stage_of(colours(*hidden), size)
    seen, see, found = look(stage), projection(stage), tied(stage)
    assert found is not None
    division = stage.frame_data().division(*size)
    _, y, _, side = found.place
    assert side <= 64.0 * division.scale
    color = found.box.x, y - side / 2, found.box.right, y + side / 2
    left, top, right, bottom = map(round, color)
    assert (seen.picture[top:bottom, left:right] == -1).all(), "something is below the color"
    assert division.scene.x <= left < right <= division.exhibit.x
    assert found.box.y >= division.scene.y
    spheres, reach = see(found.line.points), found.line.radius
    aside = np.maximum(np.maximum(color[0] - spheres.xy[:, 0], spheres.xy[:, 0] - right), 0.0)
    apart = np.maximum(np.maximum(color[1] - spheres.xy[:, 1], spheres.xy[:, 1] - bottom), 0.0)
    far = np.hypot(aside, apart) - reach * spheres.unit
    assert 0.0 < far.min() <= 120.0 * division.scale


def test_it_is_that_of_the_sample_and_is_called_in() -> None:
    stage = stage_of(colours(8), (1280, 800))
    frame_data, found = stage.frame_data(), tied(stage)
    assert found is not None and found.color is not None
    assert np.allclose(found.color, frame_data.buffers.values["inputs"])
    canvas = Canvas2D(1280, 800)
    draw_tied(canvas, projection(stage), frame_data, THEMES["dark"], 1.0)
    assert canvas.words == ["IN"]


def test_only_colors_have_it() -> None:
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Circle(), "mse", engine="python"), 1)
    assert tied(stage_of(s, (1280, 800))) is None


@pytest.mark.parametrize("size", TIED_SIZES[:3])
def test_a_page_has_it_at_the_same_place(size: tuple[int, int]) -> None:
    stage = stage_of(colours(8), size)
    see, frame_data = projection(stage), stage.frame_data()
    body = f"""{SEE}
    const layout = new Layout(unpackedAll(data.layout));
    const found = tiedColor({{frame: {{layout, ...data.frame}}, see, scale: data.scale}});
    const {{side, color}} = found;
    const place = ["x", "y", "width", "height"].map((name) => found.box[name]);
    return [...place, found.x, found.y, side, ...color];"""
    other = in_web(
        "story/camera projection layout arrays labels",
        body,
        layout=layout_data(frame_data.layout),
        camera=astuple(see.camera),
        box=box_data(see.box),
        size=size,
        reach=see.reach,
        scale=frame_data.division(*size).scale,
        frame={"values": frame_data.buffers.values},
    )
    own = tied(stage)
    assert own is not None and own.color is not None
    x, y, _, side = own.place
    expected = [*own.box.place, x, y, side, *own.color]
    np.testing.assert_allclose(other, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["rgb", "circle", "digits"])
def test_lines_lead_from_the_outputs_to_the_doors_of_the_result(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    canvas, exhibit = Canvas2D(1280, 800), frame_data.exhibit
    line = frame_data.layout.neurons[-1]
    assert exhibit is not None
    doors = exhibit.doors(frame_data.division(1280, 800).exhibit, 1.0)
    draw_doors(canvas, see, line, doors, THEMES["dark"])
    rows, seen = canvas._quads.rows(1.0), see(line.points)
    assert len(rows) == len(doors) == (3 if name == "rgb" else 1)
    starts = seen.xy if name == "rgb" else seen.xy.mean(axis=0)[np.newaxis]
    for row, door, start in zip(rows, doors, starts, strict=True):
        begin = 2.0 * row[canvas2d.MIDDLE] - door
        assert np.hypot(*(begin - start)) == pytest.approx(line.radius * seen.unit.max(), abs=0.5)
    assert "OUT" not in drawn_words(stage)  # the result has that word


def drawn_words(stage: Stage) -> list[str]:
    """The words beside the network."""
    canvas = Canvas2D(1280, 800)
    draw_labels(canvas, projection(stage), stage.frame_data(), DARK, 1.0)
    return canvas.words


NAMED = re.compile(r"\b(?:neuron|wave) \d+")
SIZES = [(1280, 800), (800, 500)]
SCENES = {"rgb": 10, "xor": 10, "xnor": 8, "circle": 8, "normalized": 6, "texture": 1}


def moments(name: str, steps: int, size: tuple[int, int]) -> Iterator[Stage]:
    """The stage of a scene at each operation of some steps, with several samples."""
    show = Show.of(load(find(name))(engine="cpu" if name == "texture" else "python"))
    session = show.session
    for step in range(steps):
        session.advance(5)
        session.focus = step % session.trainer.batches.size
        for _ in range(len(session.operations) - 1):
            session.advance(1, "operation")
            yield stage_of(show, size)
        session.advance(1, "operation")


def title_of(stage: Stage) -> str:
    caption = stage.frame_data().words.caption
    assert caption is not None
    return caption.title.lower()


def written(stage: Stage, part: float = 1.0) -> list[tuple[str, Box]]:
    """The words beside the neurons of a stage, of which no name covers a sphere or a label."""
    frame_data, see = replace(stage.frame_data(), part=part), projection(stage)
    canvas = Words(see.width, see.height)
    taken = draw_labels(Words(see.width, see.height), see, frame_data, DARK, 1.0)
    box = draw_callout(canvas, see, frame_data, taken, DARK, 1.0)
    boxes = [*taken.boxes, *([box] if box is not None else [])]
    taken.boxes[:], first = boxes, len(canvas.words)
    draw_spoken(canvas, see, frame_data, taken, DARK, 1.0)
    for name, place in canvas.found[first:]:
        assert not is_on(place, taken.spheres) and not any(map(place.meets, boxes)), name
    return [(words.lower(), place) for words, place in canvas.found]


def without_a_name(stage: Stage) -> list[str]:
    seen = " ".join(words for words, _ in written(stage))
    return [each for each in NAMED.findall(title_of(stage)) if each not in seen]


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "steps"), [*dict.fromkeys(SCENES, 1).items()])
def test_a_neuron_that_a_sentence_names_has_its_name_beside_it(
    name: str, steps: int, size: tuple[int, int]
) -> None:
    told = [(title_of(each), without_a_name(each)) for each in moments(name, steps, size)]
    assert len(told) > 9 * steps and any(NAMED.search(title) for title, _ in told)
    assert [each for each in told if each[1]] == []


@pytest.mark.slow
def test_600_sentences_name_no_sphere_without_a_name() -> None:
    told = [
        (title_of(stage), without_a_name(stage))
        for name, steps in SCENES.items()
        for stage in moments(name, steps, SIZES[0])
    ]
    assert len(told) >= 600
    assert [each for each in told if each[1]] == []


def test_a_sum_has_its_name_before_its_number_is_there() -> None:
    stage = next(each for each in moments("rgb", 1, SIZES[0]) if "adds up" in title_of(each))
    (early, place), (late, last) = [written(stage, part)[-1] for part in (0.1, 1.0)]
    assert early == "neuron 0" and late.startswith("neuron 0: ")
    assert (place.x, place.y) == (last.x, last.y)


@pytest.mark.parametrize("thing", [0, ("affine 0", 5)], ids=str)
def test_the_neurons_of_a_card_have_their_names(thing: int | tuple[str, int]) -> None:
    stage = stage_of(Show.of(load(find("rgb"))(engine="python")), SIZES[0])
    stage.pin(thing)
    pinned = stage.frame_data().pinned
    assert pinned is not None
    assert [words for words, _ in written(stage)] == NAMED.findall(pinned.name.lower())


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((1280, 800), SIZE), ((800, 500), SIZE), ((360, 400), SMALL), ((640, 240), SMALL),
        ((300, 400), None), ((360, 100), None),
    ],
)  # fmt: skip
def test_the_legend_is_smaller_where_there_is_little_room(size: Any, wanted: Any) -> None:
    box = legend_box(Division.of(*size))
    assert (None if box is None else (box.width, box.height)) == wanted


@pytest.mark.parametrize("clipped", [0, 1234])
@pytest.mark.parametrize("grown", [None, (1.0, 2.0)])
def test_a_small_legend_says_its_ends_and_what_is_new(clipped: int, grown: Any) -> None:
    cubes = replace(stage_of(trained("rgb"), (360, 400)).frame_data().cubes)
    cubes = replace(cubes, clipped=clipped, grown=grown)
    canvas, division = Words(360, 400), Division.of(360, 400)
    draw_legend(canvas, division, cubes, DARK, LEAST)
    said = [words for words, _ in canvas.found]
    last = "scale 1 → 2" if grown else "(1,234 beyond)" if clipped else "value"
    assert said == ["-1", "+1", last]
    box = legend_box(division)
    assert box is not None and all(
        box.x <= each.x and each.right <= box.right for _, each in canvas.found
    )


class Calls(Canvas2D):
    """A canvas that lists what is called, with letters of one width."""

    def __init__(self, *size: float) -> None:
        super().__init__(*size)
        self.calls: list[Any] = []

    def box(self, *given: Any, **look: Any) -> None:
        *place, fill = given
        self.list("box", *place, fill if isinstance(fill, str) else [*fill], **look)

    def text(self, *given: Any, **look: Any) -> float:
        self.list("text", *given, **look)
        return 0.0

    def list(self, *given: Any, **look: Any) -> None:
        self.calls.append([*given, *itertools.chain(*look.items())])

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return 0.62 * size * len(words)

    def fit(self, words: str, width: float, *, size: float = 13.0, bold: bool = False) -> str:
        return words[: int(width / (0.62 * size))]


@pytest.mark.parametrize("size", [(1280, 800), (360, 400)])
@pytest.mark.parametrize("color", ["value", "gradient"])
@pytest.mark.parametrize("changed", [{}, {"clipped": 1234}, {"grown": (0.5, 2.0)}], ids=str)
def test_a_page_draws_the_same_legend(size: Any, color: str, changed: dict[str, Any]) -> None:
    none = np.zeros(0)
    cubes = CubeValues(none, none, color, "value", none, none, common=2.5, **changed)
    canvas, division = Calls(*size), replace(Division.of(*size), scale=1.1)
    draw_legend(canvas, division, cubes, DARK, LEAST)
    explain_in_corner(canvas, division, 20.0, DARK, lambda box: box.x < 20.0)
    body = """
    setTexts(data.texts);
    const calls = [];
    const list = (...given) =>
      calls.push([...given.slice(0, -1), ...Object.entries(given.at(-1)).flat()]);
    const paper = {
      box: (...given) => list("box", ...given),
      text: (...given) => list("text", ...given),
      measure: (words, { size }) => 0.62 * size * words.length,
      fit: (words, width, { size }) => words.slice(0, Math.trunc(width / (0.62 * size))),
    };
    const division = { inner: new Box(...data.inner), scale: 1.1, legend: true };
    const palette = new Palette(data.theme);
    const frame = { ...data.frame, scene: { shader: { least: data.least } } };
    drawLegend({ paper, division, frame, palette });
    explain_in_corner(paper, division, 20, palette, (box) => box.x < 20);
    return calls;"""
    frame = {"scale": 2.5, "color": color, "size": "value", "clipped": 0, "grown": None, "tile": 0}
    found = in_web(
        "texts story/camera story/legend legend palette",
        body,
        inner=division.inner.place,
        theme=colors_of(DARK),
        frame=frame | changed,
        least=LEAST,
        texts=texts(),
    )
    assert len(found) == len(canvas.calls) > 10
    for given, expected in zip(found, canvas.calls, strict=True):
        for one, own in zip(given, expected, strict=True):
            assert one == (own if isinstance(own, str) else pytest.approx(own, rel=1e-9)), given


def frame_at(name: str, operation: int) -> FrameData:
    show = Show.of(load(find(name))())
    show.session.advance(300)
    show.session.advance(operation, "operation")
    return stage_of(show, (800, 500)).frame_data()


def names_of(frame_data: FrameData) -> set[str]:
    return {name for name, _ in mark_rows(frame_data.cubes, extra_marks(frame_data))}


def test_the_key_explains_the_marks_of_the_picture_alone() -> None:
    plain = frame_at("circle", 0)
    assert len(plain.buffers.saturated) and names_of(plain) >= {text("marks.cube.name")}
    none = replace(plain, buffers=replace(plain.buffers, saturated={}, flows={}))
    few = {text(f"marks.{name}.name") for name in ("cube", "sphere", "numbers")}
    assert names_of(none) == few
    for name, given in {
        "striped": {"saturated": {"tanh 0": np.array([0.0, 0.5])}},
        "crossed": {"left_out": {"tanh 0": np.array([0.0, 1.0])}},
        "dot": {"flows": {"tanh 0": np.array([0.0, 1.0])}},
    }.items():
        found = names_of(replace(none, buffers=replace(none.buffers, **given)))
        assert found - few == {text(f"marks.{name}.name")}
    numbers = none.cubes.colors
    for name, field in {"arrow": "pushes", "before": "before", "frozen": "frozen"}.items():
        found = names_of(replace(none, cubes=replace(none.cubes, **{field: numbers})))
        assert found - few == {text(f"marks.{name}.name")}
    changed = replace(none.cubes, clipped=2, grown=(1.0, 2.0))
    assert names_of(replace(none, cubes=changed)) - few == {"(2 beyond)", "scale 1 → 2"}


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (360, 400)])
def test_the_key_stands_above_the_legend_and_says_all(size: Any) -> None:
    canvas, division, frame_data = Words(*size), Division.of(*size), frame_at("circle", 10)
    assert draw_marks_key(canvas, division, frame_data, THEMES["dark"]) is None
    shown = replace(frame_data, marks=True)
    box = draw_marks_key(canvas, division, shown, THEMES["dark"])
    legend = legend_box(division)
    assert box is not None and legend is not None and box.bottom <= legend.y
    assert box.y >= division.scene.y and box.right <= division.scene.right
    said = " ".join(words for words, _ in canvas.found)
    for name, meaning in mark_rows(shown.cubes, extra_marks(shown)):
        assert name in said and meaning.split()[-1] in said
    for _, each in canvas.found:
        assert box.x <= each.x and each.right <= box.right and each.bottom <= box.bottom


def test_the_squares_of_the_scale_stand_around_one_line_from_end_to_end() -> None:
    middles: list[Any] = []

    class Squares(Words):
        def box(self, x: float, y: float, wide: float, high: float, *_: Any, **look: Any) -> None:
            middles.append((x + wide / 2.0, y + high / 2.0))

    draw_squares(Squares(300.0, 40.0), 10.0, 20.0, 200.0, 16.0, DARK, 1.0, LEAST)
    across, down = np.transpose(middles)
    np.testing.assert_allclose(down, 20.0)
    np.testing.assert_allclose(
        [across[0], across[-1], np.ptp(np.diff(across))], [18, 202, 0], atol=1e-9
    )
