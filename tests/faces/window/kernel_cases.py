"""What a window does while kernels are compiled; test_window.py runs it in a process of its own.

    NUMBA_CACHE_DIR=... SCALARVIZ_CACHE_DIR=... python -m tests.faces.window.kernel_cases CASE ...

The cache is an empty folder, and what compiles never ends, or ends when it is told to. Every kernel
that numba is asked to compile is noted with its thread; and so is the longest time that the window
is away from its events, by a clock that stands still where other programs hold up this one.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from PySide6.QtWidgets import QApplication

import scalarviz as sv
from scalarviz.base.interrupt import Stop
from scalarviz.base.texts import text
from scalarviz.engines.codegen import compiling
from scalarviz.faces.controller import precompile
from scalarviz.faces.controller.changes import set_learning_rate
from scalarviz.faces.controller.face import Opening, WatchOptions
from scalarviz.faces.controller.files_and_links import open_run
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_file import find, load
from scalarviz.faces.window.main_window import MainWindow
from scalarviz.stage.show import Show
from tests.faces.window.window_cases import main
from tests.machine import until
from tests.sessions import advanced, as_if_by_kernels

LONGEST = 1.5  # seconds away from the events
TICK = 0.01  # seconds between two counts of the clock
FOLDER = os.environ.get("NUMBA_CACHE_DIR")
COMMAND = precompile.COMMAND
NEVER = ("-c", "import time; time.sleep(600)")

compiled: list[tuple[str, str]] = []  # each kernel, and the thread that it was compiled on
_compile, _run_children = Dispatcher._compile_for_args, compiling.run_children
_compile_by_address = CFunc._compile_uncached


def noted(self: Any, *given: Any, **named: Any) -> Any:
    """Note what is compiled; what numba finds on disk is not."""
    missed = sum(self._cache_misses.values())
    try:
        return _compile(self, *given, **named)
    finally:
        if sum(self._cache_misses.values()) > missed:
            compiled.append((self.py_func.__name__, threading.current_thread().name))


def noted_by_address(self: Any) -> Any:
    """Note what is called by its address and compiled in this process."""
    compiled.append((self.__name__, threading.current_thread().name))
    return _compile_by_address(self)


def noted_child(paths: Sequence[Path]) -> None:
    """Note what a child process compiles for this one."""
    compiled.extend((path.stem, threading.current_thread().name) for path in paths)
    _run_children(paths)


class Clock(threading.Thread):
    """Counts ticks until it has ended."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ticks, self.ended = 0, False
        self.start()

    def run(self) -> None:
        while not self.ended:
            time.sleep(TICK)
            self.ticks += 1


