"""Checks and conversions of arguments: arrays, numbers, call signatures, with clear errors."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, ParamSpec, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks.foreign_arrays import floats, is_masked, remedy
from scalarviz.base.visible_text import escaped
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")
FloatArray = npt.NDArray[Any]
Shape = tuple[int, ...]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

MUCH = 100  # characters, or items
MOST = 2**63
NO_NUMBERS = (str, bytes, np.ma.core.MaskedConstant)  # although float() accepts them
BLOCK = 32_768  # numbers that are checked at a time
ENDS = ")]}>'\""  # what a shortened text ends with
SHORTEST = 12  # characters before a cut
LARGE = 10_000  # bits; Python does not convert larger integers to decimal


class Brief(reprlib.Repr):
    """`reprlib.Repr` with limits that suit error messages."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = MUCH
        self.maxlist = self.maxtuple = self.maxset = self.maxdict = MUCH

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() <= LARGE else hex(x)


def as_batch(
    x: object,
    width: int | None,
    who: str,
    *,
    finite: bool = True,
    copy: bool = True,
    picture: Shape = (),
) -> tuple[FloatArray, bool]:
    """Return `x` as a 2-D float64 array, one row a sample, and whether it was a single sample.

    width    numbers of a sample; None: any number
    who      receiver of `x` in the error
    finite   False: accept NaN and infinity, as in gradients, which a step checks by name
    copy     False: return an array of float32 or float64 as it is, if kernels can read it
    picture  shape (channels, height, width) of a sample, if it has one: arrays of pictures become
             rows in C order, without a copy where they can; by default none

    Raises InputError, ShapeError or NotFiniteError.
    """
    array: FloatArray
    if not copy and type(x) is np.ndarray and x.dtype in FLOATS and x.flags.carray:
        array = x
    else:
        array = as_floats(x, who)
    shape = array.shape
    single = len(shape) == 1
    if single:
        array = array[np.newaxis]
    elif array.size and is_picture(shape[1:], picture):
        array = array.reshape(len(array), -1)
    if array.ndim != 2 or array.size == 0 or (width is not None and array.shape[1] != width):
        each = "a sample" if width is None else f"a sample of {width}"
        columns = "numbers" if width is None else width
        pictures = f" or {('batch', *picture)}".replace("'", "") if picture else ""
        raise ShapeError(
            f"{who} takes {each}, or a batch of shape (batch, {columns}){pictures}, "
            f"not an array of shape {shape}{as_rows_remedy(shape, picture)}"
        )
    if finite and not is_finite(array):
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise NotFiniteError(
            f"{who} was given {array[row, column]} at row {row}, column {column}: "
            "remove or replace what is not a finite number"
        )
    return array, single


def is_picture(given: Shape, known: Shape) -> bool:
    """Return whether a sample of the shape `given` is a picture of the shape `known`, if any.

    The channel can be left out of a picture that has only one.
    """
    return len(given) > 1 and known in (given, (1, *given))


def as_rows_remedy(shape: Shape, picture: Shape = ()) -> str:
    """Return what to do with an array of a `shape` that does not fit, or ""."""
    if len(shape) < 3 or 0 in shape:
        return ""
    if shape == picture:
        return ": x[None] is a batch of this one"
    return ": x.reshape(len(x), -1) makes each sample a row"


