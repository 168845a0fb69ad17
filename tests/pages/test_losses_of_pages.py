"""Losses and metrics of a page: exact for the last steps, bounded, and those of the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.core.formulas.metric_formulas import METRICS
from scalarviz.pages import page as module
from scalarviz.pages.bundle import packed
from scalarviz.pages.caption_data import as_data
from scalarviz.pages.exhibit_data import measured_data, metric_data
from scalarviz.pages.page import page_of
from scalarviz.pages.session_state import blocks_of, earlier_data
from scalarviz.training.session.reading import loss_facts
from tests.pages.conftest import xor
from tests.pages.node import InPage, data_in, floats, in_web
from tests.sessions import advanced

EXACT = 2**16
MOST_BYTES = 8 * EXACT + 16 * 2**13
WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()

# A loss that falls, with waves, and records of it.
FALLING = """
    const lossOf = (step) => (2 + Math.sin(step / 1000)) / (1 + step / 10000);
    const write = (record, end) => {
      while (record.end < end) {
        const length = Math.min(30000, end - record.end);
        const from = record.end;
        record.write(from, Float64Array.from({ length }, (_, i) => lossOf(from + i)));
      }
      return record;
    };
    const truth = (from, end) => {
      let sum = 0;
      for (let step = from; step < end; step++) sum += lossOf(step);
      return sum / (end - from);
    };
