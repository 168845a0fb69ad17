"""What data analysts ask for, beside scikit-learn and PyTorch: the largest difference of each.

    python -m benchmarks.at_work

Every line is computed by both, in float64, on data that comes with scikit-learn or is made by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_linnerud, make_classification
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.neural_network import MLPRegressor
from sklearn.utils.class_weight import compute_sample_weight

import scalarviz as sv

RNG = np.random.default_rng(0)
Compared = Iterator[tuple[str, str, str]]  # what, beside what, and how far apart


def apart(ours: Any, theirs: Any) -> str:
    """Return the largest difference as a part of the largest number."""
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    return f"{np.abs(a - b).max() / np.abs(b).max():.0e}"


def scaled(table: Any) -> Any:
    return (table - table.mean(0)) / table.std(0)


X, KINDS = load_breast_cancer(return_X_y=True)
X = scaled(X)


def module(*sizes: int) -> Any:
    torch.manual_seed(0)
    pairs = pairwise(sizes)
    layers = [each for pair in pairs for each in (torch.nn.Linear(*pair), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers[:-1]).double()


def trained(
    net: Any,
    optimizer: Any,
    loss: Callable[[Any, Any], Any],
    batch: int,
    steps: int,
    inputs: Any = None,
) -> list[float]:
    """Train a module on samples in order, and return its losses."""
    x, losses = torch.tensor(X if inputs is None else inputs), []
    for step in range(steps):
        rows = torch.arange(len(x)).split(batch)[step % -(-len(x) // batch)]
        error = loss(net(x[rows]), rows)
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    return losses


def of_weights() -> Compared:
    inputs, targets = map(scaled, load_linnerud(return_X_y=True))
    weights = RNG.uniform(0.0, 2.0, len(inputs))
    options: dict[str, Any] = {"learning_rate_init": 0.1, "momentum": 0.0, "alpha": 0.0}
    options |= {"hidden_layer_sizes": (5,), "activation": "tanh", "solver": "sgd", "batch_size": 20}
    theirs = MLPRegressor(shuffle=False, max_iter=1, warm_start=True, random_state=0, **options)
    theirs.fit(inputs, targets, sample_weight=weights)
    ours = sv.Network([3, 5, 3], "tanh", dtype="float64", seed=0)
    for layer, kernel, bias in zip(ours.layers, theirs.coefs_, theirs.intercepts_, strict=True):
        dense: Any = layer
        dense.kernel[:], dense.bias[:] = kernel.T, bias
    table = sv.data.Arrays(inputs, targets, sample_weight=weights, order="in_order")
    loss = sv.Loss("mse", factor=0.5, mean="samples")
    session = sv.Session(ours, table, loss, sv.SGD(0.1), engine="cpu")
    session.advance(100)
    found = []
    for _ in range(100):
        theirs.fit(inputs, targets, sample_weight=weights)
        found.append(3.0 * theirs.loss_)
    yield "sample_weight, linnerud, 100 steps", "MLPRegressor", apart(session.losses, found)

    weighed = {0: 3.0, 1: 0.5}
    balanced = sv.data.Arrays(X, KINDS, class_weight="balanced").weights
    yield (
        "balanced weights",
        "compute_sample_weight",
        apart(balanced, compute_sample_weight("balanced", KINDS)),
    )
    theirs, net = module(30, 8, 2), sv.from_torch(module(30, 8, 2), torch.tensor(X[:4]))
    table = sv.data.Arrays(X, KINDS, classes=2, class_weight=weighed, order="in_order")
    session = sv.Session(net, table, "softmax_cross_entropy", sv.Adam(0.01), 64, "cpu")
    session.advance(200)
    entropy = torch.nn.CrossEntropyLoss(torch.tensor([3.0, 0.5], dtype=torch.float64))
    kinds = torch.tensor(KINDS)
    losses = trained(
        theirs,
        torch.optim.Adam(theirs.parameters(), 0.01),
        lambda p, rows: entropy(p, kinds[rows]),
        64,
        200,
    )
    yield (
        "class_weight, breast cancer, 200 steps",
        "CrossEntropyLoss",
        apart(session.losses, losses),
    )


def of_metrics() -> Compared:
    weights = RNG.uniform(0.0, 2.0, len(X))
    p = np.clip(KINDS + RNG.normal(0.0, 0.6, len(X)), 0.0, 1.0)
    said = (p > 0.5).astype(int)
    pairs = {
        "accuracy": metrics.accuracy_score(KINDS, said, sample_weight=weights),
        "auc": metrics.roc_auc_score(KINDS, p, sample_weight=weights),
        "mae": metrics.mean_absolute_error(KINDS, p, sample_weight=weights),
        "mse": metrics.mean_squared_error(KINDS, p, sample_weight=weights),
        "r2": metrics.r2_score(KINDS, p, sample_weight=weights),
    }
    ours = [getattr(sv.metrics, name)(p, KINDS, weights) for name in pairs]
    yield "5 metrics by weights", "sklearn.metrics", apart(ours, [*pairs.values()])
    rows, wanted = np.eye(2)[said], np.eye(2)[KINDS]
    kinds: dict[str, Any] = {"average": "macro", "sample_weight": weights}
    ours = [getattr(sv.metrics, name)(rows, wanted, weights) for name in ("precision", "f1")]
    theirs = [metrics.precision_score(KINDS, said, **kinds), metrics.f1_score(KINDS, said, **kinds)]
    yield "precision and f1 of classes by weights", "sklearn.metrics", apart(ours, theirs)


def of_shares() -> Compared:
    x, kinds = make_classification(100, 4, weights=[0.97], flip_y=0.0, random_state=0)
    ours = [
        int(sv.data.Arrays(x, kinds, share=0.8, seed=seed).held_out[1].sum()) for seed in range(6)
    ]
    theirs = [
        int(kinds[rows].sum())
        for _, rows in StratifiedShuffleSplit(6, test_size=0.2).split(x, kinds)
    ]
    yield (
        f"rare ones of {kinds.sum()} held out, 6 seeds: {ours}",
        f"StratifiedShuffleSplit: {theirs}",
        "",
    )
    people = np.arange(100) // 4
    table = sv.data.Arrays(x, kinds, share=0.8, groups=people)
    held_out = people[table.held_out_rows]
    both = set(held_out) & set(people[table.rows])
    _, rows = next(GroupShuffleSplit(1, test_size=0.2, random_state=0).split(x, groups=people))
    yield (
        f"groups held out: {len(set(held_out))}, on both sides: {len(both)}",
        f"GroupShuffleSplit: {len(set(people[rows]))}",
        "",
    )


def of_training() -> Compared:
    kinds, entropy = torch.tensor(KINDS), torch.nn.CrossEntropyLoss()
    net, theirs = sv.from_torch(module(30, 8, 2), torch.tensor(X[:4])), module(30, 8, 2)
    groups = {"vectors": {"decay": 0.0}, "0.*": {"lr": 0.003}}
    table = sv.data.Arrays(X, KINDS, classes=2, order="in_order")
    optimizer = sv.AdamW(0.01, decay=0.1, groups=groups)
    session = sv.Session(net, table, "softmax_cross_entropy", optimizer, 64, "cpu")
    session.advance(200)
    parts = [
        {"params": [p], "lr": 0.003 if name[0] == "0" else 0.01, "weight_decay": 0.1 * (p.ndim > 1)}
        for name, p in theirs.named_parameters()
    ]
    losses = trained(
        theirs, torch.optim.AdamW(parts), lambda p, rows: entropy(p, kinds[rows]), 64, 200
    )
    yield "rates and decays of groups, 200 steps", "AdamW", apart(session.losses, losses)

    wanted, nll = torch.tensor(X[:, :1]), torch.nn.GaussianNLLLoss()
    inputs = np.ascontiguousarray(X[:, 1:])
    net, theirs = sv.from_torch(module(29, 8, 2), torch.tensor(inputs[:4])), module(29, 8, 2)
    row = sv.loss(gaussian, gaussian_gradient, rows=True, outputs=2, targets=1)
    table = sv.data.Arrays(inputs, X[:, :1], order="in_order")
    session = sv.Session(net, table, row, sv.Adam(0.01), 64, "cpu")
    session.advance(200)
    optimizer = torch.optim.Adam(theirs.parameters(), 0.01)
    losses = trained(
        theirs,
        optimizer,
        lambda p, rows: nll(p[:, :1], wanted[rows], torch.exp(p[:, 1:])),
        64,
        200,
        inputs,
    )
    yield (
        "a loss of 2 outputs and 1 target, 200 steps",
        "GaussianNLLLoss",
        apart(session.losses, losses),
    )


def gaussian(p: Any, t: Any) -> Any:
    return 0.5 * (p[1] + (p[0] - t[0]) ** 2.0 * math.exp(-p[1]))


def gaussian_gradient(p: Any, t: Any, gradient: Any) -> None:
    e = (p[0] - t[0]) * math.exp(-p[1])
    gradient[0] = e
    gradient[1] = 0.5 - 0.5 * e * (p[0] - t[0])


def of_modules() -> Compared:
    torch.manual_seed(0)
    layers = [
        torch.nn.Conv1d(3, 8, 3, padding=1),
        torch.nn.GroupNorm(2, 8),
        torch.nn.ReLU(),
        torch.nn.MaxPool1d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(40, 2),
    ]
    theirs = torch.nn.Sequential(*layers).double()
    inputs = torch.tensor(X.reshape(-1, 3, 10))
    net = sv.from_torch(theirs, inputs[:4])
    yield (
        "Conv1d, GroupNorm and MaxPool1d, outputs",
        "PyTorch",
        apart(net(inputs.numpy()), theirs(inputs).detach().numpy()),
    )
    table = sv.data.Arrays(inputs.numpy(), KINDS, classes=2, order="in_order")
    session = sv.Session(net, table, "softmax_cross_entropy", sv.AdamW(0.01), 64, "cpu")
    session.advance(100)
    kinds, entropy = torch.tensor(KINDS), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(theirs.parameters(), 0.01)
    losses = trained(
        theirs, optimizer, lambda p, rows: entropy(p, kinds[rows]), 64, 100, inputs.numpy()
    )
    yield "the same, 100 steps of AdamW", "PyTorch", apart(session.losses, losses)


def main() -> None:
    for part in (of_weights, of_metrics, of_shares, of_training, of_modules):
        for what, beside, difference in part():
            print(f"{what:52} {beside:28} {difference}", flush=True)


if __name__ == "__main__":
    main()
