"""Pages with a recording: its numbers, its order, what it refuses, and when a page plays it."""

from __future__ import annotations

import base64
import gzip
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.errors import EngineError, GradientError, InputError
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import page as module
from scalarviz.pages import page as page_module
from scalarviz.pages import recording
from scalarviz.pages.exhibit_data import probe_of
from scalarviz.pages.page import PLAYED, page_of
from scalarviz.pages.recording import PLACES, PRECISIONS, pieces, recording_of, spare_of, tops_of
from scalarviz.stage.show import Show
from scalarviz.training.follow import following
from tests.pages.conftest import Files, Opens
from tests.pages.node import data_in, floats, in_web, script_in, unpacked
from tests.pages.states import Walk
from tests.sessions import advanced
from tests.wording import refused

OPEN = """
const own = new RecordingClient(Uint8Array.from(atob(data.bytes), (c) => c.charCodeAt(0)), data);
const seen = [];
own.onstate = (state) => seen.push(state);
own.onrefused = (key) => seen.push(key);
"""
ROOM = 10**7
FINEST = PRECISIONS[0].values


def small(**more: Any) -> sv.Session:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    return sv.Session(net, data.Xor(), "mse", sv.Adam(0.05), engine="python", **more)


@pytest.fixture
def session() -> sv.Session:
    return small()


def shown(session: sv.Session, body: str, steps: int = 30, every: int = 1) -> Any:
    """What JavaScript returns of a recording of a session: `own` is its client."""
    made = recording_of(session, probe_of(session), steps, every, ROOM)
    plain = base64.b64encode(gzip.decompress(made.data)).decode()
    given = {"bytes": plain, "engine": made.engine, "recording": made.spec}
    return in_web("client", OPEN + body, **given)


def test_rates_are_those_of_the_schedule(session: sv.Session) -> None:
    session.optimizer = sv.SGD(0.5, schedule=sv.Schedule("step", every=2, factor=0.5))
    found = shown(session, "return own.places.map(({step, rate}) => [step, rate])", 4)
    assert dict(found) == {0: 0.5, 1: 0.5, 2: 0.25, 3: 0.25, 4: 0.125}


def test_numbers_are_those_of_the_training_within_the_stated_precision() -> None:
    session = advanced(small(), 2)
    places = shown(session, "return own.places", 6)
    expected = {}
    walk = Walk(session)
    for _ in range(6):
        value = session.network.bank.value.copy()
        for state in walk.states():
            expected[state["step"], state["operation"], state["moment"]] = state | {
                "value": value if state["operation"] else state["value"]
            }
    walked = [place for place in places if place["moment"] >= 0]
    assert len(walked) == len(expected) == 6 * len(session.operations)
    top = max(np.abs(place["value"]).max() for place in places)
    for place in walked:
        state = expected[place["step"], place["operation"], place["moment"]]
        near = {"rtol": 0.0, "atol": 0.51 * top / FINEST}
        np.testing.assert_allclose(floats(place["value"]), state["value"], **near)
        for name in ("values", "gradients"):
            assert place[name].keys() == state[name].keys()
        arrays = [(place["grad"], state["grad"]), (place["target"], state["target"])]
        for name in ("values", "gradients"):
            arrays += [(place[name][each], state[name][each]) for each in state[name]]
        for found, wanted in arrays:
            near["atol"] = 0.51 * np.abs(wanted).max() / FINEST + 1e-30
            np.testing.assert_allclose(floats(found), wanted, **near)


