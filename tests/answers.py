"""Records of answers for tests."""

from __future__ import annotations

import base64
import json
from typing import Any

from scalarviz.pages.lessons.answers import FORMAT, MIME, VERSION

LESSON = "01-one-weight"


def given(*guesses: str, right: bool = True, **more: Any) -> dict[str, Any]:
    """What a learner has given to a question."""
    return {"guesses": [*guesses], "right": right, **more}


def record(name: str = "", lesson: str = LESSON, **answers: Any) -> dict[str, Any]:
    """A record as a page writes it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "lesson": lesson,
        "name": name,
        "answers": answers or {"gradient": given("8", "-8")},
        "guessed": {"right": 7, "asked": 10},
    }


def link(found: object) -> str:
    """A link that has JSON."""
    data = base64.urlsafe_b64encode(json.dumps(found).encode()).decode()
    return f"https://a.example/01.html#answers={data.rstrip('=')}"


def notebook(*answers: Any) -> str:
    """A saved notebook whose cells have these answers."""
    cells: list[Any] = [{"cell_type": "markdown", "source": "no outputs"}]
    for each in answers:
        outputs = [{"output_type": "display_data", "data": {"text/plain": "a", MIME: each}}]
        cells.append({"cell_type": "code", "outputs": outputs})
    return json.dumps({"cells": cells, "nbformat": 4})
