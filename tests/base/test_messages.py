"""Text in the terminal.

Control characters are escaped, messages can be silenced, printed commands can be pasted.
"""

import ast
import gzip
import io
import os
import pickle
import re
import shlex
import struct
import subprocess
import sys
import traceback
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import data
from scalarviz.base import shell_commands
from scalarviz.base.checks import shorten
from scalarviz.base.messages import LONGEST, LONGEST_LINE, say, visible
from scalarviz.base.shell_commands import called, needed, pasted, pip_command, program, requirements
from scalarviz.errors import FileError, InputError, ScalarvizError, UnknownNameError
from scalarviz.files.checked_safetensors import read, write
from scalarviz.stage.show import Show
from tests.machine import ROOT, ended
from tests.wording import refused

# What a terminal obeys (clear the screen, another title, red), what turns a line around, ends it,
# hides, or says something that only a program reads.
ORDERS = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x08\x7f", "\r", "\n", "\x85", "\u2028\u2029"]
TURNS = ["\u202e", "\u2066\u2069", "\u200f", "\u061c"]
HIDDEN = ["\u200b\u2060\ufeff", "\U000e0041", "\u3164", "\ufe0f", "\u00ad"]
HOSTILE = "a" + "".join([*ORDERS, *TURNS, *HIDDEN]) + "z"

posix_names = pytest.mark.skipif(os.name != "posix", reason="elsewhere no file is called like that")


def is_obeyed_nowhere(text: str) -> bool:
    """Whether no letter of a text, line by line, is one that a terminal obeys."""
    kinds = {unicodedata.category(letter) for letter in set(text) - {"\n"}}
    return not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def is_harmless(text: str) -> bool:
    """Whether every letter of a text, line by line, is one that can be seen."""
    return is_obeyed_nowhere(text) and not {"\u3164", "\ufe0f"} & set(text)


@pytest.mark.parametrize("text", [*ORDERS, *TURNS, *HIDDEN])
def test_what_a_terminal_obeys_or_hides_is_written_as_its_escape(text: str) -> None:
    shown = visible(f"a{text}b")
    assert shown[0] == "a" and shown[1] == "\\" and shown[-1] == "b" and shown.isascii()


def test_what_can_be_seen_stays() -> None:
    for text in ("", "net.safetensors", "Größe, 高さ, Ж, ش", "a\\b 'c' \"d\" [red]e[/]"):
        assert visible(text) == text


@given(st.text())
def test_any_text_becomes_one_harmless_line_and_stays_it(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and len(shown) <= LONGEST and visible(shown) == shown


def test_a_long_text_keeps_its_ends() -> None:
    shown = visible("start" + "\x1b" * 10**6 + "end.csv")
    assert shown.startswith("start\\x1b") and shown.endswith("end.csv") and len(shown) <= LONGEST


def test_an_error_shows_what_it_was_told_and_comes_back_from_a_pickle() -> None:
    error = InputError(f"x {HOSTILE}", "second line")
    assert is_harmless(str(error)) and str(error).count("\n") == 1
    assert error.lines[1] == "second line" and "\\x1b[2J" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert len(str(InputError("x" * 10**6))) <= LONGEST_LINE


def test_what_is_printed_is_visible(capsys: pytest.CaptureFixture[str]) -> None:
    say("one", HOSTILE)
    said = capsys.readouterr().out
    assert said.startswith("one\na\\x1b") and said.count("\n") == 2 and is_harmless(said)


# ---- every reader, with a hostile name in every place -------------------------------------------


def csv(folder: Path, text: str, **more: Any) -> object:
    (folder / "a.csv").write_text(text, encoding="utf-8", newline="")
    return data.from_csv(folder / "a.csv", **more)


def npz(folder: Path, **arrays: Any) -> object:
    with zipfile.ZipFile(folder / "a.npz", "w") as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array)
            file.writestr(f"{name}.npy", content.getvalue())
    return data.from_npz(folder / "a.npz")


