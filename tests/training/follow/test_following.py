"""Following: hooks around the steps of optimizers, kept steps, and notes."""

import atexit
import errno
import os
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError, OrderError, ScalarvizError
from scalarviz.training.follow import following, record, scalars, signs, snapshot_writer, sources
from tests.training.follow.witness import Witness, bits
from tests.wording import refused

pytestmark = pytest.mark.usefixtures("dense")


def push(torch: Any, model: Any, step: int, size: float = 0.1) -> None:
    """Set a gradient of each parameter that has one."""
    for i, each in enumerate(p for p in model.parameters() if p.requires_grad):
        numbers = np.cos(np.arange(each.numbers.size) + step + i).reshape(each.shape)
        each.grad = torch.tensor(size * numbers, each.dtype, each.device.type)


def train(
    torch: Any, model: Any, steps: int, *optimizers: Any, run: Any = None, witness: Any = None
) -> Witness:
    """Train in turn by each optimizer; report a loss after each step."""
    witness = witness or Witness(model, run)
    for step in range(steps):
        push(torch, model, step)
        witness.step(optimizers[step % len(optimizers)].step, loss=1.0 / (1 + step))
    return witness


@pytest.fixture
def net(torch: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "night.sv"


def extend(torch: Any, net: Any) -> None:
    """Add what is frozen, tied, not saved, of other types, and on a device without memory."""
    net.__dict__["0"].bias.requires_grad = False
    net.again = net.__dict__["0"].weight
    net.register_buffer("mean", torch.tensor([1.0]))
    net.register_buffer("unsaved", torch.tensor([1.0]), persistent=False)
    net.register_buffer("count", torch.tensor([1], torch.int64))
    net.wide = torch.nn.Parameter(torch.tensor([[0.1]], torch.float64))
    net.small = torch.nn.Parameter(torch.tensor([0.5], torch.bfloat16))
    net.meta = torch.nn.Parameter(torch.tensor([0.0], device="meta"))


@pytest.mark.parametrize("extends", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_each_kept_step_has_the_numbers_of_the_training(
    extends: bool, count: int, torch: Any, net: Any, path: Path
) -> None:
    if extends:
        extend(torch, net)
    halves = [[*net.parameters()][i::count] for i in range(count)]
    kinds = partial(torch.optim.Adam, lr=0.1), partial(torch.optim.SGD, lr=0.2, momentum=0.9)
    moved = [kind(half) for kind, half in zip(kinds, halves, strict=False)]
    with sv.follow(net, path, show=None) as run:
        torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1).step()
        assert not path.exists()
        witness = train(torch, net, 6, *moved, run=run)
    followed = sv.load(path)
    witness.check(followed)
    assert followed.gradients(0) == {} and run.steps == 6 and run.lack == ""
    head, rates = followed.head(), followed.kept(6).rates
    known = [(0.1, 5.0, 0.0), (0.2, 0.0, 1.0)][count - 1]  # rate, steps before, and optimizer
    assert {*map(tuple, rates[~np.isnan(rates[:, 0])])} == {known}
    assert [each["kind"] for each in head.optimizers] == ["Adam", "SGD"][:count]
    assert [x.name for x in head.arrays if x.is_buffer] == ["mean"] * extends
    assert [x.name for x in head.arrays if x.frozen] == ["0.bias", "mean"] * extends


def test_a_module_without_forward_and_one_that_is_wrapped_have_their_own_names(
    torch: Any, path: Path
) -> None:
    outer, inner = torch.nn.Module(), torch.nn.Module()
    inner.w = torch.nn.Parameter(torch.tensor([[1.0, 2.0]]))
    outer._orig_mod = inner
    with sv.follow(outer, path, show=None):
        witness = train(torch, inner, 2, torch.optim.SGD(outer.parameters(), 0.1))
    witness.check(sv.load(path))


def test_parameters_that_come_later_are_recorded_from_then_on(
    torch: Any, net: Any, path: Path
) -> None:
    moved = torch.optim.Adam(net.parameters())
    with sv.follow(net, path, show=None) as run:
        witness = train(torch, net, 3, moved, run=run)
        net.late = torch.nn.Linear(2, 2)
        moved.add_param_group({"params": net.late.parameters(), "lr": 0.5})
        train(torch, net, 3, moved, witness=witness)
    followed = sv.load(path)
    witness.check(followed)
    assert followed.kept(6).rates[:, 0].tolist() == [1e-3] * 4 + [0.5] * 2


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("LsLsLs", [0, 1, 2]),
        ("sLsLsL", [0, 1, 2]),
        ("LLsLLs", [0.5, 2.5]),
        ("sss", [np.nan] * 3),
        ("sLssL", [0, np.nan, 1]),
        ("LssLs", [0, np.nan, 1]),
        ("LsLsL", [0, 1]),
    ],
)
def test_losses_belong_to_the_steps_beside_which_they_are_reported(
    order: str, found: list[float], torch: Any, net: Any, path: Path
) -> None:
    moved, count = torch.optim.SGD(net.parameters(), 0.1), 0
    with sv.follow(net, path, show=None) as run:
        for each in order:
            if each == "s":
                moved.step()
            else:
                run.loss(torch.tensor(count))
                count += 1
    np.testing.assert_array_equal(sv.load(path).losses, found)