def test_arrays_of_all_kinds_come_back(rng: np.random.Generator) -> None:
    walk = np.cumsum(rng.normal(size=(20, 7)), axis=0)
    slow = 5.0 + 1e-4 * walk
    jumps = np.where(np.arange(20)[:, np.newaxis] % 2, 3.0, -3.0) * np.ones(7)
    wild = rng.normal(size=7)
    wild[2], wild[4] = np.nan, np.inf
    tracks = {"slow": slow, "walk": walk, "jumps": jumps, "none": np.zeros((20, 7))}
    arrays = [(name, rows[i]) for i in range(20) for name, rows in tracks.items()]
    own = [1e-12 * walk[0], 1e-12 * walk[0], wild, np.zeros(7), 1e9 * walk[1]]
    arrays += [("", each) for each in own]
    tops = tops_of(arrays)
    parts = dict.fromkeys(tops, PRECISIONS[0].values)
    body = """
    const bytes = Uint8Array.from(atob(data.bytes), (c) => c.charCodeAt(0));
    const reader = new ArrayReader(bytes, data);
    const found = data.names.map((name) => Array.from(reader.next(7, name)));
    return [found, reader.at === bytes.length];"""
    given = {"names": [name for name, _ in arrays], "parts": parts, "tops": tops}
    packed = base64.b64encode(b"".join(pieces(arrays, tops, parts, PRECISIONS[0]))).decode()
    found, ended = in_web("client", body, bytes=packed, **given)
    assert ended
    for (name, wanted), back in zip(arrays, found, strict=True):
        finite = wanted[np.isfinite(wanted)]
        top = tops[name] if name else np.abs(finite).max()
        near = {"rtol": 1e-6 if finite.size < 7 else 0.0, "atol": 0.51 * top / FINEST}
        np.testing.assert_allclose(floats(back), wanted, **near)


PLACE = "(s) => [s.step, s.operation, s.moment, s.loss]"


def test_it_goes_on_back_and_to_any_place_and_gives_the_same_numbers_there(
    session: sv.Session,
) -> None:
    count = len(session.operations)
    there, back = shown(
        session,
        """
        const go = async (name) => {
          const found = [];
          const one = {count: 1, unit: "operation"};
          for (let i = 0; i < 400; i++) found.push(await own.ask(name, one));
          return found;
        };
        const there = [await own.ask("state"), ...await go("advance")];
        return [there, await go("back")];
        """,
        12,
    )
    places = [(state["step"], state["operation"]) for state in there]
    walked = [step for step in range(12) if step % 2 == 0]
    expected = []
    for step in range(13):
        expected += [(step, k) for k in range(count if step in walked else 1)]
    assert places[: len(expected)] == expected and {*places[len(expected) :]} == {(12, 0)}
    assert there[-1]["stopped"]["why"] == "end" and there[3]["stopped"] is None
    ways = {(state["step"], state["operation"]): state["value"] for state in there}
    order = [(state["step"], state["operation"]) for state in back]
    assert order[: len(expected) - 1] == expected[-2::-1]
    assert all(ways[state["step"], state["operation"]] == state["value"] for state in back)
    late = next(k for k, each in enumerate(session.operations) if each == "loss") + 1
    losses = [state["loss"] for state in there if state["step"] == 4]
    session.advance(12, progress=False)
    known = [session.losses[3 if operation < late else 4] for operation in range(count)]
    np.testing.assert_allclose(losses, known, 1e-6)
    np.testing.assert_allclose(
        [state["loss"] for state in there if state["operation"] == 0][-1], session.losses[-1], 1e-6
    )


def test_it_seeks_plays_and_starts_again() -> None:
    found = shown(
        small(),
        f"""
        const place = {PLACE};
        const asked = [["seek", {{step: 20}}], ["seek", {{step: 9}}],
          ["seek", {{step: 0, operation: 4}}], ["seek", {{step: 99}}],
          ["reset", {{}}], ["advance", {{count: 7, unit: "step"}}],
          ["back", {{count: 2, unit: "step"}}]];
        const found = [];
        for (const [name, args] of asked) found.push(place(await own.ask(name, args)));
        await own.ask("play", {{speed: null}});
        while (own.timer) await new Promise((done) => setTimeout(done, 5));
        return [found, place(seen.at(-1)), seen.at(-1).playing, seen.at(-1).stopped];
        """,
    )
    places, last, playing, stopped = found
    assert [each[:2] for each in places] == [
        [20, 0], [9, 0], [0, 4], [30, 0], [0, 0], [7, 0], [5, 0],
    ]  # fmt: skip
    assert last[:2] == [30, 0] and playing is False and stopped["why"] == "end"


