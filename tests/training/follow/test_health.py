"""Losses seen in backward passes, scalars, and the health of trainings in PyTorch.

`make test-all` installs PyTorch.
"""

import json
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.follow import following, health, scalars, signs, snapshot_writer, sources
from scalarviz.training.follow.following import Following

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F

from tests.training.follow.healthy import HEALTHY
from tests.training.follow.structures import GPT

pytestmark = [
    pytest.mark.usefixtures("dense"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore:.*nested tensor.*:UserWarning"
    ),
]
BACKWARD = torch.Tensor.backward


@pytest.fixture(autouse=True)
def every_loss(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Losses are also seen in short steps; in the end nothing is wrapped."""
    monkeypatch.setattr(scalars, "SHORT", 0.0)
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)
    assert torch.Tensor.backward is BACKWARD


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "night.sv"


def mlp(*sizes: int) -> Any:
    layers = [(nn.Linear(a, b), nn.ReLU()) for a, b in pairwise(sizes)]
    return nn.Sequential(*[each for pair in layers for each in pair][:-1])


# ---- losses of backward passes ------------------------------------------------------------------


def plain(model: Any, optimizer: Any, x: Any) -> list[float]:
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return [loss.item()]


def accumulated(model: Any, optimizer: Any, x: Any) -> list[float]:
    losses = [model(part).square().mean() * 0.5 for part in x.chunk(2)]
    for each in losses:
        each.backward()
    optimizer.step()
    return [each.item() for each in losses]


def by_closure(model: Any, optimizer: Any, x: Any) -> list[float]:
    losses = []

    def closure() -> Any:
        optimizer.zero_grad()
        losses.append(model(x).square().mean())
        losses[-1].backward()
        return losses[-1]

    optimizer.step(closure)
    return [losses[0].item()]


class Scaled:
    """Steps of a GradScaler."""

    def __init__(self) -> None:
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1000.0, growth_interval=3)

    def __call__(self, model: Any, optimizer: Any, x: Any) -> list[float]:
        loss = model(x).square().mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()
        return [loss.item()]


def weighted(model: Any, optimizer: Any, x: Any) -> list[float]:
    """A factor that is no scale of a GradScaler stays in the loss."""
    loss = model(x).square().mean() * torch.tensor(8.0)
    loss.backward()
    optimizer.step()
    return [loss.item()]


def train(
    path: Path | None, step: Callable[..., list[float]], kind: Any
) -> tuple[list[bytes], list[list[float]], Any]:
    """Take 20 steps; return bits of weights and of the generator, losses, and the closed run."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 2))
    optimizer = kind(model.parameters())
    run = path and sv.follow(model, path, show=None)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        losses.append(step(model, optimizer, torch.randn(8, 6)))
    if run:
        run.close()
    states = [*model.state_dict().values(), torch.get_rng_state()]
    return [each.numpy().tobytes() for each in states], losses, run


ADAM, LBFGS = torch.optim.Adam, partial(torch.optim.LBFGS, max_iter=3)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: plain, ADAM),
        (lambda: accumulated, ADAM),
        (lambda: by_closure, LBFGS),
        (lambda: weighted, ADAM),
        (Scaled, torch.optim.SGD),
        (Scaled, partial(ADAM, fused=True)),
    ],
)
def test_losses_are_seen_and_the_training_has_the_same_bits(
    make: Callable[[], Any], kind: Any, path: Path
) -> None:
    bits, losses, run = train(path, make(), kind)
    assert bits == train(None, make(), kind)[0] and run.lack == ""
    night = sv.load(path)
    assert night.losses == pytest.approx([np.mean(each) for each in losses], rel=1e-6)
    assert night.scalars["lr"][0].tolist() == [*range(1, 21)]
    assert {*night.scalars} == {"lr", "gradient norm"}


