"""Arrays, tensors and tables of other packages: conversion to floats, and remedies if it fails.

They are recognized by their attributes; none of the packages is imported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.visible_text import visible

MOST_LOOKED_AT = 1000  # items of a list, or columns of a table

# Properties of tensors that numpy cannot read: test, description, and the method that helps.
TENSORS: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (lambda x: x.requires_grad is True, "requires a gradient", ".detach()"),
    (lambda x: not str(x.layout).endswith("strided"), "is sparse", ".to_dense()"),
    (lambda x: x.is_quantized is True, "is quantized", ".dequantize()"),
    (lambda x: x.device.type not in ("cpu", "meta"), "is not in the memory of the CPU", ".cpu()"),
    (lambda x: is_short(str(x.dtype)), "holds {x.dtype}, which numpy does not have", ".float()"),
)


def is_short(dtype: str) -> bool:
    """Whether a dtype, given its name, is a short float that numpy lacks."""
    return dtype.rpartition(".")[2].startswith(("bfloat16", "float8_", "float6_", "float4_"))


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether an array of this dtype can be read as real numbers; Python objects count, too.

    Dtypes that other packages register, such as ml_dtypes.bfloat16, count if they cast to float64.
    """
    added = dtype.isbuiltin == 2 and np.can_cast(dtype, np.float64)
    return added or dtype.kind in "biufO"


def is_masked(x: object) -> bool:
    """Whether numbers of an array, or of an array in a list, are masked; numpy drops the mask."""
    if isinstance(x, (list, tuple)):
        kinds = set(map(type, x))  # a long list has few
        return any(issubclass(k, np.ma.MaskedArray) for k in kinds) and any(map(np.ma.is_masked, x))
    return bool(np.ma.is_masked(x))


def floats(x: object, *, keep: bool = False, copy: bool = True) -> npt.NDArray[Any]:
    """Return real numbers as a float64 array; raise an error of any kind for anything else.

    keep  whether float32 stays float32; by default no
    copy  whether the array is a new one, the default, also if it need not be
    """
    array = np.asarray(x)
    if not is_numeric(array.dtype) or is_masked(x):
        raise TypeError(f"{array.dtype} are no numbers")
    if keep and array.dtype == np.float32 and array.dtype.isnative:
        return array.astype(np.float32, "C", copy=copy)
    return array.astype(np.float64, "C" if keep else "K", copy=copy)


def remedy(x: object) -> str:
    """Return what to do with something that `floats` does not accept."""
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
    return "pass a sequence of floats, or a 2-D array with one row a sample"


def remedy_of_mask(array: Any, what: str) -> str:
    """Return what to do with a masked array."""
    count = int(np.ma.getmaskarray(array).sum())
    numbers = "number" if count == 1 else "numbers"
    return (
        f"{what} has {count:,} masked {numbers}, whose mask would be ignored: pass x.filled(0.0), "
        "say, or leave out the samples that have some"
    )


def holds(known: Callable[[Any], bool], x: object) -> bool:
    """Whether something is a tensor with this property."""
    try:
        return known(x)
    except AttributeError:
        return False


def items(x: object) -> Iterator[object]:
    """Yield something, the items if it is a list, and the items of lists in it, breadth first."""
    waiting = deque([x])
    while waiting:
        one = waiting.popleft()
        yield one
        if isinstance(one, (list, tuple)):
            waiting.extend(one[:MOST_LOOKED_AT])


def remedy_of_table(table: Any) -> str:
    """Return a remedy that names the first column of a pandas table that is not numeric."""
    for name in list(table.columns)[:MOST_LOOKED_AT]:
        for value in list(table[name]):
            if is_number(value):
                continue
            return (
                f"its column {visible(repr(name))} has {visible(repr(value))} in it: leave the "
                "column out, put numbers in its place, or fill what is missing"
            )
    return "pass its numbers, such as df.to_numpy(float)"


def is_number(value: object) -> bool:
    """Whether a cell of a table is a finite number."""
    try:
        return bool(np.isfinite(floats(value)).all())
    except Exception:  # tables raise errors of many kinds
        return False