def test_what_would_change_it_is_refused_in_a_sentence() -> None:
    said = shown(
        small(),
        """
        const before = await own.ask("state");
        const others = ["undo", "redo", "sample", "own input"];
        for (const name of ["edit", "learning rate", "freeze", ...others]) {
          await own.ask(name, {row: 1, value: 9, rate: 9});
        }
        await own.ask("seek", {step: 1, operation: 2});
        if (await own.ask("evaluate", {inputs: [1, 2]}) !== null) throw new Error("answered");
        return [seen.filter((each) => typeof each === "string"), before, own.state()];
        """,
    )
    keys, before, after = said
    assert keys == ["page.recorded.refused"] * 7 + ["page.recorded.whole"]
    assert before["value"] == after["value"] and before["step"] == after["step"] == 0


def test_every_keeps_some_steps_and_the_losses_of_all() -> None:
    steps, losses = shown(
        small(), "return [data.recording.steps, [...own.losses]]", steps=100, every=25
    )
    assert steps == [0, 1, 25, 26, 50, 51, 75, 76, 100] and len(losses) == 100


def test_a_click_on_the_curve_leads_to_the_nearest_recorded_step() -> None:
    body = """
        const found = [];
        for (const step of [20, 35, 44, 99, 1e6])
          found.push((await own.ask("seek", { step })).step);
        return found;
    """
    assert shown(small(), body, steps=100, every=25) == [25, 26, 50, 100, 100]


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("operations", [0, 2])
@pytest.mark.parametrize(
    "make", [lambda s: recording_of(s, probe_of(s), 5, 1, ROOM), page_of], ids=["recording", "page"]
)
def test_the_session_stays_at_its_moment(make: Any, operations: int) -> None:
    session = advanced(small(), 4)
    session.advance(operations, "operation")
    bank = session.network.bank
    before = session.clock, bank.value.tolist(), bank.grad.tolist(), session.losses.tolist()
    make(session)
    assert before == (
        session.clock,
        bank.value.tolist(),
        bank.grad.tolist(),
        session.losses.tolist(),
    )


def test_a_training_that_is_refused_is_recorded_up_to_there() -> None:
    net = sv.Network([2, 3, 1], "linear", seed=0)
    session = sv.Session(net, data.Xor(), "mse", sv.SGD(1e30), engine="python")
    made = recording_of(session, probe_of(session), 500, 1, ROOM)
    assert made.steps < 500 and made.spec["stopped"] in ("gradient", "overflow")
    assert made.spec["steps"][-1] == made.steps
    stuck = session.copy()
    refused(GradientError).by(stuck.advance, 500)
    refused(GradientError).by(recording_of, stuck, probe_of(stuck), 5, 1, ROOM)


def test_it_goes_over_steps_where_the_training_would_stop_by_itself(session: sv.Session) -> None:
    session.stop_when("loss < 100", "grad norm > 1e-9")
    made = recording_of(session, probe_of(session), 20, 1, 10**6)
    assert made.steps == 20 and session.stop_conditions and not session.stopped


@pytest.mark.slow
def test_precision_is_lowered_to_fit_that_of_gradients_first_and_that_is_said() -> None:
    session, page = small(), partial(module.Page, b"x" * 400_000, 0)
    full, less, least = (
        recording_of(session, probe_of(session), 200, 1, room) for room in (10**6, 100_000, 45_000)
    )
    assert full.parts == PRECISIONS[0] and len(full.data) > len(less.data) > len(least.data)
    assert less.parts.gradients < less.parts.values == full.parts.values > least.parts.values
    begin, end = (
        "a.html: 400 kB, a recording of 200 steps, values rounded to 1 part in",
        "of the largest",
    )
    assert page(full).words("a.html") == f"{begin} 30,000 {end}"
    for made in (less, least):
        gradients = f"gradients rounded to 1 part in {made.parts.gradients:,}"
        assert page(made).words("a.html") == f"{begin} {made.parts.values:,} {end}, {gradients}"
    refused(InputError, 50, "every=").by(recording_of, session, probe_of(session), 50, 1, 3_000)


