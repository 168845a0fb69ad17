"""The GPTs of the scenes names and adder, beside PyTorch, and what their parts are worth."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scalarviz.scenes.names import gpt

import scalarviz as sv
from scalarviz import data
from scalarviz.data.names import ALPHABET
from scalarviz.errors import InputError
from scalarviz.faces.scene_file import find, load
from scalarviz.scenes import adder
from tests.sessions import both_engines
from tests.wording import refused

NAMES = data.Names()
SIGNS, PLACES = len(NAMES.letters), NAMES.places
BETAS = 0.85, 0.99


@pytest.fixture
def torch() -> Iterator[Any]:
    torch = pytest.importorskip("torch", reason="the same network in PyTorch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faster for small arrays
    yield torch
    torch.set_num_threads(threads)


def scene(**options: Any) -> sv.Session:
    show = load(find("names"))(**{"engine": "cpu"} | options)
    return show.session  # type: ignore[no-any-return]


class Twin:
    """The same network in PyTorch, in float64: modules as in its tutorials, one name at a time."""

    def __init__(self, network: sv.Network) -> None:
        import torch

        self.weights = [
            torch.tensor(np.array(each, np.float64), requires_grad=True)
            for each in network.state_dict().values()
        ]

    def scores(self, codes: list[int]) -> Any:
        import torch

        letters, places, attention, join, wide, narrow, out = self.weights
        count, heads = len(codes), 4

        def norm(x: Any) -> Any:
            return x * (x.pow(2).mean(-1, keepdim=True) + 1e-5) ** -0.5

        def at_each_place(x: Any, weights: Any) -> Any:
            return x @ weights.flatten(1).T

        x = norm(letters[codes] + places.T[:count])
        parts = at_each_place(x, attention).reshape(count, heads, 3, -1).permute(2, 1, 0, 3)
        query, key, value = parts
        score = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        later = torch.triu(torch.ones(count, count, dtype=torch.bool), 1)
        shares = score.masked_fill(later, -torch.inf).softmax(-1)
        mix = (shares @ value).transpose(0, 1).reshape(count, -1)
        h = x + at_each_place(mix, join)
        y = h + at_each_place(at_each_place(norm(h), wide).relu(), narrow)
        return at_each_place(y, out)

    def loss(self, name: str) -> Any:
        import torch

        codes = [0, *map(NAMES.letters.index, name), 0]
        goals = torch.tensor(codes[1:])
        return torch.nn.functional.cross_entropy(self.scores(codes[:-1]), goals)

    def numbers(self) -> Any:
        return np.concatenate([each.detach().numpy().ravel() for each in self.weights])

    def gradients(self) -> Any:
        return np.concatenate([each.grad.numpy().ravel() for each in self.weights])


def per_letter(network: Any, pair: Any) -> float:
    """The loss of samples, in nats per letter; each name's end counts as a letter."""
    inputs, targets = pair
    counts = (inputs >= 0).sum(axis=1)
    losses = sv.Loss("negative_log_likelihood", mean="none")
    return float(losses.of_each(network(inputs), targets) @ counts / counts.sum())


def test_it_has_4192_weights() -> None:
    network = gpt(SIGNS, PLACES)
    sizes = [np.size(each) for each in network.state_dict().values()]
    assert sizes == [432, 256, 768, 256, 1024, 1024, 432] and sum(sizes) == 4192
    assert network.bank.value.std() == pytest.approx(0.08, rel=0.05)
    deep = scene(blocks=2, width=8, heads=2, hidden=16).network
    assert len(deep.layers) == 8 and len(deep.bank) == 27 * 8 + 16 * 8 + 2 * 512 + 27 * 8


@both_engines
def test_slopes_are_those_of_pytorch_for_names_of_every_length(torch: Any, engine: str) -> None:
    network = gpt(SIGNS, PLACES, seed=3).copy("float64").to(engine)
    rng, loss = np.random.default_rng(1), sv.Loss("negative_log_likelihood")
    for length in (1, 4, 15) if engine == "python" else range(1, 16):
        name = "".join(rng.choice(list(ALPHABET), length))
        twin = Twin(network)
        expected = twin.loss(name)
        expected.backward()
        inputs, targets = NAMES.read(name)
        found = loss.forward(network.forward(inputs), targets)
        assert found == pytest.approx(expected.item(), abs=1e-10), name
        network.zero_grad()
        network.backward(loss.backward())
        assert abs(network.bank.grad - twin.gradients()).max() < 1e-10, name


def trained_beside_pytorch(torch: Any, steps: int, names: Any, dtype: str) -> Any:
    """A session after some steps of the scene's settings, and the network in PyTorch likewise."""

    network = gpt(SIGNS, PLACES, seed=1).copy(dtype)
    twin = Twin(network)
    adam = copy.copy(scene(decay_steps=1000).optimizer)
    session = sv.Session(network, names, "negative_log_likelihood", adam, batch=1, engine="cpu")
    optimizer = torch.optim.Adam(twin.weights, lr=0.01, betas=BETAS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / 1000.0)
    batches = names.batches(1, 0)
    for step in range(steps):
        optimizer.zero_grad()
        twin.loss(names.name_of(batches.at(step)[0][0])).backward()
        optimizer.step()
        schedule.step()
    session.advance(steps)
    return session, twin


def test_100_steps_are_those_of_pytorch(torch: Any) -> None:
    session, twin = trained_beside_pytorch(torch, 100, NAMES, "float64")
    assert abs(session.network.bank.value - twin.numbers()).max() < 1e-8