@pytest.mark.parametrize("reported", [None, 0.25])
def test_of_a_closure_the_gradients_are_those_of_its_last_call(
    reported: float | None, torch: Any, net: Any, path: Path
) -> None:
    witness, moved = Witness(net), torch.optim.SGD(net.parameters(), 0.1)
    with sv.follow(net, path, show=None) as run:

        def closure() -> None:
            push(torch, net, run.steps)
            if reported is not None:
                run.loss(reported)
                run.loss(np.inf)  # of another evaluation

        for _ in range(3):
            witness.step(moved.step, closure, loss=0.0)
    witness.losses = [np.nan if reported is None else reported] * 3
    witness.check(sv.load(path))


def test_losses_of_a_night_share_means_as_their_room_fills(path: Path) -> None:
    losses = np.random.default_rng(0).normal(size=30_000)
    with sv.follow(path=path, show=None, size=100_000) as run:
        for loss in losses:
            run.step({"a": np.zeros(2)}, loss=loss)
    found = sv.load(path).losses
    assert run.lack == "" and path.stat().st_size <= 100_000 and len(found) == len(losses)
    alone = int((found == losses).sum())
    assert 200 < alone < 1000 and np.array_equal(found[:200], losses[:200])
    assert np.isclose(found.sum(), losses.sum()) and found[-1] == losses[-1]


def test_of_a_long_training_evenly_spread_steps_are_kept_within_the_size(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "LOSSES", 1.0)
    bound = 30_000
    with sv.follow(net, path, show=None, size=bound) as run:
        witness = train(torch, net, 400, torch.optim.SGD(net.parameters(), 0.1), run=run)
    followed = sv.load(path)
    witness.check(followed, kept=len(followed.steps))
    apart = np.diff(followed.steps)[:-1]
    assert path.stat().st_size <= bound and 8 < len(apart) < 60
    assert apart.max() <= 2 * apart.min() and followed.steps[-1] == 400


def test_of_a_large_model_chosen_numbers_are_kept_and_all_of_some_steps(
    torch: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_WHOLE", 100)
    monkeypatch.setattr(sources, "CHOSEN", 50)
    net = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Linear(40, 20))
    with sv.follow(net, path, show=None, size=100_000) as run:
        witness = train(torch, net, 100, torch.optim.SGD(net.parameters(), 0.1), run=run)
    followed = sv.load(path)
    assert {0, 100} < {*followed.whole_steps.tolist()} and path.stat().st_size <= 100_000
    for step, each in product(followed.steps.tolist(), followed.head().arrays):
        down, right = each.pick
        whole, found = witness.values[step][each.name], followed.parameters(step)[each.name]
        part = whole.reshape(len(whole), -1)[::down, ::right]
        assert np.array_equal(found, whole if step in followed.whole_steps else part)
        gradient = followed.gradients(step).get(each.name)
        known = witness.gradients[step].get(each.name, whole)
        part = known.reshape(len(whole), -1)[::down, ::right]
        assert gradient is None or np.array_equal(gradient, part)
    session = followed.session
    assert session.network.bank.name_of(1) == f"0.weight[0, {followed.head().arrays[0].pick[1]}]"