class Open:
    """A window with the real picture, hands to use it, and a look at what it did meanwhile."""

    def __init__(self, show: Show, recipe: Recipe | None = None, *, play: bool = True) -> None:
        show = Show.of(show)
        compiled.clear()
        options = WatchOptions(reduced_motion=True, recipes=[recipe])
        self.controller = options.face(show, "dark").lead
        self.window = MainWindow(self.controller.face, Stop())
        self.window.opening = Opening(self.controller.face, False, play=play)
        self.window.show()
        self.looks, self.away, self.clock = 0, 0.0, Clock()
        look = self.controller.face.attend
        self.controller.face.attend = lambda: [self.note_look(), look()][1]
        self.until(lambda: self.window.view.drawn and self.looks > 3)
        self.away = 0.0

    def note_look(self) -> None:
        """Count a look of the window at everything."""
        self.looks += 1

    def run(self, work: Callable[[], object]) -> None:
        """Do something on the window's thread, and note for how long."""
        start = self.clock.ticks
        work()
        self.away = max(self.away, (self.clock.ticks - start) * TICK)

    @property
    def session(self) -> Any:
        return self.controller.session

    @property
    def said(self) -> str:
        """The line about the compilation."""
        work = self.controller.stage.work
        return "" if work is None else work.text

    def wait(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.run(QApplication.processEvents)
            time.sleep(0.002)

    def until(self, happened: Callable[[], object], seconds: float = 120.0) -> None:
        until(happened, lambda: self.wait(0.01), seconds)

    def do(self, *deeds: Callable[[], object]) -> None:
        """Each of some deeds, with time to draw what came of it."""
        for deed in deeds:
            count = self.looks
            self.run(deed)
            self.until(lambda count=count: self.looks > count + 3)

    def __enter__(self) -> Open:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            assert not compiled, compiled
            assert self.away < LONGEST, f"the window stood still for {self.away:.1f} seconds"
        self.window.close()
        self.controller.warming.stop()
        self.clock.ended = True
        self.clock.join()


def scene(name: str, **values: Any) -> tuple[Show, Recipe]:
    recipe = Recipe(load(find(name)), {"engine": "cpu", **values})
    return recipe.make({}), recipe


def everything(open_: Open) -> None:
    """Whatever a user can do to a training."""
    controller, session = open_.controller, open_.session
    open_.do(
        controller.time.reset, lambda: controller.time.step(+1, 3), lambda: controller.time.seek(0)
    )
    open_.do(
        lambda: controller.edit(0, 0.25),
        controller.time.play,
        controller.time.pause,
        controller.undo,
    )
    open_.do(
        lambda: controller.time.seek(0),
        lambda: controller.time.operation(+1),
        lambda: controller.time.operation(+1),
    )
    open_.do(
        lambda: controller.time.operation(-1),
        lambda: controller.time.step(-1),
        lambda: controller.time.step(+1, 2),
    )
    open_.do(
        lambda: controller.stage.pin(1), controller.next_sample, lambda: controller.face.press("l")
    )
    open_.do(
        lambda: controller.face.take("color", "last change"),
        lambda: controller.freeze(1, True),
    )
    for fork in list(controller.face.state.branches):
        open_.do(lambda fork=fork: controller.switch(fork.number), lambda: controller.time.step(+1))
    open_.do(lambda: controller.set_engine("cpu"), lambda: controller.set_engine("python"))
    open_.do(
        lambda: controller.time.step(+1),
        lambda: controller.set_engine("cpu"),
        lambda: controller.time.step(+1),
    )
    open_.do(lambda: session.seek(0), lambda: session.reset())  # past the controller, as a cell may
    open_.do(lambda: set_learning_rate(controller, 0.01), controller.time.play)
    open_.until(lambda: session.step_index > 1 or controller.warming.held)
    open_.do(controller.time.pause, controller.time.reset)


def never_compiled() -> None:
    os.environ["SCALARVIZ_CACHE_DIR"] = tempfile.mkdtemp(dir=FOLDER)
    precompile.COMMAND = NEVER


def check_held(name: str) -> None:
    """A scene is drawn, turned and looked at, and not computed."""
    never_compiled()
    with Open(*scene(name)) as it:
        controller, session = it.controller, it.session
        before = session.network.bank.value.copy()
        assert re.fullmatch(r"Compiling \d+ kernels, once: \d+ s", it.said)
        everything(it)
        it.do(lambda: controller.stage.eyes.orbit(30.0, 10.0))
        it.do(lambda: controller.stage.eyes.zoom(0.5, 600, 300))
        it.do(lambda: controller.set_option("activation", "relu"))
        it.do(lambda: controller.face.take("color", "last change"))
        assert controller.warming.held and session.step_index == 0 and session is it.session
        assert (session.network.bank.value == before).all()


def case_a_network_is_held_and_drawn() -> None:
    check_held("rgb")


def case_a_compiled_function_too() -> None:
    check_held("expression")


def case_a_map_too() -> None:
    check_held("xor")


def case_a_gpt_too() -> None:
    check_held("names")


def case_what_kernels_have_computed_is_held_until_they_are_there() -> None:
    never_compiled()
    show, _ = scene("rgb", engine="python")
    s = advanced(show.session, 20)
    s.advance(5, "operation")
    as_if_by_kernels(s)
    with Open(show) as it:
        before, clock = s.network.bank.value.copy(), s.clock
        for deed in (
            it.controller.time.reset,
            it.controller.time.play,
            lambda: it.controller.time.step(-1),
            it.controller.undo,
        ):
            it.do(deed)
            assert it.controller.message == text("notices.wait")
        it.do(lambda: it.controller.face.click(400, 300), lambda: it.controller.face.press("l"))
        it.do(lambda: it.controller.face.take("color", "last change"))
        it.do(lambda: it.controller.edit(0, 1.0), lambda: it.controller.set_engine("python"))
        assert s.clock == clock and (s.network.bank.value == before).all()


def case_a_large_network_is_held_and_drawn_without_means() -> None:
    never_compiled()
    with Open(*scene("texture")) as it:
        assert it.controller.warming.held
        assert it.said.startswith("Compiling ")
        it.do(
            it.controller.time.reset, it.controller.time.play, lambda: it.controller.face.press("l")
        )
        it.do(lambda: it.controller.stage.eyes.zoom(0.5, 600, 300))


def case_a_run_that_kernels_have_computed_is_opened_and_held() -> None:
    never_compiled()
    show, _ = scene("rgb", engine="python")
    show.session.advance(3)
    as_if_by_kernels(show.session)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        show.session.save(path)
        other = sv.Session(sv.Network([3, 4, 3]), sv.data.Rgb(), batch=8, engine="python")
        with Open(Show(other)) as it:
            it.do(lambda: open_run(it.controller, path))
            it.until(lambda: it.session is not other)
            assert it.controller.warming.held and it.session.step_index == 3
            assert it.said.startswith("Compiling ")


def case_all_is_compiled_and_then_kernels_do_the_work() -> None:
    """Not in play: what is compiled here takes a minute or two."""
    precompile.COMMAND = COMMAND
    for name in ("rgb", "expression"):
        with Open(*scene(name)) as it:
            it.until(lambda: not it.controller.warming.held, 300.0)
            everything(it)
            it.until(lambda: it.session.step_index == 0)
            it.do(lambda: it.controller.set_engine("cpu"), lambda: it.controller.time.step(+1))
            assert it.session.engine == "cpu" and not it.said


CASES = {name: case for name, case in globals().items() if name.startswith("case_")}

if __name__ == "__main__":
    Dispatcher._compile_for_args, compiling.run_children = noted, noted_child
    CFunc._compile_uncached = noted_by_address  # type: ignore[method-assign]  # in its place
    main(sys.argv[1:] or list(CASES), CASES)