@pytest.mark.slow
def test_1000_steps_in_float32_are_as_good_as_those_of_pytorch_in_float64(torch: Any) -> None:
    session, twin = trained_beside_pytorch(torch, 1000, NAMES, "float32")
    theirs = gpt(SIGNS, PLACES).copy("float64").to("cpu")
    theirs.bank.value[:] = twin.numbers()
    ours = per_letter(session.network, NAMES.held_out)
    assert ours < per_letter(theirs, NAMES.held_out) + 0.01


def pair_losses(names: data.Names, pair: Any) -> tuple[float, float]:
    """The loss of counting pairs of letters, .5 added to each count: per letter, mean of names."""

    def pairs(inputs: Any) -> list[Any]:
        codes = [[0, *map(names.letters.index, names.name_of(row)), 0] for row in inputs]
        return [np.stack([row[:-1], row[1:]], axis=1) for row in codes]

    counts = np.full((SIGNS, SIGNS), 0.5)
    np.add.at(counts, tuple(np.concatenate(pairs(names.training[0])).T), 1.0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    losses = [-np.log(shares[tuple(each.T)]) for each in pairs(pair[0])]
    per_name = np.mean([each.mean() for each in losses])
    return float(np.concatenate(losses).mean()), float(per_name)


def trained_names(seed: int) -> tuple[Any, list[float]]:
    """A trained session; its loss, and those without the attention, the MLP, and both."""
    session = scene(seed=seed)
    names, network = session.data, session.network
    assert per_letter(network, names.held_out) == pytest.approx(math.log(27), abs=0.1)
    session.advance(16_000)
    ablated = [sv.ablated(network, *layers) for layers in ((2,), (3,), (2, 3))]
    return session, [per_letter(each, names.held_out) for each in (network, *ablated)]


def test_it_beats_the_counting_of_pairs_and_looks_back() -> None:
    session, (whole, without_attention, _, without_both) = trained_names(0)
    names, network = session.data, session.network
    counted, per_name = pair_losses(names, names.held_out)
    assert whole < counted - 0.1 and names.pairs_loss == pytest.approx(per_name)
    assert without_attention > whole + 0.01 and without_both > whole + 0.01
    assert session.learning_rate == 0.0
    written = names.write(network)
    assert written == names.write(network.copy()) and len({*written}) > 5
    assert max(map(len, written)) <= 15


@pytest.mark.slow  # ten trainings
def test_what_its_parts_are_worth_is_a_mean_over_seeds() -> None:
    """The range of one seed is wide: what a rounding changes, 16,000 steps enlarge."""
    losses = np.array([trained_names(seed)[1] for seed in range(10)])
    assert losses[:, 0].max() < 2.45
    attention, mlp, both = (losses[:, 1:] - losses[:, :1]).T
    assert attention.min() > 0.01 and 0.05 < attention.mean() < 0.12
    assert 0.02 < mlp.mean() < 0.15 and both.min() > 0.02


def test_a_transformer_of_872_weights_adds_sums_that_it_never_saw() -> None:
    session = load(find("adder"))(engine="cpu").session
    network, (inputs, _) = session.network, session.data.held_out
    assert len(network.bank) == 872 and len({network.name_of(row) for row in range(872)}) == 872
    session.advance(20_000)
    assert len(inputs) > 1900 and adder.right(network, session.data.held_out) > 0.99
    known = {
        (*sorted(map(tuple, each)),) for each in session.data.training[0][:, :4].reshape(-1, 2, 2)
    }
    assert not any(
        (*sorted(map(tuple, each)),) in known for each in inputs[:, :4].reshape(-1, 2, 2)
    )
    row = np.array([[5.0, 7, 6, 8, 10, -1, -1]])  # 57 + 68 = 125, from its own digits
    for place, digit in enumerate((5, 2, 1), 4):
        assert network(row).reshape(11, 7)[:, place].argmax() == digit
        row[0, min(place + 1, 6)] = digit


# ---- networks without a part --------------------------------------------------------------------


@both_engines
def test_a_network_without_a_residual_passes_its_inputs_on(engine: str) -> None:
    layers = [
        sv.Dense(2, 3, "tanh"),
        sv.Residual(sv.Dense(3, 5, "relu"), sv.Dense(5, 3), sv.LayerNorm(3)),
        sv.Residual(sv.Dense(3, 4, "tanh"), skip=sv.Dense(3, 4)),
        sv.Dense(4, 1),
    ]
    network = sv.Network(layers, seed=2, engine=engine)
    before, x = network.bank.value.copy(), np.random.default_rng(0).random((5, 2))
    first, _, third, last = network.layers
    expected = last(third(first(x)))
    np.testing.assert_allclose(sv.ablated(network, 1)(x), expected, rtol=1e-6)
    skip = third.branches[1][0]  # type: ignore[attr-defined]
    expected = last(skip(first(x)))
    np.testing.assert_allclose(sv.ablated(network, 1, 2)(x), expected, rtol=1e-6)
    assert (network.bank.value == before).all()


def test_a_layer_that_cannot_be_switched_off_is_refused() -> None:
    ends = [sv.Residual(sv.Dense(3, 3, "sigmoid")), sv.Residual(sv.Activation(3, "tanh"))]
    network = sv.Network([sv.Dense(2, 3), *ends], seed=0)
    refused(InputError, "layer 0 is not a Residual").by(sv.ablated, network, 0)
    refused(InputError, "layer 7").by(sv.ablated, network, 7)
    refused(InputError, "'x'").by(sv.ablated, network, "x")
    refused(InputError, "has none").by(sv.ablated, sv.Network([2, 1]), 0)
    refused(InputError, "linear").by(sv.ablated, network, 1)
    refused(InputError, "linear").by(sv.ablated, network, 2)
    refused(InputError, "at least one").by(sv.ablated, network)
    refused(InputError, "3").by(sv.ablated, 3, 1)
