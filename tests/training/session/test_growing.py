"""Networks that grow or are replicated in a training, and optimizers that continue."""

import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.program import NONE
from scalarviz.engines.cpu.parallel_networks import CpuMany
from scalarviz.errors import EngineError, FileError, InputError, OrderError, UnknownAttributeError
from scalarviz.training.session import replicas as module
from scalarviz.training.session.replicas import Replicas
from tests.sessions import advanced, reloaded, session_on
from tests.wording import refused

COLOURS = np.random.default_rng(0).random((6, 3))


def trained(engine: str = "python", **options: Any) -> sv.Session:
    """A session after 20 steps of Adam, with a frozen neuron."""
    net = sv.Network([3, 5, 4, 3], "tanh", "sigmoid", seed=3)
    s = sv.Session(net, data.Rgb("invert"), "mse", sv.Adam(0.01), 8, engine, **options)
    s.freeze(net.layers[0].perceptrons[1])
    s.advance(20, progress=False)
    return s


def numbers(s: sv.Session) -> tuple[bytes, ...]:
    bank = s.network.bank
    slots = b"".join(block.tobytes() for _, block in sorted(bank.blocks.items()))
    return bank.value.tobytes(), bank.frozen.tobytes(), slots, bytes(str(bank.step_count), "ascii")


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_new_neuron_changes_no_output_until_the_network_learns(engine: str) -> None:
    s = trained(engine)
    grown = sv.add_neurons(s, 0, 2)
    assert [layer.outputs for layer in grown.network] == [7, 4, 3]
    assert np.array_equal(grown.network(COLOURS), s.network(COLOURS))
    assert np.abs(grown.network[0].kernel[5:]).min() > 0  # drawn
    assert not grown.network[1].kernel[:, 5:].any()
    before = grown.network.bank.value.copy()
    grown.advance(3, progress=False)
    moved = grown.network.bank.value != before
    assert moved[grown.network[1].rows].reshape(-1)[: 4 * 7].reshape(4, 7)[:, 5:].all()


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize(
    ("grow", "shrink"),
    [
        (lambda s: sv.add_neurons(s, 0), lambda s: sv.remove_neuron(s, 0, 5)),
        (lambda s: sv.add_neurons(s, 1, start="init"), lambda s: sv.remove_neuron(s, 1, 4)),
        (lambda s: sv.insert_layer(s, 1), lambda s: sv.remove_layer(s, 1)),
        (lambda s: sv.insert_layer(s, 1, 9, "swish"), lambda s: sv.remove_layer(s, 1)),
        (lambda s: sv.insert_layer(s, 0, 6, start="init"), lambda s: sv.remove_layer(s, 0)),
    ],
)
def test_removing_what_was_just_added_gives_every_number_back(grow, shrink, engine: str) -> None:
    s = trained(engine)
    back = shrink(grow(s))
    assert numbers(back) == numbers(s)
    assert np.array_equal(back.network(COLOURS), s.network(COLOURS))
    assert repr(back.network) == repr(s.network)


@pytest.mark.parametrize(
    ("layer", "neurons", "activation", "most"),
    [
        (1, None, "linear", 0.0),
        (1, 9, "linear", 0.0),
        (0, None, "linear", 0.0),
        (1, None, None, 0.15),  # tanh
        (1, None, "sin", 0.15),
    ],
)
def test_an_inserted_layer_hands_on_what_it_gets(
    layer: int, neurons: int | None, activation: str | None, most: float
) -> None:
    s = trained()
    grown = sv.insert_layer(s, layer, neurons, activation)
    assert grown.network[layer].activation == (activation or "tanh")
    assert np.abs(grown.network(COLOURS) - s.network(COLOURS)).max() <= most


