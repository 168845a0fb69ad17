"""Modules of the page that need no browser, run by Node.

The tour, what moves, options.
"""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.pages import page
from scalarviz.pages.engine_data import engine_data, initial_data, training_of
from scalarviz.stage.commands import page_keys
from tests.pages.conftest import rgb, xor
from tests.pages.node import InPage, data_in, floats, in_web, run_script
from tests.sessions import advanced

SCRIPT = Path(__file__).with_name("modules.mjs")
WEB = Path(page.__file__).with_name("web")
KEY = re.compile(r'"([a-z_]+(?:\.[a-z_]+)+)"')


def run(module: str, body: str) -> Any:
    """What the body of a function returns that gets a module as `page`."""
    return run_script(SCRIPT, (WEB / module).as_uri(), given=body)


def test_each_key_of_a_text_in_a_module_has_its_text() -> None:
    known = {*texts(), *(key.rsplit(".", 1)[0] for key in texts())}
    rooms = {key.split(".")[0] for key in known}
    found = [(file.name, key) for file in WEB.glob("*.js") for key in KEY.findall(file.read_text())]
    assert len(found) > 100
    assert [each for each in found if each[1].split(".")[0] in rooms and each[1] not in known] == []


def test_light_runs_forward_and_undone_backward_and_leaps_are_shown_at_once() -> None:
    body = """
      const pace = { shortest: 0.1, slowest: 2.4, shown: 0.95, longest: Array(12).fill(0.9) };
      const motion = new page.Motion(pace, false), told = [];
      const state = (step, operation, moment) => ({ step, operation, moment, focus: 0 });
      const at = time => { const { state, part, moving } = motion.at(time);
        told.push([state.operation, Math.round(100 * part), moving]); };
      motion.follow(state(0, 0, -1), 0, false);
      at(0);
      motion.follow(state(0, 1, 0), 10, false);
      for (const time of [10, 10.45, 11]) at(time);
      motion.follow(state(0, 0, -1), 20, false);
      for (const time of [20, 20.45, 21]) at(time);
      motion.follow(state(5, 0, -1), 30, false);
      at(30);
      motion.follow(state(5, 0, -1), 31, false);
      at(31);
      for (let i = 0; i < 900; i++) // while nobody sees the page
        motion.follow(state(6 + Math.floor(i / 12), i % 12 + 1, i % 12), 40 + i / 36, false);
      return [...told, motion.waiting.length < 12];
    """
    *told, is_short = run("motion.js", body)
    assert is_short and told == [
        [0, 100, False],
        [1, 0, True], [1, 50, True], [1, 100, False],
        [1, 100, True], [1, 50, True], [0, 100, False],
        [0, 100, False], [0, 100, False],
    ]  # fmt: skip


def test_a_neuron_comes_and_goes_with_the_light_of_a_page() -> None:
    body = """
      const pace = { shortest: 0.1, slowest: 2.4, shown: 0.95, longest: Array(12).fill(0.9) };
      const motion = new page.Motion(pace, false), told = [];
      const state = { step: 0, operation: 2, moment: 1, focus: 0 };
      const at = time => { const { neuron, part, moving } = motion.at(time);
        told.push([neuron, Math.round(100 * part), moving]); };
      let time = 0;
      for (const number of [4, 3, 4, 0, 3]) {
        motion.follow(state, time += 10, false, number, 4);
        for (const later of [0, 0.45, 1]) at(time + later);
      }
      return told;
    """
    still = [4, 100, False]
    assert run("motion.js", body) == [
        still, still, still,
        [4, 100, True], [4, 50, True], [3, 100, False],
        [4, 0, True], [4, 50, True], still,
        *[[0, 100, False]] * 3,
        [4, 100, True], [4, 50, True], [3, 100, False],
    ]  # fmt: skip


def test_losses_are_cut_gone_on_with_and_their_means_found() -> None:
    body = """
      const losses = new page.LossRecord(), told = [];
      const take = (from, values, last) => losses.take({ losses: { from, values }, last });
      const falling = (from, length) => Float64Array.from({ length }, (_, i) => 1 / (1 + from + i));
      take(0, falling(0, 5000), 5000);
      const block = (k) => losses.blocks(0, losses.end)[k][1];
      told.push(losses.end, losses.mean(100, 101), losses.mean(300, 303), block(1));
      take(700, falling(8000, 10), 710);
      told.push(losses.end, losses.mean(699, 701), block(2), losses.blocks(0, 710).length);
      take(710, falling(8010, 100), 810);
      told.push(losses.mean(705, 715));
      take(710, [NaN, Infinity, 0, 0.25], 714);
      told.push(losses.end, losses.mean(710, 714), losses.mean(710, 712));
      take(714, [], 3);
      told.push(losses.end);
      return told;
    """
    falls = 1.0 / (1.0 + np.arange(9000))
    cut = [*falls[512:700], *falls[8000:8010]]
    found = run("loss_record.js", body)
    assert found == pytest.approx([
        5000, falls[100], falls[300:303].mean(), falls[256:512].mean(),
        710, (falls[699] + falls[8000]) / 2.0, np.mean(cut), 3,
        falls[8005:8015].mean(),
        714, 0.125, np.sum([*cut, 0.25]) / (len(cut) + 2),
        3,
    ], rel=1e-9)  # fmt: skip