def onnx_model(folder: Path, **names: str) -> object:
    """A model of one node, with some names in it."""
    onnx = pytest.importorskip("onnx", reason="models take onnx")
    wanted = {"operator": "Relu", "node": "n", "input": "x", "output": "y", "graph": "g"} | names
    x, y = wanted["input"], wanted["output"]
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    node = make.make_node(wanted["operator"], [names.get("reads", x)], [y], name=wanted["node"])
    ports = [make.make_tensor_value_info(name, kind, ("n", 2)) for name in (x, y)]
    graph = make.make_graph([node], wanted["graph"], ports[:1], ports[1:])
    opset = [make.make_opsetid(names.get("domain", ""), 17), make.make_opsetid("", 17)]
    model = make.make_model(graph, opset_imports=opset)
    path = folder / "a.onnx"
    path.write_bytes(model.SerializeToString())
    return sv.onnx.load(path, output=names.get("wants"), train=["no"] if "train" in names else None)


def network_file(folder: Path, *keys: Any, to: Any = HOSTILE, **more: Any) -> object:
    """A network whose file says something else in one place, or has arrays more."""
    path = folder / "net"
    sv.Network([2, 2]).save(path)
    description, arrays = read(path, "network")
    write(path, "network", changed(description, keys, to), arrays | more)
    return sv.load(path)


def run_file(folder: Path, *keys: Any, to: Any = HOSTILE) -> object:
    """A run whose file says something else in one place."""
    path = folder / "run"
    s = sv.Session(sv.Network([2, 1]), data.Xor(), engine="python")
    s.learning_rate = 0.5
    s.edit(0, 0.5)
    s.save(path)
    description, arrays = read(path, "run")
    write(path, "run", changed(description, keys, to), arrays)
    return sv.Session.load(path)


def changed(description: Any, keys: tuple[Any, ...], to: Any) -> Any:
    if not keys:
        return description
    reduce(getitem, keys[:-1], description)[keys[-1]] = to
    return description


def container(folder: Path, about: str, kind: str = "network") -> object:
    """A file whose header is this text."""
    (folder / "a").write_bytes(struct.pack("<Q", len(about.encode())) + about.encode())
    return read(folder / "a", kind)


def kind_file(folder: Path) -> object:
    path = folder / "net"
    sv.Network([2, 2]).save(path)
    path.write_bytes(path.read_bytes().replace(b"network", b"\\\\u202eabc", 1))
    return sv.load(path)


