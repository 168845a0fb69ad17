"""A scene of the user's own that fails: its file, its line and the error, and no frames of ours."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.errors import SceneError
from scalarviz.faces.cli import commands
from scalarviz.faces.controller.options import Recipe
from tests.wording import refused

MAKES_A_SESSION = """
import scalarviz as sv


def scene(hidden=3):
    net = sv.Network([2, hidden, 1], engine="python")
    return sv.Session(net, sv.data.Xor(), engine="python")
"""

WRONG = {
    "a bracket that is open": (
        "import math\n\ndef scene(:\n    pass\n",
        "mine.py, line 3: SyntaxError: invalid syntax",
    ),
    "an indent that is none": (
        "def scene():\nreturn 3\n",
        "mine.py, line 2: IndentationError: expected an indented block after function definition "
        "on line 1",
    ),
    "a name that is not there": (
        "def scene():\n    return foo\n",
        "mine.py, line 2: NameError: name 'foo' is not defined",
    ),
    "a failure while it is read": (
        "import scalarviz as sv\n\nnumber = 1 / 0\n",
        "mine.py, line 3: ZeroDivisionError: division by zero",
    ),
    "a package that is missing": (
        "\nimport no_such_package_at_all\n",
        "mine.py, line 2: ModuleNotFoundError: No module named 'no_such_package_at_all': install "
        "the package that has it, or correct the name",
    ),
    "a module of scalarviz that is gone": (
        "from scalarviz.stage.show import Show\n",
        "mine.py, line 1: ModuleNotFoundError: No module named 'scalarviz.stage.*': write `from "
        "scalarviz import Show` instead",
    ),
    "a mistake that scalarviz answers": (
        "import scalarviz as sv\n\n\ndef scene():\n    return sv.Network([3, -1])\n",
        "mine.py, line 5: each size of a network must be an integer of at least 1, not -1",
    ),
    "an error without words": (
        "def scene():\n    raise RuntimeError\n",
        "mine.py, line 2: RuntimeError",
    ),
    "an error of several lines": (
        "def scene():\n    raise ValueError('one\\n  two')\n",
        "mine.py, line 2: ValueError: one two",
    ),
    "no session": (
        "x = 1\n\n\ndef scene():\n    return 3\n",
        "mine.py, line 4: the scene returned 3: return a Show, or just a Session",
    ),
    "nothing": (
        "def scene():\n    pass\n",
        "mine.py, line 1: the scene returned None: return a Show, or just a Session",
    ),
    "a parameter without a default": (
        "\ndef scene(hidden):\n    pass\n",
        "mine.py, line 2: the scene's parameter 'hidden' has no default: give it one",
    ),
    "an end of the program": (
        "import sys\nsys.exit('done')\n",
        "mine.py, line 2: SystemExit: done",
    ),
    "bytes that are no text": (b"x = '\xff'\n", "mine.py.*SyntaxError: .*utf-8"),
    "no function": ("scene = 3\n", "mine.py has no function called scene"),
}
VERBS = ("watch", "render", "train")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As in a terminal, with all that Python itself would print."""
    command = [sys.executable, "-m", "scalarviz", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """What a command line prints on stderr, and its exit code."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)

    def of(*words: str) -> tuple[str, int]:
        with pytest.raises(SystemExit) as left:
            commands.main(words)
        return capsys.readouterr().err, int(left.value.code or 0)

    return of


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_scene_that_fails_is_told_by_its_file_and_line(
    said, tmp_path: Path, verb: str, wrong: str
) -> None:
    text, sentence = WRONG[wrong]
    write(tmp_path, text)
    err, code = said(verb, "mine.py")
    assert re.match(f"scalarviz: {sentence}", err), err
    assert code == 1
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_terminal_shows_no_frames_of_ours(tmp_path: Path) -> None:
    write(tmp_path, "def scene():\n    return foo\n")
    ran = run(tmp_path, "train", "mine.py")
    assert ran.returncode == 1
    assert ran.stderr == "scalarviz: mine.py, line 2: NameError: name 'foo' is not defined\n"


def test_the_files_that_led_there_are_shown_where_they_are_several(said, tmp_path: Path) -> None:
    (tmp_path / "other_of_mine.py").write_text("def half(x):\n    return x / 0\n", encoding="utf-8")
    write(tmp_path, "from other_of_mine import half\n\n\ndef scene():\n    return half(3)\n")
    err, _ = said("train", "mine.py")
    lines = [line for line in err.splitlines() if line.strip(" ~^")]  # as some Pythons point
    assert lines == [
        "scalarviz: other_of_mine.py, line 2: ZeroDivisionError: division by zero",
        f'  File "{tmp_path / "mine.py"}", line 5, in scene',
        "    return half(3)",
        f'  File "{tmp_path / "other_of_mine.py"}", line 2, in half',
        "    return x / 0",
    ]


def test_a_neighbour_with_a_mistake_in_its_syntax_is_named(said, tmp_path: Path) -> None:
    (tmp_path / "half_written.py").write_text("x = (\n", encoding="utf-8")
    write(tmp_path, "import half_written\n")
    err, _ = said("watch", "mine.py")
    assert err.startswith("scalarviz: half_written.py, line 1: SyntaxError: '(' was never closed\n")
    assert "scalarviz/" not in err.replace(str(tmp_path), "")


def test_endless_recursion_is_cut(said, tmp_path: Path) -> None:
    write(tmp_path, "def scene():\n    return scene()\n")
    err, _ = said("train", "mine.py")
    assert err.startswith("scalarviz: mine.py, line 2: RecursionError: maximum recursion depth")
    assert err.count("\n") < 30


def test_an_unknown_word_in_a_scene_is_answered_by_exit_code_2(said, tmp_path: Path) -> None:
    text = MAKES_A_SESSION.replace("engine=", "activation='rulu', engine=", 1)
    write(tmp_path, text)
    err, code = said("train", "mine.py")
    assert err.startswith("scalarviz: mine.py, line 6: unknown activation 'rulu'")
    assert code == 2


def test_an_option_that_a_scene_cannot_take_is_told_by_its_line(said, tmp_path: Path) -> None:
    write(tmp_path, MAKES_A_SESSION)
    err, code = said("train", "mine.py", "--hidden", "-2")
    assert err.startswith("scalarviz: hidden=-2: mine.py, line 6: each size of a network must be")
    assert code == 1


def test_code_of_a_scene_that_fails_while_it_trains_is_told_too(said, tmp_path: Path) -> None:
    text = """
    import numpy as np
    import scalarviz as sv

    def make(step, batch, seed):
        if step == 3:
            raise RuntimeError("no more data")
        return np.zeros((batch, 2)), np.zeros((batch, 1))

    def scene():
        data = sv.data.Generated(make, inputs=2, outputs=1)
        return sv.Session(sv.Network([2, 1]), data, batch=2, engine="python")
    """
    write(tmp_path, textwrap.dedent(text))
    err, code = said("train", "mine.py", "--steps", "10")
    assert err == "scalarviz: mine.py, line 7: RuntimeError: no more data\n" and code == 1


def test_a_mistake_of_ours_keeps_its_traceback(
    said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.faces.controller import train

    write(tmp_path, MAKES_A_SESSION)
    monkeypatch.setattr(train, "Portions", None)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        commands.main(["train", "mine.py"])


def test_a_scene_may_be_written_in_another_encoding(said, tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n'''Gr\xfcn.'''\n" + MAKES_A_SESSION
    write(tmp_path, text.encode("latin-1"))
    assert said("train", "mine.py", "--steps", "1") == ("", 0)


def test_replay_of_a_scene_says_what_it_takes(said, tmp_path: Path) -> None:
    write(tmp_path, MAKES_A_SESSION)
    err, code = said("replay", "mine.py")
    assert code == 1 and err.count("\n") == 1
    assert "'mine.py' is a scene, not a training that was kept" in err
    assert "scalarviz watch mine.py" in err


# From Python.


def test_from_python_the_cause_has_the_users_frames_only(tmp_path: Path) -> None:
    path = write(tmp_path, "def scene():\n    return foo\n")
    with refused(SceneError, "'foo'") as caught:
        sv.watch(str(path))
    cause = caught.value.__cause__
    assert isinstance(cause, NameError) and cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_filename == str(path)
    assert cause.__traceback__.tb_next is None


def test_a_notebook_shows_the_sentence_and_the_users_frames(tmp_path: Path) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell", reason="it draws tracebacks")
    path = write(tmp_path, "def half(x):\n    return x / 0\n\ndef scene():\n    return half(3)\n")
    shell = shells.InteractiveShell()
    printed: list[str] = []
    shell._showtraceback = lambda kind, error, lines: printed.extend(lines)
    shell.run_cell(f"import scalarviz as sv\nsv.watch({str(path)!r})")
    text = "\n".join(printed)
    assert "mine.py, line 2: ZeroDivisionError: division by zero" in text
    assert "return half(3)" in text
    assert "watch.py" not in text and "runpy" not in text


def test_an_option_chosen_in_a_window_is_told_as_an_error_of_ours(tmp_path: Path) -> None:
    path = write(tmp_path, MAKES_A_SESSION.replace("[2, hidden", "[2, 6 // hidden"))
    from scalarviz.faces.scene_file import load

    recipe = Recipe(load(path))
    with refused(SceneError, "line 6", varies=r"(?<=ZeroDivisionError: ).*"):
        recipe.make({"hidden": 0})
