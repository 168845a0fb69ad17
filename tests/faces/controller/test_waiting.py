"""A user interface never waits.

For a training, for a long request, for kernels that another process compiles.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.engines.codegen import kernel_units
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu import calls
from scalarviz.engines.every_kernel import every_kernel
from scalarviz.engines.expression import cpu_expression as expression
from scalarviz.engines.expression import expression_kernels
from scalarviz.faces.controller import changes, precompile
from scalarviz.faces.controller.changes import set_learning_rate
from scalarviz.faces.controller.controller import CommandQueue
from scalarviz.faces.controller.face import Face, Opening
from scalarviz.faces.controller.files_and_links import open_run, save
from scalarviz.faces.scene_file import load, scenes
from scalarviz.scene.frame_data import Work
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.story.guide import END, MORE, SLOWEST, STEP
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import FakeStage, attended, patient, shown
from tests.machine import until
from tests.sessions import advanced, session_on
from tests.training.session.test_threads import SOON, Gate

# A hand.

Busy = tuple[CommandQueue, list[Any]]


def told(seen: list[Any]) -> Callable[[Any, BaseException | None], None]:
    return lambda result, error: seen.append(error or result)


@pytest.fixture
def busy_hand() -> Busy:
    """One that has something to do for a while, and what it reports."""
    hand, seen = CommandQueue(), list[Any]()
    hand.patience = 0.0
    hand.do(lambda: time.sleep(0.1), told(seen))
    return hand, seen


def test_of_what_waits_under_one_name_the_newest_is_done(busy_hand: Busy) -> None:
    hand, seen = busy_hand
    for i in range(50):
        hand.do(lambda i=i: i, told(seen), "seek")
    hand.do(lambda: "other", told(seen))
    hand.do(lambda: "seek", told(seen), "seek")
    until(lambda: (hand.attend(), not hand.busy)[1])
    assert seen == [None, 49, "other", "seek"]


def test_what_waits_can_be_dropped(busy_hand: Busy) -> None:
    hand, seen = busy_hand
    until(lambda: not hand._waiting)
    hand.do(lambda: "never", told(seen))
    hand.do(lambda: "kept", told(seen), kept=True)
    hand.drop()
    hand.finish()
    hand.attend()
    assert seen == [None, "kept"]


def test_what_is_kept_is_reported_alone(busy_hand: Busy) -> None:
    hand, seen = busy_hand
    hand.do(lambda: "kept", told(seen), kept=True)
    hand.finish()
    hand.attend(kept=True)
    assert seen == ["kept"]


# A controller.


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()
    gate.session.pause()


@pytest.fixture
def controller(gate: Gate) -> Any:
    show = Show(gate.session)
    return Face(Stages([FakeStage(show)])).lead  # type: ignore[arg-type]  # as much of one as it needs


def settle(controller: Any) -> None:
    until(lambda: (controller.face.attend(), not controller.hand.busy)[1])


DEEDS: dict[str, Callable[[Any, Path], object]] = {
    "pause": lambda controller, path: controller.time.pause(),
    "play": lambda controller, path: controller.time.play(),
    "speed": lambda controller, path: controller.time.set_speed(100.0),
    "step": lambda controller, path: controller.time.step(+1),
    "far": lambda controller, path: controller.time.step(+1, 500),
    "back": lambda controller, path: controller.time.step(-1),
    "operation": lambda controller, path: controller.time.operation(+1),
    "seek": lambda controller, path: controller.time.seek(1),
    "reset": lambda controller, path: controller.time.reset(),
    "rate": lambda controller, path: set_learning_rate(controller, 0.25),
    "scale": lambda controller, path: controller.face.press("up"),
    "engine": lambda controller, path: controller.set_engine("python"),
    "activation": lambda controller, path: controller.set_option("activation", "relu"),
    "edit": lambda controller, path: controller.edit(3, 0.5),
    "freeze": lambda controller, path: controller.freeze(3, True),
    "undo": lambda controller, path: controller.undo(),
    "sample": lambda controller, path: controller.next_sample(),
    "branch": lambda controller, path: controller.face.press("b"),
    "save": lambda controller, path: save(controller, path / "run.safetensors"),
    "option": lambda controller, path: controller.set_option("lr", "0.125"),
    "click": lambda controller, path: controller.face.click(1.0, 1.0),
    "quit": lambda controller, path: controller.face.quit(),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("deed", DEEDS)
def test_no_command_waits_for_the_step_that_goes_on(
    deed: str, controller: Any, gate: Gate, tmp_path: Path
) -> None:
    with gate.closed(controller.time.play):
        start = time.perf_counter()
        DEEDS[deed](controller, tmp_path)
        for _ in range(3):
            controller.face.attend()
            controller.face.state  # noqa: B018  # to read it is the point
        controller.time.undisturbed(lambda: None)
        assert time.perf_counter() - start < SOON
    settle(controller)
    controller.face.quit()
    controller.face.rest()
    assert not controller.session.playing and not controller.hand.busy


def test_no_picture_waits_twice_for_one_step(
    controller: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[object] = []
    still = sv.Session.still
    monkeypatch.setattr(
        sv.Session, "still", lambda s, seconds: (waits.append(seconds), still(s, seconds))[1]
    )
    with gate.closed(controller.time.play):
        for _ in range(20):
            controller.face.time.undisturbed(lambda: None)
        assert waits == [AT_ONCE]
    controller.time.pause()
    settle(controller)


def test_what_was_asked_for_meanwhile_is_done_in_order(controller: Any, gate: Gate) -> None:
    with gate.closed(controller.time.play):
        set_learning_rate(controller, 0.25)
        controller.face.press("up")
        controller.face.press("up")
        controller.edit(3, 0.5)
        controller.freeze(3, True)
        controller.time.pause()
        assert (
            controller.session.learning_rate == 0.1
            and not controller.session.current_branch.journal
        )
    settle(controller)
    assert (
        controller.session.learning_rate == 1.0 and controller.session.network.bank.value[3] == 0.5
    )
    kinds = [action.kind for action in controller.session.current_branch.journal]
    assert kinds == ["learning rate"] * 3 + ["edit", "freeze"]
    assert controller.face.state.undoable == 5


def test_a_step_that_takes_long_is_taken_while_the_face_goes_on(
    controller: Any, gate: Gate
) -> None:
    start, at = time.perf_counter(), controller.session.step_index
    gate.opened.clear()
    controller.time.step(+1, 3)
    assert time.perf_counter() - start < SOON and controller.hand.busy
    controller.face.attend()
    gate.opened.set()
    settle(controller)
    assert controller.session.step_index == at + 3
    start = time.perf_counter()
    gate.opened.clear()
    for step in range(at + 3):
        controller.time.seek(step)
    assert time.perf_counter() - start < SOON
    gate.opened.set()
    settle(controller)
    assert controller.session.step_index == at + 2


def test_an_error_and_a_branch_are_told_when_they_are_there(controller: Any, gate: Gate) -> None:
    controller.time.seek(1)
    controller.hand.patience, gate.seconds = 0.0, 0.1
    controller.time.step(+1)
    controller.set_option("activation", "no such")
    controller.edit(3, 0.5)
    assert controller.message == ""
    settle(controller)
    first, second = controller.stage.notices
    assert first.startswith("Unknown activation 'no such'")
    assert second.startswith("New branch from step 2; the old steps are kept")
    gate.seconds = 0.0


def test_an_error_of_the_last_portion_is_told_though_it_was_paused(
    controller: Any, gate: Gate
) -> None:
    with gate.closed(controller.time.play):
        controller.time.pause()
        assert controller.message == ""
        gate.session.network.bank.grad[:] = 0.0
        gate.fails = True
    until(lambda: (controller.face.attend(), "the disk is gone" in controller.message)[1])
    gate.fails = False
    settle(controller)


def test_a_tour_goes_on_though_its_operations_take_long(
    controller: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("scalarviz.faces.controller.guide.seen", lambda: tmp_path / "seen")
    monkeypatch.setattr("scalarviz.faces.controller.guide.perf_counter", lambda: now[0])
    controller.session.reset()
    now, slow = [0.0], 0.6  # seconds of each step
    controller.session.on_step(lambda view: now.__setitem__(0, now[0] + slow))
    controller.hand.patience, gate.seconds = 0.0, 0.01
    Opening(controller.face, True, play=False).attend()
    end = time.perf_counter() + 20.0
    while controller.guide.tour is not None and time.perf_counter() < end:
        if not controller.hand.busy:
            now[0] += 0.05 if now[0] < 7.0 else 5.0  # the pictures come slowly at the end
        controller.face.attend()
        time.sleep(0.002)
    gate.seconds = 0.0
    pictures = math.ceil((END + MORE - STEP) / SLOWEST)  # after the first step, of one step each
    assert 0.8 * pictures < controller.session.step_index <= 1 + pictures
    assert (tmp_path / "seen").exists()


__all__ = ["patient"]  # a fixture


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is compiled yet; kinds are once the file `compiler` / FAMILY is there.

    A kind has four kernels, each of which is compiled once its file is there.
    """

    def family(kind: str) -> str:
        return kind.partition(":")[0]

    program = f"""
import pathlib, sys, time
kind = pathlib.Path({str(tmp_path)!r}) / sys.argv[1].partition("=")[0].partition(":")[0]
while not kind.exists():
    time.sleep(0.01)
"""
    monkeypatch.setattr(precompile, "COMMAND", ("-c", program))
    monkeypatch.setattr(precompile, "is_ready", lambda kind: (tmp_path / family(kind)).exists())
    monkeypatch.setattr(
        precompile,
        "paths_of",
        lambda kind, missing: [tmp_path / f"{family(kind)} {i}" for i in range(4)],
    )
    monkeypatch.setattr(precompile, "is_compiled", Path.exists)
    monkeypatch.setattr(precompile, "LOOK", 0.0)
    return tmp_path


