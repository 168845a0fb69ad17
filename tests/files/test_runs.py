"""Run files: a session continues as if it had not stopped, also without its samples."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.faces.controller.train import Autosave
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.session import timeline
from tests.files.test_hostile_files import OTHERS
from tests.machine import traced_memory
from tests.sessions import advanced, bits, reloaded
from tests.wording import refused


def eventful(network: sv.Network | None = None, **options: Any) -> sv.Session:
    """A session in which everything has happened."""
    layers = [sv.Dense(3, 6, "tanh"), sv.LayerNorm(6), sv.Dense(6, 3, "sigmoid")]
    net = network or sv.Network(layers, init="he_uniform", seed=4)
    options = {"batch": 8, "seed": 3, "engine": "cpu"} | options
    optimizer = sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=900), clip_norm=1.0)
    s = advanced(sv.Session(net, data.Rgb("sepia", levels=6), "mse", optimizer, **options), 400)
    s.learning_rate = 0.02
    s.edit([3, 4], [0.5, -0.5])
    s.advance(100)
    s.freeze(net.layers[0])
    s.back(250)
    s.advance(3, "operation")
    s.edit(7, 0.25)
    s.set_activation(0, "relu")
    s.advance(200)
    s.optimizer = sv.Momentum(0.05, momentum=0.8)
    s.data = data.Rgb("hue", levels=6, angle=120.0)
    s.advance(30)
    s.freeze(5)
    s.advance(5, "operation")
    return s


def test_it_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    s = eventful()
    loaded = reloaded(s, tmp_path)
    for each in (s, loaded):
        each.advance(1)
        each.learning_rate = 0.001
        each.advance(77)
    assert bits(s) == bits(loaded)


@pytest.mark.some("keyframes")
@pytest.mark.parametrize(
    ("sizes", "steps", "portion"),
    [([2, 2, 1], 2_700_000, timeline.PORTION), ([30, 300, 1], 100, 0.0)],
    ids=["losses", "keyframes"],
)
def test_saving_takes_no_memory_for_what_is_long(
    sizes: list[int],
    steps: int,
    portion: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "PORTION", portion)
    monkeypatch.setattr(timeline, "LONGEST", portion)
    samples = np.zeros((4, sizes[0])), np.zeros((4, 1))
    s = advanced(
        sv.Session(sv.Network(sizes, "tanh"), samples, "mse", sv.Adam(0.001), engine="cpu"),
        steps,
        progress=False,
    )
    keep = Autosave(tmp_path / "run", keyframes=2**40)
    with traced_memory() as memory:
        keep.at_end(s, False)
        peak = memory()[1]
    assert peak < 2**21 < (tmp_path / "run").stat().st_size / 4
    assert (sv.Session.load(tmp_path / "run").losses == s.losses).all()


def test_a_file_with_fewer_keyframes_leads_to_the_same_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "PORTION", 0.0)
    monkeypatch.setattr(timeline, "LONGEST", 0.0)
    s = eventful()
    sizes, keyframes = [], [None, 30_000, 0]
    for most in keyframes:
        path = tmp_path / f"{most}"
        s.save(path, keyframes=most)
        sizes.append(path.stat().st_size)
        loaded = sv.Session.load(path)
        kept = sum(frame.size for branch in loaded.branches for frame in branch.frames)
        assert most is None or kept <= max(most, 3 * s.branches[0].frames[-1].size)
        for branch in (1, 0):
            for each in (s, loaded):
                each.switch(branch)
            for step in (490, 251, 137, 40):
                for each in (s, loaded):
                    each.seek(step)
                assert bits(s) == bits(loaded)
    assert sizes[0] > 2 * sizes[1] > 2 * sizes[2]
    refused(InputError, "-1").by(s.save, tmp_path / "none", keyframes=-1)


def test_keyframes_of_a_file_are_16_megabytes_unless_more_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "PORTION", 0.0)
    monkeypatch.setattr(timeline, "LONGEST", 0.0)
    net = sv.Network([100, 300, 1], "tanh", seed=0)
    s = advanced(
        sv.Session(
            net, (np.zeros((2, 100)), np.zeros((2, 1))), "mse", sv.Adam(0.001), engine="cpu"
        ),
        60,
        progress=False,
    )
    s.save(tmp_path / "usual")
    s.save(tmp_path / "all", keyframes=None)
    usual, whole = [(tmp_path / name).stat().st_size for name in ("usual", "all")]
    assert usual < 2**24 + 2**21 < whole


def test_a_replay_knows_what_an_optimizer_kept_past_the_session(tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], "tanh")
    s = sv.Session(net, data.Xor(), optimizer=sv.Momentum(0.1), engine="python", memory=1)
    net.train_step([0.5, -0.5], [1.0], "mse", sv.Momentum(0.1))
    s.advance(3)
    s.optimizer = sv.SGD(0.1)  # from here on no frame holds a velocity
    s.advance(2)
    loaded = reloaded(s, tmp_path)
    for each in (s, loaded):
        each.seek(2)
    assert bits(s) == bits(loaded)


def test_data_made_by_code_must_be_passed_again(tmp_path: Path) -> None:
    def make(step: int, batch: int, seed: int) -> tuple[Any, Any]:
        x = np.random.default_rng([seed, step]).random((batch, 2))
        return x, x[:, :1]

    generated = data.Generated(make, inputs=2, outputs=1)
    s = advanced(sv.Session(sv.Network([2, 1]), generated, batch=4, engine="cpu"), 10)
    s.save(tmp_path / "run")
    refused(FileError, "tmp_path/run").by(sv.Session.load, tmp_path / "run")
    assert bits(s) == bits(sv.Session.load(tmp_path / "run", data=generated))


def test_a_session_of_a_function_is_refused(tmp_path: Path) -> None:
    a = sv.Value(0.5)
    s = sv.Session(sv.compile(lambda x: a * x, inputs=1), ([[1.0]], [[2.0]]))
    refused(InputError).by(s.save, tmp_path / "run")
    assert not (tmp_path / "run").exists()


X = np.random.default_rng(0).random((40, 6), np.float32)
KINDS = np.array(["cat", "dog", "owl"])[np.arange(40) % 3]
ENGINES = pytest.mark.parametrize("engine", ["python", "cpu"])


def table(x: object = X, kinds: object = KINDS, **options: Any) -> data.Arrays:
    return data.Arrays(x, kinds, **{"share": 0.75, **options})


def trained(engine: str = "python", known: object = None) -> sv.Session:
    """A session that has trained on arrays, went back, and did something else."""
    net = sv.Network([6, 4, 3], "tanh", seed=0)
    chosen = table() if known is None else known
    s = advanced(
        sv.Session(net, chosen, "softmax_cross_entropy", sv.Adam(0.01), batch=8, engine=engine), 6
    )
    s.back(2)
    s.learning_rate = 0.1
    s.add_samples(X[0] + 1.0, 1)
    s.advance(3)
    return s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    trained().save(tmp_path / "run", data=False)
    return tmp_path / "run"


@ENGINES
def test_it_goes_on_with_the_same_data(engine: str, tmp_path: Path) -> None:
    s, given = trained(engine), table()
    s.save(tmp_path / "run", data=False)
    z = sv.Session.load(tmp_path / "run", given)
    assert str(z.data) == str(s.data)
    assert z.data.output_names == ["cat", "dog", "owl"]
    for each in (s, z):
        each.advance(5)
        each.seek(2)
        each.advance(4)
    assert (s.network.bank.value == z.network.bank.value).all()


def test_samples_are_neither_in_the_file_nor_copied_when_it_is_loaded(path: Path) -> None:
    description, arrays = read(path, "run")
    assert all(40 not in array.shape for array in arrays.values())
    assert X[20].tobytes() not in path.read_bytes()
    given = table()
    start = sv.Session.load(path, given).branches[0].frames[0].settings.data
    assert isinstance(start, data.Arrays)
    assert np.shares_memory(start.training[0], given.training[0])
    assert description["start"]["data"]["data"]["samples"]["inputs"] == "40 x 6 float32"


def test_a_pair_of_arrays_does_as_well(tmp_path: Path) -> None:
    s = trained(known=(X, np.arange(40.0) % 3))
    s.save(tmp_path / "run", data=False)
    z = sv.Session.load(tmp_path / "run", (X.copy(), [i % 3 for i in range(40)]))
    s.advance(3)
    z.advance(3)
    assert (s.network.bank.value == z.network.bank.value).all()


def test_data_of_a_file_and_of_the_session_are_the_same(tmp_path: Path) -> None:
    text = "\n".join(
        ",".join([*map(repr, map(float, row)), name]) for row, name in zip(X, KINDS, strict=True)
    )
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    s = trained(known=sv.data.from_csv(tmp_path / "t.csv"))
    s.save(tmp_path / "csv", data=False)
    for given in (sv.data.from_csv(tmp_path / "t.csv"), s.data):
        z = sv.Session.load(tmp_path / "csv", given)
        assert (z.network.bank.value == s.network.bank.value).all()
        assert z.data.samples == s.data.samples


def test_names_and_classes_are_those_of_the_file(path: Path) -> None:
    given = table(kinds=np.arange(40) % 3, classes=3)
    given.output_names = ["a", "b", "c"]
    assert sv.Session.load(path, given).data.output_names == ["cat", "dog", "owl"]
    assert given.output_names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (None, "data=(inputs, targets)"),
        (data.Xor(), "not Xor"),
        (table(X.astype(np.float64)), "float64"),
        (table(X[1:], KINDS[1:]), "39 x 6"),
        (table(X[:, :5]), "40 x 5"),
        (table(share=0.5), "20 samples"),
        (table(order="picked"), "picked"),
        (table(seed=1), "inputs of the data passed differ"),
        (table(X + 1.0), "inputs of the data passed differ"),
        (table(kinds=KINDS[::-1]), "targets of the data passed differ"),
    ],
)
def test_other_data_are_refused_by_what_differs(given: object, value: str, path: Path) -> None:
    refused(FileError, value).by(sv.Session.load, path, given)


WEIGHTS = np.arange(40.0) + 1.0


@pytest.mark.parametrize(
    ("trained_with", "given"),
    [
        ({"class_weight": "balanced"}, {}),
        ({"sample_weight": WEIGHTS}, {"sample_weight": WEIGHTS[::-1]}),
        ({}, {"sample_weight": WEIGHTS}),
        ({"held_out": 10}, {"held_out": 10, "sample_weight": WEIGHTS}),
        (
            {"held_out": 10, "sample_weight": WEIGHTS},
            {"held_out": 10, "sample_weight": np.minimum(WEIGHTS, 39.0)},
        ),
    ],
    ids=["forgotten", "others", "too many", "beside none", "of one held-out sample"],
)
def test_other_weights_of_samples_are_refused(
    trained_with: dict[str, Any], given: dict[str, Any], tmp_path: Path
) -> None:
    share = {} if "held_out" not in given else {"share": 1.0}
    s = trained(known=table(**trained_with, **share))
    s.save(tmp_path / "run", data=False)
    other = table(**given, **share)
    refused(FileError, "the same weights of samples").by(sv.Session.load, tmp_path / "run", other)
    again = sv.Session.load(tmp_path / "run", table(**trained_with, **share))
    for each in (s, again):
        each.seek(0)
        each.advance(8)
    assert (s.network.bank.value == again.network.bank.value).all()


def test_a_run_without_weights_says_of_its_samples_what_it_said_before_there_were_any(
    path: Path,
) -> None:
    description, _ = read(path, "run")
    samples = description["start"]["data"]["data"]["samples"]
    hashes = ["inputs SHA-256", "targets SHA-256"]
    assert sorted(samples) == sorted(["inputs", "targets", "held_out", "order", *hashes])


def test_what_the_package_makes_itself_is_saved_as_ever(tmp_path: Path) -> None:
    for known in (data.Xor(), data.Rgb(np.zeros((2, 2, 2, 3)), levels=2)):
        s = sv.Session(sv.Network([known.inputs, known.outputs]), known, engine="python")
        s.save(tmp_path / "all")
        s.save(tmp_path / "less", data=False)
        assert (tmp_path / "all").read_bytes() == (tmp_path / "less").read_bytes()


def test_a_run_of_two_data_sets_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    s = trained()
    s.data = table(X + 1.0)
    refused(InputError, "2 data sets").by(s.save, tmp_path / "run", data=False)
    assert not [*tmp_path.iterdir()]
    refused(InputError, "None").by(s.save, tmp_path / "run", data=None)


@pytest.mark.slow
def test_an_unsuitable_entry_is_refused_or_does_no_harm(path: Path) -> None:
    description, arrays = read(path, "run")
    entry = description["start"]["data"]["data"]
    for where in (entry, entry["settings"], entry["samples"]):
        for key in [*where]:
            kept = where[key]
            for other in OTHERS:
                where[key] = other
                write(path, "run", description, arrays)
                with suppress(ScalarvizError):
                    sv.Session.load(path, table())
            where[key] = kept


def test_many_classes_in_a_file_take_no_memory(path: Path) -> None:
    description, arrays = read(path, "run")
    description["start"]["data"]["data"]["settings"]["classes"] = 2**24
    write(path, "run", description, arrays)
    refused(FileError, "the rows of its labels").by(sv.Session.load, path, table())