@pytest.mark.slow
def test_what_is_not_recorded_leaves_room_to_what_is(
    monkeypatch: pytest.MonkeyPatch, session: sv.Session
) -> None:
    made = page_of(session, engine=False, steps=200)
    assert made.recording is not None
    spare = len(made.text) - 4 * len(made.recording.data) // 3
    most = spare + 60_000
    monkeypatch.setattr(module, "LARGEST", most)
    fitted = page_of(session, engine=False, steps=200)
    assert fitted.recording is not None and fitted.recording.parts < made.recording.parts
    assert most - 20_000 < len(fitted.text) <= most


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("steps", "every", "better"),
    [(10**12, 1, None), (2**63 - 1, 2**62, None), (2_000_000, 1, 5), (2_000_000, 3, 5)],
)
def test_what_cannot_fit_is_refused_before_it_trains(
    monkeypatch: pytest.MonkeyPatch, steps: int, every: int, better: int | None
) -> None:
    monkeypatch.setattr(sv.Session, "advance", lambda *_, **__: pytest.fail("it trains"))
    refused(InputError, steps, f"every={better}" if better else "fewer steps").by(
        page_of, small(), engine=False, steps=steps, every=every
    )


@pytest.mark.slow
def test_so_is_a_recording_whose_weights_take_too_much_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sv.Session, "advance", lambda *_, **__: pytest.fail("it trains"))
    net = sv.Network([2, 20_000, 1], "tanh", seed=0)
    session = sv.Session(net, data.Xor(), "mse", sv.SGD(0.05), engine="python")
    refused(InputError, 10_000, "every=").by(page_of, session, engine=False, steps=10_000)


