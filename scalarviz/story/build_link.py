"""Settings of a playground in a link: #v=1&shape=spiral&hidden=6,4&lr=0.1.

Used by `scalarviz open` (faces/links.py) and by pages (pages/web/packed_link.js). A setting with
its default is left out. The other parts of a link are a moment, see moments.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
DEFAULTS: dict[str, Any] = {
    "shape": "circle",
    "noise": 0.0,
    "share": 0.5,
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
    "w": "",  # packed weights, if they are not those of the seed
}
REAL = re.compile(r"(\d{1,20}(\.\d{0,20})?|\.\d{1,20})(e-?\d{1,3})?", re.ASCII)
PACKED = re.compile(r"[A-Za-z0-9_-]{1,6000}", re.ASCII)
SAID = re.compile(r"^[ -~]{0,24}", re.ASCII)  # part of an unknown value in a sentence


def real(words: str, low: float, high: float) -> float | None:
    """Return the number in a text if it is between two bounds, else None."""
    found = float(words) if REAL.fullmatch(words) else -1.0
    return found if low <= found <= high else None


def name_in(words: str, names: Sequence[str]) -> str | None:
    return words if words in names else None


def names_in(words: str, names: Sequence[str]) -> list[str] | None:
    found = words.split(",")
    return found if all(name in names for name in found) else None


def features_in(words: str) -> list[str] | None:
    """Return the names of inputs in their usual order, each once."""
    found = names_in(words, FEATURES)
    return None if found is None else [name for name in FEATURES if name in found]


def hidden_in(words: str) -> list[int] | None:
    found = [whole(each, MOST_NEURONS + 1, 1) for each in words.split(",")] if words != "" else []
    sizes = [size for size in found if size is not None]
    return sizes if len(sizes) == len(found) <= MOST_LAYERS else None


def batch_in(words: str) -> int | None:
    found = whole(words, 100)
    return found if found in BATCHES else None


# The parser of each setting; None for an invalid text.
READERS: dict[str, Callable[[str], Any]] = {
    "v": lambda words: name_in(words, (VERSION,)),
    "shape": lambda words: name_in(words, SHAPES),
    "noise": lambda words: real(words, 0.0, 0.5),
    "share": lambda words: real(words, 0.1, 0.9),
    "seed": lambda words: whole(words, 10**15),
    "features": features_in,
    "hidden": hidden_in,
    "activation": lambda words: names_in(words, ACTIVATIONS),
    "init": lambda words: name_in(words, INITIALIZERS),
    "bias": lambda words: {"yes": True, "no": False}.get(words),
    "opt": lambda words: words if words in RATES else None,
    "lr": lambda words: real(words, 0.0, 1000.0),
    "batch": batch_in,
    "l1": lambda words: real(words, 0.0, 1.0),
    "l2": lambda words: real(words, 0.0, 1.0),
    "w": lambda words: words if PACKED.fullmatch(words) else None,
}


def is_setting(name: str) -> bool:
    """Return whether a part of a link belongs to this grammar, and not to a moment."""
    return name in READERS


def read_build(parts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings in a link, and a sentence for each part that is invalid.

    Args:
        parts: names and values; of equal names the last one holds, others than settings are skipped
    """
    given = {name: words.strip(" ") for name, words in parts if is_setting(name)}
    found: dict[str, Any] = {}
    bad: list[str] = []
    for name, words in given.items():
        read = READERS[name](words)
        if read is not None:
            found[name] = read
        else:
            bad.append(sentence_on(name, words))
    names = found.get("activation", DEFAULTS["activation"])
    depth = len(found.get("hidden", DEFAULTS["hidden"]))
    if len(names) != 1 and len(names) != depth:
        bad.append(sentence_on("activation", given["activation"]))
        names = DEFAULTS["activation"]
    found["activation"] = [names[0] for _ in range(depth)] if len(names) == 1 else names
    usual = {**DEFAULTS, "lr": RATES[found.get("opt", DEFAULTS["opt"])]}
    return {name: found.get(name, value) for name, value in usual.items()}, bad


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
    return shortest(value) if name in ("noise", "share", "lr", "l1", "l2") else f"{value}"


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