@pytest.mark.parametrize("after", [False, True])
def test_a_reported_loss_wins(after: bool, path: Path) -> None:
    model = mlp(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with sv.follow(model, path, show=None) as run:
        for i in range(4):
            model(torch.ones(1, 3)).sum().backward()
            for do in [lambda i=i: run.loss(i), optimizer.step][:: -1 if after else 1]:
                do()
    assert torch.Tensor.backward is BACKWARD
    assert sv.load(path).losses.tolist() == [0, 1, 2, 3]


def test_losses_without_a_step_are_reported_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = mlp(3, 1)
    with sv.follow(model, path, show=None):
        for _ in range(2 * scalars.MOST_SEEN):
            model(torch.ones(1, 3)).sum().backward()
    [found] = [each for each in caplog.messages if "no step yet" in each]
    assert found.startswith("no step yet") and "call run.step()" in found


def test_losses_of_other_models_are_left_out_and_of_several_numbered(path: Path) -> None:
    g, d, other = mlp(2, 3), mlp(3, 1), mlp(3, 1)
    moved = [torch.optim.SGD(x.parameters(), lr) for x, lr in ((g, 0.1), (d, 0.2), (other, 1.0))]
    with sv.follow(G=g, D=d, path=path, show=None):
        for i in range(120):
            for each, loss in ((2, 100.0), (1, 10.0 + i), (0, 20.0 + i)):
                out = d(g(torch.ones(1, 2))).sum() + other(torch.ones(1, 3)).sum()
                (out * 1e-9 + loss).backward()
                moved[each].step()
    night = sv.load(path)
    assert night.losses[:6] == pytest.approx([10, 20, 11, 21, 12, 22])
    assert [night.scalars[f"loss {i}"][1][-1] for i in (1, 2)] == pytest.approx([129, 139])
    steps = [night.scalars[f"loss {i}"][0].tolist() for i in (1, 2)]
    assert steps == [[*range(1, 241, 2)], [*range(2, 241, 2)]]
    faults = {each.kind for each in sv.diagnose(night)}
    assert faults == {"still"}, "losses of two optimizers are not one loss"


@pytest.mark.parametrize("reports", [False, True])
@pytest.mark.parametrize("kinds", [("SGD", "Adam"), ("Adam", "Adam", "SGD"), ("SGD", "SGD")])
def test_optimizers_that_step_after_one_backward_pass_take_one_step(
    kinds: tuple[str, ...], reports: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PICTURES", "FEW", "ALONE"):  # each step is recorded
        monkeypatch.setattr(following, name, 1e12)
    monkeypatch.setattr(scalars, "SHORT", 0.0)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in kinds])
    moved = [
        getattr(torch.optim, k)(part.parameters(), 0.1)
        for k, part in zip(kinds, model, strict=True)
    ]
    values, gradients, losses = [], [], []
    with sv.follow(model, path, show=None) as run:
        for i in range(5):
            loss = model(torch.randn(4, 3)).square().mean()
            loss.backward()
            gradients.append([x.grad.clone() for x in model.parameters()])
            befores = [x.detach().clone() for x in model.parameters()]
            for each in moved:
                each.step()
                each.zero_grad()
            if reports:
                run.loss(loss)
            values.append((befores, [x.detach().clone() for x in model.parameters()]))
            losses.append(loss.item())
            assert run.steps == i + 1
    night = sv.load(path)
    assert night.losses.tolist() == losses and night.steps.tolist() == [0, *range(1, 6)]
    assert {*night.scalars} <= {"lr", "lr 1", "lr 2", "lr 3", "gradient norm"}
    for step in range(1, 6):
        for found, wanted in (
            (night.parameters(step), values[step - 1][1]),
            (night.gradients(step), gradients[step - 1]),
            (night._part(step, "before", 0), values[step - 1][0]),
        ):
            assert all(map(np.array_equal, found.values(), wanted)) and len(found) == len(wanted)
        assert not np.isnan(night.kept(step).rates).any()
    session = night.session
    assert session.explain(0).lines == [] if len({*kinds}) > 1 else session.explain(0).lines


def test_of_short_steps_some_losses_are_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalars, "SHORT", 1e9)
    train(path, accumulated, ADAM)
    assert np.isfinite(sv.load(path).losses).tolist() == [True] + [False] * 19


def test_what_another_program_has_wrapped_stays(path: Path) -> None:
    model = mlp(3, 2)
    first = sv.follow(model, path, show=None)
    second = sv.follow(model, path.with_name("b.sv"), show=None)
    first.close()
    assert torch.Tensor.backward is not BACKWARD
    ours = torch.Tensor.backward
    theirs = wraps(ours)(lambda self, *given: ours(self, *given))
    torch.Tensor.backward = theirs
    second.close()
    assert torch.Tensor.backward is theirs
    model(torch.ones(1, 3)).sum().backward()
    torch.Tensor.backward = ours
    sv.follow(model, path, show=None).close()


def test_losses_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    models = mlp(3, 2), mlp(3, 2)
    optimizers = [torch.optim.SGD(each.parameters(), 0.01) for each in models]
    runs = [sv.follow(each, tmp_path / f"{i}.sv", show=None) for i, each in enumerate(models)]
    for step in range(4):
        for i, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            optimizer.zero_grad()
            (0.0 * model(torch.ones(1, 3)).sum() + 10.0 * i + step).backward()
            if step > 1:
                optimizer.step()
        for optimizer in optimizers[: 2 * (step < 2)]:  # after the losses of both
            optimizer.step()
        time.sleep(2.0 * scalars.SHORT)
    for i, run in enumerate(runs):
        run.close()
        known = sv.load(tmp_path / f"{i}.sv").losses
        wanted = 10.0 * i + np.arange(4)
        assert ((known == wanted) | np.isnan(known)).all() and (known[2:] == wanted[2:]).all()


@pytest.mark.parametrize(
    ("losses", "kind", "step"),
    [
        (np.r_[np.linspace(2, 0.5, 300), np.linspace(3, 1, 100)], "jump", 301),
        (np.r_[np.linspace(2, 0.5, 300), np.linspace(0.5, 1.5, 900)], "rate", 291),
        (np.linspace(2, 0.5, 300), "", 0),
        (2.0 + np.sin(np.arange(400)), "", 0),
        (np.r_[np.full(10, 1.0), np.full(10, 9.0)], "", 0),  # too few
    ],
)
def test_a_loss_that_jumps_or_rises_until_the_end_is_found(
    losses: Any, kind: str, step: int
) -> None:
    found = health.losses_found(np.where(np.arange(len(losses)) % 7 == 3, np.nan, losses), {})
    assert [each.kind for each in found] == [kind][: bool(kind)]
    assert all(abs(each.step - step) < 12 for each in found)


def test_a_span_without_a_look_is_told() -> None:
    gradients = np.array([[1.0], [np.nan], [1.0]])
    assert health.gap_of(np.array([1, 50, 60]), gradients, 100) == "; no look from step 1 to 60"
    for count in (1, 5, 100):  # each step
        assert health.gap_of(np.arange(1, count + 1), np.ones((count, 1)), count) == ""


