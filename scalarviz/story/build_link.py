"""Settings of a playground in a link: #v=1&shape=spiral&hidden=6,4&lr=0.1.

Used by `scalarviz open` (faces/links.py) and by pages (pages/web/packed_link.js). A setting with
its default is left out. The other parts of a link are a moment, see moments.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scalarviz.base.texts import text
from scalarviz.story.moments import whole

LONGEST = 8_000  # characters of a link
VERSION = "1"  # of this grammar
MOST_LAYERS, MOST_NEURONS = 5, 12
SHAPES = ("circle", "spiral", "gaussians", "quadrants", "moons")
FEATURES = ("x", "y", "x2", "y2", "xy", "sinx", "siny")
ACTIVATIONS = ("tanh", "relu", "sigmoid", "linear", "leaky_relu", "sin")
INITIALIZERS = ("pytorch", "xavier_uniform", "he_uniform", "zeros")
RATES = {"sgd": 0.03, "momentum": 0.01, "adam": 0.001}  # default learning rates, by optimizer
BATCHES = (1, 2, 4, 8, 10, 16, 32, 64)
SAMPLES = 500  # points, of which a share is trained on
DEFAULTS: dict[str, Any] = {
    "shape": "circle",
    "noise": 0.0,
    "share": 0.5,
    "points": "",  # the visitor's points, packed, instead of a data set
    "seed": 1,
    "features": ["x", "y"],
    "hidden": [4, 2],
    "activation": ["tanh"],
    "init": "pytorch",
    "bias": True,
    "opt": "sgd",
    "lr": 0.03,
    "batch": 10,
    "l1": 0.0,
    "l2": 0.0,
    "w": "",  # packed weights, if not drawn from the seed
}
REAL = re.compile(r"(\d{1,20}(\.\d{0,20})?|\.\d{1,20})(e-?\d{1,3})?", re.ASCII)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
CELLS, REACH = 2048, 6.0  # a point is in a cell of a grid from -REACH to REACH
PACKED = re.compile(r"[A-Za-z0-9_-]{1,6000}", re.ASCII)
SAID = re.compile(r"^[ -~]{0,24}", re.ASCII)  # part of an unknown value in a sentence


CHOICES: dict[str, dict[str, Any]] = {
    "v": {VERSION: VERSION},
    "shape": {name: name for name in SHAPES},
    "init": {name: name for name in INITIALIZERS},
    "bias": {"yes": True, "no": False},
    "opt": {name: name for name in RATES},
    "batch": {f"{size}": size for size in BATCHES},
}
BOUNDS = {
    "noise": (0.0, 0.5),
    "share": (0.1, 0.9),
    "lr": (0.0, 1000.0),
    "l1": (0.0, 1.0),
    "l2": (0.0, 1.0),
}


def is_setting(name: str) -> bool:
    """Return whether a part of a link belongs to this grammar, and not to a moment."""
    return name == "v" or name in DEFAULTS


def read_build(parts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings in a link, and a sentence for each part that is invalid.

    Args:
        parts: names and values; of equal names the last one holds, others than settings are skipped
    """
    given = {name: words.strip(" ") for name, words in parts if is_setting(name)}
    found: dict[str, Any] = {}
    bad: list[str] = []
    for name, words in given.items():
        read = value_in(name, words)
        if read is not None:
            found[name] = read
        else:
            bad.append(sentence_on(name, words))
    names = found.get("activation", DEFAULTS["activation"])
    depth = len(found.get("hidden", DEFAULTS["hidden"]))
    if len(names) != 1 and len(names) != depth:
        bad.append(sentence_on("activation", given["activation"]))
        names = DEFAULTS["activation"]
    own = points_in(found.get("points", ""))
    count = len(own) if own else SAMPLES * found.get("share", DEFAULTS["share"])
    most = max([each for each in BATCHES if each <= count])
    if found.get("batch", 0) > most:
        bad.append(sentence_on("batch", given["batch"]))
    if found.get("batch", DEFAULTS["batch"]) > most:
        found["batch"] = most
    found["activation"] = [names[0] for _ in range(depth)] if len(names) == 1 else names
    usual = {**DEFAULTS, "lr": RATES[found.get("opt", DEFAULTS["opt"])]}
    return {name: found.get(name, value) for name, value in usual.items()}, bad


