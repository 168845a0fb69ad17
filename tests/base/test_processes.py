"""Processes that are asked to stop, or lose their output.

They end, do their work, and leave nothing.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex

import pytest

from tests.machine import ROOT, output_of

fcntl = pytest.importorskip("fcntl", reason="terminals are those of POSIX")
termios = pytest.importorskip("termios", reason="terminals are those of POSIX")

INT, TERM = signal.SIGINT, signal.SIGTERM
HUP = getattr(signal, "SIGHUP", TERM)
RGB = ("rgb", "--engine", "python", "--steps", "100000000")
TRAIN, RENDER = ("train", *RGB), ("render", *RGB, "-o", "a.mp4", "--pixels", "320x200")
BEGIN = "print('begins'); from scalarviz.faces.cli.commands import main; main()"
MARK = "SCALARVIZ_TEST_MARK"
HANG = 120.0  # seconds that only what hangs takes


class Starved(threading.Thread):
    """Counts the `seconds` in which threads of a process could go on, but had no core to."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.tasks = Path(f"/proc/{process}/task")
        self.first, self.last = self.waits(), dict[str, int]()
        self.start()

    def waits(self) -> dict[str, int]:
        """The nanoseconds that each thread has waited for a core."""
        found = {}
        with contextlib.suppress(OSError):
            for task in self.tasks.iterdir():
                with contextlib.suppress(OSError):  # it has ended just now
                    found[task.name] = int((task / "schedstat").read_text().split()[1])
        return found

    def run(self) -> None:
        while now := self.waits():
            self.last |= now
            time.sleep(0.01)

    @property
    def seconds(self) -> float:
        return sum(wait - self.first.get(name, 0) for name, wait in self.last.items()) / 1e9


