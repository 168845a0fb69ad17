"""Names and colors beside neurons, the legend and the key to the marks.

Legible, and never over cubes.
"""

from dataclasses import astuple, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text, texts
from scalarviz.base.texts.decimals import typeset
from scalarviz.pages.scene_data import layout_data
from scalarviz.scene.annotations import LONGEST, ZERO, Ball, Border, draw_scores, write_names
from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.crossbar_ink import GROWS, LEAST_ONE, SHRINKS, Sheet, marks_in
from scalarviz.scene.crossbar_marks import LETTERS, SMALL
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import draw_answer, draw_labels, draw_tied, place_written, tied_box
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.plates import SCORED, Neurons
from scalarviz.scene.legend import mark_rows
from scalarviz.scene.lights import lights
from scalarviz.scene.overlay import draw_head, draw_marks_key, five_of
from scalarviz.scene.picture import beside_network, draw_results, draw_scenery, write_ends
from scalarviz.scene.silhouettes import balls_of, is_on
from scalarviz.stage.stage import Stage
from tests.pages.node import in_web
from tests.pages.states import SEE, box_data
from tests.scene.measures import (
    DARK,
    NOTHING,
    Notes,
    Words,
    look,
    played,
    projection,
    stage_of,
    trained,
    words_at_rest,
)
from tests.sessions import advanced

NONE: dict[str, Any] = {}
every_size = pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)


def covered(stage: Stage, place: Box) -> int:
    """How many pixels of cubes and spheres are in a box."""
    picture, part = look(stage).picture, np.round([place.x, place.right, place.y, place.bottom])
    left, right, top, bottom = np.maximum(part.astype(int), 0)
    return int((picture[top:bottom, left:right] != NOTHING).sum())


@pytest.mark.some(1)
@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "xnor", "circle", "normalized"])
def test_the_name_of_an_input_lies_over_no_cube(name: str, size: tuple[int, int]) -> None:
    stage, canvas = stage_of(trained(name), size), Words(*size)
    data, names = stage.frame_data(), stage.plan.neurons[0].names
    lit = lights(data.layout, stage.session.network.program, None)
    draw_scenery(canvas, projection(stage), data, lit, DARK, 1.0)
    found = [each for each in canvas.found if each[0].partition(" = ")[0] in names]
    assert len(found) >= len(names)
    assert [words for words, place in found if covered(stage, place)] == []


MOST_WORDS = 65  # at rest
SCENES = ["rgb", "circle", "xor", "xnor", "micrograd", "texture", "expression", "normalized"]


# The weights of a long row with its numbers are numbers on cubes. Each value of a formula has its
# step.
ON_CUBES = {"expression": 7}
# Scores and a table of pictures have more.
MORE_WORDS = {"digits": 130}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", [*SCENES, "digits"])
def test_few_words_are_written_at_rest(name: str) -> None:
    words, stage = (
        [each.words for each in words_at_rest(name)],
        stage_of(trained(name), (1280, 800)),
    )
    numbers = numbers_on_cubes(
        Words(1280, 800), projection(stage), stage.frame_data(), at_rest=True
    )
    below = [line for line in stage.plan.neurons if line.square and not line.names]
    on_neurons = sum(len(line.points) for line in below)
    most = MORE_WORDS.get(name, MOST_WORDS) + ON_CUBES.get(name, 0)
    most += len(numbers) + on_neurons + words_of_bars(stage)
    assert len(words) - len(numbers) >= 20 and len(words) <= most, words


def words_of_bars(stage: Stage) -> int:
    """How many texts a crossbar has, numbers of its bars included."""
    found = marks_in(Words(1280, 800), projection(stage), stage.frame_data())
    return sum(each.words != "" for each in found)


def test_a_painted_picture_says_what_its_cubes_do() -> None:
    assert text("squares.added") in [each.words for each in words_at_rest("texture")]