@pytest.fixture
def make(compiler: Path, patient: None, opened: Open) -> Open:
    return lambda session: opened(Show(session, steps=1_000_000))


def network_session(engine: str = "cpu", **given: Any) -> sv.Session:
    return session_on(
        ([[0.0, 1.0]], [[1.0]]), [2, 2, 1], "tanh", optimizer=sv.SGD(0.5), engine=engine, **given
    )


def compiled(compiler: Path, controller: Any, kind: str = "float32") -> None:
    """Let the kernels of a kind be there, and wait until the session is no longer held."""
    (compiler / kind).touch()
    attended(controller, lambda: not controller.warming.held)


def work_of(controller: Any) -> Work:
    """The line about the compilation."""
    controller.face.attend()
    found: Work = controller.stage.work
    return found


def test_a_line_has_the_number_of_kernels_the_time_and_a_bar(make: Any, compiler: Path) -> None:
    controller = make(network_session())
    assert work_of(controller) == Work("Compiling 4 kernels, once: 0 s", "", 0.0)
    for i in (2, 0, 3):
        (compiler / f"float32 {i}").touch()
    assert work_of(controller).part == 0.75
    assert not shown(controller, "cancel").enabled
    compiled(compiler, controller)
    controller.face.attend()
    assert controller.stage.work is None


