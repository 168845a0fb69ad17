"""The losses of a page, in its worker and in its curve: exact for the last steps, and bounded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.session_state import blocks_of
from tests.pages.in_web import in_web
from tests.pages.pages import InPage
from tests.pages.test_engine import xor

EXACT = 2**20
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
      const found = [Infinity, 0];
      for (let step = from; step < end; step++) {
        found[0] = Math.min(found[0], lossOf(step));
        found[1] = Math.max(found[1], lossOf(step));
      }
      return found;
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
          all: [record.range(0, data.end), truth(7, data.end)],
          late: [record.range(data.end - 777, data.end), truth(data.end - 777, data.end)],
          old: [record.range(50000, 50001), truth(49000, 52000)],
        }};
    """,
        end=5_000_000,
        exact=EXACT,
    )
    assert found["bytes"] <= MOST_BYTES and found["exact"] and found["before"] == "NaN"
    assert found["size"] == 1024  # steps of a block
    assert found["all"][0] == found["all"][1] and found["late"][0] == found["late"][1]
    (low, high), (least, most) = found["old"]
    assert least <= low < high <= most


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
        told.push(page.end, page.at(100000), page.range(0, 100001)[1]);
        send(worker);
        const same = [[0, data.end], [5000, 6000], [2e6, 2.5e6]].every(
          (part) => page.range(...part).join() === worker.range(...part).join());
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
    told = blocks_of(lambda a, b, **_: losses[a + count : b + count], -count, 0)
    found = in_web(
        "loss_record",
        """
        const record = new LossRecord(data.told.from);
        record.take({ losses: data.told, last: 0 });
        const ends = () => [record.range(data.told.from, 0), record.range(-25, -20)];
        const before = [record.end, ...ends()];
        for (const length of [3, 90, 2]) // it jumps, and begins anew
          record.take({ losses: { from: 0, values: Array(length).fill(5) }, last: length });
        return [before, [record.end, ...ends()], record.range(0, 2), record.at(1), record.at(-1)];
        """,
        told=told,
    )
    ends = [[losses[0], losses[-1]], [losses[-25], losses[-21]]]
    assert found == [[0, *ends], [2, *ends], [5, 5], 5, losses[-1]]


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
        page.ask("play", {{ rate: null }});
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
