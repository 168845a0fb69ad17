"""Runs the Python examples of a text in Markdown: sessions with >>>, and plain code."""

import doctest
import re
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[int, str]]:
    """The Python blocks of a text, each with the number of lines before it."""
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


def run(path: Path) -> int:
    """Run all Python blocks of a file in one namespace; return their number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = examples(path.read_text(encoding="utf-8"))
    for line, code in blocks:
        if ">>> " not in code:
            exec(compile("\n" * line + code, path, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), line)
        said: list[str] = []
        doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names = test.globs
    return len(blocks)
