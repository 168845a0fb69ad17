"""What comes in from a user is checked here, once, with messages that say what to do."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, ParamSpec, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from scalarviz.checks.foreign_arrays import floats, is_masked, remedy
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError
from scalarviz.errors.visible_text import escaped

P = ParamSpec("P")
R = TypeVar("R")
FloatArray = npt.NDArray[Any]

MUCH = 100  # letters, or items
MOST = 2**63
NO_NUMBERS = (str, bytes, np.ma.core.MaskedConstant)  # although float() takes them
LARGE = 10_000  # bits; Python refuses to write larger numbers in decimals


class Brief(reprlib.Repr):
    """`repr`, which looks at a part only of what is large or deep."""

    maxstring = maxother = maxlong = maxlist = maxtuple = maxset = maxdict = MUCH

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= LARGE else hex(x)


def as_batch(
    x: object, width: int | None, who: str, *, finite: bool = True
) -> tuple[FloatArray, bool]:
    """`x` as a 2-D float64 array, one row a sample, and whether it was a single sample.

    `width` is how many numbers a sample must have (None: any), `who` says for whom. Data must be
    `finite`; gradients need not be, a step looks at them by name.
    """
    array = as_floats(x, who)
    shape = array.shape
    single = array.ndim == 1
    if single:
        array = array[np.newaxis]
    if array.ndim != 2 or array.size == 0 or (width is not None and array.shape[1] != width):
        each = "a sample" if width is None else f"a sample of {width}"
        columns = "numbers" if width is None else width
        raise ShapeError(
            f"{who} takes {each}, or a batch of shape (batch, {columns}), "
            f"not an array of shape {shape}"
        )
    if finite and not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise NotFiniteError(
            f"{who} was given {array[row, column]} at row {row}, column {column}: "
            "remove or replace what is not a finite number"
        )
    return array, single


def as_floats(x: object, who: str) -> FloatArray:
    """Real numbers as a float64 array; what only looks like numbers is refused."""
    try:
        return floats(x)
    except MemoryError:
        raise
    except Exception as error:  # whatever it is that the arrays of other packages raise
        raise InputError(
            f"{who} takes numbers, not {type(x).__name__} {shorten(x)}: {remedy(x)}"
        ) from error


def refuse_mask(x: object, who: str) -> None:
    """Raise InputError if some numbers are masked: numpy.asarray would ignore that."""
    if is_masked(x):
        as_floats(x, who)


def as_pairs(
    inputs: object, targets: object, widths: tuple[int, int], who: str
) -> tuple[FloatArray, FloatArray]:
    """Inputs and targets as 2-D arrays with as many rows; `widths` are the columns of each."""
    batch, _ = as_batch(inputs, widths[0], who)
    return batch, as_targets(targets, len(batch), widths[1], f"the target of {who}", "inputs")


def as_targets(
    targets: object, samples: int, width: int, who: str, of_what: str = "predictions"
) -> FloatArray:
    """Targets of so many samples, one row of `width` numbers for each."""
    try:
        wanted, _ = as_batch(targets, width, who)
    except ShapeError as error:
        raise ShapeError(f"{error}{as_labels(targets, samples, width)}") from None
    if len(wanted) != samples:
        raise ShapeError(
            f"the {of_what} have {samples} rows and the targets {len(wanted)}: pass one target "
            f"for each{as_labels(targets, samples, width)}"
        )
    return wanted


def as_labels(targets: object, samples: int, width: int) -> str:
    """What to do with targets of one number a sample, which may be class labels."""
    array = np.asarray(targets)
    numbers = array.astype(np.float64).ravel()
    if array.size != samples or array.shape[1:] not in ((), (1,)):
        return ""
    if width == 1:
        return ": write np.reshape(targets, (-1, 1))"
    if (numbers < 0.0).any() or (numbers % 1.0).any():
        return ""
    if numbers.max() >= width:
        return f": class labels up to {numbers.max():g} take as many outputs and one more"
    plain = array.ndim < 2 and array.dtype.kind in "iu"
    code = "labels" if plain else "np.ravel(labels).astype(int)"
    return f": class labels become rows of {width} numbers by np.eye({width})[{code}]"


def answered(function: Callable[P, R], remedy: str = "") -> Callable[P, R]:
    """A function that answers a call with wrong arguments by a sentence, which ends in a remedy."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            check_call(function, args, kwargs, remedy)
            raise

    return call


