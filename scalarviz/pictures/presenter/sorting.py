"""The exhibit of digits: some images sorted by predicted class, more in the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.data import Digits
from scalarviz.pictures.view.exhibits.confusion import Confusion
from scalarviz.pictures.view.exhibits.sorting import Classes, Sorting

SHOWN = 80  # digits that are drawn
ASKED = 400  # digits that are classified
SLOWLY = 100  # digits that are classified by the python engine
PIXELS = 32  # along a side; larger images are reduced


def sorting(ask: Callable[[FloatArray], FloatArray], data: Digits, engine: str) -> Sorting:
    """Return the exhibit, on held-out digits or, if there are none, on training digits."""
    inputs, labels, pictures, shown = some_digits(data, SLOWLY if engine == "python" else ASKED)
    outputs = np.asarray(ask(inputs))
    said = np.nan_to_num(outputs, nan=-np.inf).argmax(axis=1)
    counts = np.zeros((data.outputs, data.outputs), np.int64)
    np.add.at(counts, (labels, said), 1)
    confusion = Confusion(counts)
    of = "training" if data.held_out is None else "held_out"
    share = text(f"exhibits.sorting.share.{of}", share=100.0 * confusion.accuracy)
    return Sorting(
        pictures,
        labels[shown],
        said[shown],
        confusion,
        of=text(f"exhibits.sorting.of.{of}"),
        title=text("exhibits.sorting.title", share=share),
        aside=share,
    )


@lru_cache(maxsize=2)
def some_digits(data: Digits, count: int) -> tuple[FloatArray, Classes, FloatArray, Classes]:
    """Return inputs and labels of digits; and images and indices of those that are drawn."""
    inputs, targets = data.training if data.held_out is None else data.held_out
    inputs, labels = inputs[:count], targets[:count].argmax(axis=1)
    kinds = np.unique(labels)
    each = SHOWN // len(kinds)
    shown = np.concatenate([np.flatnonzero(labels == kind)[:each] for kind in kinds])
    shown = np.sort(shown)
    _, height, width = data.shape
    pictures = inputs[shown].reshape(-1, height, width).astype(np.float64)
    smaller = [side // -(-side // PIXELS) for side in (height, width)]
    if max(height, width) > PIXELS:
        pictures = np.array([resized(picture, *smaller) for picture in pictures])
    return inputs, labels, pictures, shown


def resized(picture: FloatArray, rows: int, columns: int) -> FloatArray:
    """Resize a picture, (height, width, ...), to so many rows and columns.

    Shrinking averages pixels, enlarging repeats the nearest one.
    """
    for axis, count in enumerate((rows, columns)):
        size = picture.shape[axis]
        starts = np.arange(count) * size // count
        if count < size:
            shape = [-1 if i == axis else 1 for i in range(picture.ndim)]
            widths = np.diff(starts, append=size).reshape(shape)
            picture = np.add.reduceat(picture, starts, axis=axis) / widths
        else:
            picture = np.take(picture, starts, axis=axis)
    return picture
