"""Trainings in PyTorch, followed: every number of every kept step has the bits of the training's.

`make test-all` installs PyTorch.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.sources import SETTINGS
from scalarviz.training.network.torch_layers import ACTIVATIONS, LAYERS
from tests.training.follow import stand_in
from tests.training.follow.witness import Witness

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Detected call:UserWarning"),
]
STEPS = 6
Row = tuple[Any, Callable[[Witness], None]]  # what is followed, and its training
torch.manual_seed(0)


def mlp(dtype: Any = torch.float32) -> Any:
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)).to(dtype)


def row(
    kind: str, model: Any, data: Any = None, more: Any = None, moves: Any = None, **settings: Any
) -> Row:
    """Return a model and a usual loop.

    Args:
        kind: of the optimizer, with its settings
        data: None: noise for `mlp`
        moves: what the optimizer moves, the model by default
        more: function that is called before each step with the model and the optimizer
    """
    moves = moves or model
    optimizer = getattr(torch.optim, kind)(moves.parameters(), **settings)
    data = torch.randn(4, 5) if data is None else data

    def train(witness: Witness) -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = moves(data).float().square().mean()
            loss.backward()
            if more:
                more(moves, optimizer)
            witness.step(optimizer.step, loss=loss)

    return model, train


def adversarial(alone: bool) -> Row:
    both = nn.ModuleDict({"g": nn.Linear(3, 4), "d": nn.Linear(4, 1)})
    g, d = both["g"], both["d"]
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.SGD(d.parameters(), 0.1)

    def train(witness: Witness) -> None:
        for place in range(2 * STEPS):
            both.zero_grad()
            loss = (d(g(torch.randn(4, 3))) - d(torch.randn(4, 4))).mean()
            (loss if place % 2 else -loss).backward()
            if alone and not place % 2:
                of_d.step()
            else:
                witness.step((of_g if place % 2 else of_d).step, loss=loss)

    return (g if alone else both), train


def accumulate_and_clip(model: Any, optimizer: Any) -> None:
    for _ in range(2):
        model(torch.randn(4, 5)).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)


def scaled(fused: bool) -> Row:
    model, scaler = mlp(), torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    optimizer = torch.optim.Adam(model.parameters(), fused=fused)

    def train(witness: Witness) -> None:
        for step in range(STEPS + 1):
            optimizer.zero_grad()
            factor = float("inf") if step == 2 else 1.0  # a step that the scaler leaves out
            loss = model(torch.randn(4, 5)).square().mean() * factor
            scaler.scale(loss).backward()
            if step == 2 and not fused:
                scaler.step(optimizer)
            else:
                scale = scaler.get_scale()
                witness.step(partial(scaler.step, optimizer), scale=scale, loss=loss)
            scaler.update()

    return model, train


class Autocast(nn.Sequential):
    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(x)


def by_closure() -> Row:
    model = mlp()
    optimizer, data = torch.optim.LBFGS(model.parameters(), max_iter=3), torch.randn(4, 5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(data) - 1.0).square().mean()
        loss.backward()
        return loss

    def train(witness: Witness) -> None:
        for _ in range(STEPS):
            witness.step(optimizer.step, closure, loss=0.0)

    return model, train


def plan(model: Any, optimizer: Any) -> None:
    """Halve the rate, and average the weights."""
    optimizer.halved = getattr(optimizer, "halved", None) or torch.optim.lr_scheduler.StepLR(
        optimizer, 1, 0.5
    )
    optimizer.averaged = getattr(optimizer, "averaged", None) or AveragedModel(model)
    optimizer.averaged.update_parameters(model)
    optimizer.halved.step()


def tied() -> Any:
    """Two layers with one matrix, and a frozen one."""
    model = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5), nn.Linear(5, 2))
    model[2].weight = model[0].weight
    model[3].requires_grad_(False)
    return model


def grow(model: Any, optimizer: Any) -> None:
    """After some steps, add a layer."""
    if optimizer.state and len(model) == 3 and optimizer.state[model[0].weight]["step"] == 3:
        model.append(nn.Linear(2, 3))
        optimizer.add_param_group({"params": model[3].parameters(), "lr": 0.5})
        for each in model[3].parameters():
            each.grad = torch.ones_like(each)


transformer = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
picture = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))
halves = nn.ModuleList([mlp(), nn.Linear(2, 2, device="meta")])
bag, pairs = nn.EmbeddingBag(10, 4, sparse=True), torch.tensor([[1, 2], [2, 9]])
noise = torch.randn(4, 5, dtype=torch.float64)
ROWS: dict[str, Row] = {
    "dense": row("Adam", mlp()),
    "convolutional": row(
        "SGD", picture, torch.randn(4, 1, 6, 6), lr=0.1, momentum=0.9, nesterov=True
    ),
    "transformer": row("AdamW", transformer, torch.randn(3, 4, 8)),
    "two optimizers": adversarial(alone=False),
    "one of two optimizers": adversarial(alone=True),
    "accumulated and clipped": row("Adam", mlp(), more=accumulate_and_clip),
    "scaled": scaled(fused=False),
    "scaled and fused": scaled(fused=True),
    "autocast": row("Adam", Autocast(*mlp())),
    "compiled": row("Adam", torch.compile(mlp(), backend="eager")),
    "closure": by_closure(),
    "planned": row("SGD", mlp(), more=plan, lr=0.1),
    "two devices": row("Adam", halves, moves=halves[0]),
    "frozen and tied": row("Adam", tied()),
    "grown": row("Adam", mlp(), more=grow),
    "sparse": row("SparseAdam", bag, pairs),
    "float64": row("Adam", mlp(torch.float64), noise),
    "bfloat16": row("SGD", mlp(torch.bfloat16), noise.bfloat16(), lr=0.1),
}


@pytest.mark.usefixtures("dense")
@pytest.mark.parametrize("name", ROWS)
def test_a_followed_training_is_recorded_bit_for_bit(name: str, tmp_path: Path) -> None:
    model, train = ROWS[name]
    with sv.follow(model, tmp_path / "a.sv", show=None) as run:
        witness = Witness(getattr(model, "_orig_mod", model), run)
        train(witness)
    followed = sv.load(tmp_path / "a.sv")
    witness.check(followed)
    rates = [followed.kept(step).rates[0, 0] for step in followed.steps[1:].tolist()]
    assert name != "planned" or rates == [0.1 * 0.5**step for step in range(1, STEPS + 1)]


def little(kind: str, settings: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Train a little, also with a closure; return calls of hooks and names, and numbers."""
    torch, hooks = sys.modules["torch"], sys.modules["torch.optim.optimizer"]
    model, seen = torch.nn.Module(), list[Any]()
    model.inner = torch.nn.Module()
    for name, owner in (("a", model), ("b", model.inner)):
        numbers = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
        setattr(owner, name, torch.nn.Parameter(numbers))
        owner.register_buffer("saved", torch.tensor([1.0]))
        owner.register_buffer("unsaved", torch.tensor([1.0]), persistent=False)
    model.inner.again = model.a
    model.twice = model.inner
    optimizer = getattr(torch.optim, kind)([model.a], **settings)
    optimizer.add_param_group({"params": [model.inner.b], "lr": 0.5})

    def note(when: str, of: Any, arguments: Any, named: Any) -> None:
        seen.append((when, of is optimizer, len(arguments), [*named]))

    def closure() -> float:
        seen.append("closure")
        for each in model.parameters():
            each.grad = torch.tensor(0.3 * each.detach().numpy() + 0.1, dtype=torch.float64)
        return 0.25

    handles = [
        hooks.register_optimizer_step_pre_hook(partial(note, "pre")),
        hooks.register_optimizer_step_post_hook(partial(note, "post")),
    ]
    for _ in range(4):
        assert optimizer.step(closure) == 0.25
        optimizer.step()
        optimizer.step(closure=closure)
    [each.remove() for each in handles]
    optimizer.step()
    seen += map(sorted, optimizer.state.values())
    for names in (
        model.named_parameters(), model.named_parameters(remove_duplicate=False),
        model.named_buffers(), model.named_modules(), model.named_modules(remove_duplicate=False),
        model.named_children(), ((x, 0) for x in sorted(model.state_dict(keep_vars=True))),
    ):  # fmt: skip
        seen.append([name for name, _ in names])
    seen += [{*SETTINGS} & {*group} for group in optimizer.param_groups]
    states = [state[name] for state in optimizer.state.values() for name in sorted(state)]
    return seen, [each.detach().numpy() for each in [*model.parameters(), *states]]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        ("Adam", {"betas": (0.8, 0.9), "weight_decay": 0.1}),
        ("AdamW", {}),
    ],
)
def test_the_stand_in_does_what_pytorch_does(
    kind: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, numbers = little(kind, settings)
    for name, module in stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    seen, found = little(kind, settings)
    assert seen == wanted
    for one, other in zip(found, numbers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def trained(path: Path | None) -> dict[str, bytes]:
    """Train 1,000 steps with dropout, followed or not; return the bits of all weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters())
    run = sv.follow(model, path, show=None) if path else None
    for _ in range(1000):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 5)).square().mean()
        loss.backward()
        optimizer.step()
        if run:
            run.loss(loss)
    if run:
        run.close()
    return {name: each.numpy().tobytes() for name, each in model.state_dict().items()}


@pytest.mark.parametrize("is_dense", [False, True])
def test_a_followed_training_has_the_bits_of_one_that_is_not(
    is_dense: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if is_dense:
        request.getfixturevalue("dense")
    assert trained(tmp_path / "a.sv") == trained(None)
    steps = sv.load(tmp_path / "a.sv").steps
    assert len(steps) == 1001 if is_dense else 2 < len(steps) < 1001


KILLED = """
import sys, numpy, torch, scalarviz as sv
from scalarviz.training.follow import following
following.PICTURES = following.FEW = following.ALONE = following.WATCHED = 1e12
model = torch.nn.Linear(30, 30)
run = sv.follow(model, sys.argv[1], show=sys.argv[2] or None, size=400_000)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
steps = 0
while steps < float(sys.argv[3]):
    for each in model.parameters():
        each.grad = torch.full_like(each, -1.0)
    with torch.no_grad():
        [each.fill_(steps) for each in model.parameters()]
    optimizer.step()
    run.loss(steps)
    steps += 1
    if steps % 50 == 0:
        print(steps, flush=True)
run.close()
"""


def assert_counts(followed: Followed) -> None:
    """All that was recorded is exact: the weights count steps, and so do losses."""
    off = followed.losses - np.arange(len(followed.losses))
    assert not off[:1000].any() and np.abs(off).max() < 16  # later ones share means
    for step in followed.steps[1:].tolist():
        for each in followed.parameters(step).values():
            assert (each == step).all()
        for each in followed.gradients(step).values():
            assert (each == -1.0).all()
    assert len(followed.steps) > 10


@pytest.mark.parametrize("lines", [4, 20, 31])
def test_a_killed_training_leaves_what_it_has_written(lines: int, tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path / "a.sv"), "", "inf"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(lines):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    followed = sv.load(tmp_path / "a.sv")
    assert not followed.record.is_done and len(followed.losses) > 50 * (lines - 1) - 18
    assert_counts(followed)


def those_with(word: str) -> list[int]:
    """The processes with a word in their command line."""
    found = [each for each in Path("/proc").glob("[0-9]*") if (each / "cmdline").exists()]
    return [int(each.name) for each in found if word in (each / "cmdline").read_text()]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_who_reads_what_a_training_prints_does_not_wait_for_its_viewer(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sv")
    words = [sys.executable, "-c", KILLED, path, "browser", "300"]
    try:
        child = subprocess.run(words, capture_output=True, timeout=60, check=False)
        assert not child.returncode and those_with(path)  # it outlives the training
    finally:
        for each in those_with(path):
            os.kill(each, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_killed_viewer_ends_no_training(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sv")
    words = [sys.executable, "-c", KILLED, path, "browser", "3000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        viewers = [each for each in those_with(path) if each != child.pid]
        time.sleep(2.0)
        for each in viewers:
            os.kill(each, signal.SIGKILL)
        child.communicate()
    followed = sv.load(path)
    assert viewers and not child.returncode
    assert followed.record.is_done and len(followed.losses) == 3000
    assert_counts(followed)


def convolved(*modules: Any) -> tuple[Any, tuple[int, ...]]:
    return nn.Sequential(nn.Conv2d(1, 2, 3), *modules), (1, 6, 6)


def between(*modules: Any) -> tuple[Any, tuple[int, ...]]:
    return nn.Sequential(nn.Linear(5, 4), *modules, nn.Linear(4, 2)), (5,)


def along(*modules: Any) -> tuple[Any, tuple[int, ...]]:
    return nn.Sequential(nn.Conv1d(1, 2, 3), *modules), (1, 6)


relu, linear = nn.ReLU(), nn.Linear(4, 4)
CHAINS = {
    "Conv2d": convolved(nn.ReLU(), nn.Conv2d(2, 4, 3, 2, 1, groups=2)),
    "MaxPool2d": convolved(nn.MaxPool2d(2), nn.MaxPool2d(2, 1, 1)),
    "AvgPool2d": convolved(nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1)),
    "Flatten": convolved(nn.Flatten(), nn.Linear(32, 2)),
    "BatchNorm2d": convolved(nn.BatchNorm2d(2), nn.ReLU()),
    "Linear": between(nn.Linear(4, 4, bias=False)),
    "LayerNorm": between(nn.LayerNorm(4, 1e-3)),
    "BatchNorm1d": between(nn.BatchNorm1d(4), nn.Tanh()),
    "RMSNorm": between(nn.RMSNorm(4)),
    "Softmax": between(nn.Softmax(-1)),
    "LogSoftmax": between(nn.LogSoftmax(1)),
    "AdaptiveAvgPool2d": convolved(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 2)),
    "Conv1d": along(nn.ReLU(), nn.Conv1d(2, 4, 3, 2, 1, groups=2)),
    "MaxPool1d": along(nn.MaxPool1d(2)),
    "AvgPool1d": along(nn.AvgPool1d(2)),
    "AdaptiveAvgPool1d": along(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2, 2)),
    "GroupNorm": convolved(nn.GroupNorm(1, 2)),
    "InstanceNorm1d": along(nn.InstanceNorm1d(2, affine=True)),
    "InstanceNorm2d": convolved(nn.InstanceNorm2d(2, affine=True)),
    "Unflatten": between(nn.Unflatten(1, (1, 2, 2)), nn.Flatten()),
    "normed and convolved": convolved(nn.BatchNorm2d(2), nn.ReLU(), nn.Conv2d(2, 2, 3)),
    "GELU of tanh": between(nn.GELU("tanh")),
    "LeakyReLU of 0.3": between(nn.LeakyReLU(0.3)),
    "ELU of 0.5": between(nn.ELU(0.5)),
    "Softplus of 2": between(nn.Softplus(2.0)),
    "one ReLU twice": between(relu, nn.Linear(4, 4), relu),
    "Dropout": between(nn.Dropout(), nn.Sequential(nn.Identity())),
}
UNKNOWN = {
    "AvgPool2d without its padding": convolved(nn.AvgPool2d(3, 2, 1, False, False)),
    "AvgPool2d with a divisor": convolved(nn.AvgPool2d(2, divisor_override=3)),
    "MaxPool2d with gaps": convolved(nn.MaxPool2d(2, dilation=2)),
    "MaxPool2d beyond the edge": convolved(nn.MaxPool2d(3, ceil_mode=True)),
    "Flatten of a part": convolved(nn.Flatten(2)),
    "Softmax of channels": convolved(nn.Softmax(1)),
    "Linear of rows": convolved(nn.Linear(4, 2)),
    "LayerNorm of rows": convolved(nn.LayerNorm(4)),
    "one Linear twice": between(linear, linear),
    "LayerNorm without weights": between(nn.LayerNorm(4, elementwise_affine=False)),
    "Conv2d of circles": convolved(nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular")),
}


@pytest.mark.parametrize("kind", sorted({*ACTIVATIONS, *LAYERS, *CHAINS, *UNKNOWN}))
def test_a_probe_is_answered_as_by_the_model_or_not_at_all(kind: str, tmp_path: Path) -> None:
    known = CHAINS | UNKNOWN
    model, shape = known[kind] if kind in known else between(getattr(nn, kind)())
    optimizer, probe = torch.optim.Adam(model.parameters(), 0.1), torch.randn(shape)
    with sv.follow(model, tmp_path / "a.sv", show=None, probe=probe) as run:
        for _ in range(20):
            model(torch.randn(4, *shape)).square().mean().backward()
            optimizer.step()
    session = sv.load(tmp_path / "a.sv").session
    assert session.trainer.computes == (kind not in UNKNOWN) and run.steps == 20
    if kind not in UNKNOWN:
        session.seek(20)
        answers = session.network(probe.numpy().reshape(1, -1))
        wanted = model.eval()(probe[None]).detach().numpy()
        np.testing.assert_allclose(answers.ravel(), wanted.ravel(), atol=1e-5, rtol=1e-5)
