"""What can be typed after a scene, and what becomes of it."""

from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, GradientError, InputError, UnknownNameError
from scalarviz.faces.cli import commands
from scalarviz.faces.scene_options import RUNNING, SHARED, make_show, own_options
from tests.sessions import advanced
from tests.wording import refused

NOTHING: dict[str, Any] = dict.fromkeys(SHARED | RUNNING)


def bare() -> sv.Session:
    """Learns XOR."""
    net = sv.Network([2, 3, 1], "tanh", seed=7)
    return sv.Session(net, data.Xor(), "mse", sv.SGD(0.1), batch=2, engine="python", seed=7)


def with_options(map: str = "invert", deep: bool = False, lr: float = 0.5) -> sv.Session:
    """Learns colours.

    deep  two layers more
    """
    assert isinstance(deep, bool)
    sizes = [3, 2, 2, 2, 3] if deep else [3, 2, 3]
    return sv.Session(sv.Network(sizes), data.Rgb(map, levels=2), "mse", sv.SGD(lr), 4, "python")


def show(scene: Any, **given: Any) -> sv.Session:
    defaults = {name: option.default for name, option in own_options(scene).items()}
    return make_show(scene, NOTHING | defaults | given).session


def test_options_have_the_type_of_their_default_and_the_help_of_their_line() -> None:
    options = own_options(with_options)
    assert {name: option.kind for name, option in options.items()} == {
        "map": str,
        "deep": bool,
        "lr": float,
    }
    assert options["deep"].help == "two layers more"


def test_what_a_scene_has_no_parameter_for_is_set_in_its_session() -> None:
    s = show(bare, lr=0.25, precision="full")
    assert s.learning_rate == 0.25 and s.step_index == 0
    assert show(with_options, lr=0.25).optimizer.lr == 0.25


def test_another_seed_gives_the_network_that_it_would_have_had() -> None:
    s = show(bare, seed=9)
    assert (s.network.bank.value == sv.Network([2, 3, 1], "tanh", seed=9).bank.value).all()
    assert s.trainer.batches.at(0)[0].tolist() == (data.Xor().batches(2, 9).at(0)[0].tolist())
    assert s.trainer.batches.size == 2


def test_another_batch_leaves_the_rest_as_it_was() -> None:
    s, usual = show(bare, batch=3), show(bare)
    assert s.trainer.batches.size == 3
    assert (s.network.bank.value == usual.network.bank.value).all()
    assert (repr(s.optimizer), s.engine) == (repr(usual.optimizer), "python")


def test_an_expression_has_no_seed() -> None:
    def line() -> sv.Session:
        slope = sv.Value(1.0)
        f = sv.compile(lambda x: slope * x, inputs=1, engine="python")
        return sv.Session(f, ([[0.0], [1.0]], [[0.0], [2.0]]), engine="python")

    assert show(line, batch=1).timeline.trainer.batches.size == 1
    with refused(InputError):
        show(line, seed=1)


def test_options_can_be_set_by_name() -> None:
    s = show(with_options, set=["deep=yes", "lr=0.125", "map=grey"])
    assert len(s.network.layers) == 4 and s.learning_rate == 0.125
    assert "grey" in repr(s.data)
    for wrong in ("deep=perhaps", "lr=much"):
        with refused(InputError, wrong.partition("=")[2]):
            show(with_options, set=[wrong])
    with pytest.raises(UnknownNameError):
        show(with_options, set=["depth=3"])


def test_a_resumed_training_has_its_numbers_from_the_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    s = advanced(show(with_options, lr=0.25), 5)
    s.save(kept)
    again = show(with_options, resume=kept)
    assert (again.step_index, again.learning_rate) == (5, 0.25)
    assert (again.network.bank.value == s.network.bank.value).all()
    assert show(with_options, resume=kept, lr=0.0625).learning_rate == 0.0625
    # What is typed counts, though the scene has it anyway.
    assert show(with_options, resume=kept, set=["lr=0.5"]).learning_rate == 0.5
    usual = NOTHING | {"resume": kept, "map": "invert", "deep": False, "lr": 0.5}
    assert make_show(with_options, usual, typed={"lr"}).session.learning_rate == 0.5
    assert make_show(with_options, usual).session.learning_rate == 0.25
    for given in ({"map": "grey"}, {"seed": 3}, {"batch": 2}, {"set": ["deep=yes"]}):
        (name,) = given if "set" not in given else ("deep",)
        with refused(InputError, name):
            show(with_options, resume=kept, **given)


def test_a_rate_holds_from_the_step_in_which_a_resumed_training_stands(tmp_path: Path) -> None:
    s = show(with_options, lr=1e300)
    with pytest.raises(GradientError):
        s.advance(5)
    s.save(tmp_path / "kept")
    again = show(with_options, resume=tmp_path / "kept", lr=0.25)
    assert again.clock.place == (0, 0) and again.learning_rate == 0.25
    again.advance(5)
    s.seek(0)
    s.advance(1, "operation")
    s.save(tmp_path / "kept")
    assert show(with_options, resume=tmp_path / "kept").clock.place == (0, 1)


def test_what_a_resumed_file_may_cost_can_be_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.safetensors"
    sv.Session(sv.Network([3, 3]), data.Rgb(levels=16), engine="python").save(kept)
    with refused(FileError, "216.0 KB"):
        show(with_options, resume=kept, limit=50_000)
    assert show(with_options, resume=kept, limit=10**9).step_index == 0
    with pytest.raises(SystemExit):
        commands.main(["replay", str(kept), "--limit", "50000"])
    assert "its data set rgb would take" in capsys.readouterr().err


def test_a_training_of_another_scene_is_not_resumed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    sv.Session(sv.Network([2, 3, 1], "tanh"), data.Xor(), engine="python").save(kept)
    with refused(InputError, "xor"):
        show(with_options, resume=kept)