# Answers of digits are large.
TYPE = 12.0, 14.0, 16.0, 24.0, 40.0
# A formula is as large as its cubes, and numbers are as large as their pixels. A 1 is in a circle.
FITTED = {"expression": {"OUT =", "×", "e", "x", ")", "sin(", "+"}}
ONES = {"rgb", "circle", "xor", "xnor", "micrograd"}


def letters_on_bars(name: str, size: tuple[int, int]) -> list[float]:
    """The two sizes of letters on a crossbar, which is nearly as large as its numbers allow."""
    stage = stage_of(trained(name), size)
    data = stage.frame_data()
    placed = data.layout.crossbar
    if placed is None:
        return []
    zoom = Sheet(placed, projection(stage)).zoom / data.division(*size).scale
    return [round(each * max(SHRINKS, min(zoom, GROWS)), 1) for each in (LETTERS, SMALL)]


@pytest.mark.some(2)
@pytest.mark.parametrize("size", [(800, 500), (1280, 800), (1920, 1080), (3840, 2160)], ids=str)
@pytest.mark.parametrize("name", [*SCENES, "digits"])
def test_letters_have_four_sizes(name: str, size: tuple[int, int]) -> None:
    words = sorted(words_at_rest(name, size), key=lambda each: each.size)
    found = {each.words: each.size for each in words}  # of a name that is also in a formula, there
    if name == "digits":  # the numbers of pixels, on large pictures
        found = {words: each for words, each in found.items() if "." not in words}
    known = [*TYPE, *letters_on_bars(name, size)]
    others = {words: each for words, each in found.items() if round(each, 1) not in known}
    if name in ONES:
        ones = [each.size for each in words if each.words == "1"]
        assert min(ones, default=LEAST_ONE) >= LEAST_ONE
        others.pop("1", None)
    assert {*others} == FITTED.get(name, set())
    assert min(others.values(), default=28.0) >= 28.0


TIED_SIZES = [(1280, 800), (1366, 700), (800, 500), (1920, 1080)]


def colours(*hidden: int) -> sv.Session:
    net = sv.Network([3, *hidden, 3], "tanh", "sigmoid", seed=1)
    return advanced(sv.Session(net, data.Rgb(), "mse", batch=64, engine="python"), 3)


def tied(stage: Stage) -> Box | None:
    frame_data, see = stage.frame_data(), projection(stage)
    return tied_box(see, frame_data.layout, frame_data.division(*stage._extent).scale)


@pytest.mark.some(3)
@pytest.mark.parametrize("size", TIED_SIZES)
@pytest.mark.parametrize("hidden", [(8,), (4,), (6, 5)])
def test_the_color_that_goes_in_is_near_its_neurons_and_covers_nothing(
    size: tuple[int, int], hidden: tuple[int, ...]
) -> None:
    stage = stage_of(colours(*hidden), size)
    seen, see, found = look(stage), projection(stage), tied(stage)
    division = stage.frame_data().division(*size)
    assert found.width <= 64.0 * division.scale
    color = found.x, found.bottom - found.width, found.right, found.bottom
    left, top, right, bottom = map(round, color)
    assert (seen.picture[top:bottom, left:right] == -1).all(), "something is below the color"
    assert division.scene.x <= left < right <= division.exhibit.x
    assert found.y >= division.scene.y
    line = stage.plan.neurons[0]
    spheres, reach = see(line.points), line.radius
    aside = np.maximum(np.maximum(color[0] - spheres.xy[:, 0], spheres.xy[:, 0] - right), 0.0)
    apart = np.maximum(np.maximum(color[1] - spheres.xy[:, 1], spheres.xy[:, 1] - bottom), 0.0)
    assert 0.0 < (np.hypot(aside, apart) - reach * spheres.unit).min() <= 120.0 * division.scale