def test_what_stays_keeps_value_mark_and_slots_by_the_rows_of_the_origin() -> None:
    s = trained()
    smaller = sv.remove_neuron(s, 0, 2)
    rows = smaller.origin.rows
    assert rows is not None and len(rows) == len(s.network.bank) - 4 - 4
    gone = {s.network.name_of(row) for row in set(range(len(s.network.bank))) - set(rows.tolist())}
    assert {name for name in gone if "perceptron 2" not in name} == {
        f"layer 1, perceptron {i}, weight from input 2" for i in (0, 1, 3)
    }
    old, new = s.network.bank, smaller.network.bank
    assert np.array_equal(new.value, old.value[rows])
    assert np.array_equal(new.frozen, old.frozen[rows]) and new.frozen.sum() == 4
    assert np.array_equal(new.slots["v"], old.slots["v"][rows])
    grown = sv.add_neurons(s, 0)
    fresh = grown.origin.rows == NONE
    assert fresh.sum() == 4 + 4 and not grown.network.bank.slots["m"][fresh].any()
    assert not grown.network.bank.frozen[fresh].any()


def test_settings_are_those_of_the_moment_and_the_earlier_session_stays() -> None:
    s = trained(seed=7, metrics=["mae"], every=5, memory=10**6)
    s.pin([0, 40])
    s.data = data.Rgb("grey")
    s.learning_rate = 0.003
    s.set_activation(1, "swish")
    s.advance(2, "operation")
    s.learning_rate = 0.002  # waits for the next step
    before, moment = numbers(s), s.clock
    grown = sv.add_neurons(s, 0)
    assert (numbers(s), s.clock) == (before, moment)
    assert grown.step_index == 0 and grown.done == ""
    assert grown.learning_rate == 0.002 and grown.data is s.data
    assert grown.network.activations == ("tanh", "swish", "sigmoid")
    trainer, old = grown.trainer, s.trainer
    assert (trainer.seed, trainer.loss) == (old.seed, old.loss) and s.batch == grown.batch
    assert grown.timeline.keyframes.budget == 10**6
    assert [s.network.name_of(row) for row in s.pinned] == [
        grown.network.name_of(row).replace("input 6", "input 5") for row in grown.pinned
    ]
    grown.advance(5, progress=False)
    assert grown.metrics["mae"][0].tolist() == [5]
    s.advance(1, progress=False)  # each goes its own way


def test_the_origin_is_told_and_leads_back() -> None:
    s = advanced(trained(), 2, "operation")
    grown = sv.add_neurons(s, 0, 2)
    assert grown.origin.session is s and (grown.origin.step, grown.origin.operation) == (20, 2)
    assert str(grown.origin) == "from step 20, operation 2: 2 neurons added to layer 0"
    assert repr(grown).endswith("from step 20, operation 2: 2 neurons added to layer 0")
    again = sv.remove_layer(grown, 1)
    assert str(again.origin) == "from step 0: layer 1 removed"
    assert again.origin.session.origin.session is s
    assert s.origin is None
    assert again.copy().origin is again.origin