def test_the_page_of_a_followed_run_fits_by_having_fewer_moments_and_says_so(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PICTURES", "FEW", "ALONE"):  # each step is recorded
        monkeypatch.setattr(following, name, 1e12)
    monkeypatch.setattr(recording, "MOST_LOSSES", 20)
    sizes = {"small": 1e-3, "large": 1e3}
    with sv.follow(path=tmp_path / "night.sv", show=None) as run:
        for step in range(40):
            arrays = {name: size * rng.normal(size=(40, 25)) for name, size in sizes.items()}
            run.step(arrays, float(step) if step < 38 else np.nan, {**arrays})
    night: Any = sv.load(tmp_path / "night.sv")
    monkeypatch.setattr(page_module, "LARGEST_OF_RECORD", 420_000)
    page = page_of(night)
    assert 400_000 < len(page.text) <= 420_000
    made = page.recording
    assert made is not None and made.parts in PRECISIONS[: recording.FAIR + 1]
    steps = made.spec["steps"]
    assert 2 < len(steps) < len(night.steps) == 40 and [steps[0], steps[-1]] == [1, 40]
    start = text("page.record.moments", count=len(steps), all=40, parts=made.parts.values)
    about = data_in(page.text)["spec"]["page"]["about"]
    assert about.endswith(f"{start} {text('page.record.losses', count=2)}")
    plain = base64.b64encode(gzip.decompress(made.data)).decode()
    given = {"bytes": plain, "engine": made.engine, "recording": made.spec}
    places, losses = in_web("client", OPEN + "return [own.places, own.losses];", **given)
    for place in places:
        for name, kept, parts in (
            ("value", night.parameters(place["step"]), made.parts.values),
            ("grad", night.gradients(place["step"]), made.parts.gradients),
        ):
            found = np.split(floats(place[name]), 2)
            for array, wanted in zip(found, kept.values(), strict=True):
                near = 0.6 * np.abs(wanted).max() * 1.6 / parts  # the largest of all moments
                np.testing.assert_allclose(array, wanted.ravel(), rtol=0.0, atol=near)
    assert losses[:4] == [1.5, 1.5, 3.5, 3.5] and losses[-3:] == [37, "NaN", "NaN"]
    opening = "const at = () => own.state().step, first = at(); own.play(null); own.pause();"
    given["recording"] = data_in(page.text)["spec"]["recording"]
    assert in_web("client", f"{OPEN} {opening} return [first, at()];", **given) == [40, 1]
    assert night.session.step_index == 40
    monkeypatch.setattr(page_module, "LARGEST_OF_RECORD", 315_000)
    refused(InputError, "pass on its file").by(page_of, night)


# Which page it is.


def generated() -> sv.Session:
    def make(step: int, batch: int, seed: int) -> Any:
        inputs = np.random.default_rng([seed, step]).random((batch, 2))
        return inputs, inputs[:, :1]

    net = sv.Network([2, 3, 1], "tanh", seed=0)
    return sv.Session(net, data.Generated(make, inputs=2, outputs=1, samples=4), engine="python")


def test_what_a_page_cannot_train_is_recorded_and_the_reason_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(module, "inform", said.append)
    session = generated()
    assert sv.page(session, tmp_path / "a.html", steps=5) == (tmp_path / "a.html").stat().st_size
    assert "The page is a recording: the batches of Generated" in said[0]
    assert [line.count("\n") for line in said] == [0, 0] and said[1].startswith("a.html: ")
    refused(EngineError, "Generated").by(sv.page, session, tmp_path / "b.html", engine=True)
    assert [*tmp_path.iterdir()] == [tmp_path / "a.html"]


def test_what_has_no_layers_or_a_wrong_number_is_refused_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    session = sv.Session(sv.compile(lambda x, a=1.0: a * x, inputs=1), ([[1.0]], [[2.0]]))
    refused(EngineError, "Expression").by(sv.page, session, tmp_path / "a.html", engine=False)
    for wrong in ({"steps": 0}, {"every": 0}, {"steps": 1.5}, {"engine": "cpu"}):
        refused(InputError).by(sv.page, small(), tmp_path / "a.html", **{"engine": False, **wrong})  # type: ignore[arg-type]  # on purpose
    assert [*tmp_path.iterdir()] == []


def test_a_recording_has_no_engine_and_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: pytest.fail("kernels were compiled"))
    made = page_of(small(), engine=False, steps=100)
    assert made.engine == 0 and made.recording is not None and made.recording.steps == 100
    assert len(made.text) < 700_000 and "class Engine {" not in script_in(made.text)
    assert page_of(small(), engine=False, steps=100).text == made.text
    assert len(made.recording.spec["walked"]) == recording.WALKED
    assert data_in(made.text)["spec"]["page"]["speed"] == 100 / PLAYED  # it lasts some seconds


def test_compressing_ends_as_soon_as_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    content = np.random.default_rng(0).bytes(400_000)
    packed = recording.compressed(content, 10**6)
    assert packed is not None and gzip.decompress(packed) == content
    assert recording.compressed(content, len(packed)) == packed
    assert recording.compressed(content, len(packed) - 1) is None
    monkeypatch.setattr(recording, "PIECE", 1000)
    taken: list[int] = []

    class Content(bytes):
        def __getitem__(self, part: Any) -> Any:
            taken.append(part.start)
            return super().__getitem__(part)

    assert recording.compressed(Content(content), 50_000) is None
    assert 0 < len(taken) < 150


LOOK = """
const client = new RecordingClient(Uint8Array.from(data.bytes), data);
const first = await client.ask("state");
const step = await client.ask("advance", { count: 1, unit: "operation" });
const last = await client.ask("seek", { step: 1e6 });
return [first.step, first.value, step.operation, last.step, last.loss];
"""


def small_rgb(**given: Any) -> sv.Session:
    network = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    given = {"batch": 8, "engine": "python", **given}
    return sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), **given)


def test_a_page_has_a_recording_from_where_the_session_stands() -> None:
    session = advanced(small_rgb(engine="cpu"), 7)
    before = session.network.bank.value.copy()
    given = data_in(page_of(session).text)["spare"]
    assert len(given["recording"]["steps"]) > PLACES[1]
    assert session.step_index == 7 and np.array_equal(session.network.bank.value, before)
    content = list(unpacked(given.pop("bytes")))
    step, value, operation, last, loss = in_web("client", LOOK, **given, bytes=content)
    assert (step, operation, last) == (7, 1, 607)
    np.testing.assert_allclose(value, before, atol=1e-3)
    assert loss < 0.9 * session.loss


