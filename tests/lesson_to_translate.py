"""`python -m tests.lesson_to_translate 01`: print a lesson with the hashes of its texts.

The file contains the English texts, to be replaced by translations.
"""

import json
import sys
from typing import Any

from scalarviz.pages.lessons.lesson import TRANSLATED, is_left_out, lessons, mark_of, words_of
from scalarviz.pages.lessons.questions import questions_of


def shown_cells(number: str) -> list[str]:
    """Return the texts of a lesson that its page shows."""
    cells: list[dict[str, Any]] = json.loads(lessons()[number].read_text("utf-8"))["cells"]
    shown = [each for each in cells if each["cell_type"] == "markdown" and not is_left_out(each)]
    return ["".join(each["source"]) for each in shown]


def quoted(words: object) -> str:
    """Return a text, or a list of texts, as TOML."""
    if not isinstance(words, str):
        assert isinstance(words, (list, tuple))
        return f"[{', '.join(map(quoted, words))}]"
    return json.dumps(words, ensure_ascii=False) if "'" in words else f"'{words}'"


def template(number: str) -> str:
    """Return the template for the translation of a lesson."""
    lines = ["[texts]"]
    for words in shown_cells(number):
        lines += [f"{mark_of(words)} = '''\n{words}'''\n"]
    for key, asked in questions_of(lessons()[number].stem).items():
        lines += [f"[{key}]", f'of = "{mark_of(words_of(asked))}"']
        for name in TRANSLATED[:-1]:
            if words := getattr(asked, name):
                lines.append(f"{name} = {quoted(words)}")
        lines += [f"replies.{json.dumps(k)} = {quoted(v)}" for k, v in asked.replies.items()]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(template(sys.argv[1]))