def test_it_is_that_of_the_sample_and_is_called_in() -> None:
    stage, canvas = stage_of(colours(8), (1280, 800)), Notes(1280, 800)
    frame_data, values = stage.frame_data(), stage.frame_data().buffers.values
    draw_tied(canvas, DARK, projection(stage), frame_data.layout, values)
    [(*_, fill, _)] = canvas.noted
    assert np.allclose(fill, values["inputs"])
    assert [words for *_, words in canvas.said] == ["IN"]


def test_only_colors_have_it() -> None:
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Circle(), "mse", engine="python"), 1)
    assert tied(stage_of(s, (1280, 800))) is None


@pytest.mark.parametrize("name", ["rgb", "digits", "expression"])
def test_on_a_page_words_stand_at_the_same_places_and_cover_as_much(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    see, layout = projection(stage), stage.frame_data().layout
    corners = np.random.default_rng(1).uniform((0.0, 0.0), (1200.0, 700.0), (40, 2))
    boxes = [Box(*corner, 80.0, 30.0) for corner in corners.tolist()]
    taken = draw_labels(Notes(1280, 800), DARK, see, layout, 16.0, False)
    place_written(Notes(1280, 800), DARK, see, layout, taken)
    body = f"""{SEE}
    setTexts(data.texts);
    const layout = new Layout(unpackedAll(data.layout));
    const boxes = data.boxes.map((each) => new Box(...each));
    const measure = (words, {{ size }}) => 0.6 * size * words.length;
    const paper = {{ scale: 1, measure, text: () => {{}}, line: () => {{}} }};
    const taken = draw_labels(paper, {{}}, see, layout, 16, false);
    place_written(paper, {{}}, see, layout, taken);
    const covered = boxes.map((box) => [taken.covered(box), is_on(box, taken.spheres)]);
    return {{ covered, taken: taken.boxes.map((box) => box.place) }};"""
    found = in_web(
        "story/camera projection layout arrays texts silhouettes story/labels",
        body,
        layout=layout_data(layout),
        camera=astuple(see.camera),
        box=box_data(see.box),
        size=(1280, 800),
        reach=see.reach,
        texts=texts(),
        boxes=[box.place for box in boxes],
    )
    np.testing.assert_allclose(found["taken"], [each.place for each in taken.boxes], atol=1e-3)
    covered = [(taken.covered(box), is_on(box, taken.spheres)) for box in boxes]
    np.testing.assert_allclose(found["covered"], covered, atol=0.01)
    assert 0.0 < np.mean([share for share, _ in covered]) < 1.0


@pytest.mark.parametrize("name", ["rgb", "circle", "digits"])
def test_lines_lead_from_the_outputs_to_the_doors_of_the_result(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    canvas = Canvas2D(1280, 800)
    line = frame_data.layout.neurons[-1]
    exhibit, room, _ = beside_network(frame_data, frame_data.division(1280, 800))
    doors = exhibit.doors(room, 1.0)
    assert len(doors) == (3 if name == "rgb" else 1)
    draw_results(canvas, see, frame_data, frame_data.division(1280, 800), THEMES["dark"])
    rows, seen = canvas._quads.rows(1.0), see(line.points)
    reach = line.radius * seen.unit.max()
    if line.scores:  # the bars and the names are between
        wide = canvas.widest(line.names, size=12.0, bold=True)
        reach = SCORED * seen.unit.max() + wide + 6.0
    rims = seen.xy + np.array([reach, 0.0])
    if name == "circle" and doors[0][1] < seen.xy[0, 1] - reach:  # upright, and then level
        rims = seen.xy - np.array([0.0, reach])
    answers = frame_data.buffers.answers
    starts = rims if name != "digits" else rims[[int(answers.argmax())]]  # from the answer
    for end in (*doors, *starts.tolist()):
        halves = rows[:, canvas2d.HALF]  # of lines along them, which may be upright
        apart = [
            np.maximum(np.abs(rows[:, canvas2d.MIDDLE] - end) - each, 0.0)
            for each in (halves, halves[:, ::-1])
        ]
        assert np.hypot(*np.concatenate(apart).T).min() <= 2.0
    assert "OUT" not in drawn_words(stage)  # the result has that word


@pytest.mark.parametrize(
    ("answer", "said"), [(0.7, ["above 0.5", "so: yes"]), (0.5, ["below 0.5", "so: no"])]
)
@pytest.mark.parametrize("down", [-90.0, 40.0])
@pytest.mark.parametrize("beside", [False, True])
def test_below_or_beside_an_answer_stands_which_it_is_in_its_color(
    answer: float, said: list[str], down: float, beside: bool
) -> None:
    canvas, border = Notes(600, 400), Border(0.5, 0.5, ["no", "yes"])
    ball, door = Ball(200.0, 200.0, 20.0, 0.0, 50.0), (500.0, 200.0 + down)
    draw_answer(canvas, DARK, ball, door, border, np.array([answer]), beside=beside)
    assert [words for *_, words in canvas.said] == said
    (x, y, _), (right, low, _) = canvas.said
    if beside:
        assert (
            x > ball.x + ball.radius and right > x + canvas.measure(said[0], size=12.0) and low == y
        )
    else:
        assert y > ball.y + ball.radius and low > y
    nothing = Notes(400, 400)
    draw_answer(nothing, DARK, ball, (300.0, 90.0), border, None, beside=beside)
    assert not nothing.said


def test_below_squares_stands_what_they_say_in_the_color_of_its_sign() -> None:
    line = Neurons(np.zeros((2, 3)), "", "", ["x", "y"], square=True, told=True)
    balls, box = [Ball(200.0, 200.0 * i, 30.0, 1.0, 1.0) for i in (0, 1)], Box(0, 0, 400, 400)
    for names, said in ((("x", "y"), ["x = 1", "y = -.25"]), ((), ["1.00", "-.25"])):
        canvas, own = Words(400, 400), replace(line, names=names)
        signs = "#0000ff", "#ff8000"
        write_names(
            *(canvas, DARK, own, range(2), balls, [1.0] * 2, box, [1.0, -0.25], signs),
            is_first=True,
        )
        assert sorted(words for words, _ in canvas.found) == sorted(said)


@pytest.mark.parametrize(("apart", "lines"), [(15.0, 1), (45.0, 2)])
def test_names_of_a_column_have_two_lines_only_if_they_do_not_meet(
    apart: float, lines: int
) -> None:
    names = ["scaler__temperature", "encoder__district_A", "encoder__district_B"]
    canvas, line = Words(400, 400), Neurons(np.zeros((3, 3)), "", "", names)
    balls = [Ball(200.0, apart * i, 5.0, 1.0, 1.0) for i in range(3)]
    box = Box(0.0, 0.0, 400.0, 400.0)
    write_names(canvas, DARK, line, range(3), balls, [1.0] * 3, box, [], ("", ""), is_first=True)
    assert [len(words.split("\n")) for words, _ in canvas.found] == 3 * [lines]


def drawn_words(stage: Stage) -> list[str]:
    """The words beside the network."""
    canvas = Canvas2D(1280, 800)
    write_ends(canvas, projection(stage), stage.frame_data(), DARK)
    return canvas.words


def legend_of(
    name: str, size: tuple[int, int], news: str = "", more: dict[str, Any] = NONE
) -> list[str]:
    """The words of the legend of a scene, right of the title and the task in the head."""
    frame_data = stage_of(trained(name), size).frame_data()
    frame_data = replace(frame_data, cubes=replace(frame_data.cubes, **more))
    canvas, division = Words(*size), frame_data.division(*size)
    box, words = draw_head(canvas, division, frame_data, DARK, news), frame_data.words
    said = [each for each in canvas.found if each[0] in (words.title, words.task)]
    rest = [each for each in canvas.found if each not in said]
    assert box is not None and said[0][0] == words.title
    for i, (_, each) in enumerate(rest):
        assert box.x <= each.x and each.right <= box.right <= size[0]
        assert each.x > said[0][1].right and each.bottom <= division.head.bottom
        assert not any(each.meets(other) for _, other in [*said, *rest[:i]])
    return [words for words, _ in rest]


@pytest.mark.parametrize("size", [(1280, 800), (3840, 2160)])
@pytest.mark.parametrize("name", ["normalized", "expression"])
def test_the_legend_has_five_cubes_with_numbers_on_a_scale(
    name: str, size: tuple[int, int]
) -> None:
    cubes = stage_of(trained(name), size).frame_data().cubes
    low, less, nothing, more, top = five_of(cubes)
    assert (low, less, nothing) == (-top, -more, 0.0) and 0.2 * top < more < 0.5 * top
    assert top == (cubes.common or cubes.color_scales[0])
    numbers = [typeset(f"{each:g}") for each in (low, less, more, top)]
    assert legend_of(name, size) == [*numbers, text("legend.minus"), text("legend.plus")]


@pytest.mark.parametrize("size", [(1280, 800), (3840, 2160)])
@pytest.mark.parametrize("name", ["rgb", "circle", "xnor"])
def test_the_legend_of_a_crossbar_has_a_cube_that_stands_and_one_that_hangs(
    name: str, size: tuple[int, int]
) -> None:
    number, stands, negative, hangs = legend_of(name, size)
    assert (stands, hangs) == (text("legend.stands"), text("legend.hangs"))
    assert negative == f"−{number}" and float(number) > 0.0


@pytest.mark.parametrize(
    ("top", "second"),
    [(1.5, 0.6), (1, 0.4), (2, 0.8), (3, 1), (5, 2), (7, 3), (10, 4), (0.7, 0.3)],
)
def test_the_second_cube_of_the_legend_has_a_round_number(top: float, second: float) -> None:
    cubes = stage_of(trained("rgb"), (1280, 800)).frame_data().cubes
    assert five_of(replace(cubes, common=top))[3] == pytest.approx(second)


@pytest.mark.parametrize("size", [(800, 500), (390, 844), (640, 420)])
def test_where_there_is_little_room_the_legend_is_behind_a_question_mark(
    size: tuple[int, int],
) -> None:
    assert legend_of("rgb", size) == ["?"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"clipped": 1234}, "1,234 larger than shown"),
        ({"clipped": 1234, "grown": (1.0, 2.0)}, "scale 1 → 2"),
        ({"color": "gradient", "size": "gradient"}, "a cube is a weight: its gradient"),
    ],
    ids=str,
)
def test_the_legend_says_what_is_new(changed: dict[str, Any], said: str) -> None:
    assert said in legend_of("rgb", (1280, 800), more=changed)
    pushes = text("legend.pushes")
    assert pushes in legend_of("rgb", (1280, 800), pushes, changed)


