"""Trainings in PyTorch, followed: every number of every kept step has the bits of the training's.

`make test-all` installs PyTorch.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.modules import LAYERS
from scalarviz.training.follow.sources import SETTINGS
from tests.training.follow import stand_in
from tests.training.follow.witness import Witness

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
STEPS = 6
Row = tuple[Any, Callable[[Witness], None]]  # what is followed, and its training


def mlp(dtype: Any = torch.float32) -> Any:
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)).to(dtype)


def looped(model: Any, optimizer: Any, *shape: int, call: Any = None) -> Row:
    """Train with the mean of squares of what the model makes of noise."""

    def train(witness: Witness) -> None:
        dtype = next(model.parameters()).dtype
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = (call or model)(torch.randn(*shape, dtype=dtype)).square().mean()
            loss.backward()
            witness.step(optimizer.step, loss=loss)

    return model, train


def dense() -> Row:
    model = mlp()
    return looped(model, torch.optim.Adam(model.parameters()), 4, 5)


def convolutional() -> Row:
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)
    )
    return looped(model, torch.optim.SGD(model.parameters(), 0.1, 0.9, nesterov=True), 4, 1, 6, 6)


def transformer() -> Row:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    return looped(model, torch.optim.AdamW(model.parameters()), 3, 4, 8)


def adversarial(alone: bool) -> Row:
    both = nn.ModuleDict({"g": nn.Linear(3, 4), "d": nn.Linear(4, 1)})
    g, d = both["g"], both["d"]
    of_g, of_d = torch.optim.Adam(g.parameters()), torch.optim.SGD(d.parameters(), 0.1)

    def train(witness: Witness) -> None:
        for _ in range(STEPS):
            for optimizer, sign in ((of_d, 1.0), (of_g, -1.0)):
                both.zero_grad()
                loss = sign * (d(g(torch.randn(4, 3))) - d(torch.randn(4, 4))).mean()
                loss.backward()
                if alone and optimizer is of_d:
                    optimizer.step()
                else:
                    witness.step(optimizer.step, loss=loss)

    return (g if alone else both), train


def accumulated_and_clipped() -> Row:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())

    def train(witness: Witness) -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            for _ in range(3):
                loss = model(torch.randn(4, 5)).square().mean()
                loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            witness.step(optimizer.step, loss=loss)

    return model, train


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
                witness.step(lambda: scaler.step(optimizer), scale=scale, loss=loss)
            scaler.update()

    return model, train


def autocast() -> Row:
    model = mlp()

    def call(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return model(x).float()

    return looped(model, torch.optim.Adam(model.parameters()), 4, 5, call=call)


def compiled() -> Row:
    model = torch.compile(mlp(), backend="eager")
    return looped(model, torch.optim.Adam(model.parameters()), 4, 5)


def by_closure() -> Row:
    model = mlp()
    optimizer, x = torch.optim.LBFGS(model.parameters(), max_iter=3), torch.randn(4, 5)

    def train(witness: Witness) -> None:
        for _ in range(STEPS):

            def closure() -> Any:
                optimizer.zero_grad()
                loss = (model(x) - 1.0).square().mean()
                loss.backward()
                return loss

            witness.step(optimizer.step, closure, loss=0.0)

    return model, train


def scheduled() -> Row:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    plan = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    averaged = torch.optim.swa_utils.AveragedModel(model)

    def train(witness: Witness) -> None:
        for _ in range(STEPS):
            loss = averaged.module(torch.randn(4, 5)).mean() + model(torch.randn(4, 5)).mean()
            loss.backward()
            witness.step(optimizer.step, loss=loss)
            plan.step()
            averaged.update_parameters(model)

    return model, train


def on_two_devices() -> Row:
    model = nn.ModuleList([mlp(), nn.Linear(2, 2, device="meta")])
    optimizer = torch.optim.Adam(model[0].parameters())
    return model, looped(model[0], optimizer, 4, 5)[1]


def frozen_and_tied() -> Row:
    model = nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 5), nn.Linear(5, 2))
    model[2].weight = model[0].weight
    model[3].requires_grad_(False)
    return looped(model, torch.optim.Adam(model.parameters()), 4, 5)


def grown() -> Row:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    train = looped(model, optimizer, 4, 5)[1]

    def longer(witness: Witness) -> None:
        train(witness)
        model.append(nn.Linear(2, 3))
        optimizer.add_param_group({"params": model[3].parameters(), "lr": 0.5})
        train(witness)

    return model, longer


def sparse() -> Row:
    model = nn.EmbeddingBag(10, 4, sparse=True)
    call = lambda x: model(torch.tensor([[1, 2], [2, 9]]))  # noqa: E731
    return looped(model, torch.optim.SparseAdam(model.parameters()), 1, call=call)


def wide() -> Row:
    model = mlp(torch.float64)
    return looped(model, torch.optim.Adam(model.parameters()), 4, 5)


def narrow() -> Row:
    model = mlp(torch.bfloat16)
    return looped(model, torch.optim.SGD(model.parameters(), 0.1), 4, 5)


ROWS: dict[str, Callable[[], Row]] = {
    "dense": dense,
    "convolutional": convolutional,
    "transformer": transformer,
    "two optimizers": lambda: adversarial(alone=False),
    "one of two optimizers": lambda: adversarial(alone=True),
    "accumulated and clipped": accumulated_and_clipped,
    "scaled": lambda: scaled(fused=False),
    "scaled and fused": lambda: scaled(fused=True),
    "autocast": autocast,
    "compiled": compiled,
    "closure": by_closure,
    "scheduled": scheduled,
    "two devices": on_two_devices,
    "frozen and tied": frozen_and_tied,
    "grown": grown,
    "sparse": sparse,
    "float64": wide,
    "bfloat16": narrow,
}


@pytest.mark.usefixtures("dense")
@pytest.mark.parametrize("name", ROWS)
def test_a_followed_training_is_recorded_bit_for_bit(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, train = ROWS[name]()
    with sv.follow(model, tmp_path / "a.sv", show=None) as run:
        witness = Witness(getattr(model, "_orig_mod", model), run)
        train(witness)
    followed = sv.load(tmp_path / "a.sv")
    witness.check(followed)
    rates = [followed.kept(step).rates[0, 0] for step in followed.steps[1:].tolist()]
    assert name != "scheduled" or rates == [0.1 * 0.5**step for step in range(STEPS)]


def little(torch: Any, kind: str, settings: dict[str, Any]) -> tuple[Any, ...]:
    """Train a little, also with a closure; return calls of hooks, names and numbers."""
    model, calls = torch.nn.Module(), list[Any]()
    model.inner = torch.nn.Module()
    for name, owner in (("a", model), ("b", model.inner)):
        numbers = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
        setattr(owner, name, torch.nn.Parameter(numbers))
    model.inner.again = model.a
    model.inner.register_buffer("saved", torch.tensor([1.0]))
    model.inner.register_buffer("unsaved", torch.tensor([1.0]), persistent=False)
    optimizer = getattr(torch.optim, kind)([model.a], **settings)
    optimizer.add_param_group({"params": [model.inner.b], "lr": 0.5})
    handles = [
        register(
            lambda o, args, kwargs, when=when: calls.append(
                (when, o is optimizer, len(args), [*kwargs])
            )
        )
        for when, register in (
            ("pre", sys.modules["torch.optim.optimizer"].register_optimizer_step_pre_hook),
            ("post", sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook),
        )
    ]

    def closure() -> float:
        calls.append("closure")
        for each in model.parameters():
            each.grad = torch.tensor(0.3 * each.detach().numpy() + 0.1, dtype=torch.float64)
        return 0.25

    for step in range(5):
        assert optimizer.step(closure) == 0.25
        optimizer.step(closure=closure) if step == 2 else optimizer.step()
    [each.remove() for each in handles]
    optimizer.step()
    found = [each.detach().numpy().copy() for each in model.parameters()]
    for state in optimizer.state.values():
        found += [state[name].numpy() for name in sorted(state)]
    names = [
        [*map(sorted, optimizer.state.values())],
        [name for name, _ in model.named_parameters()],
        [name for name, _ in model.named_parameters(remove_duplicate=False)],
        [name for name, _ in model.named_buffers()],
        [name for name, _ in model.named_modules()],
        [name for name, _ in model.named_children()],
        [*model.state_dict(keep_vars=True)],
        [{*SETTINGS} & {*group} for group in optimizer.param_groups],
    ]
    return calls, names, found


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
    wanted = little(torch, kind, settings)
    for name, module in stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    calls, names, found = little(sys.modules["torch"], kind, settings)
    assert (calls, names) == wanted[:2] and len(found) == len(wanted[2])
    for one, other in zip(found, wanted[2], strict=True):
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
    assert np.array_equal(followed.losses, np.arange(len(followed.losses)))
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
    assert not followed.record.is_done and len(followed.losses) > 50 * (lines - 1) - 2
    assert_counts(followed)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_killed_viewer_ends_no_training(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sv")
    words = [sys.executable, "-c", KILLED, path, "browser", "3000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        viewers = [
            int(each.name)
            for each in Path("/proc").glob("[0-9]*")
            if path in (each / "cmdline").read_text() and int(each.name) != child.pid
        ]
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


CHAINS = {
    "Conv2d": lambda: convolved(nn.ReLU(), nn.Conv2d(2, 4, 3, 2, 1, groups=2)),
    "MaxPool2d": lambda: convolved(nn.MaxPool2d(2), nn.MaxPool2d(2, 1, 1)),
    "AvgPool2d": lambda: convolved(nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1)),
    "Flatten": lambda: convolved(nn.Flatten(), nn.Linear(32, 2)),
    "BatchNorm2d": lambda: convolved(nn.BatchNorm2d(2), nn.ReLU()),
    "Linear": lambda: between(nn.Linear(4, 4, bias=False)),
    "LayerNorm": lambda: between(nn.LayerNorm(4, 1e-3)),
    "BatchNorm1d": lambda: between(nn.BatchNorm1d(4), nn.Tanh()),
    "Softmax": lambda: between(nn.Softmax(-1)),
    "GELU of tanh": lambda: between(nn.GELU("tanh")),
    "LeakyReLU of 0.3": lambda: between(nn.LeakyReLU(0.3)),
    "ELU of 0.5": lambda: between(nn.ELU(0.5)),
    "Softplus of 2": lambda: between(nn.Softplus(2.0)),
    "one ReLU twice": lambda: between(relu := nn.ReLU(), nn.Linear(4, 4), relu),
    "Dropout": lambda: between(nn.Dropout(), nn.Sequential(nn.Identity())),
}
UNKNOWN = {
    "AvgPool2d without its padding": lambda: convolved(nn.AvgPool2d(3, 2, 1, False, False)),
    "AvgPool2d with a divisor": lambda: convolved(nn.AvgPool2d(2, divisor_override=3)),
    "MaxPool2d with gaps": lambda: convolved(nn.MaxPool2d(2, dilation=2)),
    "MaxPool2d beyond the edge": lambda: convolved(nn.MaxPool2d(3, ceil_mode=True)),
    "Flatten of a part": lambda: convolved(nn.Flatten(2)),
    "Softmax of channels": lambda: convolved(nn.Softmax(1)),
    "Linear of rows": lambda: convolved(nn.Linear(4, 2)),
    "LayerNorm of rows": lambda: convolved(nn.LayerNorm(4)),
    "one Linear twice": lambda: between(linear := nn.Linear(4, 4), linear),
    "LayerNorm without weights": lambda: between(nn.LayerNorm(4, elementwise_affine=False)),
    "Conv2d of circles": lambda: convolved(nn.Conv2d(2, 2, 3, padding=1, padding_mode="circular")),
}


@pytest.mark.parametrize("kind", sorted({*LAYERS, *CHAINS, *UNKNOWN}))
def test_a_probe_is_answered_as_by_the_model_or_not_at_all(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    known = CHAINS | UNKNOWN
    model, shape = known[kind]() if kind in known else between(getattr(nn, kind)())
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