def test_a_show_plays_at_the_nearest_speed_and_without_one_as_fast_as_it_goes() -> None:
    body = """
      const speeds = [0.01, 10, 500, null, undefined, 1e5];
      return speeds.map((each) => page.SPEEDS[page.nearestSpeed(each)].steps);
    """
    assert run("player.js", body) == [1, 10, 300, None, None, None]


@pytest.mark.parametrize(
    ("key", "command", "with_ctrl"),
    [
        (".", ["operation on"], None),
        (",", ["operation back"], None),
        ("ArrowRight", ["advance"], None),
        (" ", ["play"], None),
        ("s", ["slow step"], None),
        ("r", ["reset"], None),
        ("?", ["keys"], None),
        ("q", None, None),
        ("z", ["undo"], ["undo"]),
        ("Shift z", ["redo"], ["redo"]),
        ("y", ["redo"], ["redo"]),
    ],
)
@pytest.mark.parametrize("change", ["", ".toUpperCase()"], ids=["", "with Caps Lock"])
def test_a_key_is_a_command_unless_it_belongs_to_the_browser(
    key: str, command: Any, with_ctrl: Any, change: str
) -> None:
    name = key.removeprefix("Shift ")
    body = f"""
      const known = {json.dumps(page_keys())};
      const key = {name!r}.length > 1 ? {name!r} : {name!r}{change};
      const event = {{ key, shiftKey: {json.dumps(key.startswith("Shift"))} }};
      return [page.commandOf(event, known), page.commandOf({{ ...event, ctrlKey: true }}, known)];
    """
    assert run("events.js", body) == [command, with_ctrl]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("-0,5", -0.5),
        (" \u22121e3 ", -1000),
        (".5", 0.5),
        ("\u2013 8", -8),
        ("0x10", "NaN"),
        ("", "NaN"),
        ("1 2", "NaN"),
        ("+-8", "NaN"),
    ],
)
def test_a_number_is_typed_in_decimals(words: str, number: object) -> None:
    found = run("numbers.js", f"return String(page.numberTyped({json.dumps(words)}))")
    assert found == (number if number == "NaN" else f"{number:g}")


def test_no_field_for_a_number_has_the_keypad_of_phones_which_lacks_a_minus() -> None:
    sources = [each for kind in ("js", "html") for each in WEB.parent.rglob(f"*.{kind}")]
    fields = [line for each in sources for line in each.read_text("utf-8").splitlines()]
    found = [line for line in fields if "inputmode" in line.lower()]
    assert len(found) == 1 and 'id="rate-number"' in found[0]  # a rate is never negative


def test_what_a_caption_names_is_pinned_by_the_name_of_its_line() -> None:
    lines = [
        {"sums": "affine 0", "values": "tanh 0", "also": ["batch norm 0"], "count": 2},
        {"sums": "affine 1", "values": "", "also": [], "count": 1},
    ]
    asked = [
        {"neuron": ["affine 0", 1]},
        {"neuron": ["batch norm 0", 0]},
        {"neuron": ["tanh 0", 2]},
        {"neuron": ["affine 1", 0]},
        {"neuron": ["other", 0]},
        {"row": 3},
        None,
    ]
    body = "return data.asked.map((thing) => pinnedFor(data.facts, thing));"
    assert in_web("cards", body, facts={"lines": lines}, asked=asked) == [
        {"neuron": ["tanh 0", 1]},
        {"neuron": ["tanh 0", 0]},
        None,
        {"neuron": ["affine 1", 0]},
        None,
        {"row": 3},
        None,
    ]


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


@pytest.mark.some(2)
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


@pytest.mark.some(1)
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
    change = f"clock.change({{ kind: 'batch', size: {size} }})"
    found = given.run(f"const clock = new Clock(engine); {change}; {take}")
    assert found == wanted.run(f"const clock = new Clock(engine); {take}")
    assert found["batch"] == size


def test_an_optimizer_is_changed_as_in_a_session(tmp_path: Path) -> None:
    session = xor()
    page = InPage(session, tmp_path)
    assert [each["name"] for each in page.data.spec["optimizers"]] == ["sgd", "adam"]
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


@pytest.mark.slow
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
