"""The command line: commands, options, exit codes, and error messages."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import scalarviz as sv
from scalarviz.base.limits import in_units
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import DisplayError, InputError, UnknownNameError
from scalarviz.faces import watch as faces
from scalarviz.faces.cli import commands, kernel_commands, render_scene, watch_scene
from scalarviz.faces.cli import sweep_scene as sweep_command
from scalarviz.faces.cli.kernel_commands import measure, words_for
from scalarviz.faces.cli.sweep_scene import grid_of, options_of, seeds_in, show_of, sweep_scene
from scalarviz.faces.controller.train import Autosave
from scalarviz.faces.scene_file import answer, find, load
from scalarviz.faces.scene_options import (
    PAGING,
    RENDERING,
    RUNNING,
    SHARED,
    WATCHING,
    Option,
    kind_of,
)
from scalarviz.stage.show import Show
from tests.machine import ROOT
from tests.wording import refused

OWN_SCENE = '''
"""Halves a number."""

from neighbour import rate

import scalarviz as sv


def scene(size=4, twice=False, start=0.5, name="x", sizes=(1, 2)):
    """Learns to halve.

    size   how many perceptrons
    start  where it begins
    """
    print(f"{size=} {twice=} {start=} {name=} {sizes=}")
    network = sv.Network([1, size, 1], seed=0)
    pair = [[1.0], [0.5]], [[0.5], [0.25]]
    return sv.Session(network, pair, "mse", sv.SGD(rate), batch=1, engine="python")
'''


@pytest.fixture
def custom_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour.py").write_text("rate = 0.1\n", encoding="utf-8")
    (tmp_path / "custom_layers.py").write_text(OWN_SCENE, encoding="utf-8")
    return str(tmp_path / "custom_layers.py")


SMALL = ("rgb", "--engine", "python", "--steps", "5")


def test_the_list_has_each_scene_and_what_it_is_about(run) -> None:
    ran = run("list")
    assert ran.code == 0
    assert re.search(r"^rgb +A small network learns", ran.out, re.MULTILINE)


def test_the_version_is_told(run) -> None:
    assert run("--version").out == f"{sv.__version__}\n"


def test_help_has_examples(run) -> None:
    assert "scalarviz watch circle --shape spiral" in run("--help").out
    assert 'scalarviz train rgb --stop-when "loss < 0.01"' in run("train", "rgb", "--help").out


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a screen")
def test_from_python_a_missing_screen_is_an_error(
    colours: sv.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("PySide6", reason="without it, that is what is said first")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    refused(DisplayError, "no screen").by(sv.watch, colours)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_rendering_writes_the_file_that_is_asked_for(run, tmp_path: Path) -> None:
    for name, said in (("a.png", "5 steps: loss from"), ("a.gif", "pictures")):
        ran = run(
            "render", *SMALL, "-o", str(tmp_path / name), "--pixels", "320x200", "--samples", "1"
        )
        assert ran.code == 0 and f"{tmp_path / name}: " in ran.out and said in ran.out
        assert (tmp_path / name).stat().st_size > 5000


def test_a_scene_with_an_option_called_like_one_of_a_picture_keeps_it(run, tmp_path: Path) -> None:
    path = str(tmp_path / "a.png")
    words = ("render", "expression", "--engine", "python", "--steps", "2", "-o", path)
    assert run(*words, "--pixels", "320x200", "--samples", "10").code == 0  # of the scene


def test_a_training_that_was_kept_is_opened_again(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.safetensors"
    assert run("train", *SMALL, "--save", str(kept)).code == 0
    watch = Mock(return_value=0)
    monkeypatch.setattr(faces, "watch", watch)
    assert run("replay", str(kept)).code == 0
    (show, *_), options = watch.call_args
    assert show.session.step_index == 5 and show.title == "kept.safetensors"
    assert options["play"] is False
    for more, plays in (([], False), (["--steps", "3"], None)):
        assert run("watch", *SMALL[:-2], "--resume", str(kept), *more).code == 0
        assert watch.call_args.kwargs["play"] is plays
    ran = run("replay", str(tmp_path / "none.safetensors"))
    assert ran.code == 1 and ran.err.count("\n") == 1


def test_help_names_the_options_of_the_scene_and_their_defaults(run) -> None:
    text = run("watch", "rgb", "--help").out
    for option in ("--map", "--lr", "--batch", "--seed", "--steps", "--speed", "--theme", "--set"):
        assert option in text
    assert len(re.findall(r"--lr +NUMBER", text)) == 1
    assert re.search(r"--batch +N .*colours per step.*default: 8", text)


def test_a_file_of_ones_own_is_a_scene_too_with_the_options_of_every_scene(
    run, custom_scene: str
) -> None:
    words = "--size 3 --twice --start 2 --name y --steps 2 --lr 0.25 --batch 2 --seed 3"
    ran = run("train", custom_scene, *words.split())
    assert ran.code == 0
    assert "size=3 twice=True start=2.0 name='y' sizes=(1, 2)" in ran.out
    assert "Learns to halve\n10 parameters, SGD(lr=0.25)" in ran.out
    text = run("train", custom_scene, "--help").out
    assert re.search(r"--start .*where it begins", text)
    assert "--sizes" not in text  # nothing that can be typed in one word


def test_a_scene_may_stop_itself_from_being_run_when_loaded(run, custom_scene: str) -> None:
    with open(custom_scene, "a", encoding="utf-8") as file:
        file.write('\nif __name__ == "__main__":\n    raise AssertionError\n')
    assert run("train", custom_scene, "--steps", "1").code == 0


def test_a_run_is_saved_and_goes_on(run, custom_scene: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept.safetensors")
    assert f"Saved to {kept}" in run("train", custom_scene, "--steps", "7", "--save", kept).out
    ran = run("train", custom_scene, "--steps", "3", "--resume", kept)
    assert ran.code == 0 and re.search(r"^step +10 ", ran.out, re.MULTILINE)
    refused = run("train", custom_scene, "--resume", kept, "--size", "5")
    assert refused.code == 1 and "takes its size from the file: leave out --size" in refused.err


def test_a_file_has_as_many_keyframes_as_asked_or_the_network_alone(
    run, custom_scene: str, tmp_path: Path
) -> None:
    train, path = (
        ("train", custom_scene, "--steps", "300", "--lr", "0.01", "--save"),
        tmp_path / "it",
    )
    sizes = []
    for more in ((), ("--keyframes", "0"), ("--weights",)):
        out = run(*train, str(path), *more).out
        sizes.append(path.stat().st_size)
        assert f"{path}, {in_units(sizes[-1])}" in out
    assert sizes == sorted({*sizes}, reverse=True)
    assert run("train", custom_scene, "--resume", str(path)).code == 1
    assert "--keyframes must be" in run(*train, str(path), "--keyframes", "-1").err
    refusal = "leave out --keyframes or --weights"
    assert refusal in run(*train, str(path), "--keyframes", "5", "--weights").err


def test_ctrl_c_is_told_by_the_exit_code(run, custom_scene: str) -> None:
    with open(custom_scene, "a", encoding="utf-8") as file:
        file.write("\n\ndef scene():\n    raise KeyboardInterrupt\n")
    assert run("train", custom_scene).code == 130


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["train", *SMALL, "--map", "gray"], 2, "unknown map 'gray'.* did you mean 'grey'"),
        (["train", *SMALL, "--set", "mop=grey"], 2, "unknown option of the scene 'mop'"),
        (["train", *SMALL, "--set", "map"], 1, "--set takes NAME=VALUE, not 'map'"),
        (["watch", *SMALL, "--theme", "dim"], 2, "unknown theme 'dim'"),
        (["train", "rgb", "--engine", "gpu"], 2, "unknown engine 'gpu'"),
        (["train", *SMALL, "--lr", "-1"], 1, "lr=-1.0: the learning rate must be"),
        (["train", *SMALL, "--steps", "0"], 1, "steps must be an integer of at least 1, not 0"),
        (["train", *SMALL, "--batch", "-1"], 1, "batch must be an integer"),
        (["watch", *SMALL, "--speed", "-3"], 1, "the speed must be"),
        (["train", *SMALL, "--autosave", "3"], 1, "--autosave needs a file"),
        (["train", *SMALL, "--save", "none/it"], 1, "folder not found: 'none'"),
        (["train", *SMALL, "--resume", "none.safetensors"], 1, ".*none.safetensors"),
        (["render", "it.safetensors"], 1, "'it.safetensors' is a saved training run: open it with"),
        (["train", "none.py"], 1, "file not found: 'none.py'"),
    ],
)
def test_a_mistake_is_answered_by_one_sentence(run, words, code: int, sentence: str) -> None:
    ran = run(*words)
    assert ran.code == code
    assert re.match(f"scalarviz: {sentence}", ran.err)
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "typed", "answer"),
    [
        ("--deepth", "3", "--deepth"),
        ("--hidden", "four", "'--hidden': it takes a whole number, such as 8, not 'four'"),
        ("--steps", "1.5", "'--steps': it takes a whole number, such as 8, not '1.5'"),
        ("--lr", "x", "'--lr': it takes a number, such as 0.1, not 'x'"),
    ],
)
def test_a_wrong_option_is_a_usage_error(run, option: str, typed: str, answer: str) -> None:
    ran = run("train", "rgb", option, typed)
    assert ran.code == 2 and answer in " ".join(re.sub("[│╭╮╰╯─]", " ", ran.err).split())


def test_the_exit_code_of_the_doctor_is_that_of_the_command(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.faces.cli import doctor

    monkeypatch.setattr(doctor, "examine", lambda: 1)
    assert run("doctor").code == 1


def run_python(*words: str, **more: Any) -> str:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True, cwd=ROOT, **more
    ).stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tr", ["train"]),
        ("watch xn", ["xnor"]),
        ("watch xor --ac", ["--activation"]),
        ("watch rgb --map s", ["sepia", "swap"]),  # names of the scene's own table
        ("watch circle --shape sp", ["spiral"]),
        ("train xor --optimizer ad", ["adam", "adamw"]),
        ("train texture --loss sig", ["sigmoid_cross_entropy"]),
        ("page rgb --engine ", ["cuda", "cpu", "python", "auto"]),
        ("render rgb --theme ", ["dark", "light", "auto"]),
        ("render rgb --move o", ["orbit"]),
        ("watch rgb --save ru", []),  # the shell offers files then
        ("watch rgb --lr ", []),
        ("replay ", []),
        ("watch rgb --map = s", ["sepia", "swap"]),  # as bash splits --map=s
        ("watch rgb --map =", ["invert", "grey", "sepia", "hue", "swap", "copy"]),
        ("watch rgb --lr = 2 --map = gr", ["grey"]),
        ("render rgb --color la", ["last\\", "change"]),  # one word for bash
    ],
)
def test_a_shell_completes_commands_scenes_options_and_their_values(
    run, monkeypatch: pytest.MonkeyPatch, line: str, offered: list[str]
) -> None:
    monkeypatch.setenv("_SCALARVIZ_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"scalarviz {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) + line.endswith(" ")))
    assert run().out.split() == offered


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["complete_zsh", "complete_fish"])
def test_other_shells_complete_scenes_and_their_options_too(shell: str) -> None:
    environment = {
        "_SCALARVIZ_COMPLETE": shell,
        "_TYPER_COMPLETE_ARGS": "scalarviz watch rgb --map se",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    main = "from scalarviz.faces.cli.commands import main; main()"
    assert "sepia" in run_python("-c", main, env=os.environ | environment)


def test_a_completion_of_scenes_loads_no_numpy() -> None:
    report = "import sys, atexit; atexit.register(lambda: print(*sys.modules)); " + (
        "from scalarviz.faces.cli.commands import main; main()"
    )
    environment = {
        "_SCALARVIZ_COMPLETE": "complete_bash",
        "COMP_WORDS": "scalarviz watch ",
        "COMP_CWORD": "2",
    }
    loaded = run_python("-c", report, env=os.environ | environment).split()
    assert "rgb" in loaded and "numpy" not in loaded


@pytest.mark.some("words1", "words2", "words4")
@pytest.mark.parametrize(
    "words",
    [[], ["watch"], ["watch", "rgb"], ["render", "xor"], ["replay"], ["doctor"]],
)
def test_help_has_no_types_of_python(run, words: list[str]) -> None:
    text = run(*words, "--help").out
    assert "--help" in text and not re.search(r"<(bool|str|int|float|path|list)", text)
    assert "--no-tour" not in text
    if words[:1] == ["watch"]:
        assert "--bias" in text and "--no-bias" in text and re.search(r"--save +FILE", text)
        assert bool(words[1:]) == bool(re.search(r"--map +NAME", text))
        assert words[1:] or "watch SCENE --help also lists the options of that scene" in text


def test_a_switch_that_help_leaves_out_still_works(run) -> None:
    assert run("train", *SMALL, "--no-weights").code == 0


SWEEPS_HAD = "--picture --watch --networks --order --group --folder --stop-at-success".split()


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("watch rgb --terminal", "train"),
        ("watch rgb xor --terminal", "train"),
        ("replay a.b --terminal", "train"),
        ("page rgb --language german", "English"),
        ("lessons --language german", "English"),
        ("--language german", "English"),
        ("watch rgb --present", "F11"),
        ("doctor --class", "lessons"),
        *((f"sweep xor {option}", "-o runs.csv") for option in SWEEPS_HAD),
        ("class rgb", "lesson -o folder"),
        ("collect answers", "as a link"),
        ("compare a.sv b.sv", "health"),
    ],
)
def test_what_is_gone_is_answered_with_what_to_use(words: str, instead: str) -> None:
    given = words.split()
    refused(Exception, instead).by(commands.application(given), given, standalone_mode=False)


@pytest.mark.parametrize(("wrong", "meant"), [("--rate", "--lr"), ("--initialisation", "--init")])
def test_frequent_names_of_options_are_answered_with_ours(run, wrong: str, meant: str) -> None:
    ran = run("train", "rgb", wrong, "1")
    # The words of click 8.2, by which typer 0.16 parses, and of newer ones.
    assert ran.code == 2 and re.search(f"(Did you mean|Possible options:) {meant}", ran.err)


def test_python_m_scalarviz_is_the_same() -> None:
    assert run_python("-m", "scalarviz", "--version") == f"{sv.__version__}\n"


def test_a_list_loads_neither_numpy_nor_a_display() -> None:
    report = (
        "import sys; from scalarviz.faces.cli import commands; "
        "commands.print_scenes(); print(*sys.modules)"
    )
    loaded = run_python("-c", report).split()
    assert "rgb" in loaded
    assert not {"numpy", "rich", "typer", "numba"} & set(loaded)


def test_a_training_stops_where_it_is_told_to(run: Any) -> None:
    words = ("train", "rgb", "--engine", "python", "--steps", "50")
    done = run(*words, "--stop-when", "loss < 100", "--stop-when", "not finite")
    assert done.code == 0 and "stopped at step 1: loss < 100 (it is" in done.out
    refused = run(*words, "--stop-when", "los < 100")
    assert refused.code and "did you mean 'loss'" in refused.err
    assert "--stop-when" in run("train", "rgb", "--help").out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a current folder cannot be removed")
def test_in_a_removed_folder_it_trains_and_says_where_nothing_can_be_kept(tmp_path: Path) -> None:
    def ran(*words: str) -> tuple[int, str, str]:
        (folder := tmp_path / "gone").mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "scalarviz", *words], capture_output=True, text=True,
            cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, preexec_fn=folder.rmdir,
            check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr and "FileNotFoundError" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    code, out, _ = ran("train", "xor", "--engine", "python", "--steps", "5")
    assert code == 0 and "5 steps: loss from" in out
    for words in (("train", "xor", "--save", "it.safetensors"), ("page", "xor")):
        code, out, error = ran(*words, "--engine", "python")
        assert (code, out) == (1, "") and "the current folder was removed: change to" in error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            FileNotFoundError(2, "No such file or directory"),  # as os.getcwd raises it
            "the current folder was removed: change to another one",
        ),
        (
            FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/'])"),
            "no writable temporary folder: set TMPDIR to one",
        ),
        (MemoryError(), "not enough memory: use smaller layers, batches or data"),
    ],
)
def test_an_error_for_want_of_a_folder_or_of_memory_says_so(error: Exception, said: str) -> None:
    assert str(answer(error)) == said


TYPED: dict[Any, tuple[str, Any]] = {
    int: ("7", 7),
    float: ("0.5", 0.5),
    str: ("words", "words"),
    Path: ("file", Path("file")),
}


def typed(name: str, option: Option) -> tuple[list[str], Any]:
    """An option on the command line, with a value that is not its default; and that value."""
    flag, kind = f"--{name.replace('_', '-')}", kind_of(option)
    if kind is bool:
        return [flag], True
    word, value = TYPED[kind]
    is_open = option.info.others and name != "activation"  # of which several are one word
    if names := () if is_open else [*option.info.names]:
        word = value = next(each for each in names if each != option.default)
    return [flag, word], [value] if option.kind == list[str] else value


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("verb", "own"), [("watch", WATCHING), ("train", {}), ("render", RENDERING), ("page", PAGING)]
)
def test_an_option_of_every_scene_arrives(
    run: Any, monkeypatch: pytest.MonkeyPatch, verb: str, own: dict[str, Option]
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setitem(
        commands.DEEDS, verb, lambda scene, _, known, *more: given.update(known) or 0
    )
    for name, option in (SHARED | RUNNING | own).items():
        words, value = typed(name, option)
        assert run(verb, "xor", *words).code == 0
        assert given[name] == value


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "name", [*WATCHING, "steps", "save", "autosave", "keyframes", "weights", "limit"]
)
def test_an_option_of_open_arrives(run: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(watch_scene, "open_link", lambda link, known: given.update(known) or 0)
    words, value = typed(name, (WATCHING | RUNNING)[name])
    assert run("open", "xor", *words).code == 0
    assert given[name] == value


def test_the_options_of_a_sweep_arrive(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(sweep_command, "sweep_scene", lambda *known: given.extend(known) or 0)
    words = (
        "--grid hidden=2,4 --seeds 3 --steps 20 --every 5 --success 0.1 --goal mae "
        "--executor processes --out a.csv"
    )
    assert run("sweep", "xor", *words.split()).code == 0
    assert given == [
        "xor", ["hidden=2,4"], "3", 20, 5, "0.1", "mae", "processes", "a.csv",
    ]  # fmt: skip


def test_bench_measures(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    monkeypatch.setattr(kernel_commands, "measure", lambda: measured.append("all"))
    assert run("bench").code == 0 and measured == ["all"]


def test_a_row_a_scene_and_a_column_an_engine_that_runs_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel_commands, "SECONDS", 0.03)
    monkeypatch.setattr(kernel_commands, "ENGINES", {"python": ENGINES["python"]})
    monkeypatch.setattr(kernel_commands, "LARGEST", 1000)
    monkeypatch.setenv("COLUMNS", "100")
    measure()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    table = {row[0]: row[1:] for row in rows}
    assert table["scene"] == ["weights", "batch", "python"]
    assert table["rgb"][:2] == ["59", "8"] and float(table["rgb"][2].replace(",", "")) > 10
    assert table["texture"] == ["13,507", "1,024", "too", "slow"]


def test_a_rate_is_that_of_steps_without_what_a_scene_measures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_commands, "SECONDS", 0.2)
    session = Show.of(load(find("circle"))(engine="cpu")).session
    assert kernel_commands.steps_a_second(session) > 0.0 and session.step_index > 250
    assert not any(len(steps) for steps, _ in session.metrics.values())


@pytest.mark.parametrize(
    ("pace", "text"), [(123456.0, "123,456"), (12.34, "12.3"), (0.04021, "0.0402")]
)
def test_a_pace_has_three_digits_that_count(pace: float, text: str) -> None:
    assert words_for(pace) == text


def test_ctrl_c_ends_it_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(render_scene, "page_of", Mock(side_effect=KeyboardInterrupt))
    show = Show.of(load(find("xor"))(engine="python"))
    out = tmp_path / "x.html"
    code = render_scene.write_page(show, {"out": str(out), "steps": None}, "xor", Autosave())
    assert code == 130 and not out.exists()
    assert "no page was written" in capsys.readouterr().out


@pytest.mark.slow
def test_a_long_recording_ends_at_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    command = [
        sys.executable, "-m", "scalarviz", "page", "xor", "--engine", "python",
        "--no-engine", "--record", "200000", "--out", str(out),
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as run:
        time.sleep(8.0)
        assert run.poll() is None
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(20.0) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["record", "every"])
def test_a_recording_of_no_steps_is_refused(option: str, tmp_path: Path) -> None:
    show = Show.of(load(find("xor"))(engine="python"))
    given = {"out": str(tmp_path / "x.html"), "steps": None, "no_engine": True, option: 0}
    refused(InputError, f"--{option} ", 0).by(
        render_scene.write_page, show, given, "xor", Autosave()
    )
    assert list(tmp_path.iterdir()) == []


def run_sweep(grid: list[str], out: Path | None = None, **more: object) -> int:
    given: dict[str, object] = {
        "seeds": "3", "steps": 20, "every": None, "success": None, "goal": None,
        "executor": "here",
    }  # fmt: skip
    return sweep_scene("xor", grid, out=None if out is None else str(out), **(given | more))  # type: ignore[arg-type]  # as typer calls it


def test_the_table_is_printed_and_the_runs_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_sweep(["hidden=2,4", "lr=0.1,1"], tmp_path / "xor.csv") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split()[:4] == ["hidden", "lr", "runs", "rank"] and len(said) == 7
    assert [line.split()[3] for line in said[1:5]] == ["1", "2", "3", "4"]  # the best is first
    assert said[-1] == f"12 runs are in {tmp_path / 'xor.csv'}."
    assert len((tmp_path / "xor.csv").read_text().splitlines()) == 13


def test_values_of_a_grid_have_the_types_of_the_options() -> None:
    options = options_of(load(find("xor")))
    assert grid_of(["hidden=2,4", "as_posted=true,false", "activation=tanh"], options) == {
        "hidden": [2, 4], "as_posted": [True, False], "activation": ["tanh"],
    }  # fmt: skip
    rgb = options_of(load(find("rgb")))
    assert grid_of(["optimizer=sgd,adam"], rgb) == {"optimizer": ["sgd", "adam"]}
    assert seeds_in("3") == range(3) and seeds_in("5-14") == range(5, 15)


def test_a_scene_with_options_that_every_scene_has_is_made_for_each_seed() -> None:
    show = show_of(find("xor"), seed=3, optimizer="adam", hidden=5)
    assert show.session.optimizer.name == "adam"
    assert show.session.network.layers[0].outputs == 5
    assert show.session.trainer.seed == 3


def test_what_a_sweep_cannot_do_is_refused(tmp_path: Path) -> None:
    for error, grid, more in (
        (UnknownNameError, ["hiden=3"], {}),
        (UnknownNameError, ["half=true"], {}),
        (InputError, ["hidden"], {}),
        (InputError, ["hidden=two"], {}),
        (InputError, ["hidden=2", "hidden=4"], {}),
        (InputError, [], {"out": tmp_path / "xor.xlsx"}),
        (InputError, [], {"seeds": "many"}),
        (InputError, [], {"success": "low"}),
        (UnknownNameError, [], {"executor": "threads"}),
    ):
        refused(error).by(run_sweep, grid, **more)
    refused(UnknownNameError).by(sweep_scene, "xort", [], "3", 20, None, None, None, "here", None)