def test_a_file_keeps_the_origin_as_a_text(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    grown = advanced(sv.insert_layer(trained(), 1, 6, "relu"), 3, progress=False)
    grown.save(path)
    loaded = sv.Session.load(path)
    assert str(loaded.origin) == str(grown.origin)
    assert loaded.origin.session is None and loaded.origin.rows is None
    assert numbers(loaded) == numbers(grown)
    loaded.seek(0)
    grown.seek(0)
    assert numbers(loaded) == numbers(grown)
    trained().save(path)
    assert sv.Session.load(path).origin is None


@pytest.mark.parametrize(
    "bad",
    [7, {"did": 3, "step": 0, "operation": 0}, {"did": "x"}, {"did": "x" * 300, "step": 0},
     {"did": "x", "step": -1, "operation": 0}],
)  # fmt: skip
def test_a_file_with_a_wrong_origin_is_refused(tmp_path: Path, bad: object) -> None:
    from scalarviz.files.checked_safetensors import read, write

    path = tmp_path / "run.safetensors"
    sv.add_neurons(trained(), 0).save(path)
    description, arrays = read(path, "run")
    write(path, "run", description | {"origin": bad}, arrays)
    refused(FileError).by(sv.Session.load, path)


def test_layers_around_a_dense_chain_stay_as_they_are() -> None:
    net = sv.Network(
        [sv.FrequencyEncoding(2, octaves=1), sv.Dense(4, 5, "relu"), sv.Dense(5, 4, bias=False),
         sv.BatchNorm(4), sv.Dense(4, 1)],
        init=sv.Init("he_uniform", bias="fan_out"),
        seed=2,
    )  # fmt: skip
    s = advanced(sv.Session(net, data.Xor(), batch=4, engine="python"), 5, progress=False)
    assert net[3].state.any()
    grown = sv.add_neurons(s, 1)
    assert np.array_equal(grown.network[3].state, net[3].state)
    assert grown.network[2].bias is None and grown.network.init is net.init
    points = np.random.default_rng(1).random((5, 2))
    assert np.array_equal(grown.network(points), net(points))


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (lambda s: sv.add_neurons(s, 2), "layer 2"),
        (lambda s: sv.add_neurons(s, 3), "no 3"),
        (lambda s: sv.add_neurons(s, -1), "no -1"),
        (lambda s: sv.add_neurons(s, True), "no True"),
        (lambda s: sv.add_neurons(s, 0, 0), "not 0"),
        (lambda s: sv.add_neurons(s, 0, 70_000), "70,005"),
        (lambda s: sv.remove_neuron(s, 0, 5), "no 5"),
        (lambda s: sv.remove_neuron(s, 0, 1.5), "no 1.5"),
        (lambda s: sv.remove_neuron(s, 2, 0), "layer 2"),
        (lambda s: sv.insert_layer(s, 3), "not 3"),
        (lambda s: sv.insert_layer(s, 1, 0), "not 0"),
        (lambda s: sv.remove_layer(s, 2), "layer 2"),
        (lambda s: sv.remove_layer(s.network, 0), "Network 3 -> 5"),
    ],
)
def test_what_cannot_grow_is_refused_in_a_sentence(change, value: str) -> None:
    refused(InputError, value).by(change, trained())


def test_the_last_neuron_and_other_layers_are_refused() -> None:
    twice = sv.Dense(2, 2)
    nets = [
        sv.Network([2, 1, 1]),
        sv.Network([sv.Dense(2, 3), sv.LayerNorm(3), sv.Dense(3, 1)]),
        sv.Network([twice, twice, sv.Dense(2, 1)]),
    ]
    one, norm, shared = (sv.Session(net, data.Xor(), engine="python") for net in nets)
    refused(InputError, "neuron 0").by(sv.remove_neuron, one, 0, 0)
    for change in (
        lambda: sv.add_neurons(norm, 0),
        lambda: sv.remove_layer(norm, 1),
        lambda: sv.insert_layer(norm, 1),
    ):
        refused(InputError, "LayerNorm(3 -> 3)").by(change)
    refused(InputError, "shared").by(sv.add_neurons, shared, 0)
    swing = sv.compile(lambda x: sv.Value(0.5) * x, inputs=1)
    refused(InputError, "compiled").by(
        sv.add_neurons, sv.Session(swing, ([[1.0]], [[2.0]]), engine="python"), 0
    )


