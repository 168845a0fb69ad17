"""Package files other than code: shaders, pages, styles, scripts, scenes, lessons and the guide."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@cache
def text_beside(module_file: str, name: str) -> str:
    """Return the text of a file in the folder of a module: `text_beside(__file__, "box.vert")`.

    Args:
        module_file: the `__file__` of the module
        name: name of the file, which a pattern of `package_data` in setup.cfg must match

    Raises:
        FileNotFoundError: if the file does not exist.
    """
    return Path(module_file).with_name(name).read_text(encoding="utf-8")


def fingerprint(code: str) -> str:
    """Return the hash by which a content security policy allows a style or script."""
    digest = hashlib.sha256(code.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def top_folder(name: str) -> Path:
    """Return a top-level folder of the repository, or its copy inside an installed package."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name
