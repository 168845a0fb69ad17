"""Checks and conversions of arguments, with clear errors: arrays, targets, numbers, signatures."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import wraps
from itertools import islice
from types import MappingProxyType
from typing import Any, NoReturn, ParamSpec, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from scalarviz.base.messages import escaped, visible
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")
FloatArray = npt.NDArray[Any]
Shape = tuple[int, ...]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

MUCH = 100  # characters, or items
MOST = 2**63
NO_NUMBERS = (str, bytes, np.ma.core.MaskedConstant)  # although accepted by float()
BLOCK = 32_768  # numbers checked at a time
ENDS = ")]}>'\""  # end of a shortened text
SHORTEST = 12  # characters before a cut
LARGE = 10_000  # bits; Python does not convert larger integers to decimal


class Brief(reprlib.Repr):
    """`reprlib.Repr` with limits for error messages."""

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
    """Return `x` as a 2-D float64 array, one row per sample, and whether it was a single sample.

    Args:
        width: count of numbers per sample; None means any count
        who: name of the object that receives `x`, for the error
        finite: whether to reject NaN and infinity; gradients may contain them until the step
        copy: if False, a float32 or float64 array that kernels can read is returned unchanged
        picture: shape (channels, height, width) of samples that are pictures, which become rows in
            C order, if possible without a copy; () (default) means rows only

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
    elif picture and array.size and is_picture(shape[1:], picture):
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
            f"{who} was given {array[row, column]} at row {row}, column {column}: remove or "
            "replace non-finite numbers"
        )
    return array, single


def is_picture(given: Shape, known: Shape) -> bool:
    """Return whether a sample of shape `given` is a picture of shape `known`; False for ().

    A single channel can be omitted, as can the height 1 of a sequence.
    """
    return len(given) > 1 and known in (given, (1, *given), (given[0], 1, *given[1:]))


def has_channels_last(given: Shape, known: Shape) -> bool:
    """Return whether a picture has a known shape, except that its channels come last."""
    return len(given) > 1 and (*given[-1:], *given[:-1]) == known


def as_rows_remedy(shape: Shape, picture: Shape = ()) -> str:
    """Return a hint on reshaping an array whose `shape` does not fit, or ""."""
    if len(shape) < 3 or 0 in shape:
        return ""
    if shape == picture:
        return ": x[None] is a batch of this one"
    if has_channels_last(shape[1:], picture):
        return ": np.moveaxis(x, -1, 1) puts the channels first"
    return ": x.reshape(len(x), -1) makes each sample a row"


def is_finite(array: FloatArray) -> bool:
    """Return whether all numbers of a 2-D array are finite.

    A large array is checked in blocks of rows, since allocating a temporary array of the same size
    takes longer than the check.
    """
    if array.size <= BLOCK:  # comparing bytes is a microsecond faster than `all` for a small array
        return 0 not in np.isfinite(array).tobytes()
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


def require(condition: object, why: str, error: Callable[[str], Exception] = InputError) -> None:
    """Raise an error with the reason `why` unless `condition` is true."""
    if not condition:
        raise error(why)


def refuse_mask(x: object, who: str) -> None:
    """Raise InputError if some numbers are masked, since numpy.asarray would drop the mask."""
    if is_masked(x):
        as_floats(x, who)


def answered(function: Callable[P, R], remedy: str = "") -> Callable[P, R]:
    """Wrap a function so that wrong arguments raise an InputError that ends in `remedy`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            check_call(function, args, kwargs, remedy)
            raise

    return call


def answers(kind: type[R]) -> type[R]:
    """Class decorator that applies `answered` to the constructor."""
    kind.__init__ = answered(kind.__init__)  # type: ignore[method-assign]  # the same arguments
    return kind


def check_call(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    remedy: str = "",
    gone: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise UnknownNameError or InputError if arguments do not fit a function's signature.

    `gone` has the complete message for each argument that no longer exists.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        is_made = function.__name__ == "__init__"  # for a constructor, which may be inherited
        who = type(args[0]).__name__ if is_made else function.__qualname__
        known = signature.parameters.values()
        names = [p.name for p in known if p.name != "self" and p.kind != p.VAR_KEYWORD]
        for key in kwargs:
            if key in gone:
                raise InputError(gone[key]) from None
            if key not in names and not any(p.kind == p.VAR_KEYWORD for p in known):
                raise UnknownNameError(f"argument of {who}", key, names) from None
        by_name = [f"{p.name}=" for p in known if p.kind == p.KEYWORD_ONLY]
        surplus = len(args) - sum(p.kind <= p.POSITIONAL_OR_KEYWORD for p in known)
        if surplus > 0 and by_name and not remedy:
            remedy = f"write {' and '.join(by_name[:surplus])}"
        more = f"; {remedy}" if remedy else ""
        raise InputError(f"{who} takes {', '.join(names)}: {error}{more}") from None


def check_signature(
    function: Callable[..., object], arguments: Sequence[str], what: str, example: str
) -> None:
    """Raise InputError if a custom function cannot be called with these arguments.

    `what` names the function in the error, and `example` shows a correct one. Functions without a
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
            f"{what} is called with {listed(arguments)}, but its "
            f"signature is {name}{signature}: write {example}"
        ) from None


