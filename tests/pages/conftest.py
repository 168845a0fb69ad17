"""The browsers that open pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.browser import BROWSERS


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each browser in turn."""
    with BROWSERS[request.param]() as found:
        yield found
