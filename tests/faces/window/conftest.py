"""A virtual screen for windows."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

import pytest

from tests.virtual_screen import virtual_screen


@pytest.fixture(scope="session")
def screen() -> Iterator[Mapping[str, str]]:
    """The environment of a program that opens windows, on a screen that nobody sees."""
    if find_spec("PySide6") is None:
        pytest.skip("PySide6 is not installed")
    with virtual_screen() as environment:
        yield environment
