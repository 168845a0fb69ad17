"""Threads of the cpu engine: every entry point, one thread or several, the same bits."""

import itertools
import os
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines.cpu import calls
from scalarviz.engines.cpu.calls import ThreadChoice
from tests.machine import ROOT

TWICE = range(2)


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=500,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


# ---- the first call of a process ----------------------------------------------------------------

KERNELS = """
import numpy as np
from numba import prange
from scalarviz.engines.codegen.dispatch import by_address, in_parallel
from scalarviz.engines.cpu.records import array_at, call

@by_address
def write(out, i):
    array_at(out, i + np.uint64(1), np.uint64)[i] = i

@in_parallel
@by_address
def count(write, out, n):
    for i in prange(np.int64(n)):
        call(write, (out, np.uint64(i)))

@by_address
def count_for(count, write, out, n):
    call(count, (write, out, n))
"""
COUNTING = """
    import numpy as np
    import counting
    from scalarviz.engines.codegen import compiling, kernel_units
    from scalarviz.engines.codegen.kernel_units import Unit

    asked, run_children = [], compiling.run_children
    compiling.run_children = lambda paths: asked.extend(paths) or run_children(paths)
    units = [Unit(name, getattr(counting, name)) for name in {names}]
    *inner, last = kernel_units.load(units, "float64")
    numbers = np.zeros(9, np.uint64)
    last.call(*[kernel.address for kernel in reversed(inner)], numbers.ctypes.data, 9)
    print(len(asked), *numbers)
"""


@pytest.mark.slow
def test_a_kernel_loaded_from_disk_may_call_a_parallel_one(tmp_path: Path) -> None:
    # The second process loads the inner kernel and compiles the outer one; the third loads both.
    (tmp_path / "counting.py").write_text(KERNELS)
    two, three = ["write", "count"], ["write", "count", "count_for"]
    for names, compiled in [(two, 2), (three, 1), (three, 0)]:
        done = run(
            COUNTING.format(names=names),
            SCALARVIZ_CACHE_DIR=str(tmp_path / "cache"),
            PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]),
        )
        expected = [str(compiled), *map(str, range(9))]
        assert (done.returncode, done.stdout.split()) == (0, expected), done.stderr


def test_large_networks_train_in_two_threads_in_whole_steps_and_by_operations() -> None:
    """Numba ends a process in which two threads use all cores at once, with this layer."""
    done = run(
        """
        from threading import Thread
        import numpy as np, scalarviz as sv
        from tests.sessions import advanced

        def session():
            net = sv.Network([100, 300, 290, 3], seed=0, engine="cpu")
            data = np.ones((300, 100)), np.ones((300, 3))
            return advanced(sv.Session(net, data, "mse", sv.Adam(0.01), batch=150), 2)

        whole, by_operations = session(), session()
        steps = 40 * len(whole.operations)
        threads = [
            Thread(target=lambda: [whole.advance(3) for _ in range(200)]),
            Thread(target=lambda: by_operations.advance(steps, "operation")),
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        """,
        NUMBA_THREADING_LAYER="workqueue",
    )
    assert done.returncode == 0, done.stderr


def test_importing_scalarviz_starts_no_threads() -> None:
    done = run("""
        import sys
        import scalarviz as sv
        sv.Network([2, 2]).train_step([1.0, 2.0], [3.0, 4.0])
        print("numba" in sys.modules, "numba.np.ufunc.parallel" in sys.modules)
    """)
    assert done.stdout.split() == ["False", "False"], done.stderr


@pytest.mark.slow
def test_threads_that_cannot_be_started_are_an_error_in_one_sentence() -> None:
    done = run(
        """
        import scalarviz as sv
        try:
            sv.Network([2, 2]).to("cpu")([1.0, 2.0])
        except sv.ScalarvizError as error:
            print(type(error).__name__, error)
        """,
        NUMBA_THREADING_LAYER="tbb",
    )
    assert done.stdout.startswith("EngineError numba cannot start threads"), done.stderr
    assert "libgomp1" in done.stdout


