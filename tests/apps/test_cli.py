"""The command line: its words, its exit codes, and what it says when something is wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.apps import cli

OWN_SCENE = '''
"""Halves a number."""

from neighbour import rate

import scalarviz as sv
from scalarviz.apps.terminal import Training


def scene(size=4, twice=False, start=0.5, name="x", sizes=(1, 2)):
    """Learns to halve.

    size   how many perceptrons
    start  where it begins
    """
    print(f"{size=} {twice=} {start=} {name=} {sizes=}")
    network = sv.Network([1, size, 1], seed=0)
    return Training(network, lambda step: ([[1.0]], [[0.5]]), "mse", sv.SGD(rate), title=name)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour.py").write_text("rate = 0.1\n", encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN_SCENE, encoding="utf-8")
    return str(tmp_path / "own.py")


class Ran:
    """What a command line left: its exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run_words(*words: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            cli.main(words)
        return Ran(left.value.code or 0, *capsys.readouterr())

    return run_words


def test_the_list_has_each_scene_and_what_it_is_about(run) -> None:
    ran = run("list")
    assert ran.code == 0
    assert re.search(r"^rgb +A small network learns", ran.out, re.MULTILINE)


def test_the_version_is_told(run) -> None:
    assert run("--version").out == f"{sv.__version__}\n"


@pytest.mark.parametrize("verb", ["train", "watch"])
def test_a_scene_runs_by_name_with_its_options(run, verb: str) -> None:
    ran = run(verb, "rgb", "--map", "grey", "--lr", "0.25", "--hidden", "2", "--steps", "5")
    assert ran.code == 0
    assert "grey" in ran.out
    assert "17 parameters, SGD(lr=0.25)" in ran.out
    assert "5 steps: loss from" in ran.out


def test_a_seed_decides_on_the_weights_and_the_colours() -> None:
    scene = cli.load(cli.find("rgb"))
    first, again, other = [scene(seed=seed) for seed in (1, 1, 2)]
    assert first.network.bank.value.tolist() == again.network.bank.value.tolist()
    assert first.network.bank.value.tolist() != other.network.bank.value.tolist()
    assert first.batches(5)[0].tolist() == again.batches(5)[0].tolist()
    assert first.batches(5)[0].tolist() != other.batches(5)[0].tolist()


@pytest.mark.parametrize("name", ["invert", "grey", "swap", "copy"])
def test_every_map_of_the_scene_is_learned(run, name: str) -> None:
    ran = run("train", "rgb", "--map", name, "--lr", "2", "--steps", "600")
    before, after = re.search(r"loss from (\S+) to (\S+)\.", ran.out).groups()
    assert float(after) < float(before) / 5.0


def test_help_names_the_options_of_the_scene_and_their_defaults(run) -> None:
    text = run("watch", "rgb", "--help").out
    for option in ("--map", "--lr", "--batch", "--seed", "--steps", "--speed", "--theme"):
        assert option in text
    assert re.search(r"--batch +<?int(eger)?>? .*random colours.*default: 8", text, re.IGNORECASE)


def test_help_of_a_verb_lists_the_scenes(run) -> None:
    assert re.search(r"rgb +A small network learns", run("watch", "--help").out)


def test_a_file_of_ones_own_is_a_scene_too(run, own: str) -> None:
    ran = run("train", own, "--size", "3", "--twice", "--start", "2", "--name", "y", "--steps", "2")
    assert ran.code == 0
    assert "size=3 twice=True start=2.0 name='y' sizes=(1, 2)" in ran.out
    text = run("train", own, "--help").out
    assert re.search(r"--start .*where it begins", text)
    assert "--sizes" not in text  # nothing that can be typed in one word


def test_a_scene_may_stop_itself_from_being_run_when_loaded(run, own: str) -> None:
    with open(own, "a", encoding="utf-8") as file:
        file.write('\nif __name__ == "__main__":\n    raise AssertionError\n')
    assert run("train", own, "--steps", "1").code == 0


def test_an_unknown_scene_tells_the_nearest(run) -> None:
    ran = run("watch", "rbg")
    assert ran.code == 2
    assert ran.err.startswith("scalarviz: unknown scene 'rbg': choose one of rgb")
    assert ran.err.endswith("did you mean 'rgb'?\n")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["train", "rgb", "--map", "gray"], 2, "unknown map 'gray'.* did you mean 'grey'"),
        (["watch", "rgb", "--theme", "dim"], 2, "unknown theme 'dim'"),
        (["train", "rgb", "--lr", "-1"], 1, "the learning rate must be"),
        (["train", "rgb", "--steps", "0"], 1, "steps must be an integer of at least 1, not 0"),
        (["train", "rgb", "--batch", "-1"], 1, "batch must be an integer"),
        (["watch", "rgb", "--speed", "-3"], 1, "the speed must be"),
        (["train", "none.py"], 1, "there is no file 'none.py'"),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(run, words, code: int, sentence: str) -> None:
    ran = run(*words)
    assert ran.code == code
    assert re.match(f"scalarviz: {sentence}", ran.err)
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("x = 1\n", "has no function called scene"), ("def scene():\n    return 3\n", "returned 3")],
)
def test_a_file_that_is_no_scene_is_refused(run, own: str, text: str, sentence: str) -> None:
    Path(own).write_text(text, encoding="utf-8")
    ran = run("train", own)
    assert ran.code == 1 and sentence in ran.err


def test_an_option_that_is_not_there_is_a_usage_error(run) -> None:
    ran = run("train", "rgb", "--depth", "3")
    assert ran.code == 2 and "--depth" in ran.err


def run_python(*words: str) -> str:
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout


def test_python_m_scalarviz_is_the_same() -> None:
    assert run_python("-m", "scalarviz", "--version") == f"{sv.__version__}\n"


def test_a_list_loads_neither_numpy_nor_a_display() -> None:
    report = "import sys; from scalarviz.apps import cli; cli.print_scenes(); print(*sys.modules)"
    loaded = run_python("-c", report).split()
    assert "rgb" in loaded
    assert not {"numpy", "rich", "typer", "numba"} & set(loaded)
