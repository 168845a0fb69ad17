"""Tables of networks, perceptrons and sessions: their numbers and settings, whatever they are."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.stage.displays.html_tables import session_table
from tests.pictures.displays.drawn import cells_of
from tests.pictures.displays.test_weight import session, state
from tests.sessions import advanced


def settings(s: sv.Session) -> dict[str, str]:
    return dict(cells_of(session_table(s)))


def test_a_network_says_kind_shape_activation_and_parameters() -> None:
    shared = sv.Dense(4, 4, "tanh")
    html = sv.Network([sv.Dense(2000, 4), shared, shared])._repr_html_()
    assert "2,000 → 4 → 4 → 4: 8,024 parameters, float32, engine python" in html
    assert cells_of(html) == [
        ["layer", "kind", "shape", "activation", "parameters"],
        ["0", "Dense", "2,000 → 4", "linear", "8,004"],
        ["1", "Dense", "4 → 4", "tanh", "20"],
        ["2", "Dense", "4 → 4", "tanh", "shared with layer 1"],
    ]


def test_a_perceptron_says_its_weights_and_gradients() -> None:
    p = sv.Network([2, 3], "tanh", "tanh").layers[0].perceptrons[1]
    rows = np.asarray(p.rows)
    p.bank.value[rows], p.bank.grad[rows] = [0.5, -0.25, 0.125], [1.0, np.nan, 3.0]
    html = p._repr_html_()
    assert "layer 0, perceptron 1: 2 weights, a bias, tanh" in html
    assert cells_of(html) == [
        ["", "value", "gradient"],
        ["w0", "0.5", "1"],
        ["w1", "−0.25", "NaN"],
        ["b", "0.125", "3"],
    ]


def test_of_many_weights_the_first_and_the_last_are_shown() -> None:
    assert [row[0] for row in cells_of(sv.Perceptron(784)._repr_html_())] == [
        *("", "w0", "w1", "w2", "w3", "w4", "… 775 more"),
        *("w780", "w781", "w782", "w783", "b"),
    ]
    assert len(cells_of(sv.Perceptron(10, bias=False)._repr_html_())) == 11


def test_looking_at_them_changes_nothing() -> None:
    net = sv.Network([2, 3, 1])
    net.forward([1.0, 2.0])
    before = net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]
    net._repr_html_()
    net.layers[0].perceptrons[0]._repr_html_()
    assert (net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]) == before


def test_a_session_says_where_it_stands() -> None:
    assert "step 0, no loss yet; done: nothing, next: zero_grad" in session_table(session())
    s = advanced(session(), 12)
    s.advance(3, "operation")
    assert f"step 12, loss {s.loss:.4g}; done: tanh 0, next: affine 1" in session_table(s)


def test_a_session_says_what_it_trains_with() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5)), 5)
    s.seek(2)
    s.learning_rate = 0.25
    told = settings(s)
    assert told["trains"] == "Network 3 → 4 → 3: 31 parameters, float32, engine python"
    assert told["data"].startswith("Rgb(map='invert', levels=4): 3 → 3, 64 samples")
    assert told["batch"] == f"8 samples of {s.data.samples}"
    assert "mse" in told["loss"] and told["engine"] == "python"
    assert told["optimizer"] == "SGD(lr=0.25)"
    assert told["branches"] == "2 branches, on number 1, from step 2: rate 0.25"


def test_a_rate_that_a_schedule_has_changed_is_told() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5, schedule=sv.Schedule("cosine", steps=100))), 50)
    assert settings(s)["optimizer"].endswith(", rate now 0.25")


def test_a_session_of_a_compiled_function_has_a_table() -> None:
    slope = sv.Value(0.0)
    f = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    s = sv.Session(f, ([[1.0], [2.0]], [[3.0], [6.0]]), "mse", sv.SGD(0.1), engine="python")
    assert settings(advanced(s, 5))["trains"].startswith("Expression")


@pytest.mark.parametrize("operations", [0, 3])
def test_looking_at_a_session_changes_nothing(operations: int) -> None:
    s = advanced(session(), 5)
    s.advance(operations, "operation") if operations else None
    s.network.weight(0).value = 0.5  # past the session: it stays unnoticed
    before = state(s)
    s._repr_html_()
    assert state(s) == before and not s.current_branch.journal