X = np.zeros((3, 2))
# Each with what it is given, by place or by name.
READERS: dict[str, tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = {
    "a cell of a CSV file": (csv, (f'"{HOSTILE}",1\n1,2\n',), {"header": False}),
    "a cell that is not finite": (csv, ("1,2\n\u20001e999\u2028,2\n",), {}),
    "columns of a CSV file": (csv, (f'"{HOSTILE}",b\n1,2\n',), {"targets": "c"}),
    "a column that is asked for": (csv, ("a,b\n1,2\n",), {"targets": HOSTILE}),
    "very many columns": (csv, (",".join(["\x1b[2J" * 20] * 5000) + "\n",), {"targets": "c"}),
    "members of an NPZ file": (npz, (), {HOSTILE: X}),
    "a type in an NPZ file": (npz, (), {"x": np.zeros(3, [("\x1b\x85", "f8")]), "y": X}),
    "an operator": (onnx_model, (), {"operator": HOSTILE}),
    "a domain": (onnx_model, (), {"domain": HOSTILE, "operator": "Other"}),
    "a node": (onnx_model, (), {"operator": "Other", "node": HOSTILE}),
    "a value that is read": (onnx_model, (), {"reads": HOSTILE}),
    "a value that is written": (onnx_model, (), {"output": HOSTILE, "wants": "no"}),
    "a value that is asked for": (onnx_model, (), {"wants": HOSTILE}),
    "parameters": (onnx_model, (), {"node": HOSTILE, "train": "yes"}),
    "a layer": (network_file, ("layers", 0, "kind"), {}),
    "a setting of a layer": (network_file, ("layers", 0, "settings", HOSTILE), {"to": 1}),
    "a value of a setting": (network_file, ("layers", 0, "settings", "activation"), {}),
    "slots": (network_file, ("slots",), {"to": [[HOSTILE]]}),
    "a type of numbers": (network_file, ("dtype",), {}),
    "names of a model": (network_file, ("names",), {"to": {HOSTILE: 1}}),
    "an initializer": (network_file, ("init", "settings", HOSTILE), {"to": 1}),
    "an array": (network_file, (), {HOSTILE: X}),
    "a setting of a loss": (run_file, ("loss", HOSTILE), {"to": 1}),
    "an optimizer": (run_file, ("start", "optimizer", "optimizer", "name"), {}),
    "a setting of an optimizer": (
        run_file,
        ("start", "optimizer", "optimizer", "settings", HOSTILE),
        {"to": 1},
    ),
    "a data set": (run_file, ("start", "data", "data", "name"), {}),
    "a setting of data": (run_file, ("start", "data", "data", "settings", HOSTILE), {"to": 1}),
    "a value of data": (run_file, ("start", "data", "data", "settings", "order"), {}),
    "an engine": (run_file, ("start", "engine"), {}),
    "a precision": (run_file, ("start", "precision", "precision", HOSTILE), {"to": 1}),
    "a moment": (run_file, ("clock",), {}),
    "a kind of action": (run_file, ("branches", 0, "journal", 0, 2), {}),
    "a detail of an action": (run_file, ("branches", 0, "journal", 0, 3), {"to": {HOSTILE: 1}}),
    "an array of an action": (
        run_file,
        ("branches", 0, "journal", 1, 3, "rows"),
        {"to": {"array": HOSTILE}},
    ),
    "a kind of file": (kind_file, (), {}),
    "a header": (container, (HOSTILE,), {}),
    "a type in a header": (container, (f'{{"{HOSTILE}":{{"dtype":"\u202e"}}}}',), {}),
}


def harmless_error(call: Callable[..., object], *given: Any, **named: Any) -> str:
    """The message of the error of a call, which harms no terminal."""
    with pytest.raises(ScalarvizError) as caught:
        call(*given, **named)
    assert is_harmless(str(caught.value))
    assert is_obeyed_nowhere("".join(traceback.format_exception(caught.value)))  # causes too
    return str(caught.value)


@pytest.mark.parametrize("where", READERS)
def test_a_hostile_name_reaches_no_terminal(where: str, tmp_path: Path) -> None:
    read, given, named = READERS[where]
    said = harmless_error(read, tmp_path, *given, **named)
    assert len(said) < 3000
    lines = said.split("\n")
    assert len(lines) == 1 or "no counterpart here" in lines[0]  # no line is made up


NAMED = HOSTILE.replace("/", "")[:60]


def as_folder(folder: Path) -> Path:
    place = folder / NAMED
    place.mkdir()
    (place / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"none"))
    return place


def damaged(folder: Path) -> Path:
    path = folder / NAMED
    path.write_bytes(b"none")
    return path


def absent(folder: Path) -> Path:
    return folder / NAMED


# Each with what makes the path that it takes.
PATHS: dict[str, tuple[Callable[[Any], object], Callable[[Path], object]]] = {
    "csv": (data.from_csv, damaged),
    "npz": (data.from_npz, damaged),
    "texture": (data.Texture, damaged),
    "digits": (data.Digits, as_folder),
    "no folder": (data.Digits, absent),
    "network": (sv.load, damaged),
    "run": (sv.Session.load, damaged),
    "onnx": (sv.onnx.load, damaged),
    "nothing": (sv.load, absent),
    "saving": (sv.Network([2, 2]).save, lambda folder: folder / NAMED / "net"),
    "exporting": (sv.Network([2, 2]).export, absent),
    "scene": (sv.watch, lambda folder: str(folder / f"{NAMED}.py")),
}


