"""What the modules of a followed PyTorch model compute for a probe.

`make test-all` installs PyTorch.
"""

import copy
import json
import random
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError
from scalarviz.pages.page import page_probe
from scalarviz.scene.look import Look
from scalarviz.scene.past_images import shares_of
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.follow import following
from scalarviz.training.follow.record import Recorder
from tests.machine import ROOT
from tests.proofs.mutants import ODD, leaves
from tests.studio import Studio, places
from tests.wording import refused

pytest.importorskip("torch", reason="make test-all installs PyTorch, make test does not")
import torch
from torch import nn
from torch.nn import functional as F

from tests.training.follow.structures import CASES, Attention, Case, linear, model_of, noise

SIZE = (1280, 800)
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:.*nested tensor.*:UserWarning"
)


@pytest.fixture(autouse=True)
def one_thread(dense: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every step has a probe; threads of small products wait for each other."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(following, "PROBE_EVERY", 0.0)
    yield
    torch.set_num_threads(count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "night.sv"


def called(model: Any, batch: Any) -> Any:
    return model(**batch) if isinstance(batch, dict) else model(*batch)


def train(case: Case, path: Path, steps: int, probe: Any = None) -> tuple[list[Any], Any]:
    """Train a followed model; return all that a probe could have changed, and the recording."""
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    model = case.make()
    optimizer, found = torch.optim.Adam(model.parameters(), 0.01), []
    with sv.follow(model, path, show=None, probe=probe) as run:
        for _ in range(steps):
            loss = case.loss(called(model, case.batch()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    arrays = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    found += [each.detach().numpy().tobytes() for each in arrays.values()]
    found += [each.grad.numpy().tobytes() for each in model.parameters() if each.grad is not None]
    found += [each.requires_grad for each in arrays.values()]
    found += [each.training for each in model.modules()] + [len(vars(x)) for x in model.modules()]
    found += [
        f"{getattr(model, 'seen', 0)} {getattr(model, 'total', 0)}",
        torch.get_rng_state().tolist(),
    ]
    return [*found, str(np.random.get_state()), random.getstate()], run


def restless(self: Any, x: Any) -> Any:
    """Write wherever a module can, also in evaluation mode."""
    x.mul_(0.5)
    self.seen.append(x.sum().item() + np.random.rand() + random.random())
    self.newest, self.norm.running_mean.data = len(self.seen), self.norm.running_mean + 1.0
    self.norm.num_batches_tracked.add_(1), self.total.add_(1.0)
    if not self.training:
        self.evaluated = True
    self.inner.weight.data.clamp_(-0.4, 0.4)
    x = self.inner(self.norm(x)) + self.table(x[:, 0].abs().long().clamp(0, 2))
    return F.dropout(x, 0.5) * self.newest


def writing() -> nn.Module:
    table = nn.Embedding(3, 4, max_norm=0.5)
    model = model_of(restless, inner=linear(4, 4), norm=nn.BatchNorm1d(4), table=table)
    model.seen, model.total = [], torch.zeros(1)
    return model


def folded(self: Any, x: Any) -> Any:
    return self.last(self.drop(F.relu(self.norm(self.conv(x)))).mean((2, 3)))


def convolutions() -> nn.Module:
    drop, norm = nn.Dropout(0.5), nn.BatchNorm2d(3)
    return model_of(folded, conv=nn.Conv2d(1, 3, 3), norm=norm, drop=drop, last=linear(3, 2))


TRAINED = {
    "mlp": Case(
        lambda: model_of(
            lambda self, x: self.b(self.drop(self.a(x))),
            a=linear(4, 5), drop=nn.Dropout(0.5), b=linear(5, 2),
        ),
        noise(3, 4),
    ),
    "cnn": Case(convolutions, noise(2, 1, 14, 14)),
    "gpt": CASES["gpt"],
    "dict": CASES["dict"],
    "writing": Case(writing, noise(3, 4)),
    "scripted": Case(
        lambda: model_of(
            lambda self, x: self.b(self.a(x)),
            a=torch.jit.script(nn.Sequential(linear(4, 5), nn.BatchNorm1d(5))), b=linear(5, 2),
        ),
        noise(3, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_the_training_has_the_same_bits(name: str, path: Path) -> None:
    case = TRAINED[name]
    probe = case.batch()
    wanted, _ = train(case, path, 20)
    found, run = train(case, path, 20, probe)
    assert found == wanted and run.notes == [] and run.lack == ""
    night = sv.load(path)
    assert night.probe_steps.tolist() == [*range(1, 21)]
    has_attention = any("attention" in each for each in night.probe(20).values())
    assert has_attention == (name in ("gpt", "dict"))
    assert str(night.probe(20)[""]["output"]) != str(night.probe(1)[""]["output"])


@pytest.mark.slow
def test_a_compiled_model_has_the_same_graphs_and_bits(path: Path) -> None:
    graphs: list[Any] = []

    def make() -> Any:
        def take(graph: Any, _: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        torch._dynamo.reset()
        return torch.compile(convolutions(), backend=take)

    case = Case(make, noise(2, 1, 14, 14))
    wanted, _ = train(case, path, 3)
    count = len(graphs)
    found, run = train(case, path, 3, torch.ones(1, 1, 14, 14))
    assert run.notes == [] and len(graphs) == 2 * count and found == wanted
    assert {"conv", "norm", ""} <= {*sv.load(path).probe(3)}


def refusing(self: Any, x: Any) -> Any:
    if not self.training:
        self.inner.weight.data.zero_()
        raise ValueError("no evaluation\nof this")
    return self.inner(self.drop(x))


def test_an_error_of_the_model_ends_the_probe_with_a_sentence(path: Path) -> None:
    case = Case(lambda: model_of(refusing, inner=linear(4, 2), drop=nn.Dropout()), noise(3, 4))
    wanted, _ = train(case, path, 3)
    found, run = train(case, path, 3, torch.ones(1, 4))
    assert found == wanted and run.lack == "" and sv.load(path).probe_steps.size == 0
    why = "the model is not run for the probe: ValueError: no evaluation"
    assert run.notes == sv.load(path).notes == [f"step 1: {why}"]
    refused(InputError).by(sv.load(path).probe, 3)


# ---- numbers of modules -------------------------------------------------------------------------


def seen(model: Any, *args: Any, path: Path, **kwargs: Any) -> dict[str, dict[str, Any]]:
    """Return what a model that is followed for a step computes."""
    with sv.follow(model, path, show=None, probe=kwargs or args, structure=False) as run:
        run.step()
    assert run.notes == []
    return sv.load(path).probe(1)


def test_numbers_and_maps_are_those_of_the_modules(path: Path) -> None:
    model, x = convolutions(), torch.randn(2, 1, 62, 31)
    found = seen(model, x, path=path)
    assert [*found] == ["conv", "norm", "drop", "last", ""]
    model.eval()
    y = model.conv(x)
    z = F.relu(model.norm(y))
    for name, each in {"conv": y, "drop": z}.items():
        numbers = [found[name][x] for x in ("mean", "std", "zeros")]
        wanted = each.mean(), each.std(correction=0), (each == 0).float().mean()
        assert numbers == pytest.approx([x.item() for x in wanted], abs=1e-5)
    wanted = F.adaptive_avg_pool2d(y[0], (27, 13)).detach().numpy()
    np.testing.assert_allclose(found["conv"]["maps"], wanted, atol=1e-3 * abs(wanted).max())
    np.testing.assert_array_equal(found[""]["output"], model(x)[0].detach().numpy())
    assert {*found["last"]} == {"mean", "std", "zeros"}


def fused(self: Any, q: Any, k: Any, **more: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, k, **more) * self.one


def spelled(self: Any, q: Any, k: Any, mask: Any) -> Any:
    return F.dropout((q @ k.mT * 0.25 + mask).softmax(-1), 0.1, self.training) @ k * self.one


def of_layer(self: Any, q: Any, k: Any) -> Any:
    return self.inner(q[:, 0], k[:, 0], k[:, 0], need_weights=False)[0]


def test_attention_is_that_of_the_model(path: Path) -> None:
    q, k, few = torch.randn(1, 12, 5, 16), torch.randn(1, 12, 70, 16), torch.randn(1, 4, 70, 16)
    mask = torch.randn(5, 70)
    inner = nn.MultiheadAttention(16, 2, batch_first=True)
    by, is_after = 0.25, torch.ones(5, 70).tril() == 0
    heads = [0, 2, 3, 5, 6, 8, 9, 11]
    scores = (q @ k.mT * by)[0, heads]

    def of(forward: Any, *args: Any, path: Path = path, **more: Any) -> Any:
        model = model_of(forward, inner=inner)
        model.one = nn.Parameter(torch.ones(1))
        found = seen(model, path=path, **dict(zip(("q", "k", "mask"), args, strict=False)), **more)
        [shares] = [each["attention"] for each in found.values() if "attention" in each]
        np.testing.assert_allclose(shares.sum(2), 1.0, atol=0.01)
        return torch.tensor(shares)

    def near(found: Any, wanted: Any) -> None:
        wanted = wanted.detach()  # 70 keys in 64 cells
        cells = F.one_hot(torch.arange(70) * 64 // 70).float()
        torch.testing.assert_close(found, wanted @ cells, atol=1e-3, rtol=1e-2)

    near(of(fused, q, k), scores.softmax(-1))
    near(of(fused, q, k, is_causal=True), scores.masked_fill(is_after, -np.inf).softmax(-1))
    near(of(fused, q, k, attn_mask=mask), (scores + mask).softmax(-1))
    near(of(fused, q, k, attn_mask=~is_after, scale=1.0),
         (4.0 * scores).masked_fill(is_after, -np.inf).softmax(-1))  # fmt: skip
    near(of(fused, q, few, enable_gqa=True),
         (q @ few.repeat_interleave(3, 1).mT * by)[0, heads].softmax(-1))  # fmt: skip
    near(of(spelled, q, k, mask), (scores + mask).softmax(-1))
    weights = inner(q[:, 0], k[:, 0], k[:, 0], average_attn_weights=False)[1]
    near(of(of_layer, q, k), weights[0])


def test_several_models_have_their_samples_by_name(path: Path) -> None:
    parts = {"G": linear(2, 3), "D": linear(3, 1)}
    for bad in (torch.ones(1, 3), {"E": torch.ones(1, 3)}):
        refused(InputError).by(sv.follow, path=path, show=None, probe=bad, **parts)
    with sv.follow(path=path, show=None, probe={"D": torch.ones(2, 3)}, **parts) as run:
        run.step()
    assert [*sv.load(path).probe(1)] == ["D"]


def test_a_chain_of_known_layers_is_computed_by_the_viewer(path: Path) -> None:
    model = nn.Sequential(linear(3, 2), nn.Tanh())
    with sv.follow(model, path, show=None, probe=torch.ones(1, 3)) as run:
        run.step()
    night = sv.load(path)
    assert night.head().probe["shape"] == (3,) and night.probe_steps.size == 0


@pytest.mark.parametrize(
    "probe",
    [
        "sample",
        (),
        ("sample",),
        {"x": 3},
        torch.full((1, 3), torch.nan),
        (torch.ones(1) * torch.nan, 1),
        torch.ones(1) / 0,
    ],
)
def test_a_bad_probe_is_refused(probe: Any, path: Path) -> None:
    refused(InputError).by(sv.follow, linear(3, 2), path, show=None, probe=probe)


def test_the_example_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(following, "PROBE_EVERY", 1e9)
    _, _, guide = (ROOT / "docs/guide/follow.md").read_text().partition("    class Model(")
    lines = [line[4:] for line in f"    class Model({guide}".split("\n")]
    lines = lines[: next(i for i, line in enumerate(lines) if "output" in line) + 1]
    names: dict[str, Any] = {"sv": sv, "torch": torch}
    exec("\n".join(lines), names)
    shown = [line.partition("  # ") for line in lines if "  # " in line]
    for code, _, result in shown:
        if code.strip()[:1] in ("n", "[") or code.strip().endswith(".shape"):
            assert str(eval(code, names)) in result.replace("array([ 1, 10])", "[ 1 10]")
    assert len(shown) > 5 and {"mean", "std", "zeros"} <= {*names["seen"]["conv"]}


# ---- the picture --------------------------------------------------------------------------------


def seeing(self: Any, x: Any) -> Any:
    x = self.pool(F.relu(self.conv(x))).flatten(2).mT
    return self.out(x + self.attn(x))


def test_the_picture_has_the_maps_of_the_last_probe(studio: Studio, path: Path) -> None:
    parts = {"conv": nn.Conv2d(1, 8, 3), "pool": nn.MaxPool2d(2), "out": linear(8, 2)}
    case = Case(lambda: model_of(seeing, **parts, attn=Attention(8, 2)), noise(2, 1, 14, 14))
    train(case, path, 6, torch.randn(1, 1, 14, 14))
    session = sv.load(path).session
    del session.trainer.run.followed.record.looks[4]
    session.seek(4)
    stage = Stage(Show(session), Look(), reduced_motion=True)
    studio.stage(stage, 0.0, SIZE)
    maps = [each for each in stage.plan.marks if each.kind == "map"]
    known = {(each.look, each.words): each.size + 1 for each in maps}
    assert known == {("maps", "conv"): 4, ("attention", "attn"): 2, ("output", ""): 1}
    assert any(each.endswith("squares: probe at step 3") for each in stage.picture().words)
    assert not any(each.kind == "map" for each in layout_of(session, maps=False).marks)
    for each in maps:
        numbers = session.trainer.run.probe[1][each.words][each.look]
        shares = shares_of(numbers, each.look)
        assert shares.shape == (numbers.shape if numbers.ndim == 3 else (1, len(numbers), 1))
        assert np.ptp(shares) > 0.1 and np.abs(shares).max() == 1.0
    rows = dict(page_probe(session) or [])
    assert rows[3]["conv"]["maps"]["dtype"] == "int8" and rows[3]["conv"]["mean"]
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)
    for mark, said in (
        (maps[1], "conv: map 1 at step 3"),
        (maps[-2], "attn: head 1 at step 3"),
        (maps[-1], "outputs at step 3, first on top"),
    ):
        before = studio.stage(stage, 0.0, SIZE)
        stage.hover_at(*see(np.array(mark.points)).xy.mean(axis=0).tolist())
        after = studio.stage(stage, 1.0, SIZE)
        assert said in stage.picture().words
        assert (before != after).any(axis=2).sum() > 40_000
    stage.hover_at(*places(stage, SIZE)[0])
    studio.stage(stage, 2.0, SIZE)
    assert stage.map is None and "for the probe" in stage.picture().words
    assert any(each.startswith("mean ") for each in stage.picture().words)


# ---- the record ----------------------------------------------------------------------------------


def test_a_probe_has_a_part_of_the_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "ALONE", 1e-9)
    monkeypatch.setattr(following, "GRACE", 1e9)
    train(TRAINED["mlp"], path, 20, torch.ones(1, 4))
    assert sv.load(path).probe_steps.tolist() == [1, 20] and sv.load(path).steps.size == 21


def test_the_file_stays_within_its_size(path: Path) -> None:
    model = model_of(lambda self, x: self.conv(x), conv=nn.Conv2d(1, 4, 1))
    with sv.follow(model, path, show=None, probe=torch.ones(1, 1, 30, 30), size=800_000) as run:
        for _ in range(300):
            run.step()
    night = sv.load(path)
    steps = night.probe_steps
    assert run.lack == "" and path.stat().st_size < 800_000
    assert 3 < len(steps) < 7 and steps[-1] == 300 and np.diff(steps).max() < 150
    assert all(night.probe(step)["conv"]["maps"].shape == (4, 27, 27) for step in steps.tolist())
    assert night.probe(299) and run.notes == []


FORM = [{"path": "a", "maps": [1, 2, 2], "attention": [1, 1, 2], "output": 2}]
NUMBERS = np.linspace(0.0, 0.9, 6, dtype="<f4"), np.arange(6, dtype="<f2")


def test_probes_and_steps_share_the_file(path: Path) -> None:
    recorder = Recorder(str(path), 60_000, 12_000.0)
    recorder.begin({"arrays": [], "step": 0}, 800, 0)
    for step in range(1, 400):  # the probe has another form every 40 steps
        recorder.keep(b"PAGE", step, np.zeros(100))
        with suppress(FileError):
            recorder.look(step, bytes([step // 40]), *NUMBERS)
    recorder.close()
    data = path.read_bytes()
    assert 100 < data.count(b"LOOK") < 12_000 / 68 and data.count(b"PAGE") > 30


def written(path: Path, form: bytes) -> Any:
    """Return a record with a FORM, whose LOOK has the numbers of the unchanged one."""
    recorder = Recorder(str(path), 100_000, 10_000.0)
    recorder.begin({"arrays": [], "step": 0}, 8, 0)
    recorder.append(b"LOSS", bytes(8), b"\1" + bytes(7), np.zeros(1))
    recorder.look(1, form, *NUMBERS)
    recorder.close()
    return sv.load(path)


def raises_sentence(night: Any) -> None:
    with pytest.raises(FileError) as raised:
        night.probe(1)
    assert str(raised.value).isprintable() and "\n" not in str(raised.value)


def test_hostile_probes_cost_a_sentence(path: Path) -> None:
    good = json.dumps(FORM).encode()
    night = written(path, zlib.compress(good))
    row = night.probe(5)["a"]
    assert {name: np.shape(each) for name, each in row.items()} == {
        "mean": (), "std": (), "zeros": (), "maps": (1, 2, 2), "attention": (1, 1, 2),
        "output": (2,),
    }  # fmt: skip
    for place in range(len(leaves(FORM))):
        for odd in [*ODD, 10**400, [10**9] * 40, [2**62] * 3, [[1]], 4, [4], [2]]:
            changed = copy.deepcopy(FORM)
            holder, key = leaves(changed)[place]
            holder[key] = odd
            if changed != FORM and not (key == "path" and isinstance(odd, str)):
                damaged = written(path, zlib.compress(json.dumps(changed).encode()))
                raises_sentence(damaged)
    empty = {"path": "a", "maps": [], "attention": [], "output": 0}
    for shapes in (
        {"maps": [4, 1, 0], "output": 5},
        {"maps": [10, 1, 1]},
        {"attention": [10, 1, 1]},
    ):
        raises_sentence(written(path, zlib.compress(json.dumps([empty | shapes]).encode())))
    for form in (b"", zlib.compress(good)[:-1], zlib.compress(bytes(10**8))):
        raises_sentence(written(path, form))
