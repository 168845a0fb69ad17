"""What a file may cost: honest files load whatever they are, and each limit can be raised."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.limits import MADE, Budget
from scalarviz.data import DATA_SETS, DataSet, plane, rgb
from scalarviz.errors import FileError, InputError
from scalarviz.files import runs
from scalarviz.files.checked_safetensors import read, write
from tests.machine import traced_memory
from tests.sessions import advanced, reloaded, session_on
from tests.wording import refused

PIXELS = np.random.default_rng(0).integers(0, 256, (300, 8, 8), dtype=np.uint8)


def test_a_budget_counts_bytes_and_things() -> None:
    budget = Budget(1000)
    budget.take(600, "one")
    refused(InputError, "401 bytes").by(budget.take, 401, "two")
    layers = Budget(1000)
    layers.allow(10, "layers", 100)
    refused(InputError, "11 layers").by(layers.allow, 1, "layers", 100)


@pytest.mark.parametrize("limit", [0, -1, 1.5, "1", True])
@pytest.mark.parametrize(
    "load",
    [
        sv.load,
        sv.Session.load,
        data.from_csv,
        data.from_npz,
        data.Texture,
        data.Names,
        sv.onnx.load,
    ],
)
def test_a_limit_is_a_whole_number(load: Callable[..., object], limit: Any, tmp_path: Path) -> None:
    if load is sv.onnx.load:
        pytest.importorskip("onnx", reason="models take onnx")
    (tmp_path / "file").write_bytes(b"")
    refused(InputError, limit).by(load, tmp_path / "file", limit=limit)


# ---- data sets are weighed before they are made -------------------------------------------------

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "rgb": [{}, {"levels": 30}, {"samples": 5000}, {"samples": 10, "levels": 128}],
    "texture": [{}, {"picture": np.zeros((40, 50, 3))}, {"picture": np.zeros((40, 50), np.uint8)}],
    "digits": [{"pictures": PIXELS, "labels": PIXELS[:, 0, 0] % 10}],
    "names": [{}, {"names": "mara\ntarn\nida", "places": 40, "letters": "adimnrt"}],
    "arrays": [
        {"inputs": np.zeros((1000, 5), np.float32), "targets": np.zeros(1000, bool)},
        {"inputs": np.zeros((1000, 5)), "targets": np.zeros((1000, 1)), "share": 0.5},
    ],
    "xor": [{}],
    "xnor": [{}],
    "generated": [],  # made by code, which a file does not hold
}


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_data_set_takes_what_its_settings_say(name: str) -> None:
    some: list[dict[str, Any]] = [{}, {"samples": 5000}, {"samples": 5000, "share": 1.0}]
    takes = signature(DATA_SETS[name]).parameters
    for settings in SETTINGS.get(name, [each for each in some if each.keys() <= takes.keys()]):
        made: DataSet = DATA_SETS[name](**settings)
        tables: list[np.ndarray] = [*getattr(made, "training", ()), *(made.held_out or ())]
        tables += [made.picture] if isinstance(made, data.Texture) else []
        taken = sum(table.nbytes for table in tables if table.flags.owndata or table.base is None)
        taken = max(taken, sum(table.nbytes for table in getattr(made, "training", ())))
        assert taken <= made.cost(settings) + 10_000
        assert made.cost(settings) <= 2 * taken + 200_000


MADE_OF_SAMPLES = ["rgb", "circle", "gaussians", "spiral", "moons", "quadrants"]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", MADE_OF_SAMPLES)
def test_a_data_set_is_made_in_little_more_memory(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"samples": 300_000, "seed": 5}
    cost = DATA_SETS[name].cost(settings)
    with traced_memory() as memory:
        made: Any = DATA_SETS[name](**settings)
        assert memory()[1] < 2.6 * cost
    for module in (rgb, plane):
        monkeypatch.setattr(module, "PORTION", 10**9)  # all at once
    again: Any = DATA_SETS[name](**settings)
    for one, other in zip(made.training, again.training, strict=True):
        assert (one == other).all()


def kept(path: Path, chosen: DataSet) -> Path:
    """A run on a data set."""
    advanced(session_on(chosen, [chosen.inputs, chosen.outputs], batch=4), 2).save(path)
    return path


def test_data_that_a_run_only_describes_may_take_so_much(tmp_path: Path) -> None:
    path = kept(tmp_path / "run", data.Rgb(levels=4))
    needed = (4**3 + 512) * 6 * 8
    refused(FileError, f"limit={needed}").by(sv.Session.load, path, limit=needed - 1)
    assert sv.Session.load(path, limit=needed).step_index == 2
    description, arrays = read(path, "run")
    description["start"]["data"]["data"]["settings"]["levels"] = 128  # the most that can be asked
    write(path, "run", description, arrays)
    assert MADE > (128**3 + 512) * 6 * 8
    assert sv.Session.load(path).data.samples == 128**3


@pytest.mark.parametrize("held_out", [0.0, 0.5])
def test_data_that_a_run_holds_always_loads(
    held_out: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = data.Digits(pictures=PIXELS, labels=PIXELS[:, 0, 0] % 10, held_out=held_out)
    table = data.Arrays(PIXELS[:, 0], PIXELS[:, 0, :1], share=1.0 - held_out)
    pictures = [kept(tmp_path / each.name, each) for each in (digits, table)]
    monkeypatch.setattr(runs, "MADE", 1)
    for path in pictures:
        assert sv.Session.load(path).step_index == 2


def test_a_batch_that_is_drawn_from_nowhere_is_weighed(tmp_path: Path) -> None:
    texture = data.Texture(np.zeros((2, 2, 3)), samples=1000)
    sv.Session(sv.Network([2, 3]), texture, engine="python").save(tmp_path / "run")
    refused(FileError, "1,000 samples").by(sv.Session.load, tmp_path / "run", limit=39_999)
    assert sv.Session.load(tmp_path / "run", limit=40_000).data.samples == 1000


def test_layers_and_a_sample_on_its_way_are_weighed(tmp_path: Path) -> None:
    path = tmp_path / "net"
    sv.Network([sv.FrequencyEncoding(2, octaves=5000), sv.Dense(20_000, 1)]).save(path)
    numbers = 2 + 20_000 + 1
    refused(FileError, "2 layers").by(sv.load, path, limit=10_240)
    refused(FileError, f"limit={8 * numbers}").by(sv.load, path, limit=8 * numbers - 1)
    sv.load(path, limit=400_000)


# ---- a run lands on a keyframe ------------------------------------------------------------------


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("memory", [1, 3000, 30_000])
def test_an_honest_run_loads_without_a_step(
    memory: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(seed)
    s = session_on(
        data.Xor(), [2, 3, 1], "tanh", first=1, optimizer=sv.Adam(0.01), batch=4, engine="cpu",
        memory=memory,
    )  # fmt: skip
    for i in range(12):
        s.advance(int(chance.integers(1, 3000)))
        what = int(chance.integers(6))
        if what == 0:
            s.back(int(chance.integers(1, 2000)))
        elif what == 1:
            s.seek(int(chance.integers(0, s.step_index + 1)))
            s.edit(0, 0.5)
        elif what == 2:
            s.advance(int(chance.integers(1, 9)), "operation")
        elif what == 3:
            s.switch(int(chance.integers(len(s.branches))))
        elif what == 4:
            s.learning_rate = 0.02
            s.set_activation(0, ("relu", "tanh")[i % 2])
        s.save(tmp_path / "run")
        with monkeypatch.context() as patch:
            patch.setattr(type(s.trainer.run), "steps", lambda *_: pytest.fail("a step was taken"))
            loaded = sv.Session.load(tmp_path / "run")
        assert loaded.clock == s.clock
        assert (loaded.network.bank.value == s.network.bank.value).all()
        assert (loaded.network.bank.state == s.network.bank.state).all()
    for each in (s, loaded):
        each.seek(100)
        each.advance(50)
    assert (loaded.network.bank.value == s.network.bank.value).all()


def test_a_run_without_the_keyframe_where_it_stands_is_refused(tmp_path: Path) -> None:
    path = kept(tmp_path / "run", data.Xor())
    description, arrays = read(path, "run")
    first = {name: array[:1] for name, array in arrays.items() if name.startswith("frames 0")}
    write(path, "run", description, arrays | first)
    refused(FileError, "step 2").by(sv.Session.load, path)


def test_half_of_a_large_step_is_not_taken_while_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = advanced(sv.Session(sv.Network([2, 3, 1], "tanh"), data.Xor(), engine="python"), 7)
    s.edit(0, 0.5)
    s.advance(5, "operation")
    s.save(tmp_path / "run")
    assert sv.Session.load(tmp_path / "run").clock == s.clock
    products = s.trainer.products
    assert products == 4 * (2 * 3 + 3 + 3 + 1)
    monkeypatch.setattr(runs, "MOST_PRODUCTS", {"python": products - 1})
    with pytest.warns(UserWarning, match=r"start of step 7 now, since such") as caught:
        loaded = sv.Session.load(tmp_path / "run")
    assert caught[0].filename == __file__
    assert loaded.clock == (7, 0, 1)  # after the edit
    for each in (s, loaded):
        each.seek(9)
    assert (loaded.network.bank.value == s.network.bank.value).all()


def test_many_actions_at_one_place_are_done_as_one_by_one(tmp_path: Path) -> None:
    def make() -> sv.Session:
        net = sv.Network([2, 3, 1], "tanh", seed=1)
        precision = sv.Precision("mixed", 2.0**20, dynamic=True, patience=3)
        s = advanced(
            sv.Session(net, data.Xor(), "mse", sv.Adam(0.01), 4, "cpu", precision=precision), 10
        )
        s.to("cpu", "full")
        s.edit(1, 0.25)
        s.optimizer = sv.Momentum(0.1)
        s.network.train_step([[0.0, 1.0]], [[1.0]], optimizer=sv.Adam(0.1))
        s.set_activation(0, "relu")
        s.to("cpu", precision)
        s.learning_rate = 0.5
        s.freeze(2)
        return s

    one, other = make(), make()
    one.advance(20)  # as the user did it, one by one
    other.seek(0)
    other.seek(11)  # together
    other.seek(30)
    for each in (other, reloaded(other, tmp_path)):
        for name in ("value", "grad", "frozen", "state"):
            assert (getattr(one.network.bank, name) == getattr(each.network.bank, name)).all()
        assert each.network.bank.step_count == one.network.bank.step_count
        assert each.learning_rate == one.learning_rate == 0.5


@pytest.mark.slow
def test_frames_are_thinned_in_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    from scalarviz.training.session.branches import Branch, Frame, Keyframes

    branch = Branch(0)
    for step in range(20_000):
        branch.frames.append(Frame(step, {"state": np.zeros(3)}, None, None))
    rounds = []
    thin = Keyframes._thin
    monkeypatch.setattr(Keyframes, "_thin", lambda *given: (rounds.append(1), thin(*given)))
    Keyframes(100_000).take([branch], branch)
    assert len(rounds) < 60  # each takes about as long as there are frames left
    steps = [frame.step for frame in branch.frames]
    assert steps[0] == 0 and steps[-1] == 19_999 and len(steps) < 200 and steps == sorted(steps)
