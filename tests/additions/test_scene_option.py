"""An option of a scene of one's own says in its annotation what it is; nothing else lists it."""

from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import SceneError
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.playing import offers_of
from scalarviz.faces.scene_file import load
from scalarviz.faces.scene_options import own_options
from tests.faces.controller.fake_stage import FakeStage
from tests.patience import patient

__all__ = ["patient"]  # a fixture

SCENE = '''"""Two numbers are added or multiplied."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz.faces.scene_options import OptionInfo

GOALS = {"sum": np.add, "product": np.multiply}
BENDS = "tanh", "relu"
STARTS = {"he_uniform": 1, "normal": 2}


def scene(
    goal: Annotated[str, OptionInfo(GOALS, changes="data", offer="goal")] = "sum",
    bend: Annotated[str, OptionInfo(BENDS, changes="activations")] = "tanh",
    decay: Annotated[float, OptionInfo(changes="penalties")] = 0.0,
    pace: Annotated[float, OptionInfo(changes="rate")] = 0.5,
    start: Annotated[str, OptionInfo(STARTS)] = "he_uniform",
    plain: str = "",
):
    """A 2-3-1 network learns to calculate."""
    x = np.linspace(-1.0, 1.0, 12).reshape(6, 2)
    network = sv.Network([2, 3, 1], bend, init=start, seed=0)
    pair = x, GOALS[goal](x[:, :1], x[:, 1:])
    optimizer = sv.SGD(pace, l2=decay)
    session = sv.Session(network, pair, "mse", optimizer, batch=3, engine="python", seed=0)
    return sv.Show(session, title=f"learns the {goal}")
'''


@pytest.fixture(params=["", "from __future__ import annotations\n\n"], ids=["", "as text"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    about, _, code = SCENE.partition("\n\n")
    (tmp_path / "mine.py").write_text(f"{about}\n\n{request.param}{code}", encoding="utf-8")
    return load(tmp_path / "mine.py")


@pytest.fixture
def controller(scene: Any, patient: None) -> Controller:
    recipe = Recipe(scene)
    show = recipe.make({})
    stage: Any = FakeStage(show)
    return Controller(show, stage, recipe)


def options(controller: Controller) -> dict[str, Any]:
    return {choice.name: choice for choice in controller.state.options}


def test_its_names_are_offered_and_it_says_what_restarts(controller: Controller) -> None:
    found = options(controller)
    assert {name: (choice.choices, choice.restarts) for name, choice in found.items()} == {
        "goal": (("sum", "product"), False),
        "bend": (("tanh", "relu"), False),
        "decay": ((), False),
        "start": (("he_uniform", "normal"), True),
        "plain": ((), True),
    }


def test_another_name_changes_the_data_of_the_session(controller: Controller) -> None:
    session = controller.session
    controller.step(+1, 3)
    weights = session.network.bank.value.copy()
    controller.set_option("goal", "product")
    assert controller.session is session and (session.network.bank.value == weights).all()
    assert controller.stage.notices == ["Changing the target keeps the weights"]
    controller.step(+1)
    controller.attend()
    assert (options(controller)["goal"].value, controller.state.title) == (
        "product",
        "learns the product",
    )
    controller.seek(2)
    assert options(controller)["goal"].value == "sum"


def test_activations_penalties_and_the_rate_change_in_the_session(controller: Controller) -> None:
    session = controller.session
    controller.set_option("bend", "relu")
    controller.set_option("decay", "0.25")
    controller.set_option("pace", "0.125")
    controller.step(+1)
    assert controller.session is session
    assert session.network.layers[0].activation == "relu"
    assert (session.optimizer.l2, session.learning_rate) == (0.25, 0.125)
    found = options(controller)
    assert (found["bend"].value, found["decay"].value) == ("relu", 0.25)
    controller.seek(0)
    assert (options(controller)["bend"].value, options(controller)["decay"].value) == ("tanh", 0.0)


def test_what_changes_nothing_in_a_session_restarts(controller: Controller) -> None:
    session = controller.session
    controller.set_option("start", "normal")
    assert controller.session is not session
    assert options(controller)["start"].value == "normal"


def test_the_end_of_a_run_offers_another(controller: Controller) -> None:
    offers = offers_of(controller)
    assert "Another goal" in offers
    offers["Another goal"]()
    controller.rest()
    assert options(controller)["goal"].value == "product"


def test_a_change_that_there_is_not_is_refused(tmp_path: Path) -> None:
    wrong = SCENE.replace('changes="rate"', 'changes="rates"')
    (tmp_path / "mine.py").write_text(wrong, encoding="utf-8")
    with pytest.raises(SceneError, match="'rates'"):
        load(tmp_path / "mine.py")


def test_a_scene_file_of_an_earlier_version_keeps_its_choices(tmp_path: Path) -> None:
    plain = """def scene(activation="tanh", noise=0.1, shape="round", SHAPES={}):
    pass
SHAPES = {"round": 1, "square": 2}
"""
    (tmp_path / "mine.py").write_text(plain, encoding="utf-8")
    found = {name: o.info for name, o in own_options(load(tmp_path / "mine.py")).items()}
    assert {name: info.changes for name, info in found.items()} == {
        "activation": "activations",
        "noise": "data",
        "shape": "data",
    }
    assert [*found["shape"].names] == ["round", "square"] and "tanh" in found["activation"].names
