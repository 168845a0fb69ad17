"""Reads the equations of captions as a calculator does."""

import math
import re
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Caption, Card
from scalarviz.training.session.reading import caption

# What may stand before an equation: names of quantities. Everything else is arithmetic.
NAMES = r"signal|dL/dp|gradient used|gradient|L|m|v|velocity|square|w after decay|goes on"
OWN_NAMES = rf"{NAMES}|[A-Za-z_]\w*"  # those of the variables of a user's optimizer, too
LABEL = re.compile(r"^[^=]*: ")
REST = re.compile(r"(?:\.\.\. )?[\d,]+ more(?: samples?)? \(([^()]+)\)")
WORD = re.compile(r"\b(?:bias|shift) (-?[\d.]+(?:e-?\d+)?)")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?(?![\w])")
FUNCTIONS: dict[str, Any] = {
    **{name: row.value for name, row in ACTIVATIONS.items()},
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "erfc": math.erfc,
    "sign": np.sign,
    "clip": np.clip,
    "max": max,
    "abs": abs,
    "pi": math.pi,
    "huber": lambda e: 0.5 * e * e if abs(e) <= 1.0 else abs(e) - 0.5,
    "mean": lambda *numbers: sum(numbers) / len(numbers),
}


def equations(caption: Caption, names: str = NAMES) -> list[tuple[str, str]]:
    """The equations of a caption, of its lines and with all terms: arithmetic and result.

    Args:
        names: a pattern of what may stand before an equation
    """
    lines = ["".join(piece.words for piece in line) for line in (*caption.lines, *caption.whole)]
    found = []
    for part in [part for line in lines for part in line.split("; ")]:
        if " ≈ " in part:  # what float32 rounds away
            assert abs(float(part.rpartition(" ≈ ")[2])) < 1e-6, f"{part} does not agree"
            continue
        if " = " not in part:
            continue
        if "... = " in part:
            assert caption.whole, f"{part} cannot be opened"
            continue
        arithmetic = re.sub(rf"^(?:{names}) = ", "", LABEL.sub("", part))
        if " = " not in arithmetic:  # a name and its number
            assert NUMBER.fullmatch(arithmetic), part
            continue
        *sides, right = arithmetic.split(" = ")
        # A calculator has no function of a user.
        found += [(left, right) for left in sides if not left.startswith("f(")]
    return found


def as_python(arithmetic: str) -> str:
    """An expression as it is written, for Python."""
    arithmetic = REST.sub(r"(\1)", WORD.sub(r"(\1)", arithmetic))
    arithmetic = arithmetic.replace("largest of (", "max(").replace("π", "pi")
    arithmetic = re.sub(r"\|([^|]*)\|", r"abs(\1)", arithmetic.replace("e^", "2.718281828459045^"))
    return arithmetic.replace("×", "*").replace("²", "**2").replace("^", "**")


def value_of(arithmetic: str) -> float:
    """What a calculator gives."""
    return float(eval(as_python(arithmetic), dict(FUNCTIONS)))


def unit_of(number: str) -> float:
    """What a 1 in the last digit of a number is worth."""
    mantissa, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def agrees(value: float, written: str) -> bool:
    """Whether a number rounds to what is written."""
    return abs(value - float(written)) <= 0.5001 * unit_of(written)


def words_of(said: Caption) -> str:
    """All text of a caption."""
    lines = [piece.words for line in (*said.lines, *said.whole) for piece in line]
    return " ".join([said.title, said.formula, *lines])


def all_captions() -> list[str]:
    """All texts of captions in the table."""
    return [words for key, words in texts().items() if key.startswith(("captions.", "rows."))]


def walk(
    session: sv.Session, row: int | None = None, count: int | None = None
) -> dict[str, Caption]:
    """What is said after each operation of the next step, or only after those up to a count."""
    said = {}
    for name in session.operations[:count]:
        session.advance(1, "operation")
        said[name] = caption(session, row)
    return said


def card_of(session: sv.Session, part: Any) -> Card:
    """The card of a weight, a neuron or a sample that is pinned."""
    stage = Stage(session)
    stage.pin(part)
    card = stage.frame_data().pinned
    stage.leave()
    assert card is not None
    return card


def closes(words: str) -> float:
    """The printed result of a product, which a calculator has from its printed factors too."""
    left, right = re.split(" = ", words.replace("−", "-"))[:2]
    factors = re.sub(r"\(.*?\)|(?<![\w.])[^\W\d]+", "", left).replace("×", "*").replace("÷", "/")
    found = re.match(r"-?\d*\.?\d+", right)
    assert found is not None
    digits = len(found[0].partition(".")[2])
    assert abs(float(eval(factors)) - float(found[0])) <= 0.5001 * 10.0**-digits
    return float(found[0])