def test_only_scalars_are_losses(path: Path) -> None:
    """A gradient of several numbers, of a learned factor, or of half of the program is no loss."""
    model = mlp(3, 2)
    factor = nn.Parameter(torch.tensor(0.5))
    optimizer = torch.optim.SGD([*model.parameters(), factor], 0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1000.0)
    with sv.follow(model, path, show=None) as run:
        for i in range(6):
            out = model(torch.ones(1, 3))
            (out.sum() * 1e-9 + i).backward() if i < 2 else out.backward(torch.ones(1, 2))
            if i == 4:
                ((model(torch.ones(1, 3)).sum() * 1e-9 + 8.0) * factor).backward()
            if i == 5:
                ((out.detach().sum() * 0.0 + factor) * torch.tensor(0.0)).backward()
            scaler.scale(factor * 0.0)
            scaler.step(optimizer)
            scaler.update()
        assert run.lack == ""
    nan = np.nan
    np.testing.assert_allclose(sv.load(path).losses, [0, 1, nan, nan, 4, 0], atol=1e-6)


class Doubled(torch.Tensor):
    """A tensor whose functions are called by another one."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return super().__torch_function__(function, types, args, kwargs or {})


def test_a_loss_of_another_class_of_tensors_is_seen_once(path: Path) -> None:
    model = mlp(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    run = sv.follow(model, path, show=None)
    (model(torch.ones(1, 3)).sum() * 1e-9 + 3.0).as_subclass(Doubled).backward()
    assert run._seen is not None and [loss for loss, _ in run._seen._seen] == [pytest.approx(3.0)]
    optimizer.step()
    run.close()
    assert sv.load(path).losses == pytest.approx([3.0])
    model(torch.ones(1, 3)).sum().backward()
    assert run._seen is None


def test_an_open_run_sees_losses_after_another_one_was_closed(path: Path) -> None:
    model = mlp(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with sv.follow(model, path, show=None):
        sv.follow(model, path.with_name("b.sv"), show=None).close()
        (model(torch.ones(1, 3)).sum() * 1e-9 + 3.0).backward()
        optimizer.step()
    assert sv.load(path).losses == pytest.approx([3.0])


def test_an_error_in_seeing_a_loss_ends_the_recording_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "scale_of", lambda function: 1 / 0)
    bits, _, run = train(path, plain, ADAM)
    assert bits == train(None, plain, ADAM)[0] and "ZeroDivisionError" in run.lack


# ---- health -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("every", "dead", "alive"), [(10, 301, 291), (110, 331, 221)])
def test_a_layer_that_dies_and_a_later_nan_are_named_with_their_steps(
    every: int, dead: int, alive: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        snapshot_writer.SnapshotWriter, "is_due", lambda self, step, _: step % every == 1
    )
    monkeypatch.setattr(Following, "_can_afford", lambda self, _: True)
    torch.manual_seed(0)
    model = mlp(8, 12, 12, 8, 8, 4)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    with sv.follow(model, path, show=None):
        for i in range(2200):
            if i == 300:
                nn.init.constant_(model[4].bias, -50.0)
            x = torch.randn(16, 8)
            loss = F.cross_entropy(model(x), x[:, :4].argmax(1))
            optimizer.zero_grad()
            (loss * float("nan") if i == 2000 else loss).backward()
            optimizer.step()
    health = sv.load(path).health()
    assert health.head.endswith("looks in 2,200 steps, 2,000 losses")
    assert [*health.modules] == ["0", "2", "4", "6", "8"]
    first, second = health.findings
    assert str(first).startswith(f"step {dead}, 4: 100 % of its 8 units are dead (")
    assert f"at step {alive})" in first.text
    assert "0, 2 before it get no gradient; 6 behind it gets only zeros" in first.text
    assert (second.kind, second.step) == ("not finite", 2001) and "the loss" in second.text
    assert health.faults[:4] == [
        f"no gradient since {dead}", f"no gradient since {dead}", f"dead since {dead}",
        "gets only zeros, not finite since 2,001",
    ]  # fmt: skip
    assert health.steps[-1] == 2200
    assert np.isinf(health.table[-2, 3:]).all() and (health.table[-2, :3, 1:] == [0, 0, 1]).all()
    assert f"dead since {dead}" in repr(health)


def test_the_numbers_of_a_module_are_those_of_all_its_parameters(path: Path) -> None:
    model, two = nn.Module(), nn.Module()
    two.a, two.b = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.full((4, 1), 2.0))
    two.c = nn.Parameter(torch.full((4,), 9.0))
    model.two, model.norm = two, nn.BatchNorm1d(3)
    model.norm.running_mean.fill_(7.0)
    with torch.no_grad():
        for each in model.parameters():
            each.grad = torch.zeros_like(each)
        two.a.grad[1], two.b.grad[3], two.c.grad[3] = 1.0, 1.0, 5.0
        model.norm.weight.grad[:] = 0.5
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with sv.follow(model, path, show=None) as run:
        optimizer.step()
        health = run.health()
    assert [*health.modules] == ["two", "norm"]
    size, gradient = (346 / 14) ** 0.5, (29 / 14) ** 0.5  # two matrices and a bias
    assert health.table[0, 0] == pytest.approx([size, gradient, 0.1 * gradient / size, 4 / 6])
    assert health.table[0, 1, :2] == pytest.approx([0.5**0.5, 0.125**0.5])


@pytest.mark.parametrize(("activation", "kind"), [("relu", "dead"), ("tanh", "saturated")])
def test_what_lies_beside_a_dead_layer_is_not_blamed(
    activation: str, kind: str, path: Path
) -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.late, self.dead, self.beside, self.first = (nn.Linear(4, 4) for _ in range(4))

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            return self.late(getattr(self.dead(x), activation)() + self.beside(x))

    model = Branches()
    model.beside.requires_grad_(False)
    nn.init.constant_(model.dead.bias, -50.0)
    optimizer = torch.optim.SGD(model.late.parameters(), 1e-3)
    with sv.follow(model, path, show=None) as run:
        for _ in range(6):
            optimizer.zero_grad()
            F.mse_loss(model(torch.randn(8, 4)), torch.ones(8, 4)).backward()
            optimizer.step()
        health = run.health()
    faults = dict(zip(health.modules, health.faults, strict=True))
    assert faults == {"first": "", "dead": f"{kind} since 1", "beside": "frozen", "late": ""}
    assert [(each.kind, each.where, each.step) for each in health.findings] == [(kind, "dead", 1)]


class LastOf(nn.Module):
    """The last output of a recurrent layer, and a linear layer."""

    def __init__(self, kind: Any, outputs: int = 1) -> None:
        super().__init__()
        self.rnn, self.out = kind(3, 8, batch_first=True), nn.Linear(8, outputs)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(x)[0][:, -1])


class Added(nn.Module):
    """The inputs and the outputs of layers, added."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return x + self.layers(x)