# What Python can call first. The batch of `train` is worth several cores.
ENTRY_POINTS = {
    "evaluate": "net = network(); net(X)",
    "verbs": "net = network(); net.forward(X); net.backward(); net.step(sv.SGD(0.1))",
    "train": "network().train(X, Y, 'mse', sv.SGD(0.1), steps=3)",
    "train alone": "network().train(X[:1], Y[:1], 'mse', sv.SGD(0.1), steps=3)",
    "moments": "session().advance(40, 'operation')",
    "session": "session().advance(3)",
    "replicas": "sv.replicate(session(), seeds=range(4)).advance(3)",
    "mixed": "network().to('cpu', 'mixed').train(X, Y, 'mse', sv.SGD(0.1), steps=3)",
    "expression": "expression().train_step(X[:, :1], Y[:, :1], 'mse', sv.SGD(0.1))",
    "means": "sv.picture(wide(), size=(320, 200))",
}
PROGRAM = """
    import numba, numpy as np
    import scalarviz as sv
    from scalarviz.engines.cpu.calls import WORTH_CORES
    numba.set_num_threads({threads})
    X, Y = np.ones((256, 64)), np.ones((256, 10))
    assert 256 * (64 * 16 + 16 * 10) > WORTH_CORES
    network = lambda: sv.Network([64, 16, 10], "tanh").to("cpu")
    session = lambda: sv.Session(network(), (X, Y), "mse", sv.SGD(0.1), engine="cpu")
    wide = lambda: sv.Session(sv.Network([256, 256]), (np.ones((1, 256)),) * 2, engine="python")
    slope = sv.Value(1.0)
    expression = lambda: sv.compile(lambda x: slope * x, inputs=1)
    {call}
    print("done", numba.threading_layer())
"""


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_every_entry_point_may_come_first_in_a_process(layer: str, tmp_path: Path) -> None:
    # From an empty cache on: what calls parallel kernels is compiled when those are on disk.
    for threads in (1, 2):
        for _ in TWICE:
            for name, call in ENTRY_POINTS.items():
                done = run(
                    PROGRAM.format(threads=threads, call=call),
                    NUMBA_THREADING_LAYER=layer,
                    SCALARVIZ_CACHE_DIR=str(tmp_path),
                )
                assert done.stdout.split() == ["done", layer], (name, done.returncode, done.stderr)


# ---- forks --------------------------------------------------------------------------------------

FORK = """
    import os, time, traceback
    import numpy as np
    import scalarviz as sv
    X, Y = np.ones((256, 64)), np.ones((256, 10))
    net = sv.Network([64, 16, 10]).to("cpu")
    slope = sv.Value(1.0)
    expression = sv.compile(lambda x: slope * x, inputs=1)
    s = sv.Session(net.copy(), (X, Y), "mse", sv.SGD(0.1), engine="cpu")
    runs = sv.replicate(s, seeds=range(2))

    def played():
        s.play()
        while s.playing and s.step_index == before:
            time.sleep(0.001)
        s.pause()

    def check():
        calls = [
            lambda: net(X), lambda: net.forward(X), lambda: net.train_step(X, Y),
            lambda: net.copy(dtype="float64"), lambda: s.advance(1), played,
            lambda: s.advance(1, "operation"), lambda: runs.advance(1),
            lambda: expression(X[:, :1]), lambda: sv.Network([2, 2]).to("cpu"),
        ]
        global before
        told, before = set(), s.step_index
        for i, call in enumerate(calls):
            try:
                call()
                print("no error from", i)
            except sv.ScalarvizError as error:
                told.add((type(error).__name__, 'get_context("spawn")' in str(error)))
        print(told, sv.Network([2, 2])([1.0, 2.0]).shape, flush=True)

    {before}
    child = os.fork()
    if child == 0:
        try:
            {inside}
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(net.train_step(X, Y) > 0)
"""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.mark.some(1)
@forks
@pytest.mark.parametrize(
    "before", ["net.train(X, Y, steps=2)", "s.play()", "pass"], ids=["trained", "playing", "loaded"]
)
def test_a_forked_child_is_told_to_spawn_by_every_engine_call(before: str) -> None:
    done = run(FORK.format(before=before, inside="check()"))
    lines = done.stdout.splitlines()
    assert lines == ["{('EngineError', True)} (2,)", "0", "True"], done.stdout + done.stderr


