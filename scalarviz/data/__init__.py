"""Data sets: built-in ones, arrays, files (CSV, NPZ, pictures), and generating functions."""

from __future__ import annotations

from typing import Any

from scalarviz.base.checks import require
from scalarviz.base.limits import Budget
from scalarviz.core.formulas.formula import make, pick, table
from scalarviz.data.data_set import Arrays as Arrays
from scalarviz.data.data_set import DataSet as DataSet
from scalarviz.data.data_set import Generated as Generated
from scalarviz.data.digits import Digits as Digits
from scalarviz.data.names import Names as Names
from scalarviz.data.plane import Circle as Circle
from scalarviz.data.plane import Gaussians as Gaussians
from scalarviz.data.plane import Moons as Moons
from scalarviz.data.plane import Quadrants as Quadrants
from scalarviz.data.plane import Spiral as Spiral
from scalarviz.data.plane import Xnor as Xnor
from scalarviz.data.plane import Xor as Xor
from scalarviz.data.rgb import MAPS as MAPS
from scalarviz.data.rgb import PALETTE as PALETTE
from scalarviz.data.rgb import Rgb as Rgb
from scalarviz.data.table_files import from_csv as from_csv
from scalarviz.data.table_files import from_npz as from_npz
from scalarviz.data.texture import TRANSFORMS as TRANSFORMS
from scalarviz.data.texture import Texture as Texture
from scalarviz.data.texture import pixel_centres as pixel_centres
from scalarviz.data.texture import psnr as psnr

__all__ = """
    DATA_SETS MAPS PALETTE TRANSFORMS Arrays Circle DataSet Digits Gaussians Generated Moons Names
    Quadrants Rgb Spiral Texture Xnor Xor from_csv from_npz pixel_centres psnr remake
""".split()

DATA_SETS: dict[str, type[DataSet]] = table(
    [
        Rgb,
        Xor,
        Xnor,
        Circle,
        Gaussians,
        Spiral,
        Moons,
        Quadrants,
        Texture,
        Digits,
        Names,
        Arrays,
        Generated,
    ]
)


def __dir__() -> list[str]:
    return __all__


def remake(name: str, settings: dict[str, Any], budget: Budget | None = None) -> DataSet:
    """Create the data set with this `data.name` and `data.settings()`, without opening files.

    `budget` limits the memory, which is checked before the data set is created; None (default)
    means no limit. Raises InputError if the budget is exceeded, and for settings that files cannot
    store.
    """
    kind = pick(DATA_SETS, name, "data set")
    paths = isinstance(settings.get("picture"), str), "folder" in settings, "file" in settings
    require(
        not any(paths),
        f"a saved data set {name} must contain its samples, not a path: save it again",
    )
    if budget is not None:
        budget.take(kind.cost(settings), f"its data set {name}")
    return make(kind, settings, f"data set {name!r}")
