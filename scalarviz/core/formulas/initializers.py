"""Initializers: distributions of weights, given fan_in and fan_out of a layer.

fan_in is the number of inputs of each output, fan_out the number of outputs that use each input. A
law is a distribution with two parameters: (low, high) if uniform, (mean, deviation) if normal. A
row of `INITIALIZERS` has the laws of weights and of biases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import answered, as_floats, check_signature, number, require
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.formula import Target, given, pick, table
from scalarviz.core.formulas.randomness import (
    MASK,
    STREAM_INITIAL,
    normal,
    philox,
    uniform,
    unit,
    unit_pairs,
)

# Rows drawn at once. Larger arrays exceed a core's cache, and their memory is allocated again at
# every operation, which takes two or three times as long.
PORTION = 2**13

FAN_IN, FAN_OUT, BOTH = (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Law:
    """A distribution whose two parameters depend on the fans of a layer, or are settings.

    Attributes:
        kind: "uniform", "normal", or "function" for a custom function that returns the numbers
        gain: the deviation of a normal law, or the bound of a uniform law, is the square root of
            gain / (fan[0] * fan_in + fan[1] * fan_out); None: the settings are the parameters
        fan: factors of fan_in and fan_out
        function: the custom function, see `Init`
    """

    name: str
    kind: Literal["uniform", "normal", "function"]
    gain: float | None = None
    fan: tuple[float, float] = FAN_IN
    function: Callable[..., Any] | None = None

    def spread(self, fan_in: float, fan_out: float, *settings: float) -> tuple[float, ...]:
        """Return the two parameters of the distribution."""
        if self.gain is None:
            return settings
        size = sqrt(self.gain / (self.fan[0] * fan_in + self.fan[1] * fan_out))
        return (0.0, size) if self.kind == "normal" else (0.0 - size, size)


ZEROS = Law("zeros", "uniform", 0.0)
UNIFORM = Law("uniform", "uniform")
PYTORCH_BIAS = Law("fan_in", "uniform", 1.0)


@dataclass(frozen=True, slots=True)
class InitializerRow:
    """The laws of the weights and of the biases, and default settings."""

    weight: Law
    bias: Law = ZEROS
    settings: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        return self.weight.name


INITIALIZERS = table(
    [
        InitializerRow(Law("pytorch", "uniform", 1.0), PYTORCH_BIAS),
        InitializerRow(UNIFORM, UNIFORM, (("low", -1.0), ("high", 1.0))),
        InitializerRow(Law("normal", "normal"), ZEROS, (("mean", 0.0), ("deviation", 1.0))),
        InitializerRow(Law("xavier_uniform", "uniform", 6.0, BOTH)),
        InitializerRow(Law("xavier_normal", "normal", 2.0, BOTH)),
        InitializerRow(Law("he_uniform", "uniform", 6.0)),
        InitializerRow(Law("he_normal", "normal", 2.0)),
        InitializerRow(Law("lecun_uniform", "uniform", 3.0)),
        InitializerRow(Law("lecun_normal", "normal", 1.0)),
        InitializerRow(ZEROS),
    ]
)

BIASES = table(
    [
        ZEROS,
        PYTORCH_BIAS,  # U(+-1/sqrt(in))
        Law("fan_out", "uniform", 6.0, FAN_OUT),  # U(+-sqrt(6/out))
    ]
)


# The formulas of the draws, on arrays.
ARRAYS = Target({"cos": np.cos, "log": np.log, "sqrt": np.sqrt})
UNIFORM_ARRAY = ARRAYS.retarget(uniform)
NORMAL_ARRAY = ARRAYS.retarget(normal)


class Init:
    """Initial weights of a network: `Init("uniform", low=0, high=1)`, or just a name.

    Args:
        name: row of `INITIALIZERS`, which has the laws of weights and biases: "pytorch" (default),
            "uniform", "normal", "he_uniform", "he_normal", "xavier_uniform", ...; or a function
            f(rng, shape) that returns the numbers, given a numpy Generator and the shape of a
            weight array, as in `net.state_dict()`; biases then start at 0
        bias: another law for the biases: "zeros", "fan_in" (+-1/sqrt(in)) or "fan_out"
            (+-sqrt(6/out)); None (default) means the law of the row
        low, high: bounds of "uniform"; by default -1.0 and 1.0
        mean: mean of "normal"; by default 0.0
        deviation: standard deviation of "normal"; by default 1.0

    Raises:
        UnknownNameError: if the name is unknown, or the law has no such setting.
        InputError: if a number is invalid.
    """

    @answered
    def __init__(
        self,
        name: str | Callable[..., Any] = "pytorch",
        *,
        bias: str | None = None,
        low: float | None = None,
        high: float | None = None,
        mean: float | None = None,
        deviation: float | None = None,
    ) -> None:
        if callable(name):
            check_signature(name, ["rng", "shape"], "an initializer", "def init(rng, shape): ...")
            called = getattr(name, "__name__", "function")
            row = InitializerRow(Law(called, "function", function=name))
        else:
            row = pick(INITIALIZERS, name, "initializer")
        known = dict(row.settings)
        settings = given(low=low, high=high, mean=mean, deviation=deviation)
        for setting in settings:
            pick(known, setting, f"setting of the initializer {name!r}:")
        self.row = row
        self.settings = known | {
            key: number(value, f"{key} of the initializer {name!r}")
            for key, value in settings.items()
        }
        self.weight = row.weight
        self.bias = row.bias if bias is None else pick(BIASES, bias, "bias initializer")
        self._check()

    def _check(self) -> None:
        require(
            not (self.settings.get("low", 0.0) > self.settings.get("high", 0.0)),
            f"low must not be above high in {self!r}",
        )
        require(
            not (self.settings.get("deviation", 0.0) < 0.0),
            f"the deviation must not be negative in {self!r}",
        )

    @staticmethod
    def of(init: str | Init | Callable[..., Any]) -> Init:
        """Return `init` if it is an Init, otherwise the Init with that name."""
        return init if isinstance(init, Init) else Init(init)

    def draw(
        self, law: Law, shape: tuple[int, int], seed: int, first: int, count: int
    ) -> npt.NDArray[np.float64]:
        """Return initial numbers for `count` bank rows of a layer, from row `first` on.

        The number of a row depends only on the seed and the row, so adding a layer to a network
        does not change its other initial numbers.

        Args:
            law: distribution of the numbers
            shape: (fan_in, fan_out) of the layer
            seed: seed of the network
            first: first row
            count: number of rows

        Returns a float64 array of shape (count,).
        """
        a, b = law.spread(float(shape[0]), float(shape[1]), *self.settings.values())
        u, v = initial_pairs(seed, first, count)
        array: npt.NDArray[np.float64]
        array = UNIFORM_ARRAY(u, a, b) if law.kind == "uniform" else NORMAL_ARRAY(u, v, a, b)
        return array

    def fill(
        self,
        rows: npt.NDArray[Any],
        law: Law,
        shape: tuple[int, int],
        seed: int,
        first: int,
        sides: tuple[int, ...] = (),
    ) -> None:
        """Write initial numbers into `rows`, the part of the bank for an array of shape `sides`.

        `law`, `shape`, `seed` and `first` are as in `draw`.
        """
        if law.function is not None:
            found = as_floats(
                law.function(np.random.default_rng([seed, first]), sides),
                f"what the initializer {law.name} returned",
            )
            require(
                found.shape == sides and np.isfinite(found).all(),
                f"the initializer {law.name} returned an array of shape {found.shape} for the "
                f"shape {sides}, or numbers that are not finite: return one for each weight",
            )
            rows[:] = found.ravel()
            return
        for start in range(0, len(rows), PORTION):
            part = rows[start : start + PORTION]
            part[:] = self.draw(law, shape, seed, first + start, len(part))

    def __repr__(self) -> str:
        parts = [repr(self.row.name)]
        parts += [f"{key}={value:g}" for key, value in self.settings.items()]
        parts += [f"bias={self.bias.name!r}"] * (self.bias is not self.row.bias)
        return f"Init({', '.join(parts)})"


# The random numbers behind initial numbers, drawn together for many small networks.

Pairs = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]

FIRST_ROWS = 128  # drawn at once: numpy needs 0.1 ms for any number of draws
MOST_ROWS = 2**18  # cached

_kept: dict[int, Pairs] = {}  # the pairs of the first rows, by seed


def initial_pairs(seed: int, first: int, count: int) -> Pairs:
    """Return the random pairs (see `unit_pairs`) for `count` bank rows from `first` on."""
    end = first + count
    if end <= FIRST_ROWS:
        draw_together([seed], end)
    pairs = _kept.get(seed)  # another thread may have dropped them
    if pairs is None or end > len(pairs[0]):
        return unit_pairs(seed, STREAM_INITIAL, 0, first, count)
    return pairs[0][first:end], pairs[1][first:end]


def draw_together(seeds: Iterable[int], rows: int) -> None:
    """Draw and cache the random pairs of the first `rows` bank rows for several seeds."""
    missing = [seed for seed in seeds if seed not in _kept or len(_kept[seed][0]) < rows]
    if not missing:
        return
    halves = np.array([(seed & MASK, seed >> 32) for seed in missing], np.int64)
    rows = max(rows, FIRST_ROWS)
    index = np.arange(rows, dtype=np.int64)
    words = philox(index & MASK, index >> 32, 0, STREAM_INITIAL, halves[:, :1], halves[:, 1:])
    if (len(_kept) + len(missing)) * rows > MOST_ROWS:
        _kept.clear()
    _kept.update(zip(missing, zip(unit(words[0]), unit(words[1]), strict=True), strict=True))