@pytest.mark.slow
@forks
def test_a_session_that_was_refused_its_kernels_after_a_fork_goes_on_without_them() -> None:
    inside = """
            try:
                s.advance(1)
            except sv.errors.EngineError:
                print("refused", s.step_index)
            s.to("python")
            s.advance(1)
            print(s.step_index, s.engine, flush=True)
    """
    done = run(FORK.format(before="s.advance(2)", inside=inside.strip()))
    lines = done.stdout.splitlines()[:3]
    # It is at its last keyframe, of which a slow machine keeps fewer.
    expected = (["refused 2", "3 python", "0"], ["refused 1", "2 python", "0"])
    assert lines in expected, done.stdout + done.stderr


@pytest.mark.slow
@forks
def test_a_child_forked_before_any_kernel_was_loaded_trains() -> None:
    done = run("""
        import os
        import numpy as np
        import scalarviz as sv
        child = os.fork()
        if child == 0:
            net = sv.Network([64, 16, 10]).to("cpu")
            print(net(np.ones((256, 64))).shape, flush=True)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert done.stdout.splitlines() == ["(256, 10)", "0"], done.stderr


@forks
def test_a_child_forked_while_objects_train_goes_on_or_is_told_to_spawn() -> None:
    done = run("""
        import os
        import scalarviz as sv
        s = sv.Session(sv.Network([2, 8, 1]), ([[0.0, 1.0]] * 64, [[1.0]] * 64), engine="python")
        s.play()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    s.advance(1)
                except sv.ScalarvizError as error:
                    assert 'get_context("spawn")' in str(error)
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        s.pause()
    """)
    assert done.stdout.split() == ["0"] * 5, done.stderr


@pytest.mark.slow
@forks
def test_a_network_arrives_in_a_forked_worker_and_its_first_engine_call_is_refused() -> None:
    done = run("""
        import multiprocessing
        import scalarviz as sv
        from scalarviz.errors import EngineError

        def steps(sent):
            return sent.bank.step_count

        def outputs(sent):
            return sent([1.0, 2.0])

        def again(sent):
            return sent.to("python")([1.0, 2.0]).shape

        net = sv.Network([2, 8, 1], "tanh").to("cpu")
        net.train([[1.0, 2.0]], [[1.0]], steps=10)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map_async(steps, [net, net]).get(20))
            print(pool.map_async(again, [net]).get(20))
            try:
                pool.map_async(outputs, [net, net]).get(20)
            except EngineError as error:
                print('get_context("spawn")' in str(error))
    """)
    assert done.stdout.splitlines() == ["[10, 10]", "[(1,)]", "True"], done.stderr


HELD = """
    import faulthandler, math, os, sys, threading, time
    import scalarviz as sv
    from scalarviz.training.session import threads as background
    from scalarviz.engines.codegen import kernel_units
    from scalarviz.errors import EngineError
    s = sv.Session(sv.Network([2, 8, 1]), ([[0.0, 1.0]] * 64, [[1.0]] * 64), engine="python")
    s.advance(2)
    is_held = threading.Event()

    def hold():  # as a thread that trains does
        with s.still(math.inf), kernel_units._lock:
            is_held.set()
            time.sleep(60)

    def played():
        s.play()
        time.sleep(0.2)
        s.pause()

    def pinned():
        s.pin(0)
        s.history(0, wait=True)

    calls = {
        "weight": lambda: setattr(s.network.weight(0), "value", 0.3),
        "bank": lambda: setattr(s.network.bank, "value", s.network.bank.value + 1.0),
        "freeze": lambda: s.network.weight(0).freeze(),
        "session": lambda: sv.Session(s.network, s.data, engine="python"),
        "pin": pinned,
        "play": played,
        "advance": lambda: s.advance(1),
        "snapshot": lambda: s.snapshot().read(),
        "compile": lambda: sv.Network([2, 2]).to("cpu")([1.0, 2.0]),
        "request": lambda: s.snapshot().request(),
    }
    threading.Thread(target=hold, daemon=True).start()
    is_held.wait()
    heard, told = os.pipe()
    os.set_blocking(heard, False)
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(30, exit=True)
        for name, call in calls.items():
            try:
                call()
                print("no error from", name)
            except EngineError as error:
                print(name, 'get_context("spawn")' in str(error), flush=True)
        s.network.weight(0)._repr_html_()
        copied = s.network.copy()
        copied.weight(0).value = 0.3
        os.write(told, repr(time.monotonic()).encode())
        sys.exit()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seconds = time.monotonic() - float(os.read(heard, 99) or "nan")
    print(code, seconds < background.LAST / 2, flush=True)
    os._exit(0)
