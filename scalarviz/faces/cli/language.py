"""The option --language, which any command takes: it is read before the commands are made."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scalarviz.base.texts import choose, file_of, languages
from scalarviz.errors import UnknownNameError

SPOKEN = re.compile("(?<=^--language)=")


def without_language(words: Sequence[str]) -> list[str]:
    """Choose the language that --language names, wherever it stands; return the other words.

    Raises UnknownNameError for a language that there is not.
    """
    rest = [part for each in words for part in SPOKEN.split(each)]
    if "--language" in rest:
        at = rest.index("--language")
        language = "".join(rest[at + 1 : at + 2])
        if not file_of(language).is_file():
            raise UnknownNameError("language", language, languages())
        choose(language)
        del rest[at : at + 2]
    return rest
