"""Texts shown to users - captions, cards, notices, controls, menus - in one table by key.

The table is `english.json`. It is read on first use, in 0.3 ms; TOML would take 9 ms, including the
import of tomllib. A translation would be one more such file, with the same keys and fields.

Not in this table: the words of rows of extensible tables, such as `ACTIVATIONS` or `CONTROLS`,
messages of errors and of the logger, docstrings, command-line help, and names that are also used in
Python, such as those of weights, operations, channels and cameras.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import cache

from scalarviz.base.package_files import text_beside


def text(key: str, /, **fields: object) -> str:
    """Return the text of a key, with its fields filled in.

    An unknown key or field causes a warning, and the key or the bare text is returned.
    """
    try:
        return texts()[key].format(**fields)
    except (LookupError, ValueError) as error:
        warnings.warn(f"the text {key!r} with fields {[*fields]}: {error!r}", stacklevel=2)
        return texts().get(key, key)


def plural(key: str, count: int, /, **fields: object) -> str:
    """Return the text KEY.one for a count of 1, otherwise KEY.many, with the `count` field."""
    return text(f"{key}.{'one' if count == 1 else 'many'}", count=count, **fields)


def row_text(key: str, words: str) -> str:
    """Return the text of a key, or `words` for a row without one, such as an added row."""
    return texts().get(key, words)


@cache
def texts() -> Mapping[str, str]:
    """Return the table of texts."""
    table: dict[str, str] = json.loads(text_beside(__file__, "english.json"))
    return table
