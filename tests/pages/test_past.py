"""All weights over time in a page: in Node as in Python, and the strip in a browser."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.pages.page import page_of
from scalarviz.scene.past_images import STRIPES
from scalarviz.stage.show import Show
from scalarviz.training.session.over_time import Now, WeightsOverTime
from scalarviz.training.session.reading import operation_facts
from tests.pages.browser import Tab
from tests.pages.conftest import Opens, rgb
from tests.pages.node import InPage
from tests.pages.test_modules import run
from tests.stage.test_followed_models import dying, logged

MOST = 12


def networks() -> list[sv.Network]:
    convolution = sv.Network([sv.Conv2d((1, 8, 8), 3), sv.Dense(108, 4)], seed=1)
    shared = sv.Dense(4, 4, "tanh")
    return [
        sv.Network([2, 40, 1], activation="tanh", seed=0),
        convolution,
        sv.Network([sv.Dense(2, 4), shared, shared, sv.Dense(4, 1)], seed=2),
    ]


@pytest.mark.parametrize("network", networks(), ids=["dense", "convolution", "shared"])
def test_numbers_of_a_page_are_those_of_python(network: sv.Network) -> None:
    count, random = len(network.bank), np.random.default_rng(3)
    data = np.zeros((2, network.inputs)), np.zeros((2, network.outputs))
    session = sv.Session(network, data, engine="python", batch=1)
    moments = [Now(step, random.normal(size=count)) for step in (0, 3, 4, 9)]
    branch = session.timeline.branch
    branch.frames[0].value[:] = start = moments[0].value.astype(np.float32)
    moments[0] = Now(0, start.astype(np.float64))
    reader = WeightsOverTime(network.program, count, MOST)
    facts = {
        "operations": [
            {**asdict(operation_facts(network.program, o)), "uses": None}
            for o in network.program.operations
        ]
    }
    given = [{"step": m.step, "value": m.value.tolist()} for m in moments]
    body = f"""
        const layers = page.layersOf({json.dumps(facts | {"rows": count})});
        const found = page.overTime({json.dumps(given)}, {{ layers, most: {MOST} }});
        const list = (each) => Array.from(each);
        return {{ steps: list(found.steps), tiles: list(found.tiles),
          heads: list(found.heads), counts: list(found.counts), groups: found.groups }};
    """
    page = run("over_time.js", body)
    seen = reader.read(branch, moments[-1], steps=[0, 3, 4, 7, 9], filled={branch: moments[1:-1]})
    assert page["steps"] == seen.steps.tolist() == [0, 3, 4, 9]
    assert page["groups"] == [list(each) for each in seen.groups]
    assert page["heads"] == seen.rows[seen.starts].tolist()
    assert page["counts"] == np.diff([*seen.starts, len(seen.rows)]).tolist()
    assert page["tiles"] == pytest.approx(seen.tiles.ravel(), rel=1e-12, abs=1e-12)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> InPage:
    return InPage(rgb(), tmp_path_factory.mktemp("past"))


ASKED = """{ order: "value", layers: [["", [[0, engine.value.length]]]],
    most: 1000, moments: 400 }"""


def test_moments_between_keyframes_are_computed_again(engine: InPage) -> None:
    found: dict[str, Any] = engine.run(f"""
        const clock = new Clock(engine);
        clock.pace = 1000;
        clock.advance(300);
        const past = new PastMoments(clock, open);
        const before = engine.save();
        let seen;
        do seen = await past.answer({ASKED}, false); while (seen.more);
        const isSame = same(before, engine.save());
        const other = new Clock(await open());
        const at = (step) => [...seen.steps].indexOf(step);
        const differs = [7, 150, 299].map((step) => {{
            other.seek(0), other.advance(step);
            return Math.max(...other.engine.value.map((each, row) =>
                Math.abs(each - seen.tiles[row * seen.steps.length + at(step)])));
        }});
        return {{ steps: seen.steps.length, isSame, differs, frames: clock.branch.frames.length }};
    """)
    assert found["steps"] == 301 and found["isSame"] is True
    assert found["differs"] == [0, 0, 0]
    assert found["frames"] < 200  # the rest was computed


def test_a_change_of_the_user_is_not_skipped(engine: InPage) -> None:
    found = engine.run(f"""
        const clock = new Clock(engine);
        clock.seek(0);
        clock.advance(20);
        clock.change({{ kind: "edit", row: 3, value: 9 }});
        clock.advance(40);
        const past = new PastMoments(clock, open);
        let seen;
        do seen = await past.answer({ASKED}, false); while (seen.more);
        const row = [...seen.tiles.subarray(3 * seen.steps.length, 4 * seen.steps.length)];
        const end = engine.value[3];
        return [row.at(-1) === end, row.every((each, i) => (seen.steps[i] > 20) === (each > 4))];
    """)
    assert found == [True, True]


@pytest.mark.slow
def test_the_strip_of_a_page_reads_goes_and_compares(tab: Tab) -> None:
    tab.do("app.player.ask('advance', {count: 40, unit: 'step'})")
    tab.page.click("#curve", position={"x": 80, "y": 6})  # its heading
    tab.until("app.past.isOpen")
    tab.ask("document.querySelector('#others').open = true")
    tab.page.click("#more")
    tab.page.click("#enlarge")
    tab.until("!app.past.isOpen")
    tab.press("Escape")
    tab.press("l")
    tab.until("app.past.seen && !app.past.seen.more && app.past.seen.steps.length === 41")
    box = tab.page.locator("#past > canvas").bounding_box()
    left, width = tab.ask("[app.curve.chart.plot.x, app.curve.chart.plot.width]")

    def place(step: float, tile: int) -> tuple[float, float]:
        return box["x"] + left + step / 40 * width, box["y"] + (tile + 0.5) / 59 * box["height"]

    tab.page.mouse.move(*place(10, 5))
    tab.until("app.past.pointed?.step === 10")
    value = tab.ask("app.past.seen.tiles[5 * 41 + 10]")
    said = tab.ask("app.past.said()")
    assert said.endswith("at step 10") and abs(float(
        said.split(": ")[1].split(" at")[0].replace("−", "-")
    ) - value) < 5e-3  # fmt: skip
    tab.page.mouse.down()
    tab.page.mouse.up()
    tab.settle()
    tab.until("app.state.step === 10")
    assert tab.ask("app.state.value[5]") == value
    tab.drag(place(20, 5), place(30, 5))
    assert tab.ask("app.past.view.compared") == [20, 30]
    assert " to " in tab.ask("app.past.said()")
    tab.press("Escape")
    assert tab.ask("[app.past.view.compared, app.past.isOpen]") == [None, True]
    assert tab.ask("document.querySelectorAll('.tabs button:not([hidden])').length") == 0
    tab.press("Escape")
    assert tab.ask("app.past.isOpen") is False
    assert tab.page.locator("#band > #curve").count() == 1


@pytest.mark.slow
def test_a_page_draws_the_health_of_a_followed_model(opened: Opens, tmp_path: Path) -> None:
    tab = opened(page_of(Show.of(dying(tmp_path).session)).text).ready()
    tab.press("l")
    tab.page.get_by_text(text("past.tab.health"), exact=True).click()
    tab.until("app.past.chart?.strip && document.querySelector('#past.tall')")
    tab.settle()
    colors = tab.ask("""(() => {
        const { width, height } = app.past.canvas;
        const { data } = app.past.canvas.getContext("2d").getImageData(0, 0, width, height);
        const found = {};
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] === 255) {
            const name = [0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, "0")).join("");
            found[name] = (found[name] ?? 0) + 1;
          }
        return found;
    })()""")
    assert min(colors[name] for name in ("000000", *[each[1:] for each in STRIPES])) > 300
    tab.page.locator(".tabs").get_by_text(text("past.tab.value"), exact=True).click()
    tab.until("app.past.seen?.tiles && !document.querySelector('#past.tall')")


@pytest.mark.slow
def test_a_page_draws_the_scalars_of_a_followed_model(opened: Opens, tmp_path: Path) -> None:
    tab = opened(page_of(Show.of(logged(tmp_path / "night.sv", 0.004).session)).text).ready()
    tab.press("l")
    tab.page.get_by_text(text("past.tab.scalars"), exact=True).click()
    tab.until("app.past.chart?.strip && document.querySelector('#past.tall')")
    assert tab.ask("app.past.scalarCharts.names") == ["accuracy", "rate", "lr"]
    smoothed = "app.past.scalarCharts.curves[0].smoothed.length"
    assert tab.ask(smoothed) == 200
    for name in ("raw", "log"):
        tab.page.get_by_text(text(f"past.tab.{name}"), exact=True).click()
    assert tab.ask("app.curve.view.settings") == ["raw", "log"] and tab.ask(smoothed) == 0
    tabs = "document.querySelectorAll('.tabs [aria-pressed=true]:not([hidden])')"
    assert tab.ask(f"[...{tabs}].map((x) => x.innerText)") == ["raw", "log", "scalars"]


def xor() -> sv.Session:
    inputs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    network = sv.Network([2, 4, 1], activation="tanh", output="sigmoid", seed=3)
    targets = np.array([[0.0], [1.0], [1.0], [0.0]])
    return sv.Session(network, (inputs, targets), optimizer=sv.Momentum(0.3), engine="cpu", batch=3)


@pytest.mark.parametrize(("row", "uses"), [
    (3, {"source": "inputs", "target": "affine 0", "written": [1], "read": [1]}),
    (11, {"source": "inputs", "target": "affine 0", "written": [3], "read": None}),
    (14, {"source": "tanh 0", "target": "affine 1", "written": [0], "read": [2]}),
], ids=["first layer", "bias", "last layer"])  # fmt: skip
def test_samples_that_moved_a_weight_are_those_of_the_session(
    tmp_path: Path, row: int, uses: dict[str, Any]
) -> None:
    session = xor()
    names = [each.target.name for each in session.network.program.operations]
    uses["source"] = {"inputs": session.network.program.inputs.name}.get(
        uses["source"], uses["source"]
    )
    assert uses["target"] in names
    page = InPage(session, tmp_path)
    session.advance(40)
    found = page.run(f"""
        const clock = new Clock(engine);
        clock.advance(40);
        return samplesMoved(clock, await open(), [{json.dumps(uses)}]);
    """)
    wanted = session.samples_that_moved(row, found["steps"], 3, progress=False)
    assert found["steps"] > 1
    amounts = dict(found["amounts"])
    for each in wanted.samples:
        share = amounts[each.sample] / sum(amounts.values())
        assert share == pytest.approx(each.amount / wanted.total, rel=1e-3)


@pytest.mark.slow
def test_what_is_refused_is_not_asked_again_and_again(tab: Tab) -> None:
    tab.ask("""{
        const { client } = app, ask = client.ask.bind(client);
        app.refusals = 0;
        client.ask = (name, args) => {
            if (name !== "past" || app.refusals > 1) return ask(name, args);
            app.refusals += 1;
            app.refuse("No.");
            return Promise.resolve(null);
        };
    }""")
    tab.press("l")
    tab.until("app.refusals > 0")
    tab.page.wait_for_timeout(500)
    assert tab.ask("app.refusals") == 1