def answers(kind: type[R]) -> type[R]:
    """A class that answers wrong arguments by a sentence: `answered`, as a decorator of classes."""
    kind.__init__ = answered(kind.__init__)  # type: ignore[method-assign]  # the same arguments
    return kind


def check_call(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    remedy: str,
) -> None:
    """Refuse arguments that do not go with a function."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        who = function.__qualname__
        if function.__name__ == "__init__":  # the class that was called may have inherited it
            who = type(args[0]).__name__
        known = signature.parameters.values()
        names = [p.name for p in known if p.name != "self" and p.kind != p.VAR_KEYWORD]
        for key in kwargs:
            if key not in names and not any(p.kind == p.VAR_KEYWORD for p in known):
                raise UnknownNameError(f"argument of {who}", key, names) from None
        more = f"; {remedy}" if remedy else ""
        raise InputError(f"{who} takes {', '.join(names)}: {error}{more}") from None


def check_signature(
    function: Callable[..., object], arguments: Sequence[str], what: str, example: str
) -> None:
    """Refuse a function of the user's that cannot be called with so many arguments.

    `what` says which function it is, and `example` how one looks. Of some, such as numpy's, nothing
    is known before they are called.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "lambda")
        raise InputError(
            f"{what} is called with {listed(arguments)}, and {name}{signature} cannot be: write "
            f"{example}"
        ) from None


def listed(names: Sequence[str]) -> str:
    """Names side by side; of many, the first and the last."""
    few = names if len(names) <= 4 else [names[0], names[1], "...", names[-1]]
    return ", ".join(few)


def not_copied(what: str, instead: str) -> Callable[[object, SupportsIndex], NoReturn]:
    """The `__reduce_ex__` of what copy and pickle cannot take; the error says what to do."""

    def refuse(self: object, protocol: SupportsIndex) -> NoReturn:
        raise InputError(f"copy and pickle cannot take {what}: {instead}")

    return refuse


def as_sample(x: object, width: int | None, who: str) -> list[float]:
    """`x` as the `width` floats of one sample."""
    batch, single = as_batch(x, width, who)
    if not single:
        raise ShapeError(f"{who} takes one sample at a time, not an array of shape {batch.shape}")
    sample: list[float] = batch[0].tolist()
    return sample


def shorten(x: object) -> str:
    """`repr(x)`, cut where it would fill the screen; of what is large or deep, a part."""
    text = escaped(" ".join(Brief().repr(x).split()))
    return text if len(text) <= 40 else text[:37] + "..."


def size(value: object, what: str, least: int = 1) -> int:
    """A count that must be an integer of at least 1, and one that kernels can count to."""
    asked = f"of at least {least}"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        if value < MOST:
            return int(value)
        asked = "below 2**63"
    raise InputError(f"{what} must be an integer {asked}, not {shorten(value)}")


def number(
    value: object,
    what: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    finite: bool = True,
) -> float:
    """A finite number from `low` to `high`; not these themselves if `open_low`, `open_high`.

    If not `finite`, any number, NaN and infinity too.
    """
    try:
        # A text that float() would read is no number; that float() may fail is the point here.
        result = None if isinstance(value, NO_NUMBERS) else float(value)  # type: ignore[arg-type]  # it may fail
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is not None:
        inside = low <= result <= high
        inside &= not (open_low and result == low) and not (open_high and result == high)
        if not finite or (math.isfinite(result) and inside):
            return result
    asked = "a finite number" if finite else "a number"
    if low > -math.inf:
        asked += f" above {low:g}" if open_low else f" of at least {low:g}"
    if high < math.inf:
        asked += f", less than {high:g}" if open_high else f", at most {high:g}"
    raise InputError(f"{what} must be {asked}, not {shorten(value)}")


def true_or_false(value: object, what: str) -> bool:
    """True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{what} must be True or False, not {shorten(value)}")


def as_array(rows: list[list[float]], dtype: str) -> FloatArray:
    """Rows of Python floats as an array; what is too large for float32 becomes inf, silently."""
    with np.errstate(over="ignore"):
        return np.array(rows, dtype)