def attending() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.1, batch_first=True)
    return nn.Sequential(nn.Linear(3, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 1))


def convolving() -> Any:
    layers = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 1))


def residual() -> Any:
    blocks = [
        Added(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(6)
    ]
    return nn.Sequential(nn.Linear(4, 16), *blocks, nn.Linear(16, 1))


def tuned() -> Any:
    """A frozen layer with an adapter whose last weights start at 0."""
    model = nn.Sequential(
        nn.Linear(4, 16), nn.ReLU(), Added(nn.Linear(16, 2, False), nn.Linear(2, 16, False)),
        nn.Linear(16, 1),
    )  # fmt: skip
    nn.init.zeros_(model[2].layers[1].weight)
    return model.requires_grad_(False), model[2].requires_grad_(True)


def separable() -> Any:
    """A layer of many small units, and one of weights that start at 0."""
    model = mlp(4, 64, 1)
    nn.init.zeros_(model[2].weight)
    return model


def regression(model: Any, shape: tuple[int, ...]) -> Any:
    x = torch.randn(16, *shape)
    out = model(x)
    out = out[:, -1] if out.ndim > 2 else out
    return F.mse_loss(out, x.flatten(1)[:, -3:].sum(1, keepdim=True))


def of_one_batch(model: Any, _: Any) -> Any:
    x = torch.linspace(-1.0, 1.0, 64).reshape(16, 4)
    return F.mse_loss(model(x), x[:, :1].sin())


def copying(model: Any, _: Any) -> Any:
    x = torch.randn(16, 4)
    return F.mse_loss(model(x), x)


def next_word(model: Any, _: Any) -> Any:
    x = torch.randint(0, 12, (16, 5))
    return F.cross_entropy(model(x).flatten(0, 1), (x * 5 % 12).flatten())


def hinge(model: Any, _: Any) -> Any:
    """A loss that becomes exactly 0."""
    x = torch.randn(16, 4)
    return (1.0 - x[:, :1].sign() * 50.0 * model(x)).relu().mean()


ADAMW, SGD, RMS = torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop
WORDS = partial(nn.Sequential, nn.Embedding(12, 8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 12))


@pytest.mark.parametrize(
    ("make", "shape", "kind", "loss_of"),
    [
        (lambda: mlp(4, 16, 16, 1), (4,), partial(ADAM, lr=3e-3), regression),
        (lambda: mlp(4, 16, 1), (4,), partial(SGD, lr=0.03, momentum=0.9), regression),
        (lambda: mlp(4, 16, 1), (4,), LBFGS, of_one_batch),
        (lambda: nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), (4,),
         partial(torch.optim.Adagrad, lr=0.1), regression),
        (convolving, (1, 8, 8), partial(ADAM, lr=3e-3), regression),
        (convolving, (1, 8, 8), partial(SGD, lr=0.01, momentum=0.9, nesterov=True), regression),
        (partial(LastOf, nn.LSTM), (5, 3), partial(ADAM, lr=1e-2), regression),
        (partial(LastOf, nn.GRU), (5, 3), partial(torch.optim.NAdam, lr=1e-2), regression),
        (attending, (5, 3), partial(ADAMW, lr=3e-3), regression),
        (residual, (4,), partial(RMS, lr=1e-3), regression),
        (separable, (4,), partial(ADAM, lr=3e-3), regression),
        (tuned, (4,), partial(ADAM, lr=3e-3), regression),
        (lambda: mlp(4, 8, 3, 8, 4), (), partial(ADAMW, lr=1e-2, weight_decay=0.1), copying),
        (WORDS, (), partial(ADAM, lr=1e-2), next_word),
        (lambda: mlp(4, 16, 1), (), partial(SGD, lr=0.01), hinge),
    ],
)  # fmt: skip
def test_of_fifteen_healthy_trainings_nothing_is_reported(
    make: Callable[[], Any], shape: tuple[int, ...], kind: Any, loss_of: Any, path: Path
) -> None:
    torch.manual_seed(0)
    model, trained = made if isinstance(made := make(), tuple) else (made, made)
    optimizer = kind(p for p in trained.parameters())
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, i / 5))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model, shape)
        loss.backward()
        return loss

    with sv.follow(model, path, show=None) as run:
        for _ in range(200):
            optimizer.step(closure)
            rate.step()
        assert "200 looks in 200 steps, the loss of every step" in repr(run.health())
    health = sv.load(path).health()
    assert run.notes == [] and health.findings == [], health
    assert {*health.faults} <= {"", "frozen"}
    assert repr(health).endswith(
        "Nothing wrong was found in 200 losses, and in the weights at 200 moments."
    )


