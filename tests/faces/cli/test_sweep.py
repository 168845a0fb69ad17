"""`scalarviz sweep`: a table, a file, and what the command line refuses."""

from pathlib import Path

import pytest

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.cli.sweep_scene import SceneMaker, grid_of, options_of, seeds_in, sweep_scene
from scalarviz.faces.scene_file import find, load
from tests.wording import refused


def run(grid: list[str], out: Path | None = None, **more: object) -> int:
    given: dict[str, object] = {
        "seeds": "3", "steps": 20, "every": None, "success": None, "ends": False,
        "executor": "here", "folder": None,
    }  # fmt: skip
    return sweep_scene("xor", grid, out=None if out is None else str(out), **(given | more))  # type: ignore[arg-type]  # as typer calls it


def test_the_table_is_printed_and_the_runs_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hidden=2,4", "lr=0.1,1"], tmp_path / "xor.csv") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split()[:3] == ["hidden", "lr", "runs"] and len(said) == 7
    assert said[-1].startswith("12 runs are in ")
    assert len((tmp_path / "xor.csv").read_text().splitlines()) == 13
    assert len(list((tmp_path / "xor.runs").iterdir())) == 4


def test_values_of_a_grid_have_the_types_of_the_options() -> None:
    options = options_of(load(find("xor")))
    assert grid_of(["hidden=2,4", "as_posted=true,false", "activation=tanh"], options) == {
        "hidden": [2, 4], "as_posted": [True, False], "activation": ["tanh"],
    }  # fmt: skip
    rgb = options_of(load(find("rgb")))
    assert grid_of(["optimizer=sgd,adam"], rgb) == {"optimizer": ["sgd", "adam"]}
    assert seeds_in("3") == range(3) and seeds_in("5-14") == range(5, 15)


def test_a_scene_with_options_that_every_scene_has_is_made_for_each_seed() -> None:
    show = SceneMaker(find("xor"))(seed=3, optimizer="adam", hidden=5)
    assert show.session.optimizer.name == "adam"
    assert show.session.network.layers[0].outputs == 5
    assert show.session.trainer.seed == 3


def test_what_a_sweep_cannot_do_is_refused(tmp_path: Path) -> None:
    with refused(UnknownNameError):
        run(["hiden=3"])
    with refused(UnknownNameError):
        run(["half=true"])
    with refused(InputError):
        run(["hidden"])
    with refused(InputError):
        run(["hidden=two"])
    with refused(InputError):
        run(["hidden=2", "hidden=4"])
    with refused(InputError):
        run([], tmp_path / "xor.xlsx")
    with refused(InputError):
        run([], seeds="many")
    with refused(InputError):
        run([], success="low")
    with refused(UnknownNameError):
        run([], executor="threads")
    with refused(UnknownNameError):
        sweep_scene("xort", [], "3", 20, None, None, False, "here", None, None)
