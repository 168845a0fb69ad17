"""A new loss is one row: it is learned with, and told with the words of the row."""

from dataclasses import replace

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.losses import LOSSES, LossRow
from scalarviz.story.captions import caption

QUARTIC = LossRow(
    "quartic",
    lambda p, t: (p - t) ** 4,
    lambda p, t: 4.0 * (p - t) ** 3,
    error="(p - t)^4",
    slope="4 (p - t)^3",
)


def told() -> list[str]:
    """The formulas of the captions of one step."""
    network = sv.Network([2, 1], output="linear", seed=0)
    s = sv.Session(network, data.Xor(), "quartic", sv.SGD(0.1), batch=1, engine="python")
    formulas = []
    for _ in s.operations:
        s.advance(1, "operation")
        formulas.append(caption(s).formula)
    return formulas


def test_a_network_learns_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "quartic", QUARTIC)
    network = sv.Network([2, 1], output="linear", seed=0)
    s = sv.Session(network, data.Xor(), "quartic", sv.SGD(0.1), engine="python")
    s.advance(50)
    assert s.losses[-1] < 0.5 * s.losses[0]


def test_its_captions_are_those_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "quartic", QUARTIC)
    assert {"L = mean of (p - t)^4", "signal = 4 × (p - t)^3"} <= set(told())


def test_a_row_without_captions_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "quartic", replace(QUARTIC, error="", slope=""))
    assert {"L = mean of quartic(p, t)", "signal = quartic'(p, t)"} <= set(told())
