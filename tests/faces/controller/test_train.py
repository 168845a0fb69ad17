"""Training with a progress bar or with lines, and saving it."""

import re
import signal
import time
import tracemalloc
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, GradientError, InputError
from scalarviz.faces.controller import train as autosave
from scalarviz.faces.controller.train import Autosave, closing, train
from scalarviz.files import atomic, runs
from scalarviz.stage.show import Show
from scalarviz.training.session import timeline
from tests.base.test_progress import Tty, tty
from tests.sessions import advanced, session_on
from tests.wording import refused

__all__ = ["tty"]  # a fixture


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps at which sessions were saved."""
    steps: list[int] = []

    def save(session: sv.Session, path: Path, keyframes: int) -> None:
        path.touch()
        steps.append(session.step_index)

    monkeypatch.setattr(sv.Session, "save", save)
    return steps


def test_it_says_what_it_is_how_it_goes_and_what_came_of_it(
    show: Show, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(show, 40) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["colours", "59 parameters, SGD(lr=0.5), engine python"]
    assert [int(line.split()[1]) for line in lines[2:12]] == list(range(4, 41, 4))
    assert lines[12].startswith("off by .")
    first, last = show.session.losses[[0, -1]]
    assert lines[13].startswith(f"40 steps: loss from {first:#.3g} to {last:#.3g}; held-out loss")
    assert lines[13].endswith(" Next: more") and len(lines) == 14


def test_so_many_steps_are_refused_that_their_losses_cannot_be_kept(show: Show) -> None:
    refused(InputError, f"{10**15:,} steps", varies=r"has [\d.]+ .B").by(train, show, 10**15)


@pytest.mark.parametrize("bar", [False, True])
def test_a_condition_ends_it_and_it_says_which(
    show: Show, tty: Tty, bar: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    show.session.stop_when("grad norm < 100")
    show.session.advance(1)
    show.session.stop_when("loss < 100")
    if bar:
        with redirect_stdout(tty):
            assert train(show, 40) == 0
        out = tty.getvalue()
    else:
        assert train(show, 40) == 0
        out = capsys.readouterr().out
    assert show.session.step_index == 2
    assert "stopped at step 2: loss < 100 (it is" in out


def test_in_a_terminal_a_bar_fills(show: Show, tty: Tty) -> None:
    with redirect_stdout(tty):
        train(show, 30)
    text = re.sub(r"\x1b\[[0-9;?]*\w", "", tty.getvalue())
    assert re.search(r"step 30 of 30 ━+ 100% loss 0\.\d+ +[\d,]+ steps/s", text)
    assert "30 steps: loss from" in text


def test_what_is_compiled_at_the_first_step_is_no_part_of_the_pace(
    show: Show, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = sv.Session.advance

    def slowly(session: sv.Session, count: int) -> None:
        time.sleep(1.0 if session.step_index == 0 else 0.0)
        advance(session, count)

    monkeypatch.setattr(sv.Session, "advance", slowly)
    began = time.perf_counter()
    with redirect_stdout(tty):
        train(show, 200)
    took = time.perf_counter() - began
    text = re.sub(r"\x1b\[[0-9;?]*\w", "", tty.getvalue())
    first = re.findall(r"step 1 of 200 .*?loss ([^\r\n]*)", text)
    assert first and not any("steps/s" in line or "left" in line for line in first)
    pace = float(re.findall(r"([\d,.]+) steps/s", text)[-1].replace(",", ""))
    assert pace > 200 / (took - 0.5)  # with the second of the first step it is below 200 / took


@pytest.mark.parametrize(
    ("steps", "said"),
    [(200, "The loss has risen at --lr 1e+06: try a smaller rate."), (90, "Next: more")],
)
def test_a_rate_that_failed_is_not_proposed_again_unless_steps_are_few(
    steps: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = session_on(data.Rgb(), [3, 8, 3], "tanh", "sigmoid", optimizer=sv.SGD(1e6), batch=8)
    train(Show(session, hint="more"), steps)
    assert capsys.readouterr().out.endswith(f" {said}\n")


def test_kernels_are_loaded_before_the_first_step(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []
    monkeypatch.setattr(
        "scalarviz.faces.controller.train.load_kernels", lambda s: loaded.append(s.step_index)
    )
    train(show, 3)
    assert loaded == [0]


def test_ctrl_c_ends_after_a_whole_step_and_says_how_to_keep_it(
    show: Show, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    advance = sv.Session.advance

    def interrupted(session: sv.Session, count: int) -> None:
        signal.raise_signal(signal.SIGINT)
        advance(session, count)

    monkeypatch.setattr(sv.Session, "advance", interrupted)
    assert train(show, 1000) == 130
    assert show.session.step_index == 1
    text = capsys.readouterr().out
    assert "Stopped at step 1 of 1,000" in text and "pass --save run.safetensors" in text


def test_it_is_saved_at_the_end_and_it_says_where(
    show: Show, tmp_path: Path, saved: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    train(show, 20, Autosave(tmp_path / "it"))
    assert saved == [20]
    assert f"Saved to {tmp_path / 'it'}, 0 bytes; --resume" in capsys.readouterr().out


def test_what_its_file_does_not_take_is_saved_elsewhere(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, here = tmp_path / "gone", tmp_path / "here"
    place.mkdir()
    here.mkdir()
    keep = Autosave(place / "it", name="rgb")
    place.rmdir()
    monkeypatch.chdir(here)
    refused(FileError, "gone", varies=r"[\d.]+ KB").by(train, show, 20, keep)
    assert sv.Session.load(here / "rgb-kept.safetensors").step_index == 20


@pytest.mark.usefixtures("in_tmp_path")
def test_what_fits_nowhere_is_saved_without_the_keyframes_of_its_past(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "PORTION", 0.0)
    monkeypatch.setattr(timeline, "LONGEST", 0.0)
    show.session.advance(100)
    write, most = atomic.write_through, 40_000

    def fill(file: Any, parts: Any) -> None:
        if sum(part.nbytes for part in parts) > most:
            raise OSError(28, "No space left on device")
        write(file, parts)

    monkeypatch.setattr(atomic, "write_through", fill)
    keep = Autosave(tmp_path / "it", name="rgb")
    why, saved = (
        refused(FileError, varies="[0-9.]+ [kM]B").by(keep.at_end, show.session, False).lines
    )
    path = tmp_path / "rgb-kept.safetensors"
    assert "No space left on device" in why
    assert saved.startswith(f"Saved to {path}, ") and "without past keyframes" in saved
    assert path.stat().st_size < most and sv.Session.load(path).step_index == 100


def test_where_memory_does_not_suffice_it_says_so_and_the_training_goes_on(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "describe_timeline", Mock(side_effect=MemoryError))
    keep = Autosave(tmp_path / "it", seconds=1e-9)
    keep.now_and_then(show.session)
    assert "not enough memory" in (said := capsys.readouterr().out)
    assert "training continues" in said
    refused(FileError, "tmp_path/it").by(keep.at_end, show.session, False)


def test_the_network_alone_can_be_saved(show: Show, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    said = Autosave(path, weights=True).at_end(show.session, False)
    assert said == f"Saved the network to {path}, {path.stat().st_size / 1024:.1f} KB; " + (
        f"sv.load('{path}') reads it."
    )
    assert (sv.load(path).bank.value == show.session.network.bank.value).all()
    refused(InputError, "--weights").by(Autosave, None, weights=True)


def test_it_is_saved_now_and_then(
    show: Show, tmp_path: Path, saved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(autosave, "monotonic", lambda: float(show.session.step_index))
        keep = Autosave(tmp_path / "it", seconds=3.0)
        for _ in range(8):
            show.session.advance(1)
            keep.now_and_then(show.session)
    assert saved == [3, 6]
    saved.clear()
    train(show, 30, Autosave(tmp_path / "it", seconds=1e-9))
    assert saved[-1] == 38 and len(saved) > 5 and saved == sorted(saved)


def test_where_it_cannot_be_saved_now_it_is_tried_again_after_the_same_time(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr(autosave, "monotonic", lambda: clock[0])
    (folder := tmp_path / "gone").mkdir()
    keep = Autosave(folder / "it.safetensors", 60.0)
    folder.rmdir()
    clock[0] = 70.0
    keep.now_and_then(show.session)
    assert "gone" in (said := capsys.readouterr().out) and "training continues" in said
    assert not keep.due
    refused(FileError).by(keep.now, show.session)


def test_what_could_not_be_saved_in_the_end_is_refused_at_the_start(tmp_path: Path) -> None:
    refused(FileError, "'tmp_path/none'").by(Autosave, tmp_path / "none" / "it")
    refused(FileError, "'tmp_path'").by(Autosave, tmp_path)
    refused(InputError, "--autosave").by(Autosave, None, 3.0)
    refused(InputError, "0.0").by(Autosave, tmp_path / "it", 0.0)


def test_what_cannot_be_saved_is_refused_before_it_is_trained(show: Show, tmp_path: Path) -> None:
    Autosave(tmp_path / "it").check(show.session)
    assert not list(tmp_path.iterdir())
    w = sv.Value(1.0)
    function = sv.Session(sv.compile(lambda x: w * x, inputs=1), ([[1.0]], [[2.0]]))
    refused(InputError).by(Autosave(tmp_path / "it").check, function)
    Autosave().check(function)
    if Path("/proc").is_dir():
        refused(FileError, "'/proc'").by(Autosave, Path("/proc/it"))


@pytest.mark.usefixtures("in_tmp_path")
def test_what_is_stopped_is_saved_under_a_name_of_its_own(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show.session.advance(3)
    keep = Autosave(name="rgb")
    assert keep.at_end(show.session, stopped=False) == ""
    assert keep.at_end(show.session, stopped=True).startswith("Saved to rgb-stopped.safetensors, ")
    assert "rgb-stopped-2.safetensors" in keep.at_end(show.session, stopped=True)
    assert sv.Session.load("rgb-stopped.safetensors").step_index == 3
    monkeypatch.setattr(sv.Session, "save", refuse)
    assert keep.at_end(show.session, stopped=True) == "Nothing was saved: the disk is full"


def diverging(rate: float = 1e300) -> Show:
    """A show whose next step overflows, with 20 good ones behind it."""
    session = advanced(session_on(data.Xor(), [2, 3, 1], "tanh", optimizer=sv.SGD(0.1)), 20)
    session.learning_rate = rate
    return Show(session)


def test_what_overflows_is_saved_at_a_step_from_which_a_smaller_rate_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show, path = diverging(), tmp_path / "it.safetensors"
    why, saved = refused(GradientError, "step 20").by(train, show, 1000, Autosave(path)).lines
    assert why.startswith("step 20 would make layer 0, perceptron 0, weight from input 0 ")
    assert saved == (
        f"Saved to {path} at step 20; --resume {path} --lr 1e+299, or less, continues from there."
    )
    again = sv.Session.load(path)
    assert (again.step_index, again.next, len(again.losses)) == (20, "zero_grad", 20)
    again.learning_rate = 0.1
    again.advance(50)
    assert again.losses[-1] < again.losses[0]


def test_what_overflows_without_a_file_is_begun_again_at_a_smaller_rate() -> None:
    error = refused(GradientError).by(train, diverging(), 1000, Autosave())
    assert error.lines[1] == "Nothing was saved: start again with --lr 1e+299 or less."


def lost(good: int) -> Show:
    """A show whose loss is nan after so many good steps, while its gradients count as 0."""
    net = sv.Network([2, 3, 1], "relu", "linear", dtype="float32", seed=0)
    optimizer = sv.SGD(0.1, not_finite="zero")
    session = sv.Session(net, data.Xor(), "mse", optimizer, engine="python")
    if good:
        session.advance(good)
    session.edit(range(len(net.bank)), 1e37)
    return Show(session, hint="more")


def test_a_training_whose_loss_is_not_finite_says_so_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show, path = lost(20), tmp_path / "it.safetensors"
    first, last = show.session.losses[[0, -1]]
    assert train(show, 30, Autosave(path)) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "30 steps: loss from inf to inf. The loss is inf from step 21 on; the learning rate 0.1 is "
        "probably too large.",
        f"Saved to {path} at step 19; --resume {path} --lr 0.01, or less, continues from there.",
    ]
    again = sv.Session.load(path)
    assert again.step_index == 19 and len(again.branches[0].losses) == 50
    again.learning_rate = 0.01
    again.advance(10)
    assert again.loss <= last < first


def test_the_end_of_a_training_takes_no_array_of_all_losses() -> None:
    session = session_on(data.Xor(), [2, 3, 1], "tanh", optimizer=sv.SGD(0.1), engine="cpu")
    session.advance(100_000)
    tracemalloc.start()
    closing(Show(session), 0, 100_000)
    Autosave().at_end(session, stopped=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100_000


def test_what_cannot_be_saved_after_an_overflow_is_told_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sv.Session, "save", refuse)
    error = refused(GradientError).by(
        train, diverging(), 1000, Autosave(tmp_path / "it.safetensors")
    )
    assert error.lines[1] == "Nothing was saved: the disk is full"


def refuse(session: sv.Session, path: object, keyframes: int) -> None:
    raise FileError("the disk is full")
