"""Python programs of networks built in a page."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.pages.engine_data import training_of
from scalarviz.story.build_link import write_build
from tests.pages.node import InPage, in_web
from tests.pages.test_build_links import USUAL, chosen
from tests.pages.test_dense_image import show_of, units_of_all

SCRIPT = """
setTexts(data.texts);
return Promise.all(data.cases.map(async ([link, value]) =>
  pythonOf((await readBuild(link)).settings, value)));
"""


def programs_of(cases: list[Any]) -> list[str]:
    links = [(write_build(settings), value) for settings, value in cases]
    modules = "take_to_python packed_link texts"
    found: list[str] = in_web(modules, SCRIPT, cases=links, texts=texts())
    return found


def made_by(program: str) -> Any:
    """The session of a program, before it trains."""
    names: dict[str, Any] = {}
    exec(program.partition("session.advance")[0], names)
    return names["session"]


def test_a_program_makes_the_session_that_a_page_trains(tmp_path: Path) -> None:
    choose = random.Random(6)
    calm = {"noise": 0.1, "lr": 0.001, "l1": 0.0, "l2": 0.001}  # chaotic training soon parts
    tried = [chosen(choose) | calm for _ in range(12)]
    sessions = [show_of(each).session for each in tried]
    units = units_of_all([training_of(each.trainer, 0) for each in sessions])
    programs = programs_of([(each, None) for each in tried])
    for session, program in zip(sessions, programs, strict=True):
        ours = made_by(program)
        assert ours.network.bank.value.tobytes() == session.network.bank.value.tobytes()
        is_table = "table" in program
        assert (is_table or repr(ours.data) == repr(session.data)) and ours.batch == session.batch
        assert ours.data.input_names == session.data.input_names
        assert [*ours.data.output_names] == [*session.data.output_names]
        for mine, other in zip(
            ours.trainer.batches.at(0), session.trainer.batches.at(0), strict=True
        ):
            np.testing.assert_allclose(mine, other, atol=1e-5 if is_table else 0.0)
        page = InPage(session, tmp_path, units=units)
        value = page.run("engine.train(100); return engine.value")
        ours.advance(100, progress=False)
        np.testing.assert_allclose(ours.network.bank.value, value, atol=1e-5)


def test_a_program_holds_weights_that_are_not_those_of_the_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = chosen(random.Random(1))
    drawn = made_by(programs_of([(settings, None)])[0]).network.bank.value
    (program,) = programs_of([(settings, drawn * 0.3)])
    assert (made_by(program).network.bank.value == drawn * np.float32(0.3)).all()
    (plain,) = programs_of([(USUAL, None)])
    assert [plain] == programs_of([(USUAL, made_by(plain).network.bank.value)])
    assert plain.startswith("# pip install scalarviz\n")
    assert len(plain.splitlines()) <= 16 and max(map(len, program.splitlines())) <= 100
    exec(plain, {})
    assert 0.0 < float(capsys.readouterr().out.splitlines()[-1]) < 1.0
