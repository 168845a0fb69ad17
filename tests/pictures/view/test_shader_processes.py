"""Networks in a fragment shader, in processes of every kind."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.files.shaders.test_glsl import NO_OPENGL

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
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=HANG,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    if not environment and lines and lines[0].startswith("WHY"):
        pytest.skip(NO_OPENGL + lines[0])
    assert not done.stderr or environment, done.stderr
    return lines


def test_as_the_first_thing_and_two_times() -> None:
    assert run("print(right(shader(net)), right(shader(net)))") == ["True True"]


def test_first_from_a_thread_and_then_from_others() -> None:
    lines = run("""
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
""")
    assert lines == ["True True True"]


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
    assert 'start it by multiprocessing.get_context("spawn")' in lines[1]


@linux
def test_a_child_that_was_forked_before_has_its_own() -> None:
    lines = run("""
import multiprocessing
made = shader(net)
def child():
    print(right(made), right(shader(net)), flush=True)
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join(60)
print(process.exitcode, right(made))
""")
    assert lines == ["True True", "0 True"]


@linux
def test_beside_a_canvas_of_a_user_of_vispy() -> None:
    lines = run(
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
    while len(found) < 20 or len(seen) < 20:  # both go on beside each other, whoever is first
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
    )
    assert lines == ["True True vispy.gloo.gl.gl2"]


@pytest.mark.slow
@linux
def test_after_pictures_and_before_them() -> None:
    lines = run("""
s = sv.Session(net, (X, X[:, [0, 1, 0]]), engine="python")
first = right(shader(net))
before = sv.picture(s, size=(64, 48))
print(first, right(shader(net)), np.array_equal(before, sv.picture(s, size=(64, 48))))
""")
    assert lines == ["True True True"]


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


def test_a_program_ends_while_requests_are_under_way() -> None:
    lines = run("""
made = shader(net)
right(made)
kept = [made.request(np.zeros((200_000, 2))) for _ in range(50)]
print(kept[-1].ready)
""")
    assert lines == ["False"]


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
    cells = [BEGIN, "made = shader(net)\nprint(right(made))"]
    cells += ["s = sv.Session(net, (X, X[:, [0, 1, 0]]), engine='python')", awaiting]
    assert run(f"CELLS = {cells!r}\n{KERNEL}")[:2] == ["True", "True 51"]
