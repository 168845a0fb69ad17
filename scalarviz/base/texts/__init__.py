"""Texts shown to users - captions, cards, notices, controls, menus - in one table by key.

English is `english.json`. A translation is a file with the same keys: SCALARVIZ_LANGUAGE=xx, or
--language xx after any command, selects `xx.json` next to it; a value that ends in .json selects
any other file. Texts that are missing in a translation, or have other fields, remain English. The
table is read on first use, in 0.3 ms; TOML would take 9 ms, including the import of tomllib.
Translated lessons are in a folder named after the language, see pages/lessons/lesson.py.

Rows of extensible tables, such as `ACTIVATIONS` or `CONTROLS`, contain their English texts;
translations have them as `rows.TABLE.NAME.FIELD`, such as `rows.activations.tanh.caption`.

Not in this table: messages of errors and of the logger, docstrings, command-line help, and names
that are also used in Python, such as those of weights, operations, channels and cameras.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter

from scalarviz.base.messages import LOG
from scalarviz.base.package_files import text_beside

LANGUAGE = "SCALARVIZ_LANGUAGE"
ROWS = "rows."


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
    """Return the text of a table row: its translation if the key exists, otherwise `words`."""
    return texts().get(key, words)


@cache
def texts() -> Mapping[str, str]:
    """Return the table of texts: the chosen translation, with English where a text is missing."""
    english: dict[str, str] = json.loads(text_beside(__file__, "english.json"))
    language = os.environ.get(LANGUAGE) or "english"
    if language == "english":
        return english
    setting = f"{LANGUAGE}={language}"
    try:
        translated = translation(language, english)
    except (OSError, ValueError, RecursionError) as error:
        problem = (
            "texts stay English: %s is not a table of texts (%s): set it to the path of a JSON "
            "file with the keys of english.json"
        )
        LOG.warning(problem, setting, error)
        return english
    lacking = [key for key in english if key not in translated]
    if lacking:
        counts = len(lacking), len(english)
        problem = "%d of %d texts stay English: %s lacks them or changes their fields; one is %s"
        LOG.warning(problem, *counts, setting, lacking[0])
    return {**english, **translated}


def translation(language: str, english: Mapping[str, str]) -> dict[str, str]:
    """Return the usable texts of a translation; `language` is a name or a JSON file."""
    found = json.loads(file_of(language).read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError("it is not an object of keys and texts")
    return {key: words for key, words in found.items() if is_usable(key, words, english)}


def file_of(language: str) -> Path:
    """Return the file of texts of a language; `language` is a name or a JSON file."""
    is_file = language.endswith(".json")
    return Path(language if is_file else f"{Path(__file__).parent}/{language}.json")


def languages() -> list[str]:
    """Return the names of the languages included in the package."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.json"))


def choose(language: str) -> None:
    """Show all texts in a language from now on; `language` is a name or a JSON file."""
    os.environ[LANGUAGE] = language
    texts.cache_clear()


def is_usable(key: str, words: object, english: Mapping[str, str]) -> bool:
    """Return whether a translation is a string without unknown fields; for rows, any string."""
    try:
        is_known = key.startswith(ROWS) or fields_of(str(words)) <= fields_of(english[key])
    except (LookupError, ValueError):
        return False
    return is_known and isinstance(words, str)


def fields_of(words: str) -> set[tuple[str, str | None, str | None]]:
    """Return the fields of a text: their names, formats and conversions."""
    return {
        (name, format, conversion)
        for _, name, format, conversion in Formatter().parse(words)
        if name is not None
    }
