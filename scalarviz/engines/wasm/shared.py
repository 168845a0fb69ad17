"""The module of all built-in kernels of pages, made for a release: it spares compiling.

    python -m scalarviz.engines.wasm.shared

writes the module of each working type to `modules/` beside this file, from where wheels take it.
The name of a file has a hash of the texts of all kernels, so that no page has other kernels than
those that it would compile. A page gets those of its network; the others are empty in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from scalarviz.core.formulas.activations import WithSettings
from scalarviz.engines.codegen.cache_files import cache_folder, keep, kept
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.kernel_units import text_of
from scalarviz.engines.codegen.unit_source import Dtype, Unit
from scalarviz.engines.cpu.units import every_unit
from scalarviz.engines.wasm.linking import only
from scalarviz.engines.wasm.module import module_of

FOLDER = Path(__file__).with_name("modules")
DTYPES: tuple[Dtype, ...] = "float32", "float64"
NOT_IN_PAGES = "all_cores", "lanes", "networks", "part_of"  # in the names of kernels


def units_of_pages() -> list[Unit]:
    """Return the kernels that pages may have, apart from those of rows that a user has made."""
    return [
        unit
        for unit in dict.fromkeys(every_unit())
        if not any(word in unit.name for word in NOT_IN_PAGES)
        and not getattr(unit.row, "digest", "")  # only rows that a user has added have one
        and not isinstance(unit.row, WithSettings)
    ]


def name_of(units: Sequence[Unit], dtype: Dtype) -> str:
    """Return the name of the file of a module, whatever compiler there is here."""
    texts = [text_of(unit, dtype).replace(versions(), "", 1) for unit in units]
    return f"kernels_{dtype}_{hashlib.sha256(''.join(texts).encode()).hexdigest()[:20]}.wasm"


def shared_module(wanted: Sequence[Unit], dtype: Dtype) -> tuple[list[Unit], bytes] | None:
    """Return the shared module with some kernels, and all units in its order; None if it lacks one.

    It is looked for beside this file and in the cache folder.
    """
    units = units_of_pages()
    places = {units.index(unit) for unit in wanted if unit in units}
    if len(places) < len(wanted):
        return None
    name = name_of(units, dtype)
    for folder in (FOLDER, cache_folder()):
        content = kept(folder / name)
        if content is not None:
            return units, only(content, places)
    return None


def main(folder: Path = FOLDER) -> None:
    """Write the modules of this version, and remove others."""
    units = units_of_pages()
    for other in folder.glob("*.wasm"):
        other.unlink()
    for dtype in DTYPES:
        keep(folder / name_of(units, dtype), module_of(units, dtype))


if __name__ == "__main__":
    main()
