"""Options of a page in Node: batches of another size, another optimizer, another seed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages import page
from scalarviz.pages.engine_data import engine_data, initial_data, training_of
from tests.pages.in_web import floats, in_web
from tests.pages.pages import InPage, data_in
from tests.pages.test_engine import rgb, xor
from tests.sessions import advanced


def of_all_layers() -> list[sv.Layer]:
    inner = [sv.Dense(6, 6, "relu", init="he_normal"), sv.Dense(6, 6)]
    return [
        sv.Conv2d((1, 4, 4), 2, 3),
        sv.Dense(8, 6, init=sv.Init("normal", deviation=0.5, bias="fan_out")),
        sv.BatchNorm(6),
        sv.Dropout(6, 0.3),
        sv.Residual(*inner),
        sv.LayerNorm(6),
        sv.Dense(6, 2, bias=False),
    ]


def test_writing_a_page_adds_no_slots_of_other_optimizers_to_the_network() -> None:
    session = advanced(xor(), 1)
    before = [*session.network.bank.blocks]
    engine_data(session)
    assert [*session.network.bank.blocks] == before


@pytest.mark.parametrize("seed", [0, 1, 7, 2**33 + 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_are_those_of_a_network_of_the_seed(dtype: str, seed: int) -> None:
    network = sv.Network(of_all_layers(), seed=3, dtype=dtype)
    wanted = network.fresh(seed)
    found = in_web(
        "engine",
        "return initialNumbers(data.initial, data.seed, data.count)",
        initial=initial_data(network),
        seed=seed,
        count=len(network.bank),
    )
    values = floats(found["value"]).astype(dtype)
    if dtype == "float32":
        np.testing.assert_array_equal(values, wanted.bank.value)
    else:  # the logarithm and the cosine of a browser may differ in the last digit
        np.testing.assert_allclose(values, wanted.bank.value, rtol=1e-13)
    np.testing.assert_array_equal(found["state"], wanted.bank.state[3:])


def test_uniform_weights_are_exact_in_float64() -> None:
    network = sv.Network([3, 8, 3], "tanh", seed=0, dtype="float64")
    body = "return initialNumbers(data.initial, 9, data.count).value"
    found = in_web("engine", body, initial=initial_data(network), count=len(network.bank))
    assert found == network.fresh(9).bank.value.tolist()


def test_a_page_convolves_groups_as_the_engine_cpu_does(tmp_path: Path) -> None:
    layers = [
        sv.Conv2d((4, 5, 5), 6, 3, (2, 1), 1, "tanh", dilation=(1, 2), groups=2),
        sv.Conv2d((6, 3, 3), 6, 2, groups=6),
        sv.Dense(24, 2),
    ]
    x = np.random.default_rng(0).normal(size=(8, 100))
    options = {"optimizer": sv.SGD(0.1), "batch": 4, "engine": "cpu"}
    session = sv.Session(sv.Network(layers, seed=1), (x, x[:, :2]), **options)
    found = InPage(session, tmp_path).run("engine.train(5); return [...engine.value];")
    session.advance(5)
    np.testing.assert_allclose(found, session.network.bank.value, rtol=1e-5, atol=1e-6)


def test_a_training_with_another_seed_is_that_of_its_network(tmp_path: Path) -> None:
    session = xor()
    wanted = sv.Session(session.network.fresh(5), session.data, "mse", sv.SGD(0.1), batch=1)
    wanted.advance(40)
    found = InPage(session, tmp_path).run("""
        const clock = new Clock(engine);
        clock.advance(17);
        clock.begin(3);
        clock.begin(5);
        const start = [clock.step, clock.state().seed, clock.branch.number];
        clock.advance(40);
        const {value, begun, losses} = clock.state(0);
        clock.undo();
        return {start, value, losses: losses.values, step: clock.step, seed: clock.state().seed,
                moved: begun.some((each, i) => each !== value[i])};
    """)
    assert found["start"] == [0, 5, 1] and found["moved"]
    assert (found["step"], found["seed"]) == (17, None)
    np.testing.assert_allclose(found["losses"], wanted.timeline.branch.losses, rtol=1e-9)
    np.testing.assert_allclose(found["value"], wanted.network.bank.value, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 4, 64])
def test_batches_of_another_size_are_those_of_such_a_session(tmp_path: Path, size: int) -> None:
    folders = [tmp_path / "given", tmp_path / "wanted"]
    for folder in folders:
        folder.mkdir()
    given, wanted = (InPage(rgb(batch=n), to) for n, to in zip((8, size), folders, strict=True))
    assert size in given.data.spec["batches"]
    take = """
        clock.advance(40);
        clock.advance(5, "operation");
        clock.back(20);
        clock.advance(1, "epoch");
        const {step, value, batch, losses} = clock.state(0);
        return {step, value, batch, losses: losses.values};
    """
    change = f"clock.change({{ kind: 'size', size: {size} }})"
    found = given.run(f"const clock = new Clock(engine); {change}; {take}")
    assert found == wanted.run(f"const clock = new Clock(engine); {take}")
    assert found["batch"] == size


def test_an_optimizer_is_changed_as_in_a_session(tmp_path: Path) -> None:
    session = xor()
    page = InPage(session, tmp_path)
    names = [each["name"] for each in page.data.spec["optimizers"]]
    assert names == ["sgd", "adam"]
    session.advance(30)
    session.optimizer = sv.Adam()
    session.advance(30)
    middle = session.network.bank.value.tolist()
    session.optimizer = sv.SGD(0.1)
    session.advance(30)
    found = page.run("""
        const clock = new Clock(engine);
        clock.advance(30);
        clock.change({ kind: "optimizer", number: 1 });
        clock.advance(30);
        const {value: middle, rate, slots, made} = clock.state();
        clock.change({ kind: "optimizer", number: 0 });
        clock.advance(30);
        const {value, rate: last} = clock.state();
        clock.seek(50);
        clock.seek(90);
        return {middle, rate, slots: Object.keys(slots), counted: made.counted, value, last,
                same: engine.value.every((each, i) => each === value[i])};
    """)
    assert (found["rate"], found["last"], found["counted"]) == (0.001, 0.1, -30)
    assert found["slots"] == ["m", "v"] and found["same"]
    np.testing.assert_allclose(found["middle"], middle, rtol=1e-9)
    np.testing.assert_allclose(found["value"], session.network.bank.value, rtol=1e-9)


def test_a_page_with_large_layers_offers_no_larger_batches() -> None:
    inputs = np.zeros((100, 9))
    small = sv.Session(sv.Network([9, 9, 2], seed=0), (inputs, inputs[:, :2]), batch=4)
    large = sv.Session(sv.Network([9, 40_000, 2], seed=0), (inputs, inputs[:, :2]), batch=4)
    offered = [training_of(each.trainer, 0).sizes for each in (small, large)]
    assert offered == [[1, 2, 4, 8, 16, 32, 64], [1, 2, 4]]


def test_a_page_is_of_one_moment_while_another_thread_changes_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, began = xor(), threading.Event()

    def change() -> None:
        began.wait()
        session.set_activation(0, "relu")
        session.loss_function = "mae"

    thread = threading.Thread(target=change)
    thread.start()
    plain = page.exhibit_data

    def slow(given: sv.Session) -> object:
        began.set()
        thread.join(0.3)  # all the time in the world, where nothing holds it up
        return plain(given)

    monkeypatch.setattr(page, "exhibit_data", slow)
    sv.page(session, tmp_path / "page.html", progress=False)
    thread.join()
    content = json.dumps(data_in((tmp_path / "page.html").read_bytes()))
    assert "sigmoid 0" in content and "relu 0" not in content
    assert session.network.activations[0] == "relu"
