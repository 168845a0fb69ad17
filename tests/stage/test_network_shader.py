"""Networks in a fragment shader: outputs, requests, errors, and processes of every kind."""

import asyncio
import copy
import gc
import logging
import os
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OrderError, ShapeError
from scalarviz.files.shaders.shader import WRITERS
from scalarviz.stage import network_shader
from scalarviz.stage.network_shader import NetworkShader, ShaderResult, service, shader
from scalarviz.stage.shader_evaluator import HiddenContext
from tests.files.shaders.test_glsl import CASES, NO_OPENGL
from tests.machine import ended
from tests.wording import refused


@pytest.fixture(scope="module")
def _opengl() -> None:
    """Skip where there is no OpenGL without a window."""
    with shader(sv.Network([1, 1])) as first:
        first([0.0])
        if first.why:
            pytest.skip(NO_OPENGL + first.why)


def xor() -> sv.Network:
    return sv.Network([2, 8, 1], "tanh", seed=1)


@pytest.fixture
def net() -> sv.Network:
    return xor()


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max())


@pytest.mark.usefixtures("_opengl")
@pytest.mark.some(14)
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_layer_and_activation_is_within_1e5_of_the_objects(name: str) -> None:
    net, samples = CASES[name].network, CASES[name].samples
    with np.errstate(all="ignore"):
        wanted = net.copy("float64").to("python")(samples)
    known = np.abs(wanted) < np.finfo(np.float32).max
    with shader(net) as made:
        found = made(samples)
        assert (made.engine, made.why) == ("shader", "")
        assert made.relative_error <= 1e-5
    assert found.dtype == net.dtype
    assert same(found[known], wanted[known])