class Ended:
    """How a program ended: its code, what it said, what is left of it.

    Attributes:
        seconds: from the first signal on, without those in which other programs had the cores
        handles: whether the first signal waits until the program handles SIGTERM
        between: what the program says before the second signal comes
    """

    def __init__(
        self,
        words: Sequence[str],
        signals: Sequence[signal.Signals],
        folder: Path,
        *,
        after: str = "",
        handles: bool = True,
        wait: float = 0.0,
        between: str = "",
        apart: float = 0.0,
        begin: str = BEGIN,
        **environment: str,
    ) -> None:
        mark = token_hex(8)
        own = {MARK: mark, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        program = subprocess.Popen(
            [sys.executable, "-c", begin, *words],
            cwd=folder,
            env=os.environ | environment | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None
        assert program.stdout.readline() == b"begins\n"
        while after and after.encode() not in program.stdout.readline():
            assert program.poll() is None
        while handles and not catches(program.pid, TERM):
            assert program.poll() is None
            time.sleep(0.01)
        time.sleep(wait)
        began, starved, before = time.monotonic(), Starved(program.pid), b""
        for i, number in enumerate(signals):
            program.send_signal(number)
            while i == 0 and between.encode() not in before:
                line = program.stdout.readline()
                assert line, before
                before += line
            time.sleep(apart)
        try:
            said, errors = program.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            program.kill()
            program.communicate()
            raise AssertionError(f"it goes on after {list(signals)}") from None
        self.seconds = time.monotonic() - began - starved.seconds
        self.code, self.errors = program.returncode, errors.decode()
        self.said = (before + said).decode()
        self.files = sorted(path.name for path in folder.iterdir())
        self.processes = [path for path in Path("/proc").iterdir() if is_marked(path, mark)]


def catches(process: int, number: signal.Signals) -> bool:
    """Whether a program has a handler of a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def is_marked(process: Path, mark: str) -> bool:
    """Whether a process that runs has a mark in its environment."""
    try:
        running = "\nState:\tZ" not in (process / "status").read_text()
        return running and f"{MARK}={mark}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("signals", "code"), [([INT], 130), ([TERM], 143), ([HUP], 129), ([TERM, INT], 143)]
)
def test_a_training_that_is_stopped_is_kept_and_the_code_says_by_what(
    signals: list[signal.Signals], code: int, tmp_path: Path
) -> None:
    between = "Saved to" if len(signals) > 1 else ""
    ended = Ended(TRAIN, signals, tmp_path, after="parameters", wait=0.2, between=between)
    assert ended.code == code and not ended.processes
    assert "Saved to rgb-stopped.safetensors" in ended.said
    assert ended.files == ["rgb-stopped.safetensors"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("words", [TRAIN, RENDER])
def test_it_ends_at_once_however_often_it_is_asked(words: tuple[str, ...], tmp_path: Path) -> None:
    after = "parameters" if "render" not in words else ""
    wait = 0.2 if after else 1.5
    ended = Ended(words, [TERM, *[INT, TERM] * 10], tmp_path, after=after, wait=wait, apart=0.002)
    assert ended.code in (130, 143) and ended.seconds < 3.0  # the system may hand on INT first
    assert not ended.processes and "Traceback" not in ended.errors
    assert {name for name in ended.files if name != "rgb-stopped.safetensors"} == set()


TRAINS = """
print("begins")
from scalarviz.faces.cli import render_scene
take_steps = render_scene.take_steps
def told(*given):
    print("trains")
    return take_steps(*given)
render_scene.take_steps = told
from scalarviz.faces.cli.commands import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_picture_that_was_asked_for_is_not_half_made(tmp_path: Path) -> None:
    words = ("render", *RGB, "-o", "a.png")
    ended = Ended(words, [TERM], tmp_path, after="trains", wait=0.3, begin=TRAINS)
    assert (ended.code, ended.files, ended.errors) == (143, [], "")
    assert ended.said == "Stopped: no picture was written.\n"


HANGS = """
import sys, time
from scalarviz.base.processes import start
from scalarviz.base.interrupt import Stop, StoppableProgram
with StoppableProgram(last=True), Stop():
    start(["-c", "import time; time.sleep(100)"])
    print("ready", flush=True)
    while True:
        try:
            time.sleep(100)
        except BaseException:
            pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
def test_what_catches_everything_is_ended_with_its_children(tmp_path: Path) -> None:
    (tmp_path / "scalarviz_hangs.py").write_text(HANGS)
    program = subprocess.Popen(
        [sys.executable, "scalarviz_hangs.py"],
        cwd=tmp_path,
        env=os.environ | {MARK: (mark := token_hex(8)), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert program.stdout is not None and program.stdout.readline()
    program.send_signal(INT)
    time.sleep(0.1)
    assert program.poll() is None
    program.send_signal(TERM)
    assert program.wait(HANG) == 130
    program.stdout.close()
    assert not [path for path in Path("/proc").iterdir() if is_marked(path, mark)]


class Terminal:
    """A program in a terminal of its own, which shows at once what is `written` there."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.ours, theirs = os.openpty()
        self.written = b""
        self.program = subprocess.Popen(
            [sys.executable, "-m", "scalarviz", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=self.take,
        )
        os.close(theirs)
        self.thread = threading.Thread(target=self.show)
        self.thread.start()

    def take(self) -> None:
        """Become its leader, who is told when it is closed."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def show(self) -> None:
        with contextlib.suppress(OSError):  # nobody writes any more
            while True:
                self.written += os.read(self.ours, 65536)

    def wait(self, wanted: bytes) -> None:
        end = time.monotonic() + HANG
        while wanted not in self.written:
            assert time.monotonic() < end, self.written
            time.sleep(0.01)

    def close(self) -> None:
        """It is gone, as its window is."""
        if self.ours >= 0:
            ours, self.ours = self.ours, -1
            os.close(ours)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        self.program.kill()
        self.program.wait()
        self.thread.join()
        self.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_training_whose_terminal_is_closed_is_kept(tmp_path: Path) -> None:
    with Terminal(("train", *RGB, "--save", "it.safetensors"), tmp_path) as terminal:
        terminal.wait(b"steps/s")
        terminal.close()
        assert terminal.program.wait(HANG) == 129
    assert [path.name for path in tmp_path.iterdir()] == ["it.safetensors"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_it_ends_whenever_it_is_asked(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    words = chance.choice([TRAIN, RENDER])
    signals = chance.choices([INT, TERM, HUP], k=chance.randint(1, 20))
    wait, apart = chance.uniform(0.0, 3.0), chance.choice([0.0, 0.003, 0.05])
    ended = Ended(words, signals, tmp_path, handles=False, wait=wait, apart=apart)
    first = [128 + signals[0], -signals[0]]  # before it has begun, the system ends it
    assert ended.code in first or len(signals) > 1, ended.errors
    assert ended.code in [each for s in (INT, TERM, HUP) for each in (128 + s, -s)], ended.errors
    assert ended.seconds < 6.0 and not ended.processes
    assert not [name for name in ended.files if name != "rgb-stopped.safetensors"]


TRAIN_XOR = ("train", "xor", "--engine", "python", "--steps", "20", "--save", "kept.safetensors")
PAGE = ("page", "xor", "--engine", "python", "--no-engine", "--record", "5", "-o", "xor.html")
SWEEP = ("sweep", "xor", "--seeds", "2", "--steps", "5", "--out", "runs.csv")
LOST = "scalarviz: standard output was lost: No space left on device\n"


def ran(
    words: tuple[str, ...],
    folder: Path,
    out: int | str = subprocess.DEVNULL,
    first: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """The exit code of a command line and its standard error; `out` is a number or a path."""
    command = [sys.executable, "-m", "scalarviz", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with open(out if isinstance(out, str) else os.devnull, "w") as file:
        stdout = file if isinstance(out, str) else out
        done = subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=folder,
            env=environment, preexec_fn=first, timeout=300, check=False,
        )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("list",), ""),
        (TRAIN_XOR, "kept.safetensors"),
        pytest.param(PAGE, "xor.html", marks=pytest.mark.slow),
        pytest.param(SWEEP, "runs.csv", marks=pytest.mark.slow),
    ],
)
def test_a_closed_or_full_output_is_lost_and_the_work_is_done(
    words: tuple[str, ...], file: str, tmp_path: Path
) -> None:
    code, error = ran(words, tmp_path, first=lambda: os.close(1))
    assert (code, "Traceback" in error) == (0, False), error
    assert not file or (tmp_path / file).stat().st_size
    for path in tmp_path.glob("*.*"):
        path.unlink(missing_ok=True) if path.is_file() else None
    code, error = ran(words, tmp_path, "/dev/full")
    assert (code, error.endswith(LOST), "Traceback" in error) == (1, True, False), error
    assert not file or (tmp_path / file).stat().st_size


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
def test_an_error_is_one_where_nobody_can_read_it_and_the_work_is_done(tmp_path: Path) -> None:
    def full() -> None:
        file = os.open("/dev/full", os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)

    assert ran(("train", "rbg"), tmp_path, first=full)[0] > 0
    assert ran(TRAIN_XOR, tmp_path, first=full)[0] > 0 and (tmp_path / "kept.safetensors").exists()
    assert ran(("train", "rbg"), tmp_path, first=lambda: os.closerange(0, 3))[0] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
def test_files_do_not_get_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    code = """
import os, sys
from scalarviz.base.messages import lossy_output
with lossy_output():
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    print("lost", flush=True)
    os.system("echo lost")
    sys.exit(os.fstat(file).st_size + 10 * (file < 3))
"""
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, preexec_fn=lambda: os.closerange(0, 3), check=False
    )
    assert done.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
def test_what_a_full_disk_takes_again_is_written(tmp_path: Path) -> None:
    code = """
import os, resource, signal, sys
from scalarviz.base.messages import lossy_output
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with lossy_output():
    for line, limit in (("a", 100), ("b", 2), ("c", 100)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 100))
        print(line, flush=True)
    sys.exit(0)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with open(tmp_path / "log", "wb") as log:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=log, stderr=subprocess.PIPE, text=True,
            env=environment, check=False,
        )  # fmt: skip
    assert (done.returncode, (tmp_path / "log").read_text()) == (1, "a\nc\n")
    assert done.stderr == "scalarviz: standard output was lost: File too large\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
@pytest.mark.parametrize(
    ("name", "value", "letters", "end"),
    [
        ("PYTHONUNBUFFERED", "1", "said", "os._exit"),
        ("PYTHONIOENCODING", "cp1252", "\\u0416", "sys.exit"),
    ],
)
def test_output_stays_without_a_buffer_and_has_escapes_for_letters_that_its_file_does_not_have(
    name: str, value: str, letters: str, end: str
) -> None:
    code = f"""
import os, sys
from scalarviz.base.messages import lossy_output
with lossy_output():
    print("{letters}")
    {end}(0)
"""
    assert output_of("-c", code, env=os.environ | {name: value}) == f"{letters}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")
def test_a_reader_that_has_gone_ends_it_quietly(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    assert ran(TRAIN_XOR, tmp_path, writes) == (1, "")
    os.close(writes)
