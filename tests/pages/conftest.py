"""The browsers that open pages, the pages of scenes, and the engines of pages in Node."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import page as module
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import BROWSERS, Tab
from tests.pages.node import InPage

Opens = Callable[..., Tab]


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each browser in turn."""
    with BROWSERS[request.param]() as found:
        yield found


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have some bytes in place of their engine, whose kernels take long to compile."""

    monkeypatch.setattr(
        module,
        "engine_data",
        lambda session, *told: (b"\x00asm" * 9, b"numbers", {"step": session.step_index}),
    )


class Files(dict[str, Path]):
    """Pages by their names; those of `make(name)` are made when they are first asked for."""

    def __init__(self, folder: Path, make: Callable[[str], bytes]) -> None:
        super().__init__()
        self.folder, self.make = folder, make

    def __missing__(self, name: str) -> Path:
        return self.write(name, self.make(name))

    def write(self, name: str, content: bytes) -> Path:
        """A page under a name."""
        self[name] = self.folder / f"{name}.html"
        self[name].write_bytes(content)
        return self[name]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The pages of scenes."""
    folder = tmp_path_factory.mktemp("pages")
    return Files(folder, lambda name: page_of(Show.of(load(find(name))())).text)


def rgb(**settings: object) -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    chosen = {"optimizer": sv.SGD(0.5), "batch": 8, "engine": "cpu", **settings}
    return sv.Session(network, data.Rgb("invert"), "mse", **chosen)


def xor(dtype: str = "float64") -> sv.Session:
    layers = [sv.Dense(3, 3, "sigmoid", bias=False), sv.Dense(3, 1, "sigmoid", bias=False)]
    network = sv.Network(layers, init="uniform", seed=0, dtype=dtype)
    table = data.Xor(bias=True, order="picked")
    return sv.Session(network, table, optimizer=sv.SGD(0.1), batch=1, engine="cpu")


@pytest.fixture
def session() -> sv.Session:
    return rgb()


@pytest.fixture(scope="module")
def colors(tmp_path_factory: pytest.TempPathFactory) -> InPage:
    """rgb at its start, with its palette as probe."""
    session = rgb()
    return InPage(session, tmp_path_factory.mktemp("rgb"), session.data.palette[0])


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> InPage:
    """xor in float64 at its start."""
    return InPage(xor(), tmp_path_factory.mktemp("xor"))


@pytest.fixture
def opened(browser: Any, files: Files) -> Iterator[Opens]:
    """opened("rgb", ...): the page of a scene, in a file or of bytes; nothing may go wrong."""
    tabs = []

    def open_page(page: str | Path | bytes = "rgb", *given: Any, **more: Any) -> Tab:
        if isinstance(page, bytes):
            page = files.write(f"made-{len(files)}", page)
        tab = Tab(browser, files[page] if isinstance(page, str) else page, *given, **more)
        tabs.append(tab)
        return tab

    yield open_page
    for tab in tabs:
        tab.close()


@pytest.fixture
def tab(opened: Opens, request: pytest.FixtureRequest) -> Tab:
    """The page that the mark `page` names by the arguments of `opened`, or else that of colours."""
    mark = request.node.get_closest_marker("page", pytest.mark.page().mark)
    return opened(*mark.args, **mark.kwargs).ready()
