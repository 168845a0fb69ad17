"""A browser, and links that end with their test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faces.browser import pages
from tests.pages.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


@pytest.fixture(autouse=True)
def links_end() -> Iterator[None]:
    yield from pages.ended_links()
