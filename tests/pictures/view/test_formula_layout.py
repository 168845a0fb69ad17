"""A formula on the stage: in reading order, on lines, nothing over anything else."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.labels import draw_written
from scalarviz.scene.layout.division import Box
from scalarviz.scene.layout.formula_layout import LINE, MOST_LINES, of_formula
from tests.pictures.view.measures import Words, projection, stage_of, trained

DARK = THEMES["dark"]
NAMES = {"height", "damping", "speed", "phase"}


def pieces_on_screen(size: tuple[int, int]) -> tuple[list[tuple[str, Box]], Box]:
    stage = stage_of(trained("expression"), size)
    see, layout, canvas = projection(stage), stage.frame_data().layout, Words(*size)
    draw_written(canvas, see, layout, DARK, 1.0)
    found = list(canvas.found)
    for plate in layout.plates:
        xy = see(plate.corners_of(0, 0, 0.42)).xy
        (left, top), (right, bottom) = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
        found.append(("cube", Box(left, top, right - left, bottom - top)))
    return found, see.box


def level_lines(size: tuple[int, int]) -> list[list[tuple[str, float, float]]]:
    """The words of each line of the formula, and where they are seen."""
    stage = stage_of(trained("expression"), size)
    see, lines = projection(stage), dict[float, list[tuple[str, float, float]]]()
    for each in stage.frame_data().layout.written:
        if each.least == 0.0:
            x, y = see(each.middle[np.newaxis]).xy[0].tolist()
            lines.setdefault(float(each.middle[1]), []).append((each.words, x, y))
    return [*lines.values()]


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (1920, 1080), (600, 900)], ids=str)
def test_words_and_cubes_are_read_in_order_and_none_covers_another(size: tuple[int, int]) -> None:
    found, box = pieces_on_screen(size)
    assert {words for words, _ in found} >= NAMES
    lines = [sorted(y for _, _, y in line) for line in level_lines(size)]
    assert len(lines) == 2 and all(line[-1] - line[0] < 1.0 for line in lines)
    for words, each in found:
        assert box.x - 1.0 <= each.x and each.right <= box.right + 1.0, words
        assert box.y - 1.0 <= each.y and each.bottom <= box.bottom + 8.0, words
    for (first, one), (second, other) in combinations(found, 2):
        wide = min(one.right, other.right) - max(one.x, other.x)
        high = min(one.bottom, other.bottom) - max(one.y, other.y)
        assert min(wide, high) <= 3.0, (first, second)  # the corner of a cube at a bracket


def test_pieces_follow_each_other_and_cubes_stand_for_letters() -> None:
    pieces = [0, " · ", "exp(", "-", 1, " · ", "x", ")", " + ", 0]
    layout = of_formula(pieces, [5, 3], ["a", "b"], 3.0)
    assert layout is not None and [plate.first for plate in layout.plates] == [5, 3]
    words = [(each.words, *each.middle[:2]) for each in layout.written if each.least == 0.0]
    assert [each for each, _, _ in words] == ["·", "exp(", "-", "·", "x", ")", "+", "a"]
    for (_, x, y), (_, after, below) in pairwise(words):
        assert x < after if y == below else below == pytest.approx(y - LINE)


@pytest.mark.parametrize("aspect", [0.4, 1.0, 1.75, 4.0])
def test_lines_are_as_many_as_make_the_letters_largest(aspect: float) -> None:
    pieces: list[Any] = [each for i in range(8) for each in (i, " + ")][:-1]
    layout = of_formula(pieces, range(8), [f"p{i}" for i in range(8)], aspect)
    assert layout is not None
    lines = len({float(plate.origin[1]) for plate in layout.plates})
    assert lines == {0.4: 4, 1.0: 3, 1.75: 2, 4.0: 1}[aspect]


def test_a_tall_stage_has_no_more_lines_than_are_asked_for() -> None:
    pieces = [each for i in range(9) for each in (i, " · ", "x", " + ")][:-1]
    layout = of_formula(pieces, range(9), [f"p{i}" for i in range(9)], 0.3)
    assert layout is not None
    words = [each.middle[1] for each in layout.written if each.least == 0.0]
    assert len({*map(float, words)}) <= MOST_LINES


def test_lines_are_about_equally_long_and_begin_outside_brackets() -> None:
    pieces = [each for i in range(8) for each in (2 * i, " · relu(", 2 * i + 1, " · x)", " + ")]
    layout = of_formula(pieces[:-1], range(16), [f"p{i}" for i in range(16)], 1.4)
    assert layout is not None
    lines: dict[float, list[Any]] = {}
    for each in (*layout.plates, *(each for each in layout.written if each.least == 0.0)):
        middle = each.middle if hasattr(each, "middle") else each.origin
        lines.setdefault(round(float(middle[1]) / LINE), []).append((float(middle[0]), each))
    assert len(lines) == 4
    widths = [np.ptp([x for x, _ in line]) for line in lines.values()]
    assert max(widths) < 1.25 * min(widths)
    firsts = [min(line, key=lambda each: each[0])[1] for line in lines.values()]
    assert [getattr(each, "words", "cube") for each in firsts] == ["cube", "+", "+", "+"]