def test_rates_of_its_own_stay_with_their_weights(tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    s = advanced(sv.Session(net, data.Xor(), "mse", sv.SGD(0.1), engine="python"), 3)
    weight = net.layers[1].perceptrons[0].weights[1]
    s.set_rate(weight, 0.0)
    s.set_rate(net.layers[0].perceptrons[2].bias, 0.5)
    grown = sv.add_neurons(s, 0)
    kept = grown.network.layers[1].perceptrons[0].weights[1]
    assert grown.own_rate(kept) == 0.0
    assert grown.own_rate(grown.network.layers[0].perceptrons[2].bias) == 0.5
    assert grown.own_rate(grown.network.layers[0].perceptrons[3].bias) is None
    smaller = sv.remove_neuron(s, 0, 0)
    assert smaller.own_rate(smaller.network.layers[1].perceptrons[0].weights[0]) == 0.0
    refused(OrderError, "nothing to undo").by(grown.undo)
    loaded = reloaded(grown, tmp_path)
    assert loaded.own_rate(kept.index) == 0.0
    grown.advance(5)
    loaded.advance(5)
    assert (loaded.network.bank.value == grown.network.bank.value).all()
    assert kept.value == weight.value


def test_a_network_that_grows_within_a_step_has_the_changes_that_wait() -> None:
    def begun(precision: str, optimizer: sv.Optimizer) -> sv.Session:
        net = sv.Network([2, 4, 1], "tanh", seed=2)
        s = sv.Session(net, data.Xor(), "mse", optimizer, engine="cpu", precision=precision)
        s.advance(3)
        s.advance(3, "operation")
        return s

    s = begun("mixed", sv.SGD(0.01))
    s.precision = "full"
    grown = sv.add_neurons(s, 0)
    assert grown.precision.name == "full" and grown.network.bank.scaling[0] == 1.0
    s = begun("full", sv.Adam(0.01))
    s.optimizer = sv.Momentum(0.1)
    grown = sv.add_neurons(s, 0)
    assert grown.network.bank.step_count == 0
    assert not any(block.any() for block in grown.network.bank.blocks.values())


COSINE = sv.Schedule("cosine", steps=50)


def session_with(optimizer: sv.Optimizer, engine: str = "python") -> sv.Session:
    return advanced(
        session_on(
            data.Xor(), [2, 4, 1], "tanh", dtype="float64", optimizer=optimizer, engine=engine
        ),
        5,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sv.Adam(0.05), sv.Adam(0.05, l2=0.1)),
        (sv.Adam(0.05), sv.AdamW(0.02)),
        (sv.Momentum(0.1, l1=0.2), sv.Nesterov(0.1)),
        (sv.SGD(0.1, schedule=COSINE), sv.SGD(0.2, schedule=COSINE, clip_norm=1.0)),
    ],
)
def test_equal_slots_and_schedules_go_on(before: sv.Optimizer, after: sv.Optimizer) -> None:
    s = session_with(before)
    slots = {name: block.copy() for name, block in s.network.bank.blocks.items()}
    assert all(block.any() for names, block in slots.items() if names)
    s.optimizer = after
    assert s.network.bank.step_count == 5
    assert {name: b.tobytes() for name, b in s.network.bank.blocks.items()} == {
        name: b.tobytes() for name, b in slots.items()
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sv.Adam(0.05), sv.RMSProp(0.05)),
        (sv.Adam(0.05), sv.Adam(0.05, schedule=COSINE)),
        (sv.SGD(0.1, schedule=COSINE), sv.SGD(0.1)),
    ],
)
def test_others_begin_anew(before: sv.Optimizer, after: sv.Optimizer) -> None:
    s = session_with(before)
    s.optimizer = after
    assert s.network.bank.step_count == 0
    assert not any(block.any() for block in s.network.bank.blocks.values())


def test_a_penalty_changes_the_next_step_by_itself_alone() -> None:
    plain, pulled = session_with(sv.Momentum(0.1)), session_with(sv.Momentum(0.1))
    before = pulled.network.bank.value.copy()
    pulled.optimizer = sv.Momentum(0.1, l2=0.5)
    plain.advance()
    pulled.advance()
    expected = plain.network.bank.value - 0.1 * 0.5 * before
    np.testing.assert_allclose(pulled.network.bank.value, expected, rtol=1e-12, atol=1e-15)


def test_what_waits_for_the_next_step_counts_as_done() -> None:
    s = advanced(session_with(sv.Adam(0.05)), 3, "operation")
    s.optimizer = sv.RMSProp(0.05)
    s.optimizer = sv.Adam(0.05)
    s.advance()
    s.advance(1, "operation")
    assert s.network.bank.step_count == 0


def test_a_run_of_an_earlier_version_begins_anew(tmp_path: Path) -> None:
    s = session_with(sv.Adam(0.05))
    s.timeline.note("optimizer", {"optimizer": sv.Adam(0.05, l2=0.1)})
    assert s.network.bank.step_count == 0
    s.advance(3)
    end = s.network.bank.value.tobytes()
    again = reloaded(s, tmp_path)
    again.seek(3)
    again.seek(8)
    assert again.network.bank.value.tobytes() == end