def frame_at(name: str, operation: int) -> FrameData:
    return stage_of(played(name, 300, operation), (800, 500)).frame_data()


def names_of(frame_data: FrameData) -> set[str]:
    lines = frame_data.layout.neurons
    return {name for name, _ in mark_rows(frame_data.cubes, frame_data.buffers, lines)}


def test_the_key_explains_the_marks_of_the_picture_alone() -> None:
    plain = frame_at("circle", 0)
    assert len(plain.buffers.saturated) and names_of(plain) >= {text("marks.cube.name")}
    none = replace(plain, buffers=replace(plain.buffers, saturated={}))
    few = {text(f"marks.{name}.name") for name in ("cube", "line", "square", "numbers")}
    assert names_of(none) == few
    assert names_of(frame_at("rgb", 0)) - few == {text("marks.sphere.name")}
    for name, given in {
        "striped": {"saturated": {"tanh 0": np.array([0.0, 0.5])}},
        "crossed": {"left_out": {"tanh 0": np.array([0.0, 1.0])}},
    }.items():
        found = names_of(replace(none, buffers=replace(none.buffers, **given)))
        assert found - few == {text(f"marks.{name}.name")}
    numbers = none.cubes.colors
    for name, field in {"arrow": "pushes", "before": "before", "frozen": "frozen"}.items():
        found = names_of(replace(none, cubes=replace(none.cubes, **{field: numbers})))
        assert found - few == {text(f"marks.{name}.name")}
    changed = replace(none.cubes, clipped=2, grown=(1.0, 2.0))
    assert names_of(replace(none, cubes=changed)) - few == {
        "2 larger than shown",
        "scale 1 → 2",
    }


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (360, 400)])
def test_the_key_stands_below_the_legend_and_says_all(size: Any) -> None:
    canvas, division, frame_data = Words(*size), Division.of(*size), frame_at("circle", 10)
    assert draw_marks_key(canvas, division, frame_data, THEMES["dark"]) is None
    shown = replace(frame_data, marks=True)
    box = draw_marks_key(canvas, division, shown, THEMES["dark"])
    assert box is not None and division.head.bottom <= box.y
    assert box.right <= division.scene.right
    said = " ".join(words for words, _ in canvas.found)
    for name, meaning in mark_rows(shown.cubes, shown.buffers, shown.layout.neurons):
        assert name in said and meaning.split()[-1] in said
    for _, each in canvas.found:
        assert box.x <= each.x and each.right <= box.right and each.bottom <= box.bottom