"""


@pytest.mark.slow
@forks
def test_a_lock_that_another_thread_held_at_a_fork_is_refused() -> None:
    done = run(HELD)
    lines = done.stdout.splitlines()
    assert (len(lines), lines[-1]) == (11, "0 True"), done.stdout + done.stderr
    assert all(line.endswith(" True") for line in lines), done.stdout


class Machine:
    """A clock, and kernels that take so many seconds a step with all cores and with one."""

    def __init__(self, together: float, alone: float) -> None:
        self.now = 0.0
        self.seconds = {True: together, False: alone}
        self.way = True
        self.steps: list[tuple[bool, int]] = []
        self.choice = ThreadChoice()

    def use(self, together: bool) -> None:
        self.way = together

    def call(self, count: int) -> bool:
        self.now += count * self.seconds[self.way]
        self.steps.append((self.way, count))
        return True

    def run(self, calls: int, count: int) -> float:
        """Share of the steps of some calls that all cores take."""
        self.steps = []
        for _ in range(calls):
            self.choice.run(count, self.call, self.use)
        assert sum(n for _, n in self.steps) == calls * count
        return sum(n for way, n in self.steps if way) / (calls * count)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(1e-3, 2e-3)
    monkeypatch.setattr(calls, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


@pytest.mark.parametrize("count", [1, 40])
def test_all_cores_are_used_while_they_are_faster(machine: Machine, count: int) -> None:
    assert machine.run(400, count) > 0.98
    start = machine.now
    machine.run(400, count)
    assert machine.now - start < 1.02 * 400 * count * 1e-3


@pytest.mark.parametrize("count", [1, 40])
def test_one_core_is_used_while_others_are_busy(machine: Machine, count: int) -> None:
    machine.run(400, count)
    machine.seconds[True] = 50e-3
    machine.run(10, count)
    assert machine.run(2000, count) < 0.01
    machine.seconds[True] = 1e-3
    machine.run(10_000 // count, count)
    assert machine.run(400, count) > 0.95


def test_a_call_that_is_disturbed_changes_nothing(machine: Machine) -> None:
    """Nor does the first one, which loads kernels, nor one core that is a little faster."""
    machine.now -= 1.0
    machine.seconds[True] = 0.3
    machine.run(1, 1)
    for _ in range(50):
        machine.seconds[True] = 1e-3
        assert machine.run(1, 1) == 1.0 or machine.way
        machine.seconds[True] = 5e-3
        machine.run(1, 1)
        assert machine.way
    machine.seconds = {True: 1e-3, False: 0.9e-3}
    assert machine.run(400, 1) > 0.98


def test_a_training_that_stops_ends_the_call(machine: Machine) -> None:
    calls = []

    def stops(count: int) -> bool:
        calls.append(count)
        machine.now += 1e-3
        return False

    machine.run(2, 4)
    machine.choice.run(10, stops, machine.use)
    assert calls == [1]


@pytest.mark.parametrize("samples", [512, 4096], ids=["kept", "made anew"])
def test_steps_taken_one_by_one_know_how_long_earlier_ones_took(
    samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []
    known = ThreadChoice._try
    monkeypatch.setattr(ThreadChoice, "_try", lambda *a: tries.append(a[1]) or known(*a))
    net = sv.Network([100, 64, 2], "relu", engine="cpu")
    for _ in range(4):
        net.train_step(np.ones((samples, 100)), np.ones((samples, 2)))
    assert tries == [1]


@pytest.mark.some(1)
@pytest.mark.parametrize("batch", [300, 100], ids=["four chunks", "layers on all cores"])
def test_bits_do_not_depend_on_the_choice(
    batch: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Threads are tried after any number of steps."""
    pair = rng.random((600, 40)), rng.random((600, 7))
    ways = []
    for times in (itertools.repeat(0.0), itertools.count(0.0, 0.01), iter(rng.random(10_000))):
        with monkeypatch.context() as patch:
            patch.setattr(calls, "time", SimpleNamespace(perf_counter=partial(next, times)))
            session = sv.Session(
                sv.Network([40, 300, 300, 7], "tanh"), pair, batch=batch, engine="cpu"
            )
            for steps in (1, 1, 5, 1, 9, 2):
                session.advance(steps, progress=False)
            found = session.network.bank.value, session.losses, session.network(pair[0])
            ways.append([numbers.tobytes() for numbers in found])
    assert ways[0] == ways[1] == ways[2]