"""


def test_losses_of_many_steps_stay_within_a_bound() -> None:
    found = in_web(
        "loss_record",
        f"""{FALLING}
        const record = write(new LossRecord(7), data.end);
        const near = [data.end - data.exact, data.end - 1];
        return {{
          bytes: record.bytes,
          exact: near.every((step) => record.at(step) === lossOf(step)),
          before: record.at(data.end - data.exact - 1),
          size: record.size,
          all: record.blocks(7, data.end).map(([, mean]) => mean),
          late: [record.mean(data.end - 30, data.end), truth(data.end - 30, data.end)],
          old: [record.mean(50000, 52000), truth(49159, 52231)],
        }};
    """,
        end=5_000_000,
        exact=EXACT,
    )
    assert found["bytes"] <= MOST_BYTES and found["exact"] and found["before"] == "NaN"
    assert found["size"] == 1024  # steps of a block
    assert found["late"][0] == pytest.approx(found["late"][1], rel=1e-12)
    assert found["old"][0] == pytest.approx(found["old"][1], rel=1e-9)  # of three whole blocks
    steps = np.arange(7.0, 5_000_000.0)
    losses = (2.0 + np.sin(steps / 1000.0)) / (1.0 + steps / 10000.0)
    starts = np.arange(0, len(losses), 1024)
    means = np.add.reduceat(losses, starts) / np.diff(np.append(starts, len(losses)))
    assert found["all"] == pytest.approx(means, rel=1e-9)


@pytest.mark.slow
def test_a_curve_has_what_the_worker_keeps_after_it_went_to_another_branch() -> None:
    found = in_web(
        "loss_record",
        f"""{FALLING}
        const worker = write(new LossRecord(0), data.end);
        const page = new LossRecord(0);
        const send = (record, last = record.end) => page.take({{ losses: record.told, last }});
        send(worker);
        const told = [page.bytes, page.end, page.at(data.end - 1) === lossOf(data.end - 1)];
        page.take({{ losses: {{ from: 100000, values: [9] }}, last: 100001 }});
        told.push(page.end, page.at(100000), page.mean(99990, 100001));
        send(worker);
        const same = [[0, data.end], [5000, 6000], [2e6, 2.5e6]].every(
          (part) => Math.abs(page.mean(...part) / worker.mean(...part) - 1) < 1e-9);
        return [...told, page.end, same];
    """,
        end=3_000_000,
    )
    size, *told = found
    assert size <= MOST_BYTES
    assert told == [3_000_000, True, 100_001, 9, 9, 3_000_000, True]


@pytest.mark.parametrize("count", [30, 408, 6000])
def test_losses_before_step_0_stay_whatever_comes_after_it(count: int) -> None:
    """Those of the training that one with a neuron more was made from, as Python tells them."""
    losses = 1.0 + np.arange(count) / count
    found = in_web(
        "loss_record",
        """
        const record = new LossRecord(data.told.from);
        record.take({ losses: data.told, last: 0 });
        const { from } = data.told;
        const ends = () => [record.mean(from, from + 1), record.mean(-25, -20)];
        const before = [record.end, ...ends()];
        for (const length of [3, 90, 2]) // it jumps, and begins anew
          record.take({ losses: { from: 0, values: Array(length).fill(5) }, last: length });
        return [before, [record.end, ...ends()], record.mean(0, 2), record.at(1), record.at(-1)];
        """,
        told=blocks_of(lambda a, b, **_: losses[a + count : b + count], -count, 0),
    )
    before, after, *last = found
    assert before == [0, *after[1:]] and after[0] == 2 and last == [5, 5, losses[-1]]
    begun = losses[: 256 if count == 6000 else 1]  # of a block, unless all are known
    assert before[1] == pytest.approx(np.mean(begun))
    assert before[2] == pytest.approx(np.mean(losses[-25:-20]))


@pytest.mark.slow
def test_the_loss_of_a_step_far_back_is_computed_again(tmp_path: Path) -> None:
    last = EXACT + 100_000
    assert InPage(xor(), tmp_path).run(f"""
        const clock = new Clock(engine);
        clock.advance({last});
        const {{ loss, losses }} = clock.state(0);
        const kept = [losses.values.length, losses.past.at(-1)[0], losses.values.at(-1) === loss];
        const other = new Clock(await open());
        const alike = [1000, 70000, 1].map((step) => {{
          clock.seek(step);
          other.seek(step);
          return clock.state().loss === other.state().loss;
        }});
        clock.seek({last});
        return [...kept, ...alike, clock.state().loss === loss];
    """) == [EXACT, 100_000, True, True, True, True, True]


def test_the_branch_that_is_shown_counts_in_the_limit(tmp_path: Path) -> None:
    found = InPage(xor(), tmp_path).run("""
        const clock = new Clock(engine, { memory: 2 ** 19 });
        clock.advance(60000);
        const { frames, losses } = clock.branch;
        const keyframes = frames.length * engine.save().byteLength;
        const { used, memory } = clock.branches;
        return [used === keyframes + losses.bytes, losses.bytes > memory, frames.length];
    """)
    assert found[:2] == [True, True] and found[2] <= 2


@pytest.mark.slow
def test_memory_stays_flat_however_long_a_page_plays(tmp_path: Path) -> None:
    """A soak: the worker at full speed, and the losses of the page, from 4 to 24 million steps."""
    steps = [4_000_000, 24_000_000]
    sizes = InPage(xor(), tmp_path).run(f"""
        const v8 = await import("node:v8"), vm = await import("node:vm");
        v8.setFlagsFromString("--expose-gc");
        const collect = vm.runInNewContext("gc");
        const {{ LossRecord }} = await import("{WEB}/loss_record.js");
        const page = client(2 ** 24);
        const losses = new LossRecord();
        let step = 0;
        page.onstate = (state) => {{
          losses.take(state);
          step = state.step;
        }};
        page.ask("play", {{ speed: null }});
        const found = [];
        for (const end of {json.dumps(steps)}) {{
          while (step < end) await sleep(20);
          collect();
          const {{ heapUsed, arrayBuffers }} = process.memoryUsage();
          found.push(heapUsed + arrayBuffers);
        }}
        page.end();
        return [...found, losses.bytes];
    """)
    before, after, page = sizes
    assert page <= MOST_BYTES
    assert after - before < 8_000_000  # 16 bytes a step would be 320 MB


CHANCE = np.random.default_rng(0)
POINTS = CHANCE.random((60, 2))
KINDS = np.digitize(POINTS.sum(axis=1), [0.8, 1.2])
TABLE = data.Arrays(POINTS, KINDS, classes=3, share=0.8)

# A clock that measures, from the bytes and the spec of `metric_data`.
MEASURING = """
    const {{ Metrics }} = await import("{home}/metrics.js");
    const metrics = new Metrics(engine, {spec}, Uint8Array.from({held}));
    const clock = new Clock(engine, {{ metrics }});
