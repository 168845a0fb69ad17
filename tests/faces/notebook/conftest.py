"""A JupyterLab and a browser, for tests of a module that need both; tests in an event loop."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faces.notebook.lab import Server, chromium, lack, serving


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop, as cells are."""
    test, names = pyfuncitem.obj, pyfuncitem._fixtureinfo.argnames
    if not inspect.iscoroutinefunction(test):
        return None
    asyncio.run(test(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


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