def test_of_a_healthy_pair_of_models_nothing_is_reported(path: Path) -> None:
    torch.manual_seed(0)
    g, d = mlp(2, 16, 2), mlp(2, 16, 1)
    moves_g, moves_d = (ADAM(x.parameters(), 1e-3, betas=(0.5, 0.9)) for x in (g, d))
    with sv.follow(G=g, D=d, path=path, show=None) as run:
        for i in range(150):
            real, made = torch.randn(16, 2) * 0.1 + 1.0, g(torch.randn(16, 2))
            for move, fakes in ((moves_d, made.detach()), (moves_g, made)):
                if move is moves_d or i % 5 == 0:
                    move.zero_grad()
                    out = d(real) - d(fakes) if move is moves_d else d(fakes)
                    F.softplus(-out).mean().backward()
                    move.step()
    assert run.notes == [] and run.health().findings == [], run.health()


@pytest.mark.parametrize(
    ("gradient", "loss"), [(None, None), (None, 1.0), (1.0, None), (0.0, None)]
)
def test_without_losses_or_gradients_it_says_so(
    gradient: float | None, loss: float | None, path: Path
) -> None:
    run = sv.follow(path=path, show=None)
    assert str(run.health()).startswith("no step yet")
    with run:
        for i in range(8):
            arrays = {"a": {"kernel": np.full((2, 3), 1.0 + 1e-3 * i)}}
            grads = None if gradient is None else {"a": {"kernel": np.full((2, 3), gradient)}}
            run.step(arrays, loss, grads)
    words = repr(sv.load(path).health())
    known = "no loss was reported" if loss is None else "the loss of every step"
    assert f"8 looks in 8 steps, {known}" in words and "Nothing wrong" not in words
    assert ("no gradient is known" in words) is (gradient is None)
    assert ("step 1, a: 100 % of its 2 units are dead" in words) is (gradient == 0.0)


@pytest.mark.parametrize("looks", [4, 5])
def test_a_layer_is_dead_after_five_looks(looks: int, path: Path) -> None:
    with sv.follow(path=path, show=None) as run:
        for i in range(8):
            gradient = np.full((2, 3), float(i < 8 - looks))
            arrays = {"a": {"b": np.full((2, 3), 1.0 + 1e-3 * i)}}
            run.step(arrays, 1.0 if i < 6 else None, {"a": {"b": gradient}})
    health = sv.load(path).health()
    assert health.head.endswith("in 8 steps, 6 losses")
    found = [(each.kind, each.step) for each in health.findings]
    assert found == [("dead", 4)] * (looks == 5)