"""


def sure(predictions: Any, targets: Any) -> float:
    return float((predictions.max(axis=1) > 0.9).mean())


def session(*metrics: object, table: data.Arrays = TABLE, every: int = 5) -> sv.Session:
    """Bands of a plane in float64."""
    network = sv.Network([2, 4, 3], "tanh", seed=0, dtype="float64")
    return sv.Session(
        network, table, "softmax_cross_entropy", sv.Adam(0.02), batch=16, engine="cpu",
        metrics=[*metrics], every=every,
    )  # fmt: skip


def measuring(of: sv.Session) -> str:
    """The code that makes a clock that measures what a session does."""
    made = metric_data(of, as_data(loss_facts(of.trainer.loss, of.network.outputs)))
    assert made is not None
    home = Path(module.__file__).with_name("web").as_posix()
    spec, held = json.dumps(made.engine), json.dumps([*made.held])
    return MEASURING.format(home=home, spec=spec, held=held)


def test_arrays_of_a_page_measure_as_numpy_does() -> None:
    p, t = CHANCE.normal(size=(2, 30, 3))
    weighted = np.eye(3)[p.argmax(axis=1)[::-1]] * CHANCE.uniform(0.2, 4.0, (30, 1))
    tied = np.round(p), (t > 0.0).astype(np.float64)
    pairs = (
        (p, t),
        (p, np.sign(t)),
        tied,
        (p, np.ones_like(t)),
        (p, weighted),
        (p[:, :1], tied[1][:, :1]),
    )
    body = "return data.pairs.map(([p, t]) => METRIC_ROWS.map((row) => row.value(p, t)));"
    found = in_web("story/metric_functions", body, pairs=pairs)
    here = [[row.value(*pair) for row in METRICS.values()] for pair in pairs]
    np.testing.assert_allclose(floats(found), here, rtol=1e-12, equal_nan=True)


def test_the_worker_measures_what_the_session_measures(tmp_path: Path) -> None:
    here = session("accuracy")
    page = InPage(here, tmp_path)
    state = page.run(measuring(here) + "clock.advance(42); return clock.state(0);")
    here.advance(42)
    steps, losses = here.metrics["held_out_loss"]
    assert state["measured"]["steps"] == steps.tolist() == [*range(5, 41, 5)]
    np.testing.assert_allclose(state["measured"]["values"][0], losses, rtol=1e-10)
    np.testing.assert_allclose(
        state["measured"]["values"][1], here.metrics["held_out_accuracy"][1], rtol=1e-12
    )


def test_without_held_out_samples_the_batch_that_comes_next_is_measured(tmp_path: Path) -> None:
    here = session("mae", "rmse", table=data.Arrays(POINTS, KINDS, classes=3))
    found = InPage(here, tmp_path).run(
        measuring(here) + "clock.advance(20); return [metrics.names, clock.state(0).measured];"
    )
    here.advance(20)
    assert found[0] == ["mae", "rmse"]
    for values, name in zip(found[1]["values"], found[0], strict=True):
        np.testing.assert_allclose(values, here.metrics[name][1], rtol=1e-10)


def test_metrics_belong_to_branches_and_are_measured_once(tmp_path: Path) -> None:
    here = session("accuracy")
    found = InPage(here, tmp_path).run(
        measuring(here)
        + """
        let count = 0;
        const measure = metrics.measure.bind(metrics);
        metrics.measure = () => { count += 1; return measure(); };
        const losses = (after) => clock.state(after).measured.values[0];
        clock.advance(20);
        const first = losses(0);
        clock.back(20);
        clock.advance(12);
        const again = [count, losses(0)];
        clock.change({ kind: "learning rate", rate: 0.5 });
        clock.advance(8);
        const other = [count, losses(0), clock.state(100).measured.from];
        clock.undo();
        clock.choose(0, 20);
        return {first, again, other, back: losses(0), tail: losses(12)};
        """
    )
    first, other = found["first"], found["other"]
    assert found["again"] == [4, first]
    assert other[0] == 6 and other[1][:2] == first[:2] and other[1][2] != first[2]
    assert found["back"] == first and found["tail"] == first[2:]


@pytest.mark.slow
@pytest.mark.usefixtures("no_kernels")
def test_a_page_has_values_from_before_and_names_what_needs_python() -> None:
    trained = advanced(session("accuracy", sure), 12)
    made = page_of(trained)
    assert made.words("x.html").endswith("left out of the page: sure")
    spec = data_in(made.text)["spec"]
    assert spec["engine"]["metrics"]["names"] == ["loss", "accuracy"]
    loss, accuracy = spec["page"]["measured"]["series"]
    assert (loss["name"], accuracy["name"]) == ("new data: loss", "new data: right")
    assert loss["values"] == packed(trained.metrics["held_out_loss"][1])
    assert spec["page"]["earlier"]["values"]["shape"] == [12]


@pytest.mark.slow
@pytest.mark.usefixtures("no_kernels")
def test_a_page_of_a_session_that_measures_nothing_has_nothing_of_it() -> None:
    made = page_of(session())
    found = data_in(made.text)
    assert found["spec"]["page"]["measured"] == measured_data({})
    assert "metrics" not in found["spec"]["engine"]
    assert not made.left_out and "held" not in found


@pytest.mark.some(1)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("engine", [None, False])
def test_a_page_knows_the_losses_from_before_it(engine: bool | None) -> None:
    trained = advanced(session(), 7)
    shown = data_in(page_of(trained, engine=engine, steps=2).text)["spec"]["page"]["earlier"]
    assert shown == earlier_data(trained.losses, 7) and shown["values"]["shape"] == [7]
    assert earlier_data(trained.losses[:0], 7) is None


def test_a_recording_has_all_metrics_up_to_its_end() -> None:
    made = page_of(advanced(session(sure), 10), engine=False, steps=20)
    assert made.recording is not None and made.recording.measured is not None
    series = made.recording.measured["series"]
    assert [each["name"] for each in series] == ["new data: loss", "held-out sure"]
    assert series[0]["steps"] == packed(np.arange(5.0, 31.0, 5.0))


POINTS_OF_CURVE = """
    setTexts(data.texts);
    const measures = new Measures({series: [{name: "held out", share: false,
        steps: data.steps, values: data.values}]});
    const before = measures.wordsAt(7);
    measures.take({measured: {from: 5, steps: [10, 15], values: [[0.5, NaN]]}});
    return [before, measures.wordsAt(4), measures.wordsAt(12), measures.series[0].steps];
