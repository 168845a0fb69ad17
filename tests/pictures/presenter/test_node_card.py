"""Cards of nodes: the operation with its numbers, and the gradients that have come back."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.frame_data import Card, CardLine, CardTable
from scalarviz.stage.live_values import LiveValues
from scalarviz.story.cards import node_card

X, Y = np.array([[1.0], [2.0]]), np.array([[1.0], [0.5]])


def made() -> sv.Session:
    """A session of u tanh(x) + x u, where u = a b: u is used twice."""
    a, b = sv.Value(2.0, label="a"), sv.Value(-1.5, label="b")

    def function(x: sv.Value) -> sv.Value:
        u = a * b
        u.label = "u"
        return u * x.tanh() + x * u

    f = sv.compile(function, 1, engine="python")
    return sv.Session(f, (X, Y), optimizer=sv.SGD(0.1))


def card_of(session: sv.Session, name: str, done: int) -> Card:
    card = node_card(LiveValues(session), (name, 0), done)
    assert card is not None
    return card


def test_a_card_has_the_operation_and_what_came_back() -> None:
    s = made()
    s.advance(len(s.operations) - 1, "operation")
    card = card_of(s, "[1]", len(s.operations) - 1)
    assert card.name == "u (a × b)" and dict(card.facts)["value"] == "-3"
    words = [each.words for each in card.blocks if isinstance(each, CardLine)]
    assert words[1] == "2 × (-1.5) = -3"
    (table,) = [each for each in card.blocks if isinstance(each, CardTable)]
    assert [row[0] for row in table.rows] == ["x × u", "u × tanh(x)"]
    slopes = [float(row[1]) for row in table.rows]
    np.testing.assert_allclose(slopes, [1.0, np.tanh(1.0)], atol=0.01)
    came = float(s.numbers("multiply 1").upstream[0, 0])
    assert float(table.total[-1]) == pytest.approx(came, rel=0.01)
    assert sum(float(row[-1]) for row in table.rows) == pytest.approx(came, rel=0.01)


def test_before_the_way_back_a_card_says_what_it_goes_into() -> None:
    s = made()
    s.advance(4, "operation")
    card = card_of(s, "[1]", 4)
    words = [each.words for each in card.blocks if isinstance(each, CardLine)]
    assert words[2:] == ["It goes into u × tanh(x).", "It goes into x × u."]
    assert [name for name, _ in card.facts] == ["value"]
    assert card_of(s, "[3]", 4).facts[0][1] == "not computed yet"


def test_on_the_way_back_a_card_has_the_part_that_has_come() -> None:
    s = made()
    names = s.operations
    done = names.index("multiply gradient 3") + 1
    s.advance(done, "operation")
    card = card_of(s, "[1]", done)
    (table,) = [each for each in card.blocks if isinstance(each, CardTable)]
    assert [row[0] for row in table.rows] == ["x × u"]
    assert [each.words for each in card.blocks if isinstance(each, CardLine)][-1] == (
        "It goes into u × tanh(x)."
    )


def test_nothing_else_has_such_a_card() -> None:
    s = made()
    assert node_card(LiveValues(s), ("outputs", 0), 0) is None
    network = sv.Session(sv.Network([1, 1]), (X, Y))
    assert node_card(LiveValues(network), ("inputs", 0), 0) is None