def test_what_a_layer_is_stands_on_the_card_of_a_neuron_under_the_mouse() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    for neuron, layer in (("tanh 0", ["8 neurons, tanh"]), ("inputs", [])):
        stage.hover_neuron = neuron, 1
        card = stage.frame_data().hover
        assert [about for name, about in card.facts if name == "layer 0"] == layer


def test_scores_have_the_digits_from_which_their_printed_lead_follows() -> None:
    canvas = Canvas2D(1280, 800)
    balls = [Ball(100.0, 100.0 + 30.0 * i, 8.0, 0.0, 200.0) for i in range(3)]
    draw_scores(canvas, DARK, balls, [1.184, 2.8351, 0.4], ("#0000ff", "#ff8800"))
    assert text("scores.how", lead="1.65") in canvas.words  # not 2.84 - 1.18
    assert {"2.835", "1.184"} <= {*canvas.words}


@pytest.mark.parametrize("numbers", [[3.0, -6.0, *[0.0] * 7, 1.5], [-2.0 - i for i in range(10)]])
def test_scores_are_bars_from_zero_with_their_number_and_their_class_apart(
    numbers: list[float],
) -> None:
    stage = stage_of(trained("digits"), (1280, 800))
    data, see = stage.frame_data(), projection(stage)
    line = data.layout.neurons[-1]
    assert line.scores and all(not each.scores for each in data.layout.neurons[:-1])
    balls = balls_of(see, line.points, line.radius)
    notes = Notes(1280, 800)
    draw_scores(notes, DARK, balls, numbers, ("minus", "plus"))
    unit = balls[0].unit
    zero, longest = balls[0].x + ZERO * unit, LONGEST * unit
    for (x, _, wide, _, color, _), number in zip(notes.noted, filter(None, numbers), strict=True):
        assert wide == pytest.approx(longest * abs(number) / max(map(abs, numbers)))
        assert (x if number > 0.0 else x + wide) == pytest.approx(zero)
        assert color == ("plus" if number > 0.0 else "minus")
    for one, other in combinations(words_at_rest("digits"), 2):
        assert not one.box.inside(0.5).meets(other.box), (one.words, other.words)


def test_a_neuron_that_is_0_for_all_inputs_is_off() -> None:
    stage = stage_of(trained("micrograd"), (1280, 800))
    said = [each.words for each in words_at_rest("micrograd")].count("off")
    data = stage.frame_data()
    assert data.maps is not None
    silent = [
        int((~data.maps.values[line.values].any(axis=(1, 2))).sum())
        for line in data.layout.neurons
        if line.values in data.maps.values
    ]
    assert said == sum(silent) > 0