def test_a_session_is_held_until_its_kernels_are_there(make: Any, compiler: Path) -> None:
    s = network_session()
    controller = make(s)
    assert controller.warming.held and controller.stage.reading.asleep
    clock = s.clock
    for deed in (
        controller.time.play,
        controller.time.reset,
        controller.undo,
        lambda: controller.time.step(+1),
        lambda: controller.edit(0, 1.0),
        lambda: controller.set_engine("python"),
        lambda: controller.set_option("map", "grey"),
        lambda: controller.face.click(3, 4),
        lambda: save(controller, compiler / "it.safetensors"),
    ):
        controller.message = ""
        deed()
        assert controller.message == text("notices.wait") and s.clock == clock and s.engine == "cpu"
    compiled(compiler, controller)
    assert not controller.stage.reading.asleep and s.engine == "cpu"
    assert not s.current_branch.journal
    controller.time.step(+1, 3)
    assert s.step_index == 3


def test_it_plays_by_itself_as_soon_as_they_are_there(make: Any, compiler: Path) -> None:
    controller = make(network_session())
    opening = Opening(controller.face, tour=False)
    for _ in range(3):
        opening.attend()
        controller.face.attend()
    assert not controller.session.playing
    compiled(compiler, controller)
    opening.attend()
    attended(controller, lambda: controller.session.step_index > 2)
    controller.time.pause()


def test_an_engine_that_is_chosen_is_compiled_before_it_works(make: Any, compiler: Path) -> None:
    s = network_session("python")
    controller = make(s)
    assert not controller.warming.held
    controller.time.play()
    attended(controller, lambda: s.step_index > 2)
    controller.set_engine("cpu")
    attended(controller, lambda: controller.warming.held)
    assert not s.playing and s.engine == "cpu"
    compiled(compiler, controller)
    attended(controller, lambda: s.playing)
    controller.time.pause()


