"""Settings of a playground in a link: #v=1&shape=spiral&hidden=6,4&lr=0.1.

Used by `scalarviz open` (faces/links.py) and by pages (pages/web/packed_link.js). A setting with
its default is left out. The other parts of a link are a moment, see moments.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from scalarviz.base.texts import text
from scalarviz.story.moments import whole

LONGEST = 8_000  # characters of a link
VERSION = "1"  # of this grammar
MOST_LAYERS, MOST_NEURONS = 5, 12
SHAPES = ("circle", "spiral", "gaussians", "quadrants", "moons")
COLOURS = ("invert", "grey", "sepia", "hue", "swap", "copy")  # maps from colours to colours
GRID = 4096  # colours to which a map is applied
MOST_PAIRS = 32  # of the visitor's colours
FEATURES = ("x", "y", "x2", "y2", "xy", "sinx", "siny")
ACTIVATIONS = ("tanh", "relu", "sigmoid", "linear", "leaky_relu", "sin")
INITIALIZERS = ("pytorch", "xavier_uniform", "he_uniform", "zeros")
RATES = {"sgd": 0.03, "momentum": 0.01, "adam": 0.001}  # default learning rates, by optimizer
BATCHES = (1, 2, 4, 8, 10, 16, 32, 64)
SAMPLES = 500  # points, of which a share is trained on
MOST_LINES, MOST_INPUTS, MOST_CLASSES = 2_000, 20, 10  # of a table
MOST_BYTES = 2**16  # of a table in a link, unpacked
DEFAULTS: dict[str, Any] = {
    "shape": "circle",
    "noise": 0.0,
    "share": 0.5,
    "points": "",  # the visitor's points, packed, instead of a data set
    "colours": "",  # the visitor's pairs of colours, packed
    "table": "",  # a table instead, packed; its last column is learned
    "names": [],  # of the columns of the table
    "classes": [],  # of its last column; empty if it has numbers
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
    "do": "",  # changes during training, see journal.py
    "k": "",  # hash of the kernels with which it was trained
}
REAL = re.compile(r"(\d{1,20}(\.\d{0,20})?|\.\d{1,20})(e-?\d{1,3})?", re.ASCII)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
CELLS, REACH = 2048, 6.0  # a point is in a cell of a grid from -REACH to REACH
WORDS = {
    "w": re.compile(r"[A-Za-z0-9_-]{1,6000}", re.ASCII),
    "table": re.compile(r"[A-Za-z0-9_-]{1,6000}", re.ASCII),
    "do": re.compile(r"[A-Za-z0-9_.,:;=@-]{1,2000}", re.ASCII),
    "k": re.compile(r"[0-9a-f]{6}", re.ASCII),
}
NAME = re.compile(r"[ -+\--~¡-¬®-῿⁰-퟿]{1,28}")  # without commas and invisible letters
SAID = re.compile(r"^[ -~]{0,24}", re.ASCII)  # part of an unknown value in a sentence


TABLE = ("table", "names", "classes")
CHOICES: dict[str, dict[str, Any]] = {
    "v": {VERSION: VERSION},
    "shape": {name: name for name in [*SHAPES, *COLOURS]},
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
    if "table" in found and len(found.get("names", [])) < 2:
        bad.append(sentence_on("table", given["table"]))
    has_table = "table" in found and len(found.get("names", [])) > 1
    kinds = [*(["table"] if has_table else []), "points", "colours"]
    kind = [*[each for each in kinds if each in found], ""][0]
    left_out = [each for each in (*TABLE, "points", "colours") if each != kind]
    if has_table:
        left_out = ["points", "colours"]
    if kind in ("table", "points") and found.get("shape", "") in COLOURS:
        left_out = [*left_out, "shape"]
    found["activation"] = [names[0] for _ in range(depth)] if len(names) == 1 else names
    usual = {**DEFAULTS, "lr": RATES[found.get("opt", DEFAULTS["opt"])]}
    settings = {
        name: value if name in left_out else found.get(name, value) for name, value in usual.items()
    }
    most = largest_batch(settings)
    if found.get("batch", 0) > most:
        bad.append(sentence_on("batch", given["batch"]))
    settings["batch"] = min(settings["batch"], most)
    return settings, bad


def largest_batch(settings: Mapping[str, Any], lines: int = 0) -> int:
    """Return the largest batch on offer that is not larger than the number of training samples.

    Args:
        settings: the settings
        lines: number of lines of a table; 0 if not known
    """
    if len(settings["names"]) > 0 and lines == 0:
        return BATCHES[-1]
    count = sample_count(settings, lines)
    return max([each for each in BATCHES if each <= count])


def sample_count(settings: Mapping[str, Any], lines: int) -> int:
    """Return how many samples are trained on; `lines` is the number of lines of a table."""
    own = len(points_in(settings["points"])) + len(colours_in(settings["colours"]))
    if own > 0:
        return own
    if task_of(settings) == "colours":
        return GRID
    return trained_of(settings, lines if lines > 0 else SAMPLES)


def value_in(name: str, words: str) -> Any:
    """Return the value of a setting in a text; None for an invalid one."""
    if name in CHOICES:
        return CHOICES[name].get(words)
    if name in BOUNDS:
        number = float(words) if REAL.fullmatch(words) else -1.0
        return number if BOUNDS[name][0] <= number <= BOUNDS[name][1] else None
    if name == "seed":
        return whole(words, 10**15)
    if name in WORDS:
        return words if WORDS[name].fullmatch(words) else None
    if name == "points":
        return words if points_in(words) else None
    if name == "colours":
        return words if colours_in(words) else None
    parts = words.split(",") if words != "" else []
    if name == "hidden":
        sizes = [whole(each, MOST_NEURONS + 1, 1) for each in parts]
        return sizes if None not in sizes and len(sizes) <= MOST_LAYERS else None
    if name in ("names", "classes"):
        most = MOST_INPUTS + 1 if name == "names" else MOST_CLASSES
        are_names = all(NAME.fullmatch(each) is not None for each in parts)
        return parts if are_names and 2 <= len(parts) <= most else None
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
        number = number_in(words[first : first + 4])
        x, rest = number // (2 * CELLS), number % (2 * CELLS)
        if x >= CELLS:
            return []
        found.append((place_of(x), place_of(rest // 2), 2.0 * (rest % 2) - 1.0))
    return found if len({each[2] for each in found}) == 2 else []


def number_in(letters: str) -> int:
    """Return the number that letters represent."""
    number = 0
    for letter in letters:
        number = 64 * number + LETTERS.index(letter)
    return number


def letters_of(number: int, count: int) -> str:
    """Return a number as `count` letters; `number_in` reads it back."""
    return "".join([LETTERS[number // 64 ** (count - 1 - k) % 64] for k in range(count)])


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
        words += letters_of(2 * (column * CELLS + row) + (1 if kind > 0.0 else 0), 4)
    return words


def colours_in(words: str) -> list[list[float]]:
    """Return the pairs of colours of a packed text, at least two; empty for an invalid text.

    A pair has red, green and blue of the input and of the target, from 0 to 1.
    """
    count = len(words) // 8
    if len(words) != 8 * count or not 2 <= count <= MOST_PAIRS:
        return []
    if not all(c in LETTERS for c in words):
        return []
    numbers = [number_in(words[8 * k : 8 * k + 8]) for k in range(count)]
    return [[each // 256 ** (5 - k) % 256 / 255.0 for k in range(6)] for each in numbers]


def packed_colours(pairs: Sequence[Sequence[float]]) -> str:
    """Return pairs of colours as text; `colours_in` reads it back, rounded to bytes."""
    words = ""
    for pair in pairs:
        number = 0
        for each in pair:
            number = 256 * number + min(255, max(0, round(255.0 * each)))
        words += letters_of(number, 8)
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
    if name in ("names", "classes"):
        return ",".join([escaped(each) for each in value])
    if name in ("features", "hidden", "activation"):
        return ",".join([f"{each}" for each in value])
    return shortest(value) if name in BOUNDS else f"{value}"


def escaped(name: str) -> str:
    """Return a name as a link has it."""
    for letter, code in (("%", "%25"), ("&", "%26"), ("+", "%2B"), ("#", "%23"), (" ", "%20")):
        name = name.replace(letter, code)
    return name


def shortest(value: float) -> str:
    """Return the shortest decimal that is read as the same number."""
    least = 4 if value >= 1.0 else 1  # 1000, and not 1e3
    tried = [f"{value:.{digits}g}".replace("+", "") for digits in range(least, 18)]
    return next(words for words in tried if float(words) == value)


def task_of(settings: Mapping[str, Any]) -> str:
    """Return what a network answers: "sides", one of two, "classes", "numbers" or "colours"."""
    if len(settings["names"]) == 0:
        is_map = settings["shape"] in COLOURS or settings["colours"] != ""
        return "colours" if is_map else "sides"
    if len(settings["classes"]) == 0:
        return "numbers"
    return "classes" if len(settings["classes"]) > 2 else "sides"


def sizes_of(settings: Mapping[str, Any]) -> list[int]:
    """Return the sizes of a network, from its inputs to its outputs."""
    columns, task = len(settings["names"]), task_of(settings)
    inputs = columns - 1 if columns > 0 else len(settings["features"])
    outputs = len(settings["classes"]) if task == "classes" else 1
    ends = [3, 3] if task == "colours" else [inputs, outputs]
    return [ends[0], *settings["hidden"], ends[1]]


def count_of(settings: Mapping[str, Any]) -> int:
    """Return how many weights a network has."""
    sizes, more = sizes_of(settings), 1 if settings["bias"] else 0
    return sum((sizes[k] + more) * sizes[k + 1] for k in range(len(sizes) - 1))


# Tables.


def lines_in(numbers: Sequence[float], settings: Mapping[str, Any]) -> list[list[float]]:
    """Return the lines of a table; empty if they do not fit the names of columns and classes."""
    columns, kinds = len(settings["names"]), len(settings["classes"])
    count = len(numbers) // columns
    lines = [[*numbers[columns * i : columns * (i + 1)]] for i in range(count)]
    last = [line[-1] for line in lines]
    are_kinds = all(each in range(kinds) for each in last)
    is_valid = columns * count == len(numbers) and (kinds == 0 or are_kinds)
    return lines if is_valid and count <= MOST_LINES and len({*last}) > 1 else []


def trained_of(settings: Mapping[str, Any], count: int) -> int:
    """Return how many of `count` lines are trained on."""
    share: float = settings["share"]
    return max(1, round(share * count))


def standardized(lines: Sequence[Sequence[float]], trained: int, columns: int) -> list[list[float]]:
    """Return lines whose first columns have mean 0 and deviation 1 over the first `trained` lines.

    A column that is constant there is 0 in these lines.
    """
    made: list[list[float]] = [[*line] for line in lines]
    for k in range(columns):
        column: list[float] = [line[k] for line in lines[:trained]]
        middle, variance = 0.0, 0.0
        for each in column:
            middle += each / trained
        for each in column:
            variance += (each - middle) * (each - middle) / trained
        is_same = min(column) == max(column)
        for line in made:
            line[k] = line[k] - column[0] if is_same else (line[k] - middle) / math.sqrt(variance)
    return made