@posix_names
@pytest.mark.parametrize("how", PATHS)
def test_a_hostile_path_reaches_no_terminal(how: str, tmp_path: Path) -> None:
    take, path_in = PATHS[how]
    assert "\n" not in harmless_error(take, path_in(tmp_path))


@posix_names
def test_a_warning_and_a_title_are_harmless(tmp_path: Path) -> None:
    sv.Session(sv.Network([2, 1]), data.Xor(), engine="python").save(tmp_path / NAMED)
    description, arrays = read(tmp_path / NAMED, "run")
    write(tmp_path / NAMED, "run", {**description, "bits": HOSTILE}, arrays)
    with pytest.warns(UserWarning, match="another machine") as caught:
        loaded = sv.Session.load(tmp_path / NAMED)
    assert is_harmless(str(caught[0].message))
    assert is_harmless(Show(loaded, title=HOSTILE).title)


@pytest.mark.parametrize(
    "words",
    [
        ["watch", "rgb", f"--{HOSTILE}"],
        ["watch", HOSTILE],
        ["list", HOSTILE],
        ["replay", HOSTILE],
        ["train", "rgb", "--set", HOSTILE],
        ["train", "rgb", "--engine", HOSTILE],
        ["render", "rgb", "-o", HOSTILE],
        ["train", "rgb", "--save", f"{HOSTILE}/x"],
        [HOSTILE],
    ],
)
def test_words_of_the_command_line_are_quoted_harmlessly(run: Any, words: list[str]) -> None:
    code, out, said = run(*words)
    assert code
    assert said and is_harmless(out + said)


def test_markup_in_a_name_is_no_markup(run: Any) -> None:
    assert "[red]no[/]" in run("replay", "[red]no[/] [link=http://x]y[/]").err


# ---- what is quoted is short, and quickly found -------------------------------------------------


def test_of_very_many_names_some_are_listed() -> None:
    error = UnknownNameError("column", "c999999", [f"c{i}" for i in range(200_000)])
    assert "c39, and 199,960 more" in str(error) and len(str(error)) < 400


def test_a_name_of_a_million_letters_is_not_compared() -> None:
    names = ["x" * 10**6, "y" * 100, "relu"]
    assert len(str(UnknownNameError("name", "x" * 10**6, names))) < 400
    assert "did you mean 'relu'" in str(UnknownNameError("name", "rel", names))


def test_what_is_large_deep_or_odd_is_quoted_too() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for thing in (deep, Odd(), 10**5000, list(range(10**6)), {HOSTILE: HOSTILE}, b"\x1b" * 10**6):
        assert len(shorten(thing)) <= 40 and is_harmless(shorten(thing))


def test_the_file_error_of_a_model_lists_its_nodes_line_by_line(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        onnx_model(tmp_path, operator="Other\n    'b' (Relu): fine")
    first, *rest = str(caught.value).split("\n")
    assert first.endswith("remove:") and len(rest) == 1


PACKAGE = ROOT / "scalarviz"
SAY = "from scalarviz.base.messages import inform\ninform('it compiles\\x1b')\n"
IN_SENTENCE = "it compiles\\x1b\n"

# What is the output of a command, or flushes it, and no message of the library.
MAY_USE_STANDARD_ERROR = {
    "faces/cli/kernel_commands.py",
    "faces/cli/commands.py",
    "base/messages.py",
    "base/interrupt.py",
}


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        ("", IN_SENTENCE),
        ("import logging; logging.getLogger('scalarviz').setLevel('WARNING')\n", ""),
        (
            "import logging; logging.basicConfig(format='mine: %(message)s')\n",
            "mine: it compiles\x1b\n",
        ),
        (
            "import logging; log = logging.getLogger('scalarviz'); log.propagate = False\n"
            "log.addHandler(logging.StreamHandler())\n",
            "it compiles\x1b\n",
        ),
        ("import sys; sys.stderr = None\n", ""),
    ],
)
def test_a_message_is_shown_once_unless_it_is_silenced(before: str, shown: str) -> None:
    done = ended("-W", "error", "-c", before + SAY)
    assert (done.stdout, done.stderr) == ("", shown)