@pytest.mark.parametrize(
    "change",
    [lambda c: c.set_option("activation", "relu"), lambda c: changes.go_wrong(c, "dead")],
)
def test_a_change_while_it_plays_waits_for_its_kernels_and_then_plays_on(
    make: Any, compiler: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    """Without that the training itself would compile, for seconds and without a word."""
    s = network_session("python")  # it stands for kernels that are there
    kind_of = precompile.kind_of

    def kind(session: sv.Session, engine: str) -> str:
        has_relu = "relu" in session.network.activations
        return kind_of(session, "cpu") if engine == "python" and has_relu else ""

    monkeypatch.setattr(precompile, "kind_of", kind)
    controller = make(s)
    controller.time.play()
    attended(controller, lambda: s.step_index > 2)
    change(controller)
    attended(controller, lambda: controller.warming.held)
    assert work_of(controller).text.startswith("Compiling 4 kernels, once: ") and not s.playing
    step = s.step_index
    time.sleep(0.1)
    controller.face.attend()
    assert s.step_index == step
    (compiler / "float32").touch()
    attended(controller, lambda: s.playing and s.step_index > step)
    assert controller.stage.work is None


def test_a_run_is_opened_before_its_kernels_are_there(make: Any, compiler: Path) -> None:
    kept = advanced(network_session("python"), 2)
    kept.to("cpu")
    kept.save(compiler / "it.safetensors")
    controller = make(network_session("python"))
    before = controller.session
    open_run(controller, compiler / "it.safetensors")
    attended(controller, lambda: controller.session is not before)
    assert controller.session.step_index == 2 and controller.warming.held
    compiled(compiler, controller)
    assert controller.session.engine == "cpu"


def test_a_compiled_function_waits_for_its_own(make: Any, compiler: Path) -> None:
    slope = sv.Value(0.5)
    line = sv.compile(lambda x: slope * x, inputs=1)
    s = sv.Session(line, ([[1.0]], [[2.0]]), "mse", sv.SGD(0.1), engine="cpu")
    controller = make(s)
    assert controller.warming.held
    (compiler / "float64").touch()  # those of networks are others
    controller.face.attend()
    assert controller.warming.held
    compiled(compiler, controller, "expression-float64")
    controller.time.step(+1)
    assert s.step_index == 1


def test_where_another_process_fails_a_thread_of_this_one_compiles(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = []
    monkeypatch.setattr(precompile, "COMMAND", ("-c", "raise SystemExit(1)"))
    monkeypatch.setattr(precompile, "compile_kind", compiled.append)
    s = network_session()
    controller = make(s)
    attended(controller, lambda: not controller.warming.held)
    assert compiled == [precompile.kind_of(s, "cpu")]


def test_what_is_noted_as_compiled_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    assert not precompile.is_ready("means")
    kept = tmp_path / "kernel.nbc"
    kept.touch()
    precompile.mark_of("means").write_text(str(kept))
    assert precompile.is_ready("means")
    kept.unlink()
    assert not precompile.is_ready("means")


def bent(x: float) -> float:
    return 0.5 * x


def bent_slope(x: float, y: float) -> float:
    return 0.5


def test_another_process_compiles_the_formulas_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    unit = Unit("test_bent", expression_kernels.formula_value, Formula("bent", bent, (bent_slope,)))
    kind = precompile.remembered("float64", [unit], "float64")
    word = precompile.words_for(kind, precompile.paths_of(kind, missing=True))
    assert not precompile.is_ready(kind)
    assert Path(word.partition("=")[2]).read_text() == kernel_units.text_of(unit, "float64")
    with monkeypatch.context() as patch:
        patch.setattr(precompile, "_units", {})  # the other process knows none of them
        precompile.compile_kind(word)
    assert precompile.is_ready(kind)
    (file,) = tmp_path.rglob("*.o")
    file.unlink()
    assert not precompile.is_ready(kind)


def test_a_kind_names_what_a_training_needs_and_no_more() -> None:
    def units(s: sv.Session) -> set[str]:
        return {unit.name for unit in precompile._units[precompile.kind_of(s, "cpu")][0]}

    s = network_session("python")
    found = units(s)
    assert "cpu_activation_tanh_forward" in found and "cpu_sgd_rows" in found
    assert not any("relu" in name or "adam" in name for name in found)
    s.advance(2)
    s.optimizer = sv.Adam(0.1)
    assert units(s) - found == {"cpu_adam_rows", "cpu_adam_constants"} and found < units(s)


# That nothing is forgotten.


def test_what_is_compiled_ahead_is_all_that_kinds_name() -> None:
    ahead = set(every_kernel())
    slope = sv.Value(0.5)
    picture = [sv.Conv2d((1, 4, 4), 2, 3), sv.BatchNorm((2, 2, 2)), sv.Dropout(8, 0.5)]
    models = [
        sv.Network([*picture, sv.Dense(8, 3)], dtype="float64"),
        sv.Network([sv.Residual(sv.Dense(4, 4, "gelu"), sv.LayerNorm(4)), sv.Dense(4, 3)]),
        sv.compile(lambda x: slope * x.exp().maximum(slope) / x, inputs=1),
    ]
    for model in models:
        samples = np.full((3, model.inputs), 0.5), np.full((3, model.outputs), 0.5)
        s = sv.Session(model, samples, "huber", sv.AdamW(0.1), batch=2, engine="python")
        units, dtype, _ = precompile._units[precompile.kind_of(s, "cpu")]
        assert len(units) > 10 and {(unit, dtype) for unit in units} <= ahead


@pytest.mark.slow
def test_no_training_takes_a_kernel_that_its_kind_does_not_name(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Whatever network, data, optimizer, loss or scene: what is not loaded is compiled before."""
    missed: list[Any] = []
    load_or_compile, load_units = Dispatcher._compile_for_args, kernel_units.load

    def noted(self: Any, *given: Any, **named: Any) -> Any:
        before = sum(self._cache_misses.values())
        try:
            return load_or_compile(self, *given, **named)
        finally:
            if sum(self._cache_misses.values()) > before:
                missed.append((self.py_func.__name__, self.signatures[-1]))

    def named(units: Any, dtype: Any) -> Any:
        missed.extend((unit.name, dtype) for unit in units if (unit, dtype) not in known)
        return load_units(units, dtype)

    precompile.compile_kind("means")
    assert precompile.is_ready("means")
    monkeypatch.setattr(Dispatcher, "_compile_for_args", noted)
    for module in (calls, expression):
        monkeypatch.setattr(module, "load", named)
    known: set[Any] = set()
    ahead = set(every_kernel())  # what `scalarviz warm` compiles

    def use(model: Any, samples: Any, *rest: Any, **given: Any) -> None:
        """What a window does with a session."""
        session = sv.Session(model, samples, *rest, engine="cpu", **given)
        know(session)
        session.advance(3)
        session.advance(len(session.operations), "operation")
        session.back(2, "operation")
        session.seek(0)
        session.reset()
        session.advance(2)
        model(np.full((3, model.inputs), 0.1))
        assert not missed, missed

    def know(session: sv.Session) -> None:
        units, dtype, _ = precompile._units[precompile.kind_of(session, "cpu")]
        known.clear()
        known.update((unit, dtype) for unit in units)
        # One with a digest is of a formula of a scene, which is compiled with the scene.
        assert {each for each in known if not getattr(each[0].row, "digest", "")} <= ahead

    few, fixed = (rng.random((9, 4)), rng.random((9, 3))), rng.random((9, 4))
    fixed.flags.writeable = False
    columns = fixed, np.asfortranarray(few[1])
    optimizers = sv.SGD(0.1), sv.Momentum(0.1), sv.Nesterov(0.1), sv.RMSProp(0.01), sv.AdamW(0.01)
    for dtype in ("float32", "float64"):
        for name in ACTIVATIONS:
            use(sv.Network([4, 5, 3], name, output="linear", dtype=dtype), few, batch=4)
        for loss in LOSSES:
            use(sv.Network([4, 3], "linear", dtype=dtype), few, loss)
        for optimizer in optimizers:
            optimizer.l1 = optimizer.l2 = 0.001
            many = rng.random((300, 4)), rng.random((300, 3))
            use(sv.Network([4, 5, 3], "tanh", dtype=dtype), many, "mse", optimizer, batch=64)
        typed = tuple(np.asfortranarray(table, dtype) for table in columns)
        for table in (columns, typed, data.Arrays(*columns)):
            use(sv.Network([4, 3], dtype=dtype), table)
        slope, shift = sv.Value(0.5), sv.Value(0.1)
        line = sv.compile(lambda x: (slope * x + shift).tanh(), inputs=1, dtype=dtype)  # noqa: B023
        for count in (1, 9):
            use(line, (fixed[:count, :1], few[1][:count, :1]))
    for path in scenes().values():
        show = load(path)(engine="cpu")
        session, stage = show.session, Stage(show)
        know(session)
        session.advance(2)
        session.advance(min(len(session.operations), 80) + 1, "operation")
        stage.pin(0)
        stage.frame_data()
        stage.captioned()
        session.reset()
        session.history(0, wait=True)
        assert not missed, (path, missed)


def test_what_is_compiled_ahead_gives_way_to_what_the_user_does() -> None:
    program = (
        "import os, runpy; os.nice = print; "
        "runpy.run_module('scalarviz.faces.controller.precompile', run_name='__main__')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == f"{precompile.LOW_PRIORITY}\n"