@pytest.mark.parametrize("zeroes", [False, True])
def test_the_look_at_the_end_has_the_gradients_that_the_loop_has_left(
    zeroes: bool, path: Path
) -> None:
    model = mlp(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with sv.follow(model, path, show=None) as run:
        for i in range(8):
            run._next = 0.0 if i < 6 else np.inf
            model(torch.ones(1, 3)).square().sum().backward()
            optimizer.step()
            gradient = np.concatenate([x.grad.numpy().ravel() for x in model.parameters()])
            if zeroes:
                optimizer.zero_grad()
    night = sv.load(path)
    assert night.looks[0].tolist() == [1, 2, 3, 4, 5, 6, 8]
    assert np.isfinite(night.health().table[-1, 0, 0])
    known = [np.nan] * 3 if zeroes else [np.sqrt(np.mean(gradient**2)), np.nan, 0.0]
    assert night.health().table[-1, 0, 1:].tolist() == pytest.approx(known, nan_ok=True)
    assert sv.diagnose(night).looked_at.endswith("the weights at 6 moments")


def test_gradients_of_an_earlier_look_are_said_to_be_older_than_the_weights(path: Path) -> None:
    model = mlp(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with sv.follow(model, path, show=None) as run:
        for i in range(8):
            run._next = 0.0 if i < 6 else np.inf
            model(torch.ones(1, 3)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        said = "weights after step 8; gradients, updates and dead units of step 6"
        assert said not in repr(run.health())
    night = sv.load(path)
    assert repr(night.health()).splitlines()[1] == said and night.health().moments == [8, 6, 6, 6]


def planted(model: Any, path: Path, shape: tuple[int, ...] = (1, 8, 8), rate: float = 1e-3) -> Any:
    """Train a classifier for 30 steps; return its record."""
    optimizer = ADAM(model.parameters(), rate)
    with sv.follow(model, path, show=None):
        for _ in range(30):
            x = torch.randn(16, *shape)
            optimizer.zero_grad()
            F.cross_entropy(model(x), x.flatten(1)[:, :4].argmax(1)).backward()
            optimizer.step()
    return sv.load(path)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_dead_normalization_is_blamed_and_not_the_convolution_before_it(
    is_frozen: bool, path: Path
) -> None:
    conv, norm, out = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.Linear(216, 4)
    nn.init.constant_(norm.bias, 0.0 if is_frozen else -50.0)
    if is_frozen:
        nn.init.zeros_(norm.weight)
        norm.requires_grad_(False)
    night = planted(nn.Sequential(conv, norm, nn.ReLU(), nn.Flatten(), out), path)
    health = night.health()
    [found] = health.findings
    assert (found.kind, found.where, found.step) == ("dead", "1", 1), health
    assert ("its weights are 0 and frozen; 0 before it gets no" in found.text) is is_frozen
    assert ("requires_grad_(True)" in found.remedy) is is_frozen
    assert health.faults[0] == "no gradient since 1" and night.notes[0].startswith("step 1: 100 %")
    assert "the units of 1.weight are dead" in night.notes[0]
    assert [*sv.diagnose(night)] == [found]


def test_advice_is_about_pytorch_and_steps_are_numbered_as_in_notes(path: Path) -> None:
    model = mlp(4, 8, 8, 4)
    model[2].requires_grad_(False)
    night = planted(model, path, (4,))
    [found], [same] = sv.diagnose(night), night.health().findings
    assert (found.kind, found.step) == (same.kind, same.step) == ("still", 1)
    assert "requires_grad_(True)" in found.remedy and found == same and found.where == "2"
    assert not any(x in "".join(signs.REMEDIES.values()) for x in ("s.freeze", "clip_norm=", "sv."))


@pytest.mark.parametrize("rate", [1e-3, 0.1])
def test_a_step_that_replaces_most_weights_is_named_in_a_short_training(
    rate: float, path: Path
) -> None:
    torch.manual_seed(0)
    found = sv.diagnose(planted(convolving_classes(), path, rate=rate))
    words = "a step changes its weights by 1.3 times their size, and losses reach 1.77 times the"
    assert [each.text.startswith(words) for each in found[:1]] == [True][: int(rate == 0.1)]


def convolving_classes() -> Any:
    layers = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.ReLU()
    return nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(8, 4))


def of_images(model: Any, x: Any) -> Any:
    means = F.avg_pool2d(x.abs(), 4).flatten(1)
    return model(x), means.argmax(1)


def of_rows(model: Any, x: Any) -> Any:
    return model(x), x.flatten(1)[:, :4].argmax(1)


def of_series(model: Any, x: Any) -> Any:
    return model(x), x.mean(1).argmax(1)


def of_words(model: Any, x: Any) -> Any:
    words = (x[:, :1].abs() * 99.0).long() + torch.arange(6) * 2
    return model(words[:, :5] % 11, words[:, 1:] % 11)[0].transpose(1, 2), words[:, 1:] % 11


def of_codes(model: Any, x: Any) -> Any:
    x = x @ MIX
    return model(x), x


MIX = torch.linspace(-2.0, 2.0, 64).sin().reshape(4, 16) * 9.0


@pytest.mark.parametrize("rolls", [False, True])
@pytest.mark.parametrize(
    ("make", "shape", "part"),
    [
        (lambda: mlp(8, 64, 4), (8,), of_rows),
        (convolving_classes, (1, 8, 8), of_images),
        (lambda: mlp(16, 32, 4, 32, 16), (4,), of_codes),
        (partial(GPT, 2, 16), (1,), of_words),
        (partial(LastOf, nn.LSTM, 3), (8, 3), of_series),
    ],
    ids=["mlp", "cnn", "codes", "gpt", "lstm"],
)
def test_rolled_targets_of_new_samples_are_told_by_a_loss_on_a_plateau(
    rolls: bool, make: Callable[[], Any], shape: tuple[int, ...], part: Any, path: Path
) -> None:
    """Of few samples, seen often, a model learns also wrong targets by heart."""
    torch.manual_seed(0)
    model = make()
    optimizer = ADAM(model.parameters(), 5e-3)
    with sv.follow(model, path, show=None) as run:
        for _ in range(240):
            out, wanted = part(model, torch.randn(32, *shape))
            wanted = wanted.roll(1, 0) if rolls else wanted
            optimizer.zero_grad()
            (F.mse_loss if part is of_codes else F.cross_entropy)(out, wanted).backward()
            optimizer.step()
        found = run.health().findings
    assert [each.kind for each in found] == ["stuck"][: int(rolls)], run.health()
    assert all("whether inputs and targets still match" in each.remedy for each in found)


def test_dead_layers_in_a_loop_are_both_named(path: Path) -> None:
    """Each of two layers gets what the other makes; a third one, behind them, gets zeros."""
    with sv.follow(path=path, show=None) as run:
        for i in range(6):
            arrays = {name: {"w": np.full((2, 3), 1.0 + i)} for name in "abcd"}
            grads = {name: {"w": np.full((2, 3), float(name == "d"))} for name in "abcd"}
            grads["c"]["w"][0] = 0.5 * (i < 5)  # half alive, then without a gradient
            run.step(arrays, grads=grads)
    night = sv.load(path)
    chain = night.health()
    assert [each.where for each in chain.findings] == ["b"]
    assert chain.faults == ["no gradient since 1", "dead since 1", "gets only zeros", ""]
    names = [each.name for each in night.head().arrays]
    nodes = [
        {"kind": "module", "name": "Linear", "path": "", "frame": -1, "times": 1, "out": False,
         "arrays": [name], "sizes": [[2, 3]], "shared": [], "settings": {}, "shape": [1, 2],
         "ways": [], "within": []}
        for name in names
    ]  # fmt: skip
    edges = [[i, j, [1, 2]] for i, j in ((0, 1), (1, 0), (1, 2), (3, 0))]
    tree = {"version": 1, "lack": "", "frames": [], "nodes": nodes, "edges": edges}
    night.record.tree = zlib.compress(json.dumps(tree).encode())
    health = night.health()
    assert [each.where for each in health.findings] == ["a", "b"], health
    assert health.faults == ["dead since 1", "dead since 1", "gets only zeros", ""]
    assert health.findings[0].text.endswith("are 0; c behind it gets only zeros")


# ---- planted faults -----------------------------------------------------------------------------

STEPS = 300


def classifying() -> Any:
    return nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)
    )


