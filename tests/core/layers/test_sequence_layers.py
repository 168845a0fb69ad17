"""Embedding, Attention, and formulas at each place of a sequence."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas import layer_formulas
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.errors import ShapeError
from tests.wording import refused

PLACES, HEADS, SIZE = 5, 2, 6
RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(3 * SIZE, PLACES))


def attended(x: Any, causal: bool) -> Any:
    """Attention by its definition, on channels in the order head, part, number."""
    query, key, value = x.reshape(HEADS, 3, -1, PLACES).swapaxes(0, 1)
    scores = query.swapaxes(1, 2) @ key / np.sqrt(SIZE // HEADS)
    if causal:
        scores = np.where(np.tril(np.ones((PLACES, PLACES))), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (value @ shares.swapaxes(1, 2)).reshape(SIZE, PLACES)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_what_its_definition_gives(causal: bool) -> None:
    layer = sv.Attention(SIZE, HEADS, places=PLACES, causal=causal)
    found = layer(X.ravel()).reshape(SIZE, PLACES)
    np.testing.assert_allclose(found, attended(X, causal), rtol=1e-12)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_nothing_looks_ahead(engine: str) -> None:
    net = sv.Network(
        [
            sv.Embedding(7, SIZE, PLACES, positions=True),
            sv.Conv1d((SIZE, PLACES), 3 * SIZE, 1),
            sv.Attention(SIZE, HEADS, places=PLACES),
        ],
        engine=engine,
    )
    before = net([1, 2, 3, 4, 5]).reshape(SIZE, PLACES)
    after = net([1, 2, 3, 6, -1]).reshape(SIZE, PLACES)
    assert (before[:, :3] == after[:, :3]).all()
    assert (before[:, 3:] != after[:, 3:]).all()


# One change each of the text of the backward.
MUTANTS = [
    ("(gain - mean)", "gain"),
    ("share * (gain - mean) * factor", "share * (gain - mean)"),
    ("exp(score - largest) / total", "exp(score - largest)"),
    ("gradient[key + d * places + other] +=", "gradient[key + d * places + here] +="),
    ("gradient[value + d * places + other] +=", "gradient[value + d * places + other] ="),
    ("share * upstream", "upstream"),
    ("slope * x[key + d * places + other]", "slope * x[query + d * places + here]"),
    ("end = here + 1 if causal == 1 else places", "end = places"),
    ("gain += upstream[out + d * places + here] * x[value", "gain += x[value"),
    ("mean += upstream[out + d * places + here] * y", "mean += y"),
]


@pytest.mark.parametrize("change", [None, *MUTANTS])
def test_gradients_of_attention_find_every_mutant(change: tuple[str, str] | None) -> None:
    source = inspect.getsource(layer_formulas.attention_backward)
    if change is not None:
        assert change[0] in source
        source = source.replace(*change)
    found: dict[str, Callable[..., None]] = {}
    exec(source, vars(layer_formulas), found)
    layer = sv.Attention(SIZE, HEADS, places=PLACES)
    row, settings = ROW_FORMULAS["attention"], layer._typed
    y, gradient, upstream = np.zeros(SIZE * PLACES), np.zeros(X.size), RANDOM.normal(size=30)
    row.forward(X.ravel(), y, *settings)
    found["attention_backward"](X.ravel(), y, 0.0, upstream, gradient, *settings)
    slopes = [
        (attended(X + h, True) - attended(X - h, True)).ravel() @ upstream / 2e-6
        for h in 1e-6 * np.eye(X.size).reshape(-1, *X.shape)
    ]
    assert (np.abs(gradient - slopes).max() < 1e-7) == (change is None)


@pytest.mark.parametrize(
    "make", [sv.LayerNorm, sv.RMSNorm, sv.LogSoftmax, lambda n: sv.RMSNorm(n, gain=False)]
)
def test_a_formula_at_each_place_is_the_formula_of_its_numbers(make: Any) -> None:
    x, one, all_places = RANDOM.normal(size=(4, PLACES)), make(4), make((4, PLACES))
    found = all_places(x.ravel()).reshape(4, PLACES)
    np.testing.assert_array_equal(found, one(x.T).T)
    assert repr(eval(repr(all_places), vars(sv))) == repr(all_places)


def test_an_index_that_is_no_row_chooses_none() -> None:
    layer = sv.Embedding(2, 3, places=4)
    layer.kernel = [[1, 2, 3], [4, 5, 6]]
    found = layer([1, -1, 2, 0]).reshape(3, 4).T
    assert found.tolist() == [[4, 5, 6], [0, 0, 0], [0, 0, 0], [1, 2, 3]]


def test_sizes_that_do_not_fit_are_refused() -> None:
    refused(ShapeError, "4 heads cannot share 6 channels").by(sv.Attention, 6, 4, places=3)
    refused(ShapeError, "(2, 3, 4)").by(sv.LayerNorm, (2, 3, 4))


def test_one_sequence_and_many_have_equal_gradients_on_the_cpu() -> None:
    """With one sample, places are lanes of vectors; with several, samples are."""
    layers = [
        sv.Embedding(7, 16, 16, positions=True),
        sv.Residual(sv.Conv1d((16, 16), 48, 1), sv.Attention(16, 4, places=16)),
        sv.RMSNorm((16, 16)),
        sv.Conv1d((16, 16), 7, 1),
        sv.LogSoftmax((7, 16)),
    ]
    found = []
    for samples in (1, 3):
        net = sv.Network(copy.deepcopy(layers), dtype="float64", seed=2, engine="cpu")
        rows = np.arange(16 * samples).reshape(samples, 16) % 9 - 1.0
        net.forward(rows)
        upstream = np.sin(np.arange(7.0 * 16 * samples)).reshape(samples, -1)
        upstream[1:] = 0.0
        net.backward(upstream)
        found.append(net.bank.grad.copy())
    np.testing.assert_allclose(*found, rtol=1e-10, atol=1e-13)
