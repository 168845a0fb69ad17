"""Numbers on the page's cubes against those of Python, and its minus signs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.pages.scene_data import camera_data, layout_data, scene_data
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.fonts import MINUS
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.layout.plates import Neurons
from scalarviz.scene.neurons import name_lines, write_names
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web
from tests.pages.samples import SEE, box_data, made
from tests.pictures.view.measures import Words, projection, stage_of, trained


class Even(Canvas2D):
    """A canvas whose letters have one width."""

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return 0.62 * size * len(words)


def stages() -> dict[str, Stage]:
    pinned = stage_of(trained("rgb"), (1000, 640))
    pinned.pin(17)
    return {"rgb": pinned, "deep": stage_of(Show.of(made(3, 9, 9, 2)), (1280, 800))}


@pytest.mark.parametrize("name", ["rgb", "deep"])
@pytest.mark.parametrize("turn", [(0.0, 0.0), (35.0, 12.0)], ids=str)
def test_numbers_stand_on_the_same_faces_as_in_a_window(name: str, turn: Any) -> None:
    stage = stages()[name]
    data, see = stage.frame_data(), projection(stage)
    see = replace(see, camera=see.camera.orbited(*turn))
    expected = numbers_on_cubes(Even(see.width, see.height), see, data, 1.0)[0]
    cubes, pinned = data.cubes, -1 if data.pinned is None else data.pinned.row
    stage.pin(None)
    body = f"""{SEE}
    const layout = new Layout(unpackedAll(data.layout));
    const scene = unpackedAll(data.scene);
    const none = {{ hoverNeuron: null, pinnedNeuron: null, moment: null, before: null }};
    const frame = {{ hoverRow: -1, ...none, ...data.frame, layout, scene, part: 1 }};
    frame.sizeScaleAt = () => data.frame.sizeScale;
    frame.numberAt = (row) => data.frame.colors[row];
    const paper = {{ measure: (words, {{ size }}) => 0.62 * size * words.length }};
    const found = numbersOnCubes({{ paper, see, frame, scale: 1 }});
    const fields = ({{ words, x, y, size, depth }}) => [words, x, y, size, depth];
    return [...found].map(([row, each]) => [row, ...fields(each)]);"""
    frame = {
        "colors": cubes.colors.tolist(),
        "sizes": cubes.sizes.tolist(),
        "sizeScale": float(cubes.size_scales[0]),
        "pinnedRow": pinned,
    }
    found = in_web(
        "arrays layout camera cube_numbers",
        body,
        scene=scene_data(stage.show, [1.75]),
        layout=layout_data(data.layout),
        frame=frame,
        box=box_data(see.box),
        camera=camera_data(see.camera),
        size=[see.width, see.height],
        reach=see.reach,
    )
    assert len(found) > 20
    assert [(row, words) for row, words, *_ in found] == [
        (row, each.words) for row, each in expected.items()
    ]
    places = [[each.x, each.y, each.size, each.depth] for each in expected.values()]
    np.testing.assert_allclose([each[2:] for each in found], places, atol=1e-4)


NAMES = ["x", "petal length", "a very long name indeed", "incomprehensibilities", "a b c d", ""]


def test_names_have_the_same_two_lines() -> None:
    body = """
    const paper = { measure: (words, { size }) => 0.62 * size * words.length };
    return data.rooms.map((room) =>
      data.names.map((name) => nameLines(paper, name, room, { size: 13 })));"""
    rooms = [20.0, 60.0, 1e3]
    canvas = Even(100.0, 100.0)
    expected = [[name_lines(canvas, name, room, 13.0) for name in NAMES] for room in rooms]
    assert in_web("neurons", body, names=NAMES, rooms=rooms) == expected


@pytest.mark.parametrize(("apart", "lines"), [(15.0, 1), (45.0, 2)])
def test_names_of_a_column_have_two_lines_only_if_they_do_not_meet(
    apart: float, lines: int
) -> None:
    names = ["scaler__temperature", "encoder__district_A", "encoder__district_B"]
    body = """
    const said = [];
    const paper = {
      measure: (words, { size }) => 0.62 * size * words.length,
      fit: (words) => words,
      text: (x, y, words) => said.push(words),
    };
    const [x, y, depth] = [[200, 200, 200], data.y, [1, 1, 1]];
    const frame = { layout: { neurons: [] } };
    const view = { paper, palette: {}, scale: 1, see: { box: { x: 0 } }, frame };
    writeNames(view, { names: data.names }, { x, y, depth }, [5, 5, 5], [0, 1, 2]);
    return said;"""
    y = apart * np.arange(3.0)
    found, xy = in_web("neurons", body, names=names, y=y), np.column_stack([np.full(3, 200.0), y])
    canvas, ones, line = Words(400.0, 400.0), np.ones(3), Neurons(np.zeros((3, 3)), "", "", names)
    write_names(canvas, xy, 5.0 * ones, ones, ones > 0, line, THEMES["dark"], 1.0, 0.0)
    assert [words for words, _ in canvas.found] == found
    assert [len(words.split("\n")) for words in found] == 3 * [lines]


WORDS = {
    "-.97": "−.97",
    "-0.3 × -12 = 3.6": "−0.3 × −12 = 3.6",
    "1.4e-8 - (-2)": "1.4e−8 − (−2)",
    "A 3-8-3 network, held-out, run-2": "A 3-8-3 network, held-out, run-2",
    "-inf": "−inf",
    "→ -.05": "→ −.05",
    "--steps": "--steps",
}


def test_minus_signs_are_true_ones_and_hyphens_stay() -> None:
    found = in_web("formats", "return data.words.map(trueMinus);", words=list(WORDS))
    assert found == [MINUS.sub("−", words) for words in WORDS] == list(WORDS.values())