def value_in(name: str, words: str) -> Any:
    """Return the value of a setting in a text; None for an invalid one."""
    if name in CHOICES:
        return CHOICES[name].get(words)
    if name in BOUNDS:
        number = float(words) if REAL.fullmatch(words) else -1.0
        return number if BOUNDS[name][0] <= number <= BOUNDS[name][1] else None
    if name == "seed":
        return whole(words, 10**15)
    if name == "w":
        return words if PACKED.fullmatch(words) else None
    if name == "points":
        return words if points_in(words) else None
    parts = words.split(",") if words != "" else []
    if name == "hidden":
        sizes = [whole(each, MOST_NEURONS + 1, 1) for each in parts]
        return sizes if None not in sizes and len(sizes) <= MOST_LAYERS else None
    known = FEATURES if name == "features" else ACTIVATIONS
    if len(parts) == 0 or not all(each in known for each in parts):
        return None
    return parts if name == "activation" else [each for each in known if each in parts]


def points_in(words: str) -> list[tuple[float, float, float]]:
    """Return the points of a packed text: x, y, and the class, -1 or 1; empty for an invalid text.

    Both classes occur. The coordinates of a point and its class are the digits of a number, which
    four letters represent.
    """
    found: list[tuple[float, float, float]] = []
    if len(words) % 4 != 0 or len(words) > 4 * SAMPLES or not all(c in LETTERS for c in words):
        return found
    for first in range(0, len(words), 4):
        number = 0
        for letter in words[first : first + 4]:
            number = 64 * number + LETTERS.index(letter)
        x, rest = number // (2 * CELLS), number % (2 * CELLS)
        if x >= CELLS:
            return []
        found.append((place_of(x), place_of(rest // 2), 2.0 * (rest % 2) - 1.0))
    return found if len({each[2] for each in found}) == 2 else []


def place_of(cell: int) -> float:
    """Return the coordinate of a cell of the grid."""
    return REACH * (2.0 * cell / CELLS - 1.0)


def packed_points(points: Sequence[tuple[float, float, float]]) -> str:
    """Return points as text; `points_in` reads it back, rounded to the grid."""
    words = ""
    for x, y, kind in points:
        column, row = [
            min(CELLS - 1, max(0, round((each / REACH + 1.0) * CELLS / 2.0))) for each in (x, y)
        ]
        number = 2 * (column * CELLS + row) + (1 if kind > 0.0 else 0)
        words += "".join([LETTERS[number // 64**k % 64] for k in (3, 2, 1, 0)])
    return words


def sentence_on(name: str, words: str) -> str:
    """Return the sentence about an invalid setting."""
    said = SAID.findall(words)[0]
    part = f"{name}={said}" + ("…" if said != words else "")
    return text("build.bad", part=part, wanted=text(f"build.wants.{name}"))


def write_build(settings: Mapping[str, Any]) -> str:
    """Return settings as the text of a link after the #; `read_build` reads it back."""
    usual = {**DEFAULTS, "lr": RATES[settings["opt"]]}
    parts = [f"v={VERSION}"]
    for name in usual:
        value = settings[name]
        if name == "activation" and all(each == value[0] for each in value):
            value = value[:1] if len(value) > 0 else usual[name]
        if value != usual[name]:
            parts.append(f"{name}={written(name, value)}")
    return "&".join(parts)


def written(name: str, value: Any) -> str:
    """Return the value of a setting as text."""
    if name == "bias":
        return "yes" if value else "no"
    if name in ("features", "hidden", "activation"):
        return ",".join([f"{each}" for each in value])
    return shortest(value) if name in BOUNDS else f"{value}"


def shortest(value: float) -> str:
    """Return the shortest decimal that is read as the same number."""
    tried = [f"{value:.{digits}g}".replace("+", "") for digits in range(1, 18)]
    return next(words for words in tried if float(words) == value)


def sizes_of(settings: Mapping[str, Any]) -> list[int]:
    """Return the sizes of a network, from its inputs to its output."""
    return [len(settings["features"]), *settings["hidden"], 1]


def count_of(settings: Mapping[str, Any]) -> int:
    """Return how many weights a network has."""
    sizes, more = sizes_of(settings), 1 if settings["bias"] else 0
    return sum((sizes[k] + more) * sizes[k + 1] for k in range(len(sizes) - 1))