def listed(names: Sequence[str]) -> str:
    """Return names separated by commas; for more than four, the first two and the last."""
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
    """Return `repr(x)` in at most 40 characters; large or deep objects are read only in part."""
    return cut(escaped(" ".join(Brief().repr(x).split())))


def cut(text: str, most: int = 40) -> str:
    """Return a text in at most `most` characters, cut after a comma or a space.

    A closing bracket or quotation mark is kept. A single long word, such as a path, is cut in the
    middle.
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

    `open_low` and `open_high` exclude the bounds. If `finite` is False, any number is accepted,
    including NaN and infinity.
    """
    try:
        # Strings are not numbers, although float() accepts them; float() may fail here.
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


def one_or_all(rows: FloatArray, single: bool) -> FloatArray:
    """Return the first row for a single sample, otherwise all rows."""
    return rows[0] if single else rows


def as_array(rows: list[list[float]], dtype: str) -> FloatArray:
    """Return rows of floats as an array; numbers too large for float32 become inf."""
    with np.errstate(over="ignore"):
        return np.array(rows, dtype)


# Targets: one row, one number or one class label per sample.


def as_pairs(
    inputs: object,
    targets: object,
    widths: tuple[int, int],
    who: str,
    *,
    copy: bool = True,
    classes: int = 0,
    picture: Shape = (),
) -> tuple[FloatArray, FloatArray]:
    """Return inputs and targets as 2-D arrays of equal length; `widths` are the numbers of columns.

    `copy` and `picture` are as in `as_batch`, `classes` as in `as_targets`.
    """
    batch, _ = as_batch(inputs, widths[0], who, copy=copy, picture=picture)
    who = f"the target of {who}"
    samples, width = len(batch), widths[1]
    return batch, as_targets(targets, samples, width, who, "inputs", copy=copy, classes=classes)


def as_targets(
    targets: object,
    samples: int,
    width: int,
    who: str,
    of_what: str = "predictions",
    *,
    copy: bool = True,
    classes: int = 0,
) -> FloatArray:
    """Return targets, given as pictures, rows or labels, as an array of shape (samples, width).

    One number per sample is a target if `width` is 1. For a larger width it is a class label if the
    loss accepts labels of `classes` classes (see `Loss.classes`). 0 (default) means no labels.

    Raises:
        ShapeError: if the shape does not fit.
        InputError: if a label is invalid.
    """
    if getattr(targets, "ndim", 0) > 2:  # pictures
        rows = as_floats(targets, who)
        targets = rows.reshape(-1, width) if rows.size == samples * width else targets
    try:
        wanted, _ = as_batch(targets, width, who, copy=copy)
    except ShapeError as error:
        why = str(error)
    else:
        if len(wanted) == samples:
            return wanted
        why = (
            f"the {of_what} have {samples} rows and the targets {len(wanted)}: pass one target "
            "for each"
        )
    one_each = as_one_each(targets, samples, width, who, classes)
    if one_each is None:
        raise ShapeError(f"{why}{labels_as_rows(targets, samples, width)}")
    return one_each


def widened(rows: FloatArray, width: int) -> FloatArray:
    """Return rows of `width` numbers, padded with zeros."""
    missing = width - rows.shape[1]
    return rows if not missing else np.pad(rows, ((0, 0), (0, missing)))


def as_one_each(
    targets: object, samples: int, width: int, who: str, classes: int
) -> FloatArray | None:
    """Return targets or labels, one per sample, as rows; None if `targets` are neither."""
    numbers = as_floats(targets, who)
    if not is_one_each(numbers, samples) or (width > 1 and not classes):
        return None
    as_batch(numbers.reshape(-1, 1), 1, who)  # raises NotFiniteError
    if width == 1:
        check_binary(numbers, classes)
        return numbers.reshape(-1, 1)
    return one_hot(numbers, classes)