@pytest.mark.usefixtures("_opengl")
@pytest.mark.parametrize("wide", [1024, 16], ids=["", "more samples than a picture has"])
@pytest.mark.parametrize(
    ("inputs", "outputs", "count"),
    [
        *((1, 1, 70), (5, 3, 70), (4, 4, 70), (7, 10, 70), (3, 33, 70), (40, 40, 70)),
        *((2, 1, 1), (2, 1, 2), (2, 1, 1023), (2, 1, 1024), (2, 1, 1025), (2, 1, 3000)),
    ],
)
def test_any_number_of_inputs_outputs_and_samples(
    inputs: int, outputs: int, count: int, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalarviz.stage.shader_evaluator.WIDE", wide)
    monkeypatch.setattr("scalarviz.stage.shader_evaluator.HIGH", wide // 2)
    net = sv.Network([inputs, 6, outputs], "tanh", seed=2)
    samples = np.random.default_rng(count).normal(size=(count, inputs))
    with shader(net) as made:
        assert same(made(samples), net(samples))
        assert made(samples[0]).shape == (outputs,) and same(made(samples[0]), net(samples[0]))


@pytest.mark.usefixtures("_opengl")
def test_it_has_the_parameters_of_the_time_of_the_request(net: sv.Network) -> None:
    with shader(net) as made:
        before, wanted = made.request([0.25, 0.5]), net([0.25, 0.5])
        net.bank.value[:] = 0.0
        assert same(before.read(), wanted)
        assert made([0.25, 0.5]).tolist() == [0.0]


@pytest.mark.usefixtures("_opengl")
def test_it_follows_a_session_that_plays() -> None:
    s = sv.Session(xor(), sv.data.Xor(), optimizer=sv.SGD(0.01), engine="python", seed=0)
    with shader(s) as made:
        before = made([0.0, 1.0])
        s.play()
        while s.step_index < 5:
            made([0.0, 1.0])
        seen = made([0.0, 1.0])
        s.pause()
        assert not np.array_equal(before, seen)
        assert same(made([0.0, 1.0]), s.network([0.0, 1.0]))


@pytest.mark.usefixtures("_opengl")
def test_it_follows_a_change_of_the_network(net: sv.Network) -> None:
    with shader(net) as made:
        made([0.25, 0.5])
        net.set_activation(0, "sin")
        assert same(made([0.25, 0.5]), net([0.25, 0.5]))
        assert made.engine == "shader"


@pytest.mark.usefixtures("_opengl")
def test_results_can_be_read_again_and_belong_to_the_reader(net: sv.Network) -> None:
    with shader(net) as made:
        result = made.request([[0.25, 0.5]])
        first = result.read()
        first[:] = 7.0
        assert same(result.read(), net([[0.25, 0.5]])) and result.ready
        assert "ready" in repr(result)
        assert repr(ShaderResult(service(), 3, False)) == "ShaderResult of 3 outputs, under way"


@pytest.mark.usefixtures("_opengl")
def test_requests_are_answered_in_their_order(net: sv.Network) -> None:
    samples = np.random.default_rng(0).uniform(size=(20, 2))
    with shader(net) as made:
        found = [result.read() for result in [made.request(sample) for sample in samples]]
        assert made.ready and np.array_equal(made.read(), found[-1])
    assert same(np.array(found), net(samples))


@pytest.mark.usefixtures("_opengl")
def test_a_result_can_be_the_samples_of_another_network() -> None:
    first, second = sv.Network([2, 4, 3], "tanh", seed=1), sv.Network([3, 5, 2], "tanh", seed=2)
    samples = np.random.default_rng(0).uniform(size=(50, 2))
    with shader(first) as one, shader(second) as other:
        assert same(other.request(one.request(samples)).read(), second(first(samples)))
        assert other(one.request(samples[0])).shape == (2,)
        refused(ShapeError, "3 outputs").by(one.request, one.request(samples))


@pytest.mark.usefixtures("_opengl")
def test_it_is_awaited_while_other_tasks_go_on(net: sv.Network) -> None:
    samples = np.random.default_rng(0).uniform(size=(2000, 2))
    seen: list[int] = []

    async def other() -> None:
        for i in range(3):
            seen.append(i)
            await asyncio.sleep(0.0)

    async def look(made: NetworkShader) -> np.ndarray:
        found, _ = await asyncio.gather(made.request(samples), other())
        return found

    with shader(net) as made:
        assert same(asyncio.run(look(made)), net(samples))
    assert seen == [0, 1, 2]


@pytest.mark.usefixtures("_opengl")
def test_many_threads_ask_at_once() -> None:
    nets = [sv.Network([2, 5, 2], "tanh", seed=seed) for seed in range(4)]
    samples = np.random.default_rng(0).uniform(size=(300, 2))
    wrong: list[int] = []

    def ask(made: NetworkShader, net: sv.Network) -> None:
        wrong.extend(i for i in range(8) if not same(made(samples + i), net(samples + i)))

    makers = [shader(net) for net in nets]
    threads = [threading.Thread(target=ask, args=pair) for pair in zip(makers, nets, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert wrong == []


# ---- numbers that are not finite


@pytest.mark.usefixtures("_opengl")
def test_nan_and_infinity_pass_through_as_nan() -> None:
    net = sv.Network([2, 4, 3], "relu", seed=0)
    samples = np.random.default_rng(0).uniform(size=(6, 2))
    wanted = net(samples)
    samples[1, 0], samples[4] = np.nan, (np.inf, 0.0)
    with shader(net) as made:
        found = made(samples)
        assert np.isnan(made([np.nan, 0.0])).all()
    assert np.isnan(found[[1, 4]]).all()
    assert same(found[[0, 2, 3, 5]], wanted[[0, 2, 3, 5]])


# ---- errors


@pytest.mark.usefixtures("_opengl")
@pytest.mark.parametrize("samples", [[[1.0, 2.0, 3.0]], [], [[[1.0]]]])
def test_samples_of_a_wrong_shape_are_refused(samples: list[object]) -> None:
    with shader(xor()) as made, refused(ShapeError, str(np.shape(samples))):
        made(samples)


@pytest.mark.usefixtures("_opengl")
def test_only_networks_and_sessions_of_them_have_a_shader() -> None:
    for wrong in (3, None, sv.compile(lambda x: x * x, inputs=1)):
        refused(InputError, "Network").by(shader, wrong)


@pytest.mark.usefixtures("_opengl")
def test_a_closed_one_is_refused_and_what_was_requested_arrives(net: sv.Network) -> None:
    made = shader(net)
    result = made.request([0.25, 0.5])
    made.close()
    made.close()
    assert same(result.read(), net([0.25, 0.5]))
    refused(OrderError, "closed").by(made, [0.25, 0.5])


@pytest.mark.usefixtures("_opengl")
def test_it_is_not_read_before_a_request_and_neither_is_copied() -> None:
    with shader(xor()) as made:
        assert not made.ready
        refused(OrderError, "request").by(made.read)
        for each in (made, made.request([0.0, 0.0])):
            refused(InputError, "copy").by(copy.copy, each)


# ---- the cpu instead


class Heard(logging.Handler):
    """Keeps the messages of sv.shader; that kernels are compiled is said only by an empty cache."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def emit(self, record: logging.LogRecord) -> None:
        words = record.getMessage()
        if words.startswith("sv.shader"):
            self.found.append(words)


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What sv.shader logs."""
    found: list[str] = []
    handler = Heard(found)
    logging.getLogger("scalarviz").addHandler(handler)
    yield found
    logging.getLogger("scalarviz").removeHandler(handler)


@pytest.mark.usefixtures("_opengl")
def test_a_layer_that_it_cannot_have_is_named_once_and_computed_by_the_cpu(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(WRITERS, "scale")
    net = sv.Network([sv.Dense(2, 3), sv.LayerNorm(3), sv.Dense(3, 1)], seed=0)
    samples = np.random.default_rng(0).uniform(size=(5000, 2))
    samples[7, 0] = np.nan
    with shader(net) as made:
        assert made.engine == "cpu" and "'scale'" in made.why
        found = made(samples)
        made(samples[0])
        assert np.isnan(made.relative_error)
    samples[7, 0] = 0.0
    wanted = net.copy().to("cpu")(samples)
    wanted[7] = np.nan
    assert np.array_equal(found, wanted, equal_nan=True)
    assert len(said) == 1 and "scale 1" in said[0] and "cpu" in said[0]


def check_computed_by_the_cpu(net: sv.Network, said: list[str], why: str) -> None:
    with shader(net) as made:
        assert same(made([0.25, 0.5]), net([0.25, 0.5]))
        assert (made.engine, made.renderer) == ("cpu", "") and why in made.why
    assert len(said) == 1 and why in said[0]


@pytest.mark.usefixtures("_opengl")
@pytest.mark.slow
def test_too_large_a_network_is_named(said: list[str]) -> None:
    check_computed_by_the_cpu(sv.Network([2, 10000, 1], seed=0), said, "10,003")


@pytest.mark.usefixtures("_opengl")
def test_mixed_precision_is_computed_by_the_cpu(said: list[str]) -> None:
    check_computed_by_the_cpu(xor().to("cpu", "mixed"), said, "mixed")


@pytest.mark.usefixtures("_opengl")
def test_a_card_that_computes_wrongly_is_not_used(
    said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = "scalarviz.stage.shader_evaluator.Evaluator._read"
    monkeypatch.setattr(read, lambda self, i, wide, rows: np.ones((rows, wide, 4), np.float32))
    check_computed_by_the_cpu(xor(), said, "relative error")


@pytest.mark.usefixtures("_opengl")
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("_compile", "the driver"),
        ("_resize", "no pictures of float32"),
        ("_check", "OpenGL failed"),
    ],
)
def test_what_the_driver_cannot_do_is_computed_by_the_cpu(
    name: str, instead: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.stage import shader_evaluator

    class Gl:
        """OpenGL with one call that fails."""

        def __getattr__(self, called: str) -> object:
            return getattr(service().context.gl, called)

    gl: Any = Gl()
    if name == "_compile":
        gl.glGetShaderParameter = lambda *a: 0
    elif name == "_resize":
        gl.glCheckFramebufferStatus = lambda *a: 0
    else:
        gl.glFinish = lambda: gl.__setattr__("glGetError", lambda: 0x505)
    begin = shader_evaluator.Evaluator.__init__

    def with_gl(self: shader_evaluator.Evaluator, context: HiddenContext, *rest: Any) -> None:
        false = object.__new__(HiddenContext)
        false.gl, false.renderer = gl, "false"
        begin(self, false, *rest)

    monkeypatch.setattr(shader_evaluator.Evaluator, "__init__", with_gl)
    check_computed_by_the_cpu(xor(), said, instead)


# ---- what is left behind


@pytest.mark.usefixtures("_opengl")
def test_a_result_that_nobody_keeps_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    evaluate = network_shader.Core.evaluate
    monkeypatch.setattr(
        network_shader.Core,
        "evaluate",
        lambda self, task, context: done.append(task) or evaluate(self, task, context),
    )
    with shader(xor()) as made:
        made([0.0, 0.0])
        for _ in range(200):
            made.request(np.zeros((3000, 2)))
        made.read()
    assert 2 <= len(done) < 150


@pytest.mark.usefixtures("_opengl")
def test_what_it_has_on_the_card_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    freed: list[object] = []
    release = network_shader.Evaluator.release
    monkeypatch.setattr(
        network_shader.Evaluator, "release", lambda self: freed.append(self) or release(self)
    )
    made = shader(xor())
    made([0.0, 0.0])
    del made
    gc.collect()
    with shader(xor()) as other:
        other([0.0, 0.0])  # the tasks before it are done
    assert len(freed) >= 1


HANG = 300.0  # seconds that only what hangs takes
linux = pytest.mark.skipif(sys.platform != "linux", reason="EGL and fork are those of Linux")
BEGIN = """
import numpy as np
import scalarviz as sv
from scalarviz.errors import DisplayError, ScalarvizError
shader = sv.shader
net = sv.Network([2, 8, 3], "tanh", seed=1)
X = np.random.default_rng(0).uniform(size=(500, 2))
def right(made):
    found = made(X)
    if made.why:
        print("WHY", made.why, flush=True)
    return bool(np.abs(found - net(X)).max() < 1e-5)
"""


def run(program: str, **environment: str) -> list[str]:
    """The lines that a program prints, which ends well; skips the test without OpenGL."""
    done = ended("-c", BEGIN + program, env=os.environ | environment, seconds=HANG)
    lines = done.stdout.splitlines()
    if not environment and lines and lines[0].startswith("WHY"):
        pytest.skip(NO_OPENGL + lines[0])
    assert not done.stderr or environment, done.stderr
    return lines


# Programs by what they do, with the lines that they print.
PROGRAMS = {
    "it is the first thing, two times": (
        "print(right(shader(net)), right(shader(net)))",
        ["True True"],
    ),
    "it is first in a thread, then in others": (
        """
import threading
made, found = [], []
def first():
    made.append(shader(net))
    found.append(right(made[0]))
def then():
    found.append(right(made[0]))
for work in (first, then):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(*found, right(made[0]))
""",
        ["True True True"],
    ),
    "a child that was forked before has its own": (
        """
import multiprocessing
made = shader(net)
def child():
    print(right(made), right(shader(net)), flush=True)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join(60)
print(process.exitcode, right(made))
""",
        ["True True", "0 True"],
    ),
    "it is beside a canvas of a user of vispy": (
        """
import os, threading
os.environ.update(EGL_PLATFORM="surfaceless", PYOPENGL_PLATFORM="egl")
import vispy
vispy.use("egl", "gl2")
from vispy import app, gloo
canvas = app.Canvas(size=(8, 8), show=False)
canvas.set_current()
made, found, seen = shader(net), [], []
def ask():
    while len(found) < 20 or len(seen) < 20:  # both work beside each other, whoever is first
        found.append(right(made))
thread = threading.Thread(target=ask, daemon=True)
thread.start()
while thread.is_alive():
    gloo.clear("red")
    seen.append(tuple(gloo.read_pixels((0, 0, 1, 1))[0, 0, :3]) == (255, 0, 0))
    seen.append(gloo.get_current_canvas() is canvas)
thread.join()
print(all(seen), all(found), gloo.gl.current_backend.__name__)
""",
        ["True True vispy.gloo.gl.gl2"],
    ),
    "it is after pictures and before them": (
        """
s = sv.Session(net, (X, X[:, [0, 1, 0]]), engine="python")
first = right(shader(net))
before = sv.picture(s, size=(64, 48))
print(first, right(shader(net)), np.array_equal(before, sv.picture(s, size=(64, 48))))
""",
        ["True True True"],
    ),
    "it ends while requests are under way": (
        """
made = shader(net)
right(made)
kept = [made.request(np.zeros((200_000, 2))) for _ in range(50)]
print(kept[-1].ready)
""",
        ["False"],
    ),
}
SLOW = {name: pytest.mark.slow for name in [*PROGRAMS][2:] if "canvas" not in name}


@linux
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in PROGRAMS]
)
def test_in_a_program(name: str) -> None:
    program, lines = PROGRAMS[name]
    assert run(program) == lines


@linux
def test_a_forked_child_is_told_to_spawn() -> None:
    lines = run("""
import multiprocessing
made = shader(net)
print(right(made), flush=True)
def child():
    for ask in (lambda: made(X), lambda: shader(net)):
        try:
            ask()
        except DisplayError as error:
            print(error, flush=True)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join(60)
print(process.exitcode, right(made))
""")
    assert lines[0] == "True" and lines[-1] == "0 True"
    assert len(lines) == 4 and lines[1] == lines[2]
    assert 'start it with multiprocessing.get_context("spawn")' in lines[1]


@pytest.mark.slow
@linux
def test_without_opengl_there_is_one_sentence_and_the_result_of_the_cpu() -> None:
    none = {"LIBGL_DRIVERS_PATH": "/none", "__EGL_VENDOR_LIBRARY_DIRS": "/none"}
    lines = run(
        """
import sys
sys.stderr = sys.stdout
made, other = shader(net), shader(net)
print(np.array_equal(made(X), net.copy().to("cpu")(X)), np.isnan(made([np.nan, 0.0])).all())
print(made.engine)
""",
        **none,
    )
    assert len(lines) == 3 and lines[1:] == ["True True", "cpu"]
    assert "the cpu computes" in lines[0] and "OpenGL cannot be used here (" in lines[0]
    assert "apt-get install libegl1" in lines[0]


KERNEL = """
import subprocess
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(startup_timeout=60, stderr=subprocess.DEVNULL)
said = []
def hear(message):
    if message["msg_type"] in ("stream", "error"):
        said.append(str(message["content"].get("text", message["content"])))
for code in CELLS:
    client.execute_interactive(code, output_hook=hear, timeout=60)
client.stop_channels()
manager.shutdown_kernel(now=True)
print("".join(said))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ipykernel") is None, reason="needs ipykernel")
def test_in_a_notebook_whose_cells_await() -> None:
    awaiting = "print((await made.request(X) == made(X)).all(), (await s.snapshot()).value.size)"
    cells = [
        BEGIN,
        "made = shader(net)\nprint(right(made))",
        "s = sv.Session(net, (X, X[:, [0, 1, 0]]), engine='python')",
        awaiting,
    ]
    assert run(f"CELLS = {cells!r}\n{KERNEL}")[:2] == ["True", "True 51"]
