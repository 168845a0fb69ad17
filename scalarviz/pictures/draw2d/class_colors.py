"""Colours of classes, which differ with every kind of colour blindness."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.colors import number_or_not, rgb

# On dark and on light ground. The first ones are not the blue and orange of signed numbers.
ON_DARK = "#00cba5", "#a855b5", "#f6ea45", "#cf3f35", "#bd9cff", "#ff9a2a", "#e8f0ff"
ON_LIGHT = "#009a7a", "#8a1c6a", "#a88600", "#20242c", "#8f7cf5", "#7a4a10", "#003a90"


def class_colors(classes: object, ground: str) -> FloatArray:
    """Return the sRGB colour of each class number, from 0 to 1, in an additional axis of length 3.

    Further classes than there are colours get lighter ones on dark `ground`, darker ones on light
    ground. NaN gets magenta.
    """
    numbers = np.asarray(classes, np.float64)
    is_dark = bool(rgb((ground,)).mean() < 0.5)
    known = rgb(ON_DARK if is_dark else ON_LIGHT)
    whole = np.nan_to_num(numbers).astype(np.int64)
    times, place = np.divmod(whole, len(known))
    part = 0.5 ** times[..., np.newaxis]
    colors = part * known[place] + (1.0 - part) * float(is_dark)
    return number_or_not(np.where(np.isnan(numbers)[..., np.newaxis], np.nan, colors))