def test_a_training_in_mixed_precision_has_one_of_its_own_numbers() -> None:
    session = advanced(small_rgb(engine="cpu", precision="mixed"), 7)
    assert data_in(page_of(session).text)["spare"]["engine"] and session.network.precision.mixed


@pytest.mark.slow
def test_it_is_the_same_each_time_and_measures_nothing() -> None:
    calls = []

    def mine(predictions: Any, targets: Any) -> float:
        calls.append(len(targets))
        return 0.0

    session = advanced(small_rgb(metrics=[mine], every=1), 2)
    before, probe = len(calls), probe_of(session)
    assert spare_of(session, probe) == spare_of(session, probe) is not None
    assert len(calls) == before > 0 and session.step_index == 2


def test_a_training_that_is_refused_at_once_has_none() -> None:
    network = sv.Network([2, 3, 1], "relu", "linear", seed=0)
    network.bank.value[:] = 1e30
    session = sv.Session(network, data.Xor(), "mse", sv.SGD(1e30), engine="python")
    assert spare_of(session, probe_of(session)) is None


@pytest.mark.parametrize(("limit", "value"), [("ROOM", 500), ("WORK", 10.0), ("NUMBERS", 100)])
def test_where_too_little_fits_there_is_none(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(recording, limit, value)
    session = small_rgb()
    assert spare_of(session, probe_of(session)) is None


@pytest.mark.slow
def test_a_page_that_is_too_large_with_it_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    session = small_rgb(engine="cpu")
    monkeypatch.setattr(page_module, "LARGEST", len(page_of(session).text) - 1000)
    assert data_in(page_of(session).text)["spare"] is None


@pytest.fixture(scope="module")
def file(files: Files) -> Path:
    show = Show.of(load(find("rgb"))())
    return files.write("recorded", page_of(show, engine=False, steps=200).text)


WITHOUT_ENGINE = "delete globalThis.WebAssembly; delete globalThis.Worker"


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_a_recording_is_played_walked_and_linked(
    opened: Opens, file: Path, size: tuple[int, int]
) -> None:
    tab = opened(file, size, "#step=20&op=7&pin=42", before=WITHOUT_ENGINE).ready()
    tab.until("app.state.step === 20 && app.state.operation === 7 && app.pinned?.row === 42")
    tab.settle()
    assert len(tab.shown("caption")) > 20 and len(tab.shown("card")) > 40
    hiding = "#rate", "#rate-number", "#undo", "#card label", "#sample-after"
    for hidden in (*hiding, "#card .toggle", "#branch", "#optimizer", "#size", "#weights"):
        assert not tab.page.locator(hidden).first.is_visible(), hidden
    before = tab.state
    tab.press(".", 2)
    tab.press(",", 2)
    assert tab.state == before
    for key in ("ArrowUp", "e", "b"):
        tab.ask("app.chip.hide()")
        tab.press(key)
        assert tab.shown("chip") == text("page.recorded.refused")
    tab.page.keyboard.press("Escape")
    tab.click("#strip button >> nth=0")
    tab.page.click("#play")
    tab.until("app.player.playing && app.state.step > 22")
    tab.page.click("#play")
    tab.until("!app.player.playing")
    tab.ask("void (location.hash = '#step=199&op=3')")
    tab.until("app.state.step === 199 && app.state.operation === 0")
    assert "0, 20, 40" in tab.shown("chip")
    tab.ask("void (location.hash = '#step=200&tour=no')")
    tab.until("app.state.step === 200")
    tab.press("ArrowRight")
    assert tab.shown("chip") == text("page.stopped.end")


@pytest.mark.slow
def test_a_recording_begins_with_the_tour(opened: Opens, file: Path) -> None:
    tab = opened(file, place="", before=WITHOUT_ENGINE).ready()
    tab.until("app.state.step > 20 && !app.tour")