def test_it_can_be_silenced_after_the_import_too() -> None:
    late = SAY + "import logging; logging.getLogger('scalarviz').setLevel(logging.ERROR)\n" + SAY
    assert ended("-c", late).stderr == IN_SENTENCE


def nodes(pattern: str) -> Iterator[tuple[str, ast.AST]]:
    """The syntax of the files of the package that have what a pattern finds."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(pattern, text) else ():
            yield path.relative_to(PACKAGE).as_posix(), node


def test_no_message_of_the_library_passes_the_logger_by() -> None:
    found, prints = [
        {path for path, node in nodes(word) if isinstance(node, kind) and ast.unparse(node) == word}
        for word, kind in (("sys.stderr", ast.Attribute), ("print", ast.Name))
    ]
    assert found == MAY_USE_STANDARD_ERROR and not prints, f"{prints} print: write say(...)"


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of a checkout's .venv, in which this Python is said to run."""
    folder = tmp_path / "a folder" / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "scalarviz"):
        (folder / name).write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(folder.parents[1])
    return folder


def run(command: str) -> list[str]:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return shlex.split(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake programs are scripts of a shell")
def test_what_is_printed_can_be_pasted_where_the_path_does_not_lead_to_it(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pasted("scalarviz watch rgb --hidden 0") == ".venv/bin/scalarviz watch rgb --hidden 0"
    assert run(pasted("scalarviz watch rgb")) == [".venv/bin/scalarviz", "watch", "rgb"]
    assert pip_command("video") == ".venv/bin/python -m pip install 'av>=12' 'Pillow>=10.1'"
    monkeypatch.chdir("/")
    assert run(f"{program()} list")[-1] == "list"
    assert pasted("look at the loss") == "look at the loss"


def test_it_has_its_name_where_the_path_leads_to_it(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "scalarviz").symlink_to(venv / "scalarviz")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert program() == "scalarviz"
    other = tmp_path / "other" / "scalarviz"  # of another environment
    other.parent.mkdir()
    other.write_bytes((venv / "scalarviz").read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program() == ".venv/bin/scalarviz"
    (venv / "scalarviz").unlink()  # run from a folder without being installed
    assert program() == ".venv/bin/python -m scalarviz"


def test_a_path_is_short_only_where_a_shell_takes_it_for_a_path(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(venv)
    assert called(sys.executable) == sys.executable
    gone = venv / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert called(sys.executable) == sys.executable
    monkeypatch.chdir("/")


def test_requirements_are_those_of_this_system(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        "numpy>=1.26",
        'one>=1; extra == "notebook"',
        'PySide6-Essentials!=6.12.0,>=6.8; sys_platform != "{}" and extra == "notebook"',
        'two[more]<2; sys_platform == "{}" and extra == "notebook"',
        'three; sys_platform == "{}"',
    ]
    monkeypatch.setattr(
        shell_commands, "requires", lambda _: [e.format(sys.platform) for e in listed]
    )
    assert requirements("notebook") == ["one>=1", "two[more]<2"]
    assert requirements("") == ["numpy>=1.26", "three"]
    assert requirements("none") == [f"scalarviz[none] @ {ROOT.as_uri()}"]


def test_only_what_is_lacking_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["numpy>=1", "numpy>=1000", "no-such-package"]
    monkeypatch.setattr(
        shell_commands, "requires", lambda _: [f"{e}; extra == 'x'" for e in listed]
    )
    assert requirements("x") == listed
    assert pip_command("x").endswith("install 'numpy>=1000' no-such-package")


def test_a_missing_package_is_told_with_the_command_that_installs_it() -> None:
    assert needed("os", "this needs os", "none") is os
    with refused(InputError, "no_such_module", "av>=12", "or do without") as caught:
        needed("no_such_module", "this needs no_such_module", "video", ", or do without")
    assert isinstance(caught.value.__cause__, ImportError)