def test_a_full_disk_ends_the_recording_and_not_the_training(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    put, left = record.Recorder._put, [20]

    def fill(recorder: Any, place: int, *parts: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            put(recorder, place, parts[0][:7])
            raise OSError(errno.ENOSPC, "No space left on device")
        put(recorder, place, *parts)

    monkeypatch.setattr(record.Recorder, "_put", fill)
    with sv.follow(net, path, show=None) as run:
        witness = train(torch, net, 30, torch.optim.SGD(net.parameters(), 0.1), run=run)
    assert run.steps == 30 and "No space left on device" in run.lack and run.lack in repr(run)
    assert sum("the training continues" in each for each in caplog.messages) == 1
    followed = sv.load(path)
    last = len(followed.losses)
    assert 0 < last < 30 and not followed.record.is_done
    witness.losses = witness.losses[:last]
    witness.check(followed, kept=len(followed.steps))


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (scalars.ReportedLosses, "report"),
        (scalars.ReportedLosses, "end_step"),
        (scalars.ReportedLosses, "write"),
        (scalars.Scalars, "write"),
        (sources.TorchSource, "read"),
        (sources.TorchSource, "takes"),
        (sources.TorchSource, "rates"),
        (signs.Signs, "lost"),
        (snapshot_writer.SnapshotWriter, "end"),
        (record.Recorder, "close"),
    ],
)
def test_any_error_ends_the_recording_and_not_the_training(
    owner: Any, method: str, torch: Any, net: Any, path: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    before = train(torch, net, 0).copies()
    train(torch, net, 4, torch.optim.Adam(net.parameters(), 0.1))
    wanted = bits(train(torch, net, 0).copies(), "<f4")
    for name, each in net.named_parameters():
        each.numbers[...] = before[name]
    monkeypatch.setattr(owner, method, Mock(side_effect=MemoryError("two\nlines")))
    with sv.follow(net, path, show=None) as run:
        train(torch, net, 4, torch.optim.Adam(net.parameters(), 0.1), run=run)
    assert bits(train(torch, net, 0).copies(), "<f4") == wanted
    assert [each for each in caplog.messages if "continues" in each] == [
        f"{sources.shorten(str(path))}: {run.lack}; the training continues"
    ]
    assert "MemoryError" in run.lack


def test_ctrl_c_within_a_look_ends_the_program(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_writer.SnapshotWriter, "keep", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt), sv.follow(net, path, show=None):
        torch.optim.SGD(net.parameters(), 0.1).step()


@pytest.mark.parametrize("lr", [None, "missing", "quick", np.ones(2), 0.1])
def test_what_is_unknown_of_an_optimizer_is_left_out_and_said(
    lr: Any, torch: Any, net: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def move(self: Any, w: Any, g: Any, state: Any, given: Any) -> None:
        w -= 0.1 * np.sign(g)

    kind = type("SGD", (torch.optim.SGD.__base__,), {"move": move})  # as a course writes one
    moved = kind(net.parameters(), lr)
    if isinstance(lr, str) and lr == "missing":
        del moved.param_groups[0]["lr"]
    with sv.follow(net, path, show=None) as run:
        witness = train(torch, net, 4, moved, run=run)
    followed = sv.load(path)
    witness.check(followed)
    rates = followed.kept(4).rates
    is_known = isinstance(lr, float)
    np.testing.assert_array_equal(rates[:, 0], 0.1 if is_known else np.nan)
    assert rates[:, 2].tolist() == [0.0] * 4 and run.lack == ""
    assert sum("its lr is" in each for each in caplog.messages) == (not is_known)
    assert followed.head().optimizers[0]["kind"] == "custom SGD"  # whose arithmetic is unknown
    assert (followed.record.stats[-1][1][:, 2] > 0.0).all()


@pytest.mark.parametrize("kind", ["exchanged", "reshaped", "lazy", "at the end"])
def test_parameters_that_are_exchanged_are_told_and_recorded_from_then_on(
    kind: str, torch: Any, net: Any, path: Path
) -> None:
    moved, layer = torch.optim.SGD(net.parameters(), 0.1), net.__dict__["2"]
    if kind == "lazy":
        layer.weight.materialize = shape = layer.weight.__dict__.pop("shape")
    with sv.follow(net, path, show=None) as run:
        if kind == "lazy":
            layer.weight.shape = shape
            del layer.weight.materialize
        witness = train(torch, net, 3, moved, run=run)
        if kind == "reshaped":
            layer.weight.__init__(torch.tensor(np.ones((4, 2))))
        elif kind != "lazy":
            layer.weight = torch.nn.Parameter(torch.tensor(np.ones((2, 4))))
            moved.param_groups[0]["params"][2] = layer.weight
        if kind == "at the end":  # of which no step is kept
            run.steps, witness.values[3:] = 4, [{}, witness.copies()]
        else:
            train(torch, net, 3, moved, witness=witness)
    followed = sv.load(path)
    if kind == "at the end":
        last = followed.parameters(4)
        assert bits(last, "<f4") == bits(witness.values[4], "<f4")
    else:
        witness.check(followed)
    said = f"step {run.steps if kind == 'at the end' else 3}: parameters were added, removed"
    assert [each[: len(said)] for each in run.notes] == [said] * (kind != "lazy")


def test_the_steps_of_a_module_without_optimizer_are_reported(
    torch: Any, net: Any, path: Path
) -> None:
    witness = Witness(net)

    def move() -> None:
        for each in net.parameters():
            each.numbers -= each.grad.numbers

    with sv.follow(net, path, show=None) as run:
        assert run.notes == []
        refused(OrderError).by(run.diagnose)
        for step in range(5):
            push(torch, net, step)
            witness.step(move, loss=0.5)
            run.step(loss=0.5)
    followed = sv.load(path)
    assert followed.steps.tolist() == [1, 2, 3, 4, 5] and followed.losses.tolist() == [0.5] * 5
    for step in range(1, 6):
        assert bits(followed.parameters(step), "<f4") == bits(witness.values[step], "<f4")
        assert bits(followed.gradients(step), "<f4") == bits(witness.gradients[step], "<f4")


def test_what_is_followed_is_said_at_once_and_a_killed_viewer_when_it_is_seen(
    torch: Any, net: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ends: list[Any] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    monkeypatch.setattr(following, "show_record", lambda *_: SimpleNamespace(poll=lambda: -9))
    run, other = sv.follow(net), sv.follow(torch.nn.Module())
    assert "following Sequential, 26 weights; the viewer opens" in caplog.messages[0]
    assert "Module has no parameters" in caplog.messages[1]
    train(torch, net, 3, torch.optim.SGD(net.parameters(), 0.1), run=run)
    run.close()
    assert sum("killed by signal 9" in each for each in caplog.messages) == 1
    assert len(run.followed.steps) == 4 and run.overhead <= 1.0
    [end() for end in ends]
    assert not any(Path(each.path).parent.exists() for each in (run, other))


def test_a_look_costs_the_work_of_this_thread_where_others_have_the_cores(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, looks = np.zeros(2), list[float]()  # on the clock, and of work

    def keep(self: Any, step: int, *_: Any, **__: Any) -> None:
        now[:] += np.array([150.0, 1.0]) * 5e-4 if len(looks) % 5 == 3 else 5e-4
        looks.append(5e-4)

    for name, place in (("perf_counter", 0), ("thread_time", 1)):
        monkeypatch.setattr(following.time, name, partial(lambda i: float(now[i]), place))
    monkeypatch.setattr(following, "ALONE", 0.01)
    monkeypatch.setattr(snapshot_writer.SnapshotWriter, "keep", keep)
    moved = torch.optim.SGD(net.parameters(), 0.1)
    with sv.follow(net, path, show=None):
        for _ in range(3000):
            moved.step()
            now += 0.04, 0.005
    assert len(looks) > 50 and sum(looks) < 0.01 * now[1]


def test_what_cannot_be_written_ends_no_training(torch: Any, net: Any, tmp_path: Path) -> None:
    (tmp_path / "thesis.sv").write_text("a text")
    refused(FileError).by(sv.follow, net, tmp_path / "thesis.sv", show=None)
    refused(FileError).by(sv.follow, net, tmp_path / "no folder" / "a.sv", show=None)
    with sv.follow(net, tmp_path / "small.sv", show=None, size=1000) as run:
        train(torch, net, 3, torch.optim.SGD(net.parameters(), 0.1), run=run)
    assert run.steps == 3 and "pass size=" in run.lack


def test_arrays_of_another_program_are_followed(path: Path, rng: np.random.Generator) -> None:
    steps = [{"a": {"k": rng.normal(size=(2, 3)), "b": rng.normal(size=2)}} for _ in range(4)]
    with sv.follow(path=path, show=None) as run:
        for step, arrays in enumerate(steps):
            run.step(arrays, loss=step, grads={"a/k": arrays["a"]["k"] + 1} if step else None)
        refused(InputError).by(run.step, {"a": {"k": np.zeros((3, 2)), "b": np.zeros(2)}})
        refused(InputError).by(run.step, steps[0], grads={"a/x": np.zeros(2)})
    followed = sv.load(path)
    assert followed.steps.tolist() == [1, 2, 3, 4] and followed.losses.tolist() == [0, 1, 2, 3]
    for step, arrays in enumerate(steps, 1):
        wanted = {f"a/{name}": each for name, each in arrays["a"].items()}
        grads = {"a/k": wanted["a/k"] + 1} if step > 1 else {}
        assert bits(followed.parameters(step), "<f8") == bits(wanted, "<f8")
        assert bits(followed.gradients(step), "<f8") == bits(grads, "<f8")


def test_a_network_is_followed_by_train_step_and_by_its_four_verbs(path: Path) -> None:
    net, inputs, targets = sv.Network([2, 3, 1], "tanh", seed=0), np.eye(2), np.ones((2, 1))
    known: list[dict[str, Any]] = []
    with sv.follow(net, path, show=None) as run:
        for step in range(6):
            if step < 3:
                loss = net.train_step(inputs, targets, "mse", sv.SGD(0.5))
            else:
                net.zero_grad()
                net.backward(2.0 * (net.forward(inputs) - targets))
                net.step(sv.SGD(0.5))
                run.step()
            known.append({k: (x.value.copy(), x.grad.copy()) for k, x in net.named_parameters()})
    assert net.follower is None
    net.train_step(inputs, targets, "mse", sv.SGD(0.5))
    followed = sv.load(path)
    assert followed.steps.tolist() == [1, 2, 3, 4, 5, 6] and followed.losses[2] == loss
    for (step, place), read in product(enumerate(known, 1), (0, 1)):
        found = (followed.parameters, followed.gradients)[read](step)
        wanted = {name: each[read] for name, each in place.items()}
        assert bits(found, "<f4") == bits(wanted, "<f4")


def spoil(kind: str, layer: Any, step: int) -> None:
    """Bring about what is noticed of a layer."""
    weight, grad = layer.weight, layer.weight.grad.numbers
    if kind in ("nan", "weights") and step == 5:
        (grad if kind == "nan" else weight.numbers)[1, 0] = np.nan
    elif kind == "leap" and step == 5:
        grad[:] = 1e4
    elif kind in ("dead", "vanished"):
        grad[:] = 0.0 if kind == "dead" else 1e-9
        if kind == "dead":
            layer.bias.grad.numbers[:] = 0.0


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("weights", "step 6: the weights of 2.weight are not finite"),
        ("nan", "step 6: the gradient of 2.weight is not finite"),
        ("dead", "step 1: 100 % of the units of 2.weight are dead: their gradients are 0"),
        ("vanished", "step 1: the gradient of 2.weight has vanished: it is 1e-09"),
        ("leap", "step 6: the step of 2.weight is"),
        ("", ""),
    ],
)
def test_what_goes_wrong_is_noticed_once(
    kind: str, said: str, torch: Any, net: Any, path: Path
) -> None:
    moved = torch.optim.SGD(net.parameters(), 0.1)
    with sv.follow(net, path, show=None) as run:
        for step in range(12):
            push(torch, net, step)
            spoil(kind, net.__dict__["2"], step)
            moved.step()
            run.loss(1.0)
        assert run.first("loss < 2") == 1
    notes = sv.load(path).notes
    assert len(notes) == bool(kind), notes
    assert not kind or notes[0].startswith(said), notes


VALUE, GRADIENT, UPDATE, DEAD = range(4)


@pytest.mark.parametrize(
    ("places", "numbers", "said"),
    [
        ((1, UPDATE), 101.0, "step 30: the step of b is 101 times its weights. Try a rate"),
        ((1, UPDATE), 99.0, ""),
        ((slice(2), UPDATE), 101.0, "step 30: the step of a is 101 times its weights; likewise 1"),
        ((slice(None), slice(VALUE, None, 2)), 0.0, ""),  # there are no weights
        ((1, DEAD), 0.96, "step 30: 96 % of the units of b are dead: their gradients are 0. Try"),
        ((1, DEAD), 0.94, ""),
        ((slice(2), DEAD), 0.96, "step 30: 96 % of the units of b"),  # a gets no gradient
        ((slice(None), slice(GRADIENT, None, 2)), [0.0, 1.0], ""),  # of a loss that is 0
        ((1, GRADIENT), 0.9e-7, "step 30: the gradient of b has vanished: it is 9e-08, and the l"),
        ((1, GRADIENT), 1.1e-7, ""),
        (
            (1, GRADIENT),
            1001.0,
            "step 30: the gradient of b has exploded: it is 1e+03, and was 0.1",
        ),
        ((1, GRADIENT), 999.0, ""),
        ((1, UPDATE), 0.0, "step 30: b does not learn: it has gradients, but no step changes it"),
        ((1, UPDATE), record.UNKNOWN, "step 30: b does not learn"),
        ((1, UPDATE), 1.1e-8, ""),
        ((1, slice(GRADIENT, DEAD)), 0.0, ""),
        ((slice(None), UPDATE), 0.0, ""),  # no layer learns, as at a rate of 0
    ],
)
def test_signs_have_bounds(places: Any, numbers: Any, said: str) -> None:
    arrays = sources.placed([sources.Array(name, (4, 3)) for name in "abc"])
    found, seen = [], signs.Signs()
    for step in range(10, 60):
        stats = np.tile(np.float32([1.0, 0.1, 1e-3, 0.0]), (3, 1))
        if step >= 30:
            stats[places] = numbers
        found += map(signs.in_words, seen.noticed(step, arrays, stats, 1.0))
    assert len(found) == bool(said) and "".join(found).startswith(said), found


@pytest.mark.parametrize(("place", "number", "looks"), [(DEAD, 1.0, 5), (UPDATE, 0.0, 20)])
def test_signs_are_told_after_consecutive_looks(place: int, number: float, looks: int) -> None:
    arrays = sources.placed([sources.Array(name, (4, 3)) for name in "abc"])
    for count in (looks - 1, looks):
        seen, found = signs.Signs(), []
        for step in range(100):
            stats = np.tile(np.float32([1.0, 0.1, 1e-3, 0.0]), (3, 1))
            stats[0, place] = number if step % (count + 1) else stats[0, place]
            found += seen.noticed(step, arrays, stats, None)
        assert [each["step"] for each in found] == [1][: count == looks]
    assert not [*seen.noticed(100, arrays[:1], stats[:1], None)], "other arrays begin anew"


@pytest.mark.parametrize(("used", "every"), [(0.49, 1), (0.51, 16), (0.74, 16), (0.8, 256)])
def test_looks_are_at_fixed_steps(
    used: float, every: int, torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sv.follow(net, path, show=None, size=60_000) as run:
        train(torch, net, 1, torch.optim.SGD(net.parameters(), 0.01))
        keeper = run._keeper
        monkeypatch.setattr(keeper.recorder.pages[b"PAGE"], "is_due", lambda step: step == 777)
        keeper._looked = used * snapshot_writer.LOOKED * 60_000
        due = [step for step in range(1, 1000) if keeper.is_due(step)]
        assert due == sorted({*range(every, 1000, every), 777})
        keeper._looked = snapshot_writer.LOOKED * 60_000
        assert not keeper.is_due(65_536)


@pytest.mark.parametrize("ends", ["close", "look", "loss"])
def test_a_training_that_ends_in_nan_is_never_called_healthy(
    ends: str, torch: Any, net: Any, path: Path
) -> None:
    moved = torch.optim.SGD(net.parameters(), 0.1)
    with sv.follow(net, path, show=None) as run:
        train(torch, net, 3, moved)
        said = (
            "Nothing wrong was found in the weights at 3 moments of 3 steps; no loss was reported."
        )
        assert repr(run.diagnose()) in (said, said.replace("of 3", "of 2"))
        run._next = np.inf
        train(torch, net, 4, moved)
        if ends == "loss":
            run.loss(np.nan)
        else:
            net.__dict__["2"].weight.numbers[:] = np.nan
        assert ends == "close" or "not finite" in run.notes[0]
    words = "the loss is" if ends == "loss" else "the weights of 2.weight are"
    said = f"step 7: {words} not finite; at step 3 all was finite"
    assert run.notes == [f"{said}. {signs.SIGNS['nan'][2]}."]
    [found] = run.diagnose()
    assert (found.kind, found.step) == ("not finite", 7), "the number of the step in run.notes"
    assert found.where == ("" if ends == "loss" else "2")


def test_close_removes_the_hooks_and_is_called_at_exit(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Any] = []
    moved = torch.optim.SGD(net.parameters(), 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(atexit, "register", ends.append)
        run = sv.follow(net, path, show=None)
        train(torch, net, 2, moved, run=run)
        patch.setattr(following.time, "perf_counter", lambda: run._next - 1.0)  # nothing is due
        train(torch, net, 3, moved, run=run)
    [end] = ends
    end()
    end()
    witness = train(torch, net, 2, moved, run=run)
    followed = sv.load(path)
    assert run.steps == 5 and followed.record.is_done and followed.steps.tolist()[-1] == 5
    last = followed.parameters(5)
    assert all(np.array_equal(last[name], each) for name, each in witness.values[0].items())
    with pytest.raises(ZeroDivisionError), sv.follow(net, path, show=None):
        raise ZeroDivisionError


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_of_the_training_writes_nothing(
    torch: Any, net: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "FLUSH", -1.0)  # losses are written at once
    moved = torch.optim.SGD(net.parameters(), 0.1)
    with sv.follow(net, path, show=None) as run:
        train(torch, net, 2, moved, run=run)
        before = path.read_bytes()
        if (child := os.fork()) == 0:
            train(torch, net, 5, moved, run=run)
            run.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert path.read_bytes() == before
        train(torch, net, 1, moved, run=run)
    assert sv.load(path).steps.tolist() == [0, 1, 2, 3]


def test_two_runs_to_one_path_have_records_of_their_own(
    torch: Any, net: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = torch.nn.Sequential(torch.nn.Linear(3, 2))
    runs = [sv.follow(each, path, show=None) for each in (net, other)]
    for each, steps in ((net, 3), (other, 2), (net, 3)):
        train(torch, each, steps, torch.optim.SGD(each.parameters(), 0.1))
    assert [run.path for run in runs] == [str(path), str(path.with_stem("night-2"))]
    assert sum("is the record of another run that is not closed" in x for x in caplog.messages) == 1
    for run in runs:
        run.close()
    assert [len(sv.load(run.path).losses) for run in runs] == [6, 2]
    with sv.follow(net, path, show=None) as run:
        train(torch, net, 1, torch.optim.SGD(net.parameters(), 0.1))
    assert run.path == str(path) and len(sv.load(path).losses) == 1


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_record_that_is_removed_while_it_is_written_is_told_once(
    is_replaced: bool,
    torch: Any,
    net: Any,
    path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = torch.optim.SGD(net.parameters(), 0.1)
    monkeypatch.chdir(path.parent)
    with sv.follow(net, path.name, show=None) as run:
        train(torch, net, 2, moved)
        monkeypatch.chdir("/")  # its file is still there
        train(torch, net, 2, moved)
        path.unlink()
        if is_replaced:
            path.write_bytes(b"")
        train(torch, net, 3, moved)
    assert run.lack == "recording ended at step 5: its file was removed or replaced"
    assert sum(run.lack in each for each in caplog.messages) == 1
    assert run.steps == 7 and path.exists() is is_replaced


MISUSES: dict[str, Callable[[Any, Any, Path], object]] = {
    "two models": lambda torch, net, path: sv.follow(net, net, show=None),
    "a list of models": lambda torch, net, path: sv.follow([net, net], path, show=None),
    "the class": lambda torch, net, path: sv.follow(torch.nn.Linear, path, show=None),
    "the optimizer": lambda torch, net, path: sv.follow(
        torch.optim.SGD(net.parameters(), 0.1), path, show=None
    ),
    "the state_dict": lambda torch, net, path: sv.follow(
        OrderedDict(weight=SimpleNamespace(grad_fn=None)), path, show=None
    ),
    "the parameters": lambda torch, net, path: sv.follow((x for x in ()), path, show=None),
    "a dict of arrays": lambda torch, net, path: sv.follow({"a": np.zeros(2)}, path, show=None),
    "a record of no step": lambda torch, net, path: sv.load(path),
    "no array of a record": lambda torch, net, path: recorded(torch, net, path).parameters(2)[
        "0.weigth"
    ],
}


def recorded(torch: Any, net: Any, path: Path) -> Any:
    with sv.follow(net, path, show=None) as run:
        train(torch, net, 2, torch.optim.SGD(net.parameters(), 0.1), run=run)
    return sv.load(path)


@pytest.mark.parametrize("kind", MISUSES)
def test_a_misuse_is_answered_with_what_to_do(kind: str, torch: Any, net: Any, path: Path) -> None:
    varies = r"(?<=followed, not )(?!<class|\{).*?(?=: pass)"  # as reprs of tensors
    refused(ScalarvizError, varies=varies).by(MISUSES[kind], torch, net, path)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("no step", "no PyTorch optimizer has stepped"),
        ("another model", "follow the model that it trains"),
        ("arrays", "call run.step(arrays)"),
    ],
)
def test_a_run_without_steps_says_why_in_its_health_and_when_it_ends(
    kind: str, said: str, torch: Any, net: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = None if kind == "arrays" else net
    with sv.follow(model, path, show=None) as run:
        if kind == "another model":
            train(torch, net, 2, torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1))
        health = run.health()
        run.log("accuracy", 0.5)  # type: ignore[arg-type]
    words = "\n".join(caplog.messages)
    assert str(health).startswith("no step yet") and said in str(health)
    assert words.count(str(health)) == 1 and "run.log(accuracy=0.93)" in words
    assert not health.findings and not path.exists()


def test_bad_arguments_are_refused(torch: Any, net: Any, path: Path) -> None:
    for given, named in (
        ((3, path), {}),
        ((net, 3), {}),
        (("model",), {}),
        ((net, ""), {}),
        ((net, path.with_suffix(".pt")), {}),
        ((net, None), {}),
        ((net, path), {"show": "screen"}),
        ((net, path), {"size": 0}),
        ((net, path), {"probe": np.full(3, np.nan)}),
        ((net, path), {"probe": "sample"}),
    ):
        refused(InputError).by(sv.follow, *given, **{"show": None, **named})
    with sv.follow(net, path, show=None) as run:
        torch.optim.SGD(net.parameters(), 0.1).step()
        refused(InputError).by(run.step, {"a": np.zeros(2)})
        refused(InputError).by(run.loss, "small")
        refused(InputError).by(run.loss, np.zeros(2))
    with sv.follow(path=path, show=None) as run:
        refused(InputError).by(run.step, [1.0])
        refused(InputError).by(run.step, {"a": np.array(["b"])})
