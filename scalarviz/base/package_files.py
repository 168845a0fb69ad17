"""text_beside: reads package data of other languages: shaders, pages, styles and scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def text_beside(module_file: str, name: str) -> str:
    """Return the text of a file in the folder of a module: `text_beside(__file__, "box.vert")`.

    module_file  the `__file__` of the module
    name         the name of the file; `package_data` in setup.cfg must have a pattern for it

    Raises FileNotFoundError if the file does not exist.
    """
    return Path(module_file).with_name(name).read_text(encoding="utf-8")
