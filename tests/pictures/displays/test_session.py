"""A session's card: where it stands, how its loss went, what it trains with."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pictures.displays.session import CURVE, POINTS
from tests.pictures.displays.drawn import Drawn, cells_of
from tests.pictures.displays.test_weight import session, state
from tests.sessions import advanced


def draw(s: sv.Session) -> Drawn:
    return Drawn(s._repr_html_())


def table(s: sv.Session) -> dict[str, str]:
    return dict(cells_of(s._repr_html_()))


def test_at_the_start_there_is_no_loss() -> None:
    texts = draw(session()).texts
    assert {"step 0", "no loss yet", "done: nothing", "next: zero_grad", "No loss so far."} <= set(
        texts
    )


def test_it_says_where_it_stands() -> None:
    s = advanced(session(), 1234 // 100)
    s.advance(3, "operation")
    texts = draw(s).texts
    assert {"step 12", f"done: {s.done}", f"next: {s.next}"} <= set(texts)
    assert (s.done, s.next) == ("tanh 0", "affine 1")
    assert f"loss {s.loss:.4g}" in texts


def test_every_operation_of_a_step_has_a_mark_and_the_next_one_a_rim() -> None:
    s = advanced(session(), 4, "operation")
    moments = draw(s).all("rect", "moment")
    assert len(moments) == len(s.operations)
    assert [i for i, each in enumerate(moments) if "stroke" in each.attrib] == [4]
    assert len({each.attrib["fill"] for each in moments[:4]}) == 1
    assert moments[3].attrib["fill"] != moments[4].attrib["fill"]


def test_the_curve_has_a_point_for_each_loss() -> None:
    s = advanced(session(), 50)
    drawn = draw(s)
    (curve,) = drawn.all("path", "curve")
    ys = np.array([float(point.split()[1]) for point in curve.attrib["d"][1:].split("L")])
    assert len(ys) == 50
    assert np.argmin(ys) == np.argmax(s.losses) and np.argmax(ys) == np.argmin(s.losses)
    for text in (f"first {s.losses[0]:.4g}", f"last {s.losses[-1]:.4g}"):
        assert text in drawn.texts
    assert any(f"least {s.losses.min():.4g}, in step {s.losses.argmin()}" in t for t in drawn.texts)


def test_the_curve_of_a_long_training_is_thinned() -> None:
    s = advanced(session("cpu"), 5000)
    (curve,) = draw(s).all("path", "curve")
    assert POINTS / 2 < curve.attrib["d"].count("L") <= POINTS
    assert any("mean of some steps" in text for text in draw(s).texts)


def test_equal_losses_are_a_line_in_the_middle() -> None:
    s = advanced(session(), 3)
    s.current_branch.record.between(0, 3)[:] = 0.25
    (field,) = draw(s).boxes("curve field")
    (curve,) = draw(s).all("path", "curve")
    assert f" {(field[1] + field[3]) / 2:.1f}" in curve.attrib["d"]
    assert field[3] - field[1] == CURVE


def test_the_table_says_what_it_trains_with() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5)), 5)
    s.seek(2)
    s.learning_rate = 0.25
    told = table(s)
    assert told["trains"] == "Network 3 → 4 → 3: 31 parameters, float32, engine python"
    assert told["data"].startswith("Rgb(map='invert', levels=4): 3 → 3, 64 samples")
    assert told["batch"] == f"8 samples of {s.data.samples}"
    assert "mse" in told["loss"] and told["engine"] == "python"
    assert told["optimizer"] == "SGD(lr=0.25)"
    assert told["branches"] == "2 branches, on number 1, from step 2: rate 0.25"


def test_a_rate_that_a_schedule_has_changed_is_told() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5, schedule=sv.Schedule("cosine", steps=100))), 50)
    assert table(s)["optimizer"].endswith(", rate now 0.25")


def test_a_session_of_a_compiled_function_is_shown() -> None:
    slope = sv.Value(0.0)
    f = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    s = sv.Session(f, ([[1.0], [2.0]], [[3.0], [6.0]]), "mse", sv.SGD(0.1), engine="python")
    s.advance(5)
    assert "step 5" in draw(s).texts and table(s)["trains"].startswith("Expression")


@pytest.mark.parametrize("operations", [0, 3])
def test_looking_changes_nothing(operations: int) -> None:
    s = advanced(session(), 5)
    s.advance(operations, "operation") if operations else None
    s.network.weight(0).value = 0.5  # past the session: it stays unnoticed
    before = state(s)
    draw(s)
    assert state(s) == before and not s.current_branch.journal


def test_text_can_be_read() -> None:
    assert min(draw(session()).sizes()) >= 11