"""


def test_the_curve_goes_on_with_what_states_bring() -> None:
    steps, values = (packed(np.array(each)) for each in ([5.0, 10.0], [2.0, 1.0]))
    given = {"texts": dict(texts()), "steps": steps, "values": values}
    assert in_web("loss_chart texts", POINTS_OF_CURVE, **given) == [
        ["held out 2.00"], ["held out"], ["held out .500"], [5, 10, 15],
    ]  # fmt: skip


def test_losses_from_before_the_page_stand_at_their_steps() -> None:
    body = """
        const { from, values } = data.given;
        const losses = new LossRecord(from);
        losses.take({losses: {...data.given, values: unpacked(values)}, last: Infinity});
        const past = [losses.end, losses.mean(0, losses.end)];
        losses.take({losses: {from: 7, values: [0.25]}, last: 8});
        return [past, losses.end, [2, 3, 4, 5, 6, 7].map((step) => losses.at(step))];
    """
    given = earlier_data(np.array([3.0, 2.0, 1.0, 0.5]), 7)
    found = in_web("loss_record arrays", body, given=given)
    assert found == [[7, 1.625], 8, ["NaN", 3, 2, 1, 0.5, 0.25]]


@pytest.mark.slow
def test_metrics_stay_within_a_bound_however_long_a_page_plays(tmp_path: Path) -> None:
    here = session("accuracy", every=1)
    last = 40_000
    home = Path(module.__file__).with_name("web").as_posix()
    known, found, again, other = InPage(here, tmp_path).run(
        measuring(here)
        + f"""
        const {{ Measures }} = await import("{home}/loss_chart.js");
        metrics.measure = () => [clock.step, 2 * clock.step];
        const page = new Measures();
        page.series = metrics.names.map((name) => ({{ name, steps: [], values: [] }}));
        const seen = () => {{
          page.take(clock.state(clock.branches.end));
          return page.series[0].steps;
        }};
        while (clock.step < {last}) {{
          clock.advance(1000);
          seen();
        }}
        const known = [...seen()];
        const found = [...clock.state(0).measured.steps];
        clock.back(5000);
        clock.advance(5000);
        const again = clock.state(0).measured.steps.length;
        clock.seek(20000);
        clock.change({{ kind: "learning rate", rate: 0.5 }});
        clock.advance(12000);
        page.take(clock.state(0));
        return [known, found, again, page.series[1]];
        """
    )
    assert found == known == [*range(8, last + 1, 8)]
    assert again == len(found)
    assert other["steps"][:2500] == found[:2500] and other["steps"][2500:] == [
        *range(20_002, 32_001, 2)
    ]
    assert other["values"] == [2 * step for step in other["steps"]]


def test_a_page_takes_the_metrics_that_python_names() -> None:
    body = """
      const measures = new Measures();
      const series = (steps, values) => [{ name: "new data: right", share: true, steps, values }];
      measures.take({ measured: { from: -1, series: series([0, 5, 10], [0.25, 0.5, 0.75]) } });
      measures.take({ measured: { from: 7, series: series([8], [1]) } }); // it went back to 7
      const [{ steps, values, share }] = measures.series;
      return [[...steps], [...values], share, measures.wordsAt(8)];
    """
    words = ["new data: right 100 %"]
    assert in_web("loss_chart texts", body) == [[0, 5, 8], [0.25, 0.5, 1], True, words]
