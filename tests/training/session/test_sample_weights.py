"""Weights of samples and classes: in loss, steps, metrics, words, files and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_linnerud, make_classification
from sklearn.neural_network import MLPRegressor
from sklearn.utils.class_weight import compute_sample_weight

import scalarviz as sv
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.errors import EngineError, InputError, UnknownNameError
from scalarviz.pages.engine_data import why_not
from tests.sessions import advanced, reloaded
from tests.story.test_captions import agrees, equations, value_of, walk
from tests.wording import refused

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(90, 4)), RNG.uniform(0.1, 0.9, (90, 3))
KINDS = RNG.integers(0, 3, 90)
WEIGHTS = RNG.integers(0, 4, 90).astype(float)
every_loss = pytest.mark.parametrize("name", [*LOSSES, *ROW_LOSSES])


def session(data: Any, loss: Any = "mse", engine: str = "cpu", **options: Any) -> sv.Session:
    net = sv.Network([4, 6, 3], "tanh", seed=1, dtype=options.pop("dtype", "float64"))
    return sv.Session(net, data, loss, sv.Adam(0.05), engine=engine, **options)


def weighted(**options: Any) -> sv.data.Arrays:
    return sv.data.Arrays(X, T, **{"sample_weight": WEIGHTS, "order": "in_order", **options})


@every_loss
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
def test_a_weight_is_that_many_samples(name: str, mean: Any) -> None:
    loss = sv.Loss(name, factor=0.5, mean=mean)
    times = WEIGHTS.astype(int)
    repeated = sv.Loss(name, factor=0.5, mean=mean)
    value = repeated.forward(X[:, :3].repeat(times, axis=0), T.repeat(times, axis=0))
    assert loss.forward(X[:, :3], T, WEIGHTS) == pytest.approx(value, rel=1e-13)
    assert loss(X[:, :3], T, sample_weight=WEIGHTS) == pytest.approx(value, rel=1e-13)
    back, each = loss.backward(), repeated.backward()
    first = np.cumsum(times) - times
    some = times > 0
    assert np.allclose(back[some], (each[first[some]].T * times[some]).T, rtol=1e-12, atol=0.0)
    assert not back[~some].any()
    of_each = loss.of_each(X[:, :3], T)
    whole = of_each @ WEIGHTS / (1.0 if mean == "none" else WEIGHTS.sum())
    assert whole == pytest.approx(value, rel=1e-13)


@every_loss
@pytest.mark.parametrize("batch", [None, 25])
def test_every_engine_takes_the_same_steps_moment_by_moment_too(name: str, batch: Any) -> None:
    losses = []
    for engine in ("python", "cpu"):
        whole = advanced(session(weighted(), name, engine, batch=batch), 8)
        apart = session(weighted(), name, engine, batch=batch)
        apart.advance(8 * len(apart.operations), "operation")
        assert np.array_equal(whole.network.bank.value, apart.network.bank.value)
        assert np.array_equal(whole.losses, apart.losses)
        losses.append(whole.losses)
    assert np.allclose(*losses, rtol=1e-12, atol=0.0)
    plain = advanced(session((X, T), name, batch=batch), 8)
    assert not np.allclose(losses[0], plain.losses, rtol=1e-3)


def test_a_batch_without_weight_moves_nothing() -> None:
    weights = np.where(np.arange(90) < 30, 0.0, 1.0)
    for engine in ("python", "cpu"):
        s = session(weighted(sample_weight=weights), engine=engine, batch=30)
        before = s.network.bank.value.copy()
        s.advance(1)
        assert s.loss == 0.0 and np.array_equal(s.network.bank.value, before)
        assert advanced(s, 1).loss > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 20])
@pytest.mark.parametrize("loss", ["mse", "softmax_cross_entropy"])
def test_steps_are_those_of_pytorch(loss: str, batch: Any) -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    per_class = {0: 0.5, 1: 3.0, 2: 1.25}
    data = sv.data.Arrays(X, KINDS, classes=3, class_weight=per_class, order="in_order")
    s = session(data, loss, batch=batch)
    s.optimizer = sv.SGD(0.3)
    layers = [torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)]
    module = torch.nn.Sequential(*layers).double()
    parameters = [*module.parameters()]
    for p, array in zip(parameters, s.network.state_dict().values(), strict=True):
        p.data.copy_(torch.tensor(np.asarray(array)))
    optimizer = torch.optim.SGD(parameters, 0.3)
    weights = torch.tensor([*per_class.values()], dtype=torch.float64)
    entropy, losses = torch.nn.CrossEntropyLoss(weight=weights), []
    x, kinds, count = torch.tensor(X), torch.tensor(KINDS), batch or 90
    for step in range(40):
        rows = torch.arange(90).split(count)[step % -(-90 // count)]
        outputs = module(x[rows])
        if loss == "mse":
            errors = (outputs - torch.nn.functional.one_hot(kinds[rows], 3)).square().mean(1)
            error = (errors * weights[kinds[rows]]).sum() / weights[kinds[rows]].sum()
        else:
            error = entropy(outputs, kinds[rows])
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    s.advance(40)
    assert np.allclose(s.losses, losses, rtol=1e-12, atol=0.0)
    for p, array in zip(parameters, s.network.state_dict().values(), strict=True):
        assert np.allclose(p.detach().numpy(), np.asarray(array), rtol=1e-11, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_are_those_of_scikit_learn() -> None:
    inputs, targets = load_linnerud(return_X_y=True)
    inputs, targets = (np.asarray((t - t.mean(0)) / t.std(0)) for t in (inputs, targets))
    weights = RNG.uniform(0.0, 2.0, len(inputs))
    options: dict[str, Any] = {"learning_rate_init": 0.1, "momentum": 0.0, "alpha": 0.0}
    options |= {"hidden_layer_sizes": (5,), "activation": "tanh", "solver": "sgd", "batch_size": 20}
    theirs = MLPRegressor(shuffle=False, max_iter=1, warm_start=True, random_state=0, **options)
    theirs.fit(inputs, targets, sample_weight=weights)
    net = sv.Network([3, 5, 3], "tanh", seed=0, dtype="float64")
    for layer, kernel, bias in zip((0, 1), theirs.coefs_, theirs.intercepts_, strict=True):
        dense: Any = net.layers[layer]
        dense.kernel[:], dense.bias[:] = kernel.T, bias
    table = sv.data.Arrays(inputs, targets, sample_weight=weights, order="in_order")
    loss = sv.Loss("mse", factor=0.5, mean="samples")  # their gradient; their loss is of an output
    s = advanced(sv.Session(net, table, loss, sv.SGD(0.1), engine="cpu"), 30)
    found = []
    for _ in range(30):
        theirs.fit(inputs, targets, sample_weight=weights)
        found.append(theirs.loss_)
    assert np.allclose(s.losses, 3.0 * np.array(found), rtol=1e-12, atol=0.0)


def test_classes_weigh_as_scikit_learn_says() -> None:
    inputs, kinds = load_breast_cancer(return_X_y=True)
    names = np.array(["bad", "good"])[kinds]
    for given in ("balanced", {0: 3.0}, {0: 0.5, 1: 2}):
        by_name = (
            given if isinstance(given, str) else {["bad", "good"][k]: w for k, w in given.items()}
        )
        wanted = compute_sample_weight(given, kinds)
        for table in (
            sv.data.Arrays(inputs, kinds, class_weight=given),
            sv.data.Arrays(inputs, names, class_weight=by_name),
            sv.data.Arrays(inputs, np.eye(2)[kinds], class_weight=given),
        ):
            assert np.allclose(table.weights, wanted, rtol=1e-14)
    both = sv.data.Arrays(inputs, kinds, sample_weight=inputs[:, 0], class_weight={1: 2.0})
    assert np.allclose(both.weights, inputs[:, 0] * (1 + kinds))


def test_weights_go_where_their_samples_go(tmp_path: Path) -> None:
    inputs = np.arange(50.0)[:, None]
    table = sv.data.Arrays(inputs, -inputs, share=0.8, sample_weight=inputs[:, 0] + 1.0)
    assert table.held_out is not None and table.held_out_weights is not None
    assert np.array_equal(table.weights, table.training[0][:, 0] + 1.0)
    assert np.array_equal(table.held_out_weights, table.held_out[0][:, 0] + 1.0)
    assert np.array_equal(inputs[table.rows], table.training[0])
    assert np.array_equal(inputs[table.held_out_rows], table.held_out[0])
    grown = table.with_added(np.ones((1, 1)), np.ones((1, 1)))
    assert np.array_equal(grown.weights, [*table.weights, 1.0])
    last = sv.data.Arrays(inputs, -inputs, held_out=10, sample_weight=inputs[:, 0])
    assert last.held_out_weights is not None and last.held_out_weights[0] == 40.0
    pair = sv.data.Arrays(inputs, -inputs, held_out=(inputs, inputs), sample_weight=inputs[:, 0])
    assert np.array_equal(pair.held_out_weights, np.ones(50))
    balanced = sv.data.Arrays(inputs, [0] * 40 + [1] * 10, held_out=9, class_weight="balanced")
    assert balanced.weights[[0, 40]] == pytest.approx([41 / 80, 41 / 2])
    assert balanced.held_out_weights is not None and (balanced.held_out_weights == 1.0).all()
    path = tmp_path / "people.csv"
    path.write_text("age,counts,income\n30,2,1\n40,0,0\n50,7,1\n")
    read = sv.data.from_csv(path, targets="income", weights="counts")
    assert read.training[0].ravel().tolist() == [30.0, 40.0, 50.0]
    assert np.array_equal(read.weights, [2.0, 0.0, 7.0])
    assert sv.data.from_csv(path, weights=-1).weights.tolist() == [1.0, 0.0, 1.0]
    assert sv.data.from_csv(path, class_weight={1: 4}).weights.tolist() == [4.0, 1.0, 4.0]


def test_held_out_samples_and_metrics_are_measured_by_weights() -> None:
    inputs, kinds = make_classification(200, 4, n_informative=3, n_redundant=0, random_state=0)
    weights = RNG.random(200)
    table = sv.data.Arrays(inputs, kinds, share=0.7, sample_weight=weights)
    net = sv.Network([4, 2], seed=0, dtype="float64")
    s = sv.Session(net, table, "softmax_cross_entropy", metrics=["accuracy", "auc"], every=5)
    s.advance(5)
    held_out, at = s.data.held_out, s.data.held_out_weights
    assert held_out is not None
    found = {name: values[-1] for name, (_, values) in s.metrics.items()}
    outputs = s.network(held_out[0])
    assert found["held_out_loss"] == pytest.approx(s.loss_function(outputs, held_out[1], at))
    accuracy, auc = sv.metrics.accuracy, sv.metrics.auc
    assert found["held_out_accuracy"] == pytest.approx(accuracy(outputs, held_out[1], at))
    assert found["held_out_auc"] == pytest.approx(
        auc(s.network.predict_proba(held_out[0]), held_out[1], at)
    )
    of_each = s.sample_losses(held_out=True)
    assert np.average(of_each, weights=at) == pytest.approx(found["held_out_loss"])
    assert len(s.sample_losses()) == s.data.samples
    made = sv.data.Generated(
        lambda step, batch, seed: (inputs[:batch], kinds[:batch]), inputs=4, outputs=1
    )
    other = sv.Session(sv.Network([4, 1]), made, batch=8)
    refused(InputError, "fixed samples").by(other.sample_losses)
    refused(InputError, "no held-out samples").by(other.sample_losses, held_out=True)


def test_a_file_keeps_weights_and_its_training_goes_on(tmp_path: Path) -> None:
    s = advanced(session(weighted(), batch=25), 10)
    other = reloaded(s, tmp_path)
    assert np.array_equal(other.data.weights, WEIGHTS)
    assert np.array_equal(advanced(s, 9).losses, advanced(other, 9).losses)


def test_replicas_know_weights() -> None:
    def make(seed: int) -> sv.Session:
        net = sv.Network([4, 6, 3], "tanh", seed=seed)
        return sv.Session(
            net, weighted(), optimizer=sv.Adam(0.05), batch=25, engine="cpu", seed=seed
        )

    many = advanced(sv.replicate(make(0), [3, 4, 5, 6]), 20)
    alone = advanced(make(4), 20)
    assert np.array_equal(many.losses[1], alone.losses)


@pytest.mark.parametrize("loss", ["mse", sv.Loss("mae", mean="none"), "softmax_cross_entropy"])
def test_captions_have_the_weight_and_their_arithmetic_is_right(loss: Any) -> None:
    s = sv.Session(
        sv.Network([4, 6, 3], "tanh", seed=1), weighted(), loss, batch=5, engine="python"
    )
    s.focus = int(WEIGHTS[:5].argmax())
    told = walk(s, 0)
    formulas = told["loss"].formula, told["delta 1"].formula
    assert all("weight × " in formula for formula in formulas)
    for said_now in told.values():
        for arithmetic, result in equations(said_now):
            assert agrees(value_of(arithmetic), result)


def test_what_does_not_know_weights_says_so() -> None:
    s = session(weighted(), dtype="float32")
    assert "sample weights" in why_not(s)
    refused(InputError, "weights of samples").by(sv.onnx.save_step, s, "step.onnx")
    w = sv.Value(0.5, label="w")
    straight: Any = sv.compile(lambda x: w * x, inputs=1)
    table = sv.data.Arrays([[1.0], [2.0]], [[2.0], [3.0]], sample_weight=[1.0, 2.0])
    refused(EngineError, "'cpu' or 'python'").by(sv.Session, straight, table)
    plain = sv.Session(straight, ([[1.0], [2.0]], [[2.0], [3.0]]))
    refused(EngineError, "'cpu' or 'python'").by(setattr, plain, "data", table)
    assert advanced(plain, 2).step_index == 2


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"sample_weight": [1.0, 2.0]}, InputError, "its shape is (2,), not (3,)"),
    ({"sample_weight": [[1.0]] * 3}, InputError, "its shape is (3, 1), not (3,)"),
    ({"sample_weight": [1.0, -2.0, 1.0]}, InputError, "row 1 has -2"),
    ({"sample_weight": [0.0, 0.0, 0.0]}, InputError, "all are 0"),
    ({"sample_weight": [1.0, np.nan, 1.0]}, InputError, "row 1 has nan"),
    ({"class_weight": "even"}, InputError, "'even'"),
    ({"class_weight": {0: 0.0, 1: 0.0}}, InputError, "zero for all"),
    ({"sample_weight": [1.0, 1e300, 1.0]}, InputError, "row 1 has 1e+300"),
    ({"class_weight": {7: 1.0}}, InputError, "7"),
    ({"class_weight": {0: -1.0}}, InputError, "class 0"),
    ({"class_weight": "balanced", "targets": [0.5, 1.0, 2.0]}, InputError, "sample_weight"),
]


@pytest.mark.parametrize(("options", "error", "value"), WRONG)
def test_weights_that_are_none_are_refused(
    options: dict[str, Any], error: type[Exception], value: str
) -> None:
    given = {"inputs": np.eye(3), "targets": [0, 1, 1], **options}
    refused(error, value).by(sv.data.Arrays, **given)
    refused(InputError, "2 samples").by(sv.Loss(), np.eye(2), np.eye(2), [1.0])


def test_a_call_that_takes_no_weights_names_what_does() -> None:
    train = sv.Network([3, 1]).train
    refused(UnknownNameError, "sv.Session").by(train, np.eye(3), T[:3], steps=1, sample_weight=[])


def to_zero(p: Any, t: Any) -> Any:
    """The error of two outputs beside one target."""
    return (p[0] - t[0]) ** 2.0 + p[1] ** 2.0


def its_gradient(p: Any, t: Any, g: Any) -> None:
    g[0], g[1] = 2.0 * (p[0] - t[0]), 2.0 * p[1]


def test_rows_stay_known_where_targets_get_zeros_behind_them() -> None:
    row = sv.loss(to_zero, its_gradient, rows=True, name="with_zeros", outputs=2, targets=1)
    table = sv.data.Arrays(X, T[:, :1], share=0.8, sample_weight=WEIGHTS + 1.0)
    s = sv.Session(sv.Network([4, 2], seed=0), table, row, engine="python")
    assert np.array_equal(s.data.rows, table.rows) and (table.rows != np.arange(72)).any()
    assert np.array_equal(s.data.weights, (WEIGHTS + 1.0)[table.rows])


def test_metrics_are_of_the_targets_that_the_loss_takes() -> None:
    def shapes(predictions: Any, targets: Any) -> float:
        return 10.0 * predictions.shape[1] + targets.shape[1]

    row = sv.loss(to_zero, its_gradient, rows=True, name="of_the_first", outputs=2, targets=1)
    table = sv.data.Arrays(X, T[:, :1], share=0.8)
    about = sv.Network([4, 2], seed=0), table, row
    refused(InputError, "fewer").by(sv.Session, *about, metrics=["mae"])
    s = advanced(sv.Session(*about, metrics=[shapes], every=1, engine="python"), 1)
    assert s.metrics["shapes"][1].tolist() == s.metrics["held_out_shapes"][1].tolist() == [21.0]

    def make(seed: int = 0) -> sv.Session:
        return sv.Session(sv.Network([4, 2], seed=seed), table, row, engine="cpu", seed=seed)

    runs = advanced(sv.sweep(make, {}, [0, 1], metrics=[shapes]), 1)
    assert runs.table().columns["shapes"] == [21.0]
    for options in ({"metrics": ["mae"]}, {"goal": "accuracy"}):
        runs = sv.sweep(make, {}, [0, 1], **options)
        refused(InputError, "fewer").by(runs.advance, 1)
