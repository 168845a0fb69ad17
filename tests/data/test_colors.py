"""Maps from colours to colours."""

from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError
from tests.wording import refused

RED, GREEN, BLUE = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
WHITE, DARK = [1.0, 1.0, 1.0], [0.2, 0.4, 0.6]


def answer(known: data.Rgb, color: list[float]) -> list[float]:
    """What a colour of the table becomes."""
    inputs, targets = known.training
    row = int(abs(inputs - color).sum(axis=1).argmin())
    assert inputs[row] == pytest.approx(color)
    found: list[float] = targets[row].tolist()
    return found


@pytest.mark.parametrize(
    ("name", "color", "becomes"),
    [
        ("copy", DARK, DARK),
        ("invert", DARK, [0.8, 0.6, 0.4]),
        ("grey", RED, [0.299] * 3),
        ("grey", GREEN, [0.587] * 3),
        ("grey", WHITE, WHITE),
        ("sepia", DARK, [0.4996, 0.4450, 0.3466]),
        ("sepia", WHITE, [1.0, 1.0, 0.937]),
        ("swap", DARK, [0.6, 0.2, 0.4]),
        ("hue", WHITE, WHITE),
    ],
)
def test_a_map_turns_colours_into_others(
    name: str, color: list[float], becomes: list[float]
) -> None:
    assert answer(data.Rgb(name), color) == pytest.approx(becomes)


@pytest.mark.parametrize("name", data.MAPS)
def test_a_map_stays_inside_the_cube_of_colours(name: str) -> None:
    _, targets = data.Rgb(name, levels=5).training
    assert targets.min() >= 0.0
    assert targets.max() <= 1.0


def test_the_table_can_be_random_colours() -> None:
    inputs, targets = data.Rgb("invert", samples=2000).training
    assert inputs.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.03)
    assert abs(np.corrcoef(inputs.T)[~np.eye(3, dtype=bool)]).max() < 0.08
    assert (targets == 1.0 - inputs).all()
    assert (inputs != data.Rgb(samples=2000, seed=1).training[0]).all()


def test_a_named_map_is_kept_by_its_name() -> None:
    settings = {"map": "grey", "levels": 16, "angle": 90.0, "seed": 0, "order": "shuffled"}
    assert data.Rgb("grey").settings() == settings


def test_any_function_is_a_map() -> None:
    def darken(rgb: np.ndarray) -> np.ndarray:
        rgb *= 0.5  # a careless function, which spoils only a copy
        return rgb

    known = data.Rgb(darken, levels=6)
    assert answer(known, WHITE) == [0.5, 0.5, 0.5]
    assert known.settings()["map"] == "darken"
    assert (known.palette[1] == data.PALETTE / 2).all()
    assert known.held_out is not None
    assert (known.held_out[1] == known.held_out[0] / 2).all()


def test_a_curve_for_each_channel_is_a_map() -> None:
    curves = np.array([[0.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    known = data.Rgb(curves, levels=5)
    assert answer(known, [0.25, 0.25, 0.25]) == pytest.approx([0.5, 0.75, 0.0])
    assert answer(known, WHITE) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("color_map", "error", "value"),
    [
        ("inverse", UnknownNameError, "'inverse'"),
        (None, InputError, "None"),
        (np.zeros((1, 3)), ShapeError, "not (1, 3)"),
        (np.zeros((2, 2, 3, 3)), ShapeError, "not (2, 2, 3, 3)"),
        (np.float64(3.0), InputError, "look up"),
        (np.array(3.0), ShapeError, "not ()"),
        (np.full((2, 3), np.inf), NotFiniteError, "NaN or infinity"),
        (lambda rgb: rgb[:, 0], ShapeError, "(4616,)"),
        (lambda rgb: rgb / 0.0, NotFiniteError, "nan at row 0, column 0"),
        (lambda rgb: "red", InputError, "str 'red'"),
    ],
)
# One of the maps divides by zero on purpose, and numpy says so.
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_is_no_map_is_refused(color_map: Any, error: type[Exception], value: str) -> None:
    with refused(error, value):
        data.Rgb(color_map)


@pytest.mark.parametrize("levels", [1, 129, 2.0])
def test_the_grid_has_2_to_128_levels(levels: Any) -> None:
    with refused(InputError, levels):
        data.Rgb(levels=levels)