def test_a_wrong_mark_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    s = session_with(sv.Adam(0.05))
    s.optimizer = sv.Adam(0.05, l2=0.1)
    s.branches[0].journal[-1].details["goes_on"] = 1  # type: ignore[index]  # on purpose
    s.save(tmp_path / "run")
    refused(FileError, "goes_on is 1").by(sv.Session.load, tmp_path / "run")


def test_a_session_names_the_way_to_unfreeze_and_to_pull() -> None:
    s = session_with(sv.SGD(0.1))
    with refused(UnknownAttributeError, "unfreeze"):
        s.unfreeze  # type: ignore[attr-defined]  # noqa: B018
    with refused(UnknownAttributeError, "weight_decay"):
        s.weight_decay = 0.1  # type: ignore[attr-defined]  # on purpose


PLACES = [[0, 0], [0, 1], [1, 0], [1, 1]]


def replica_session(seed: int = 0, network: sv.Network | None = None, **options: Any) -> sv.Session:
    made = sv.Network([2, 8, 8, 1], "relu", seed=seed, dtype="float64")
    options = {"data": data.Xnor(), "optimizer": sv.SGD(0.05), "engine": "cpu"} | options
    return sv.Session(
        network or made, options.pop("data"), "mse", options.pop("optimizer"), seed=seed, **options
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=50))},
        {"batch": 1, "data": data.Xor(order="picked")},
        {"batch": 3, "optimizer": sv.Momentum(0.02)},
    ],
    ids=["plain", "adam", "picked", "shuffled"],
)
def test_each_has_the_bits_of_a_session_of_its_own(options: dict[str, Any]) -> None:
    replicas = advanced(sv.replicate(replica_session(**options), seeds=[3, 0, 2**40, 17, 5]), 20)
    replicas.advance()
    for i, seed in enumerate(replicas.seeds):
        alone = advanced(replica_session(seed, **options), 21)
        assert (replicas.banks[i].value == alone.network.bank.value).all()
        assert (replicas.banks[i].grad == alone.network.bank.grad).all()
        assert (replicas.losses[i] == alone.losses).all()
        assert replicas.banks[i].step_count == 21
    assert replicas.losses.shape == (5, 21) and len(replicas) == 5


