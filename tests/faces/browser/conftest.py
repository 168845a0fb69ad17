"""Links end with their test."""

from collections.abc import Iterator

import pytest

from tests.faces.browser import pages


@pytest.fixture(autouse=True)
def links_end() -> Iterator[None]:
    yield
    for link in pages.LINKS:
        link.controller.quit()
        link.controller.rest()
    pages.LINKS.clear()