def is_finite(array: FloatArray) -> bool:
    """Return whether all numbers of a 2-D array are finite.

    A large array is checked some rows at a time: a temporary array of its size would be in new
    pages of memory, which take longer than the check.
    """
    if array.size <= BLOCK:  # bytes tell a microsecond faster than `all` of a small array
        return b"\0" not in np.isfinite(array).tobytes()
    rows = max(1, BLOCK // array.shape[1])
    blocks = (array[first : first + rows] for first in range(0, len(array), rows))
    return all(np.isfinite(block).all() for block in blocks)


def as_floats(x: object, who: str, *, keep: bool = False, copy: bool = True) -> FloatArray:
    """Return real numbers as a float64 array; raise InputError for anything else.

    `keep` and `copy` are as in `floats`.
    """
    try:
        return floats(x, keep=keep, copy=copy)
    except MemoryError:
        raise
    except Exception as error:  # arrays of other packages raise errors of many kinds
        raise InputError(
            f"{who} takes numbers, not {type(x).__name__} {shorten(x)}: {remedy(x)}"
        ) from error


def refuse_mask(x: object, who: str) -> None:
    """Raise InputError if some numbers are masked, since numpy.asarray would drop the mask."""
    if is_masked(x):
        as_floats(x, who)


def answered(
    function: Callable[P, R], remedy: str = "", gone: Mapping[str, str] | None = None
) -> Callable[P, R]:
    """Wrap a function so that wrong arguments raise an error that ends in `remedy`.

    gone  the whole message for each argument that it no longer has
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            check_call(function, args, kwargs, remedy, gone or {})
            raise

    return call


def answers(kind: type[R]) -> type[R]:
    """Class decorator: `answered` for the constructor."""
    kind.__init__ = answered(kind.__init__)  # type: ignore[method-assign]  # the same arguments
    return kind


def check_call(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    remedy: str,
    gone: Mapping[str, str],
) -> None:
    """Raise UnknownNameError or InputError if arguments do not fit a function's signature."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        who = function.__qualname__
        if function.__name__ == "__init__":  # the constructor may be inherited
            who = type(args[0]).__name__
        known = signature.parameters.values()
        names = [p.name for p in known if p.name != "self" and p.kind != p.VAR_KEYWORD]
        for key in kwargs:
            if key in gone:
                raise InputError(gone[key]) from None
            if key not in names and not any(p.kind == p.VAR_KEYWORD for p in known):
                raise UnknownNameError(f"argument of {who}", key, names) from None
        more = f"; {remedy}" if remedy else ""
        raise InputError(f"{who} takes {', '.join(names)}: {error}{more}") from None


def check_signature(
    function: Callable[..., object], arguments: Sequence[str], what: str, example: str
) -> None:
    """Raise InputError if a function of the user cannot be called with these arguments.

    `what` names the function in the error, `example` shows a correct one. Functions without a
    signature, such as numpy's, are accepted.
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
    """Return names separated by commas; of more than four, the first two and the last."""
    few = names if len(names) <= 4 else [names[0], names[1], "...", names[-1]]
    return ", ".join(few)


def not_copied(what: str, instead: str) -> Callable[[object, SupportsIndex], NoReturn]:
    """Return a `__reduce_ex__` that raises InputError, for objects that cannot be copied."""

    def refuse(self: object, protocol: SupportsIndex) -> NoReturn:
        raise InputError(f"copy and pickle cannot take {what}: {instead}")

    return refuse


def as_sample(x: object, width: int | None, who: str) -> list[float]:
    """Return `x` as the `width` floats of one sample; raise ShapeError for a batch."""
    batch, single = as_batch(x, width, who)
    if not single:
        raise ShapeError(f"{who} takes one sample at a time, not an array of shape {batch.shape}")
    sample: list[float] = batch[0].tolist()
    return sample


def shorten(x: object) -> str:
    """Return `repr(x)` in at most 40 characters; of large or deep objects only a part is read."""
    return cut(escaped(" ".join(Brief().repr(x).split())))


def cut(text: str, most: int = 40) -> str:
    """Return a text in at most 40 characters: its beginning, up to a comma or a space.

    A bracket or quotation mark at the end is kept. One long word, such as a path, loses its middle.
    """
    if len(text) <= most:
        return text
    end = text[-1] if text[-1] in ENDS else ""
    head = text[: most - len(end) - 3]
    for place in (max(head.rfind(", "), head.rfind("; ")) + 2, head.rfind(" ") + 1):
        if place > SHORTEST:
            return f"{head[:place]}...{end}"
    half = (most - 3) // 2
    return f"{text[: most - 3 - half]}...{text[-half:]}"


def size(value: object, what: str, least: int = 1) -> int:
    """Return an integer from `least` to 2**63 - 1; raise InputError for anything else."""
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
    """Return a number from `low` to `high`, or raise InputError.

    `open_low` and `open_high` exclude the bounds. Unless `finite`, any number is accepted, NaN and
    infinity too.
    """
    try:
        # Strings are no numbers, although float() reads them; float() may fail here.
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
    """Return True or False; raise InputError for anything else."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{what} must be True or False, not {shorten(value)}")


def as_array(rows: list[list[float]], dtype: str) -> FloatArray:
    """Return rows of floats as an array; what is too large for float32 becomes inf."""
    with np.errstate(over="ignore"):
        return np.array(rows, dtype)