def as_weights(given: object, count: int, least: int = 1) -> FloatArray:
    """Check and return sample weights, of which at least `least` must be positive.

    Weights are 0 or from 1e-30 to 1e30, so that weighted sums are finite and positive in float32.
    """
    found = as_floats(given, "sample_weight")
    wrong = np.flatnonzero((found != 0.0) & ~((found >= 1e-30) & (found <= 1e30)))
    if found.shape != (count,) or wrong.size or np.count_nonzero(found) < least:
        here = (
            f"its shape is {found.shape}, not {(count,)}"
            if found.shape != (count,)
            else f"row {wrong[0]} has {found[wrong[0]]:g}"
            if wrong.size
            else "all are 0"
        )
        raise InputError(
            f"sample_weight is 0, or a number from 1e-30 to 1e30, for each of the {count} samples"
            f"{', not zero for all' * bool(least)}: here {here}"
        )
    return found


def is_one_each(numbers: FloatArray, samples: int) -> bool:
    """Return whether an array has one number per sample."""
    return numbers.size == samples and numbers.shape[1:] in ((), (1,))


def one_hot(labels: FloatArray, classes: int, trained: float = math.inf) -> FloatArray:
    """Return a one-hot row of `classes` numbers for each label.

    `trained` is as in `check_labels`. Raises InputError unless all labels are whole numbers from 0
    to `classes` - 1.
    """
    check_labels(labels, classes, trained)
    rows = np.zeros((labels.size, classes))
    rows[np.arange(labels.size), labels.ravel().astype(np.int64)] = 1.0
    return rows


def check_labels(labels: FloatArray, classes: int, trained: float = math.inf) -> None:
    """Raise InputError unless all labels are whole numbers from 0 to `classes` - 1.

    Args:
        trained: number of labels that belong to training samples; the rest are held out
    """
    given = labels.ravel()
    wrong = np.flatnonzero((given < 0.0) | (given >= classes) | (given % 1.0 != 0.0))
    if not wrong.size:
        return
    row, remedy = wrong[0], ""
    place = f"{row:,}" if row < trained else f"{row - trained:,} of the held-out samples"
    if given.min() >= 0.0 and not (given % 1.0).any():
        remedy = f": a network with {int(given.max()) + 1:,} outputs has one for each label"
        if given.min() == 1.0 and given.max() == classes:
            remedy = ": labels that begin with 1 become these by labels - 1"
    raise InputError(
        f"class labels for this network and loss must be whole numbers from 0 to {classes - 1:,}, "
        f"not {given[row]:g} at row {place}{remedy}"
    )


def check_binary(labels: FloatArray, classes: int) -> None:
    """Check targets of one output as labels if all are whole; accept others, such as 0.3.

    `classes` is as in `as_targets`: 0 accepts everything.
    """
    if classes and not (labels % 1.0).any():
        check_labels(labels, classes)


def labels_as_rows(targets: object, samples: int, width: int) -> str:
    """Return a hint on passing class labels that the loss does not accept, or ""."""
    array = np.asarray(targets)
    numbers = array.astype(np.float64).ravel()
    are_labels = np.isfinite(numbers).all() and not ((numbers < 0.0) | (numbers % 1.0 != 0.0)).any()
    if width == 1 or not is_one_each(array, samples) or not are_labels:
        return ""
    if numbers.max() >= width:
        return f": class labels up to {numbers.max():g} need one output more"
    plain = array.ndim < 2 and array.dtype.kind in "iu"
    code = "labels" if plain else "np.ravel(labels).astype(int)"
    return f": class labels become rows of {width} numbers by np.eye({width})[{code}]"


# Names of parameters, selected by name, prefix, or pattern.

SEPARATORS = "./_:"  # may follow the given prefix of a name


def matching(names: Sequence[str], patterns: object, what: str) -> set[str]:
    """Return the names that match any pattern; raise an error for a pattern without matches."""
    if isinstance(patterns, str) or not isinstance(patterns, Sequence):
        raise InputError(
            f"{what} is a list of names, not {shorten(patterns)}: pass a list such as "
            f"{[*names[:1]]}"
        )
    found: set[str] = set()
    for pattern in patterns:
        meant = {name for name in names if means(pattern, name)}
        if not meant:
            raise UnknownNameError("parameter", pattern, dict.fromkeys(names))
        found |= meant
    return found


def means(pattern: object, name: str) -> bool:
    """Return whether a pattern (a name, a prefix, or with * and ?) matches a name."""
    if not isinstance(pattern, str) or not pattern:
        return False
    if name == pattern or fnmatchcase(name, pattern):
        return True
    rest = name.removeprefix(pattern)
    return rest != name and (rest[0] in SEPARATORS or pattern[-1] in SEPARATORS)


# Arrays, tensors and tables of other packages: conversion to floats, and remedies if it fails. They
# are recognized by their attributes; none of the packages is imported.

