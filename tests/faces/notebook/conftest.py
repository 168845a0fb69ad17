"""A JupyterLab and a browser, for tests of a module that need both."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faces.notebook.lab import Server, chromium, lack, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if why := lack():
        pytest.skip(why)
    with serving(tmp_path_factory.mktemp("lab")) as made:
        yield made


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[Any]:
    with chromium() as made:
        yield made
