"""A translation for a test."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scalarviz.base.texts import texts


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[object], None]]:
    """speak(translation): what is said from now on, by a file of made-up texts."""

    def choose(translation: object) -> None:
        file = tmp_path / "made_up.json"
        file.write_text(
            translation if isinstance(translation, str) else json.dumps(translation),
            encoding="utf-8",
        )
        monkeypatch.setenv("SCALARVIZ_LANGUAGE", str(file))
        texts.cache_clear()

    yield choose
    monkeypatch.undo()
    texts.cache_clear()