MOST_LOOKED_AT = 1000  # items of a list, or columns of a table

# Properties of tensors that numpy cannot read: test, description, and the method that helps.
TENSORS: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (lambda x: x.requires_grad is True, "requires a gradient", ".detach()"),
    (lambda x: not str(x.layout).endswith("strided"), "is sparse", ".to_dense()"),
    (lambda x: x.is_quantized is True, "is quantized", ".dequantize()"),
    (lambda x: x.device.type not in ("cpu", "meta"), "is not in the memory of the CPU", ".cpu()"),
    (lambda x: is_short(str(x.dtype)), "holds {x.dtype}, which numpy does not support", ".float()"),
)


def is_short(dtype: str) -> bool:
    """Return whether a dtype, given by name, is a short float that numpy does not support."""
    return dtype.rpartition(".")[2].startswith(("bfloat16", "float8_", "float6_", "float4_"))


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this dtype can be real numbers; object arrays count.

    Dtypes registered by other packages, such as ml_dtypes.bfloat16, count if they cast to float64.
    """
    added = dtype.isbuiltin == 2 and np.can_cast(dtype, np.float64)
    return added or dtype.kind in "biufO"


def is_masked(x: object) -> bool:
    """Return whether an array, or any array in a list, has masked numbers."""
    if isinstance(x, (list, tuple)):
        kinds = set(map(type, x))  # a long list has few
        return any(issubclass(k, np.ma.MaskedArray) for k in kinds) and any(map(np.ma.is_masked, x))
    return bool(np.ma.is_masked(x))


def floats(x: object, *, keep: bool = False, copy: bool = True) -> npt.NDArray[Any]:
    """Return real numbers as a float64 array; raise an exception of any type for anything else.

    Args:
        keep: whether to keep float32; by default False
        copy: whether to always return a new array; by default True
    """
    array = np.asarray(x)
    if not is_numeric(array.dtype) or is_masked(x):
        raise TypeError(f"{array.dtype} are not numbers")
    if keep and array.dtype == np.float32 and array.dtype.isnative:
        return array.astype(np.float32, "C", copy=copy)
    return array.astype(np.float64, "C" if keep else "K", copy=copy)


def remedy(x: object) -> str:
    """Return a hint on converting an object that `floats` does not accept."""
    for one in islice(items(x), MOST_LOOKED_AT):
        if np.ma.is_masked(one):
            return remedy_of_mask(one, "it" if one is x else "one of its arrays")
        found = [(words, method) for known, words, method in TENSORS if holds(known, one)]
        if found:
            methods = "".join(method for _, method in found)
            what = "it" if one is x else "one of these tensors"
            code = f"x{methods}" if one is x else f"[x{methods} for x in tensors]"
            said = " and ".join(words.format(x=one) for words, _ in found)
            return f"{what} {said}: pass {code}"
    if hasattr(x, "columns") and hasattr(x, "dtypes"):
        return remedy_of_table(x)
    return (
        "pass net.input_rows(x), which joins named inputs into rows"
        if isinstance(x, Mapping)
        else "pass a sequence of floats, or a 2-D array with one row per sample"
    )


def remedy_of_mask(array: Any, what: str) -> str:
    """Return a hint on replacing the masked numbers of an array."""
    count = int(np.ma.getmaskarray(array).sum())
    numbers = "number" if count == 1 else "numbers"
    return (
        f"{what} has {count:,} masked {numbers}, whose mask would be ignored: pass x.filled(0.0), "
        "for example, or leave out these samples"
    )


def holds(known: Callable[[Any], bool], x: object) -> bool:
    """Return whether an object is a tensor with this property."""
    try:
        return known(x)
    except AttributeError:
        return False


def items(x: object) -> Iterator[object]:
    """Yield an object and, breadth first, the items of a list and of its nested lists."""
    waiting = deque([x])
    while waiting:
        one = waiting.popleft()
        yield one
        if isinstance(one, (list, tuple)):
            waiting.extend(one[:MOST_LOOKED_AT])


def remedy_of_table(table: Any) -> str:
    """Return a hint that names the first non-numeric column of a pandas table."""
    for name in list(table.columns)[:MOST_LOOKED_AT]:
        for value in list(table[name]):
            if is_number(value):
                continue
            return (
                f"its column {visible(repr(name))} has {visible(repr(value))} in it: leave the "
                "column out, convert it to numbers, or fill missing values"
            )
    return "pass its numbers, such as df.to_numpy(float)"


def is_number(value: object) -> bool:
    """Return whether a table cell is a finite number."""
    try:
        return bool(np.isfinite(floats(value)).all())
    except Exception:  # tables raise errors of many kinds
        return False
