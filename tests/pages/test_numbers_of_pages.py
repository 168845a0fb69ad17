"""A page writes numbers as Python does, digit for digit."""

import math
import random
from pathlib import Path
from typing import Any

from scalarviz.base.texts import decimals
from scalarviz.story import formats
from tests.pages.walks import plain, said_by_node

EDGES = [0.0, -0.0, 0.5, 1.5, 2.5, 0.125, 0.375, 1e-4, 9.9995e-5, 0.0000995, 999999.5, 1e6, 1e21]
EDGES += [5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 0.1 + 0.2, 1 - 2**-53]


def numbers(count: int) -> list[float]:
    """Numbers of all sizes: many that end in 5, where rounding decides, and the edges."""
    draw = random.Random(0)
    found = [*EDGES, *(-edge for edge in EDGES)]
    while len(found) < count:
        size = 10.0 ** draw.randint(-9, 8)
        digits = draw.randint(1, 9)
        found.append(round(draw.uniform(-10, 10), digits) * size)
        found.append(draw.gauss(0.0, 1.0) * size)
        found.append(draw.randint(-9999, 9999) / 2 ** draw.randint(1, 12))
        found.append(float(f"{draw.randint(1, 99999)}5e{draw.randint(-12, 4)}"))
    return found


def test_numbers_are_written_as_python_writes_them(tmp_path: Path) -> None:
    asked: list[list[Any]] = []
    wanted: list[Any] = []
    draw = random.Random(1)
    every = numbers(10_000)
    for value in every:
        digits = draw.randint(1, 9)
        asked += [["rounded", value, digits], ["said", value, digits]]
        wanted += [decimals.rounded(value, digits), formats.said(value, digits)]
        if not math.isfinite(value):
            continue
        other = value * (1.0 + 10.0 ** -draw.randint(1, 10))
        asked += [["lastPlace", value, digits], ["bothSaid", value, other]]
        wanted += [formats.last_place(value, digits), [*formats.both(value, other)]]
        asked.append(["figures", decimals.rounded(value, digits)])
        wanted.append(formats.figures(decimals.rounded(value, digits)))
    for i in range(0, len(every) - 8, 8):
        asked.append(["exactSum", every[i : i + 8]])
        wanted.append(formats.exact_sum(every[i : i + 8]))
    found = said_by_node({"formats": asked}, tmp_path)["formats"]
    for question, ours, theirs in zip(asked, wanted, found, strict=True):
        assert theirs == plain(ours), question


def test_formulas_are_written_as_python_writes_them(tmp_path: Path) -> None:
    formulas = [
        "2 (p - t) / (p^2 + 0.01)",
        "|p - t| / ((|p| + |t|) / 2 + 0.01)",
        "(log(1 + e^p) - t * p)",
        "a (1 - a)",
        "(1 - a^2)",
        "w - lr * (m / correction1) / (sqrt(v / correction2) + eps)",
        "z**2 - -0.5 * a z",
    ]
    known = {"p": "-1.4e-8", "t": "0.5", "a": "-0.25", "z": "3", "w": "-2"}
    asked = [[name, each] for each in formulas for name in ("pretty", "fillNumbers")]
    asked = [[*each, known] if each[0] == "fillNumbers" else each for each in asked]
    wanted = [
        call for each in formulas for call in (formats.pretty(each), formats.fill(each, known))
    ]
    assert said_by_node({"formats": asked}, tmp_path)["formats"] == wanted
