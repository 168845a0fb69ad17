"""Tables as files of text, whole or not at all."""

from __future__ import annotations

from scalarviz.files.atomic import replace_file


def save_text(text: str, path: object) -> None:
    """Write text, in UTF-8; an existing file is replaced."""
    replace_file(path, text.encode())
