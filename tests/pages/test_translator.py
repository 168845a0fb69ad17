"""What scalarviz/pages/translator.py makes of Python does what Python does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scalarviz.base.package_files import text_beside
from scalarviz.pages import translated_expressions, translator
from scalarviz.pages.page import WEB
from scalarviz.pages.translator import TranslationError, translate

EXPORTED = re.compile(r"^export (?:function\*?|class|const) (\w+)", re.MULTILINE)


def script(source: str) -> str:
    return translate({"story/given.js": ("story/given.py", source)})["story/given.js"]


def test_the_run_time_has_what_is_called_and_no_more() -> None:
    has = set(EXPORTED.findall(text_beside(WEB, "python.js")))
    files = (Path(each.__file__) for each in (translator, translated_expressions))
    called = {
        each for file in files for each in re.findall(r"\bpy\.(\w+)", file.read_text("utf-8"))
    }
    called |= {name for _, _, name in translated_expressions.OPERATORS.values()}
    called |= translated_expressions.ERRORS | {"add_to", "or_to", "fixed", "or_else", "and_then"}
    assert called - {"typing"} == has


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "\ndef f(x):\n    while x:\n        pass\n    else:\n        return 1",
            "line 3: a `while ... else`",
        ),
        ("import os\ndef f():\n    return os.name", "line 3: os.name is not known"),
        ("def f(x: float) -> str:\n    return f'{x}'", "line 2: `x` is a float"),
    ],
)
def test_what_is_not_known_is_refused_with_its_line(source: str, why: str) -> None:
    with pytest.raises(TranslationError, match=re.escape(f"story/given.py, {why}")):
        script(source)