def recurring() -> Any:
    model = LastOf(partial(nn.RNN, nonlinearity="relu"), 4)
    nn.init.eye_(model.rnn.weight_hh_l0)
    return model


def raise_rate(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    optimizer.param_groups[0]["lr"] *= 100.0


def kill_layer(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    model[2].bias.data -= 50.0


def spoil_sample(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    x[3, 2] = torch.nan


def freeze_layer(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    model[2].requires_grad_(False)


def shift_labels(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    y += 1
    y %= 4


def explode(model: Any, optimizer: Any, x: Any, y: Any) -> None:
    model.rnn.weight_hh_l0.data *= 1e4


# For each fault: whether it lasts, the module, words of the finding and of the remedy.
PLANTED: dict[Callable[..., None], tuple[bool, str, str, str]] = {
    raise_rate: (False, "", "the rate was 0.01 at step", "Keep the rate as it was"),
    kill_layer: (False, "2", "100 % of its 32 units are dead", "LeakyReLU"),
    spoil_sample: (False, "0", "the loss are not finite", "batch of this step"),
    freeze_layer: (False, "2", "have not moved since step", "requires_grad_(True)"),
    shift_labels: (True, "", "the loss jumped", "the labels"),
    explode: (False, "rnn", "has exploded", "clip the norm"),
}


SLOW = pytest.mark.slow  # seconds for all; one of each fault is quick


@pytest.mark.parametrize("at", [pytest.param(60, marks=SLOW), 150, pytest.param(260, marks=SLOW)])
@pytest.mark.parametrize("plant", PLANTED, ids=lambda each: each.__name__)
def test_a_planted_fault_is_named_with_its_step_and_module_and_a_remedy(
    plant: Callable[..., None], at: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks are at each 30th step, and after events."""
    monkeypatch.setattr(snapshot_writer.SnapshotWriter, "is_due", lambda self, step, is_event: True)
    monkeypatch.setattr(
        Following, "_can_afford", lambda self, is_event: is_event or self.steps % 30 == 0
    )
    torch.manual_seed(0)
    lasts, where, words, remedy = PLANTED[plant]
    model = recurring() if plant is explode else classifying()
    optimizer = ADAM(model.parameters(), 1e-2)
    with sv.follow(model, path, show=None):
        for step in range(1, STEPS + 1):
            x = torch.randn(32, 5, 3) if plant is explode else torch.randn(32, 8)
            y = x.flatten(1)[:, -4:].argmax(1)
            if step == at or (lasts and step > at):
                plant(model, optimizer, x, y)
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    night = sv.load(path)
    found, *_ = night.health().findings
    assert found.where == where and abs(found.step - at) <= 5, night.health()
    assert words in found.text and remedy in found.remedy, night.health()
    assert "does not fall" not in repr(night.health()) + repr(sv.diagnose(night))


def test_a_block_that_was_forgotten_is_one_finding_and_rows_that_are_lost_are_one(
    path: Path,
) -> None:
    model = nn.Sequential(mlp(8, 8, 8), mlp(8, 8, 8), mlp(8, 8, 4))
    optimizer = ADAM([*model[0].parameters(), *model[2].parameters()], 1e-3)
    with sv.follow(model, path, show=None) as run:
        for i in range(20):
            x = torch.randn(16, 8)
            model.zero_grad()
            F.cross_entropy(model(x), x[:, :4].argmax(1)).backward()
            optimizer.step()
            if i == 9:
                [found] = run.health().findings
                assert (found.kind, found.where, found.step) == ("still", "1", 1)
                assert "never moved" in found.text and "pass it to the optimizer" in found.remedy
        model(x * torch.nan).sum().backward()
        optimizer.step()
        model(x).sum().backward()
        optimizer.step()
    health = sv.load(path).health()
    rows = [each.split()[0] for each in repr(health).splitlines()[3:] if " not finite " in each]
    assert "0.0" in rows and len(rows) < len(health.modules) == 6, health


@pytest.mark.parametrize("soft", [False, True])
def test_looks_are_spread_over_a_training_and_cost_as_much_as_promised(
    soft: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of 5 ms, and looks of 1 ms; the loss jumps once, or not at all."""
    now = np.zeros(2)
    for name, value in (("ALONE", 0.01), ("PICTURES", 30.0), ("FEW", 5.0)):
        monkeypatch.setattr(following, name, value)
    monkeypatch.setattr(following, "moment", lambda: (float(now[0]), float(now[1])))
    monkeypatch.setattr(snapshot_writer, "moment", lambda: (float(now[0]), float(now[1])))
    monkeypatch.setattr(following.time, "perf_counter", lambda: float(now[0]))
    read = snapshot_writer.SnapshotWriter.keep

    def keep(self: Any, *args: Any, **more: Any) -> None:
        now[:] += 1e-3
        read(self, *args, **more)

    monkeypatch.setattr(snapshot_writer.SnapshotWriter, "keep", keep)
    weights = {"a": np.ones((2, 3))}
    with sv.follow(path=path, show=None) as run:
        for i in range(600):
            now += 5e-3
            run.step(weights, 1.0 + 0.1 * (i % 2) + 5.0 * (not soft and i >= 300), weights)
        looks = run.followed.looks[0]
        assert run.overhead < 0.04
    assert np.diff([*looks, 600]).max() <= 120, looks
    assert {302, 303, 304, 305, 306} <= {*looks.tolist()} or soft


@pytest.mark.parametrize(
    "name", [*[*HEALTHY][:5], *[pytest.param(each, marks=SLOW) for each in [*HEALTHY][5:]]]
)
def test_of_a_healthy_training_nothing_is_reported(name: str, path: Path) -> None:
    """Each step is looked at; of the first five, something was reported once."""
    torch.manual_seed(0)
    models, step = HEALTHY[name]()
    single = models.pop("model", None)
    with sv.follow(single, path=path, show=None, **models) as run:
        for _ in range(120):
            step()
    night = sv.load(path)
    assert night.notes == [] and night.health().findings == [], night.health()
    assert len(night.looks[0]) >= 120 and not run.lack


# ---- scalars ------------------------------------------------------------------------------------


def test_logged_scalars_are_kept_with_their_steps(path: Path) -> None:
    with sv.follow(path=path, show=None) as run:
        run.log(start=1)
        for i in range(3):
            run.step({"a": np.ones(3)})
            run.log(accuracy=torch.tensor([0.5 * i]), worst=[np.inf, -np.inf, np.nan][i])
    found = sv.load(path).scalars
    run.log(late=1.0)
    assert {name: steps.tolist() for name, (steps, _) in found.items()} == {
        "start": [0], "accuracy": [1, 2, 3], "worst": [1, 2, 3],
    }  # fmt: skip
    assert found["accuracy"][1].tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_array_equal(found["worst"][1], [np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("clips", [False, True])
def test_the_norm_of_all_gradients_is_recorded_by_itself(
    clips: bool, is_large: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:  # some numbers are recorded, the norm has all
        monkeypatch.setattr(sources, "MOST_WHOLE", 100)
        monkeypatch.setattr(sources, "CHOSEN", 100)
    torch.manual_seed(0)
    model, norms = nn.Sequential(mlp(12, 30), nn.Linear(30, 40), nn.Linear(40, 1)), []
    model[1].requires_grad_(False)
    halves = [model[0].parameters(), model[2].parameters()]
    optimizers = [torch.optim.SGD(each, 1e-3) for each in halves]
    with sv.follow(model, path, show=None):
        for i in range(6):
            model.zero_grad()
            model(torch.randn(8, 12)).square().mean().backward()
            parts = [x.grad for x in model.parameters() if x.grad is not None]
            if clips:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1 * (i + 1))
            norms.append(nn.utils.get_total_norm(parts).item())
            for each in optimizers:
                each.step()
                each.zero_grad()  # which does not change the norm of the step
    night: Any = sv.load(path)
    assert night.head().is_whole is not is_large
    steps, found = night.scalars["gradient norm"]
    assert len(steps) >= 5
    np.testing.assert_allclose(found, [norms[step - 1] for step in steps], rtol=1e-5)


def test_more_scalars_than_there_is_room_for_share_means(path: Path) -> None:
    with sv.follow(path=path, show=None, size=100_000) as run:
        for i in range(3000):
            run.step({"a": np.ones(3)})
            run.log(place=i)
    night, size = sv.load(path), path.stat().st_size
    steps, values = night.scalars["place"]
    content = sum(len(json.dumps(each.tolist())) for each in (steps, values))
    assert content < 1000, "1 % of the file"
    assert run.lack == "" and night.record.is_done and size < 100_000
    assert steps[0] == 1 and steps[-1] == 3000 and len(steps) == 15
    assert (values < steps).all() and np.all(np.diff(values) > 0)


@pytest.mark.parametrize(
    "bad",
    [{}, {"accuracy": "0.93"}, {"good": 1, "losses": [1, 2]}, {"a": torch.ones(2)}, {"a": None},
     {"a": 10**400}],
)  # fmt: skip
def test_what_is_no_scalar_is_told_once_and_ends_nothing(
    bad: dict[str, Any], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with sv.follow(path=path, show=None) as run:
        for _ in range(2):
            run.log(**bad)
        run.step({"a": np.ones(3)})
    assert sum(each.startswith("run.log: ") for each in caplog.messages) == 1
    assert sv.load(path).scalars == {}


@pytest.mark.parametrize("logs", [False, True])
def test_rates_keep_the_names_of_groups_that_have_differed(logs: bool, path: Path) -> None:
    model = mlp(2, 1)
    groups: Any = [{"params": [each], "lr": 0.5} for each in model.parameters()]
    optimizer = torch.optim.SGD(groups)
    with sv.follow(model, path, show=None) as run:
        for rate in (0.5, 0.25, 0.5):
            optimizer.param_groups[1]["lr"] = rate
            if logs:
                run.log(lr=7.0, **{"gradient norm": 7.0})
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    found = {name: values.tolist() for name, (_, values) in sv.load(path).scalars.items()}
    ours = {"lr": [0.5], "lr 1": [0.5, 0.5], "lr 2": [0.25, 0.5]}
    norms = [7.0] * 3 if logs else pytest.approx([3**0.5 * n for n in (1, 2, 3)])
    assert found.pop("gradient norm") == norms
    assert found == ({"lr": [7.0] * 3} if logs else ours)
    assert scalars.rates_of([optimizer], differ=False) == {"lr": [0.5]}
    for group in optimizer.param_groups:
        group["lr"] = None
        known = scalars.rates_of([optimizer], differ=False)
        assert known == ({"lr 2": [0.5]} if group is optimizer.param_groups[0] else {})