@pytest.mark.parametrize("rows", [1, 150, 10**6])
def test_initial_numbers_that_are_drawn_together_are_those_of_each_seed(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", rows)  # of 59 a network: none, two or all together
    seeds = [3, 2**64 - 1, 3, 0, 2**32]
    pair = np.eye(4, 3), np.eye(4, 3)
    layers = [sv.Dense(3, 8, "tanh", init="normal"), sv.Dropout(8, 0.5), sv.Dense(8, 3)]
    net = sv.Network(layers, dtype="float64")
    made = sv.replicate(sv.Session(net, pair, engine="cpu"), seeds)
    for bank, seed in zip(made.banks, seeds, strict=True):
        alone = net.fresh(seed).bank
        assert (bank.value == alone.value).all() and (bank.state == alone.state).all()


@pytest.mark.parametrize("early", [True, False])
def test_their_weights_stand_on_what_the_kernels_train(early: bool) -> None:
    """Whenever the networks are made first, they have the numbers that the kernels train."""
    replicas, twins = (sv.replicate(replica_session(), range(3)) for _ in range(2))
    weights = [network.weight(104) for network in replicas.networks] if early else []
    before = [bank.value.copy() for bank in replicas.banks]
    replicas.advance(3)
    twins.advance(3)
    values = [bank.value.copy() for bank in replicas.banks]
    weights = weights or [network.weight(104) for network in replicas.networks]
    for i, (weight, old, new) in enumerate(zip(weights, before, values, strict=True)):
        network, bank = replicas.networks[i], replicas.banks[i]
        assert network.bank is bank and network.weight(104) is weight and bank.step_count == 3
        assert (bank.value == new).all() and (bank.state == twins.banks[i].state).all()
        assert weight.value == new[104] != old[104]
    replicas.advance(2)
    assert [each.value for each in weights] == [bank.value[104] for bank in replicas.banks]


def test_points_and_mixed_precision_have_replicas_too() -> None:
    def texture(seed: int) -> sv.Session:
        net = sv.Network([sv.FrequencyEncoding(2, octaves=2), sv.Dense(8, 3, "sigmoid")], seed=seed)
        pixels = np.random.default_rng(0).random((8, 8, 3))
        return sv.Session(
            net, data.Texture(pixels), batch=300, engine="cpu", seed=seed, precision="mixed"
        )

    replicas = advanced(sv.replicate(texture(0), seeds=[4, 9]), 5)
    for i, seed in enumerate((4, 9)):
        assert (replicas.banks[i].value == advanced(texture(seed), 5).network.bank.value).all()


def test_what_each_says() -> None:
    replicas = advanced(sv.replicate(replica_session(), range(3)), 10)
    replicas.advance(0)
    assert replicas.step_index == 10 and replicas.losses.shape == (3, 10)
    outputs = replicas.outputs(PLACES)
    assert outputs.shape == (3, 4, 1)
    assert (outputs[1] == replicas.networks[1].copy().to("cpu")(PLACES)).all()
    assert (replicas.outputs(PLACES, [True, False, True]) == outputs[[0, 2]]).all()
    refused(InputError, "[True]").by(replicas.outputs, PLACES, [True])
    w = replicas.networks[2].parameters()[5]
    assert w.value == replicas.banks[2].value[5]
    w.value = 0.5
    assert replicas.banks[2].value[5] == 0.5


def test_what_cannot_be_replicated_is_refused() -> None:
    refused(InputError).by(sv.replicate, replica_session(), [])
    refused(InputError, "-2").by(sv.replicate, replica_session(), [1, -2])
    refused(EngineError, "python").by(sv.replicate, replica_session(engine="python"), range(2))
    refused(InputError, "5").by(sv.replicate, replica_session(), 5)
    for other in (sv.Network([2, 1]), 3):
        refused(InputError, other).by(sv.replicate, other, range(2))
    w = sv.Value(1.0)
    expression = sv.Session(sv.compile(lambda x: w * x, inputs=1), ([[1.0]], [[2.0]]))
    refused(InputError, "expressions").by(sv.replicate, expression, range(2))
    made = data.Generated(
        lambda step, batch, seed: (np.zeros((batch, 2)), np.zeros((batch, 1))), inputs=2, outputs=1
    )
    refused(InputError, "Generated(make=<lambda>").by(
        sv.replicate, replica_session(data=made, batch=4), range(2)
    )


def test_ctrl_c_leaves_clock_losses_and_networks_at_the_same_step() -> None:
    def replicas() -> Replicas:
        s = session_on(
            data.Circle(), [2, 16, 1], "tanh", optimizer=sv.Adam(0.01), batch=8, engine="cpu"
        )
        return sv.replicate(s, range(4))

    stopped, straight = replicas(), replicas()
    stopped.advance(10)
    many = 5_000_000
    start = time.perf_counter()
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        stopped.advance(many)
    assert time.perf_counter() - start < 2.0
    step = stopped.step_index
    assert 10 < step < many
    assert [bank.step_count for bank in stopped.banks] == [step] * 4
    assert stopped.losses.shape == (4, step)
    stopped.advance(50)
    straight.advance(step + 50)
    assert (stopped.losses == straight.losses).all()
    for bank, other in zip(stopped.banks, straight.banks, strict=True):
        assert bank.value.tobytes() == other.value.tobytes()
        assert bank.grad.tobytes() == other.grad.tobytes()


def test_ctrl_c_right_after_the_kernels_breaks_off_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas, straight = (
        sv.replicate(replica_session(), range(3)),
        sv.replicate(replica_session(), range(3)),
    )
    replicas.advance(10)
    steps = CpuMany.steps

    def interrupted(many: CpuMany, first: int, count: int) -> Any:
        losses = steps(many, first, count)
        signal.raise_signal(signal.SIGINT)
        return losses

    monkeypatch.setattr(CpuMany, "steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replicas.advance(1000)
    monkeypatch.undo()
    step = replicas.step_index
    assert [bank.step_count for bank in replicas.banks] == [step] * 3
    straight.advance(step)
    assert (replicas.losses == straight.losses).all()
    assert (replicas.banks[1].grad == straight.banks[1].grad).all()
