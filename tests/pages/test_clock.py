"""The clock of a page, in Node.

Forward, back, jumps, changes, and a training that grows beyond bounds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.errors import UpdateError
from tests.pages.conftest import rgb
from tests.pages.node import InPage, in_web
from tests.wording import refused

# A walk over the clock of another engine gives what straight training gives.
BOTH = """
    const clock = new Clock(engine);
    const other = new Clock(await open());
"""
# A keyframe at every step.
DENSE = "Object.defineProperty(clock, 'pace', {get: () => 1, set: () => {}});"


def test_going_back_and_on_leads_to_the_same_bits(colors: InPage) -> None:
    assert colors.run(f"""{BOTH}
        clock.advance(700);
        clock.back(613);
        const place = clock.step;
        clock.advance(3, "operation");
        clock.back(2, "operation");
        clock.seek(400, 5);
        const inside = [clock.step, clock.operation];
        clock.back(2, "operation");
        clock.advance(300);
        other.advance(700);
        return [place, inside, clock.step, same(engine.save(), other.engine.save())];
    """) == [87, [400, 5], 700, True]


def test_what_came_out_at_step_0_is_kept_for_the_probe_and_the_sample(
    colors: InPage, session: sv.Session
) -> None:
    palette = session.data.palette[0]
    found = colors.run(f"""{BOTH}
        const of = ({{first, inputs, probe}}) => [[...first], [...inputs], [...probe]];
        const begun = of(clock.state());
        clock.advance(40);
        clock.advance(3, "operation");
        const now = of(clock.state());
        const kept = same(engine.value, clock.engine.value);
        other.advance(40);
        other.advance(3, "operation");
        const untouched = same(engine.save(), other.engine.save());
        clock.begin(7);
        const anew = of(clock.state());
        clock.isNew = false;
        return [begun, now, anew, kept && untouched, clock.state().first];
    """)
    begun, now, anew, untouched, later = found
    for first, inputs, _ in (begun, now):
        wanted = session.network(np.vstack([palette, inputs]))
        np.testing.assert_allclose(np.reshape(first, wanted.shape), wanted, atol=1e-5)
    np.testing.assert_allclose(begun[0][: len(begun[2])], begun[2], atol=1e-6)
    assert np.abs(np.array(now[2]) - begun[2]).max() > 0.01
    np.testing.assert_allclose(anew[0][: len(anew[2])], anew[2], atol=1e-6)
    assert np.abs(np.array(anew[0][:24]) - begun[0][:24]).max() > 0.01
    assert untouched and later is None


def test_units_are_those_of_a_session(colors: InPage, session: sv.Session) -> None:
    moves = [(1, "operation"), (3, "operation"), (4, "step")]
    moves += [(1, "epoch"), (-5, "operation"), (-2, "step"), (-1, "epoch")]
    moves += [(2, "operation"), (1, "step"), (-1, "step"), (-1, "epoch"), (-9, "operation")]
    wanted = []
    for count, unit in moves:
        (session.advance if count > 0 else session.back)(abs(count), unit)
        wanted.append([*session.clock.place])
    assert (
        colors.run(
            f"""
        const clock = new Clock(engine);
        return {[list(move) for move in moves]!r}.map(([count, unit]) => {{
            if (count > 0) clock.advance(count, unit);
            else clock.back(-count, unit);
            return [clock.step, clock.operation];
        }});
    """.replace("'", '"')
        )
        == wanted
    )


def test_changes_are_replayed_where_they_were_made(colors: InPage) -> None:
    assert colors.run(f"""{BOTH}
        for (const each of [clock, other]) {{
            each.advance(40);
            each.change({{ kind: "edit", row: 3, value: 0.25 }});
            each.advance(10);
            each.advance(4, "operation");
            each.change({{ kind: "edit", row: 30, value: -1 }});
            each.change({{ kind: "freeze", rows: [8], on: true }});
            each.change({{ kind: "learning rate", rate: 0.1 }});
            each.advance(20);
            each.change({{ kind: "learning rate", rate: 0.02 }});
            each.advance(5);
        }}
        clock.seek(2);
        clock.seek(50, 6);
        clock.seek(10);
        clock.seek(60);
        clock.seek(other.step);
        const state = clock.state();
        return [same(engine.save(), other.engine.save()), state.rate, state.frozen[8], state.last];
    """) == [True, 0.02, 1, 75]


def test_a_change_after_going_back_drops_what_came_later_until_it_is_undone(colors: InPage) -> None:
    found = colors.run(f"""{BOTH}{DENSE}
        clock.advance(30);
        const before = engine.save();
        const losses = clock.state().losses.values;
        clock.back(10);
        clock.change({{ kind: "edit", row: 5, value: 1 }});
        const dropped = clock.state().last;
        clock.advance(30);
        clock.seek(25);
        clock.seek(50);
        other.advance(20);
        other.change({{ kind: "edit", row: 5, value: 1 }});
        other.advance(30);
        const straight = same(other.engine.save(), engine.save());
        const edited = [engine.save(), clock.state().losses.values, clock.step];
        const undone = clock.undo();
        const shown = clock.state(25);
        const place = [clock.step, shown.last, shown.losses.from, shown.losses.values.length];
        clock.seek(30);
        const back = [same(before, engine.save()), clock.state(0).losses.values];
        const redone = clock.redo();
        const again = [clock.step, clock.state().last, engine.value[5]];
        clock.advance(30);
        clock.seek(35);
        clock.seek(50);
        const bits = same(edited[0], engine.save());
        return {{losses, dropped, straight, undone, place, back, redone, again, bits,
                 more: clock.redo(), all: clock.state(0).losses.values, edited: edited[1]}};
    """)
    assert found["dropped"] == 20 and found["straight"] and found["undone"]
    assert found["place"] == [20, 30, 0, 30]
    assert found["back"] == [True, found["losses"]]
    assert found["redone"] and found["again"] == [20, 50, 1] and found["bits"]
    assert found["all"] == found["edited"] and not found["more"]
    assert found["all"][:20] == found["losses"][:20] and found["all"][20] != found["losses"][20]


def test_a_drag_is_undone_at_once(colors: InPage) -> None:
    assert colors.run("""
        const clock = new Clock(engine);
        clock.advance(3);
        const before = [...engine.value];
        for (const value of [0.1, 0.2, 0.3]) clock.change({ kind: "edit", row: 2, value });
        clock.change({ kind: "edit", row: 4, value: 7 });
        clock.undo();
        const one = engine.value[2];
        clock.undo();
        return [Math.abs(one - 0.3) < 1e-6, engine.value.every((v, i) => v === before[i]),
                clock.undo(), clock.redo(), clock.redo(), engine.value[4], clock.journal.length];
    """) == [True, True, False, True, True, 7, 2]


def test_a_reset_is_undone_too(colors: InPage) -> None:
    assert colors.run("""
        const clock = new Clock(engine);
        clock.advance(20);
        clock.change({ kind: "edit", row: 0, value: 2 });
        clock.advance(20);
        const before = engine.save();
        clock.reset();
        const start = [clock.step, clock.state().last, clock.journal.length];
        clock.undo();
        return [start, clock.step, same(before, engine.save())];
    """) == [[0, 0, 0], 40, True]


def test_keyframes_stay_within_their_memory(colors: InPage) -> None:
    found = colors.run(f"""
        const clock = new Clock(engine, {{memory: 20 * engine.save().byteLength}});
        {DENSE}
        clock.advance(900);
        const count = clock.branch.frames.length;
        const kept = engine.save();
        clock.seek(0);
        clock.seek(900);
        return [count, clock.branches.used <= clock.branches.memory, same(kept, engine.save())];
    """)
    assert 5 <= found[0] <= 20 and found[1:] == [True, True]


def test_a_long_training_keeps_no_more_keyframes_and_losses_than_a_short_one(
    colors: InPage,
) -> None:
    kept = colors.run("""
        const clock = new Clock(engine), { branches } = clock, { losses } = clock.branch;
        const saved = engine.save();
        return [1e5, 1e6, 3e6].map((end) => {
          while (branches.end < end) branches.write(branches.end, new Float64Array(1000));
          for (let step = clock.branch.frames.at(-1).step; step < end; step += 10)
            if (branches.wants(step, 10)) branches.add({ step, applied: 0, loss: 0, saved });
          return [clock.branch.frames.length, losses.room.length, losses.sums.length];
        });
    """)
    for frames, exact, means in kept:
        assert 2**11 <= frames <= 2**12 and exact == 2**16 and means <= 2**13


def test_a_state_shows_what_has_been_computed(colors: InPage, session: sv.Session) -> None:
    program = session.network.program
    found = colors.run("""
        const clock = new Clock(engine);
        clock.focus = 3;
        const start = clock.state();
        clock.advance(2);
        clock.advance(4, "operation");
        const walked = clock.state(start.losses.from + start.losses.values.length);
        clock.advance(1);
        const after = clock.state(2);
        const look = engine.look(after.inputs);
        return {start, walked, after, look};
    """)
    start, walked, after = (found[name] for name in ("start", "walked", "after"))
    assert (start["step"], start["moment"], start["last"], start["loss"]) == (0, -1, 0, "NaN")
    assert start["batch"] == 8 and start["focus"] == 3 and start["gradients"] == {}
    assert set(start["values"]) == {buffer.name for buffer in program.buffers}
    session.advance(2)
    value = session.network.bank.value.tolist()
    session.advance(4, "operation")
    assert (walked["step"], walked["operation"], walked["moment"]) == (2, 4, 3)
    assert walked["before"] == walked["value"] == pytest.approx(value, rel=1e-5)
    assert set(walked["values"]) == {buffer.name for buffer in program.buffers[:4]}
    inputs, targets = session.trainer.batches.at(2)
    assert walked["inputs"] == pytest.approx(inputs[3]) and walked["gradients"] == {}
    assert walked["target"] == pytest.approx(targets[3])
    assert walked["losses"]["from"] == 0 and len(walked["losses"]["values"]) == 2
    session.advance(1)
    assert (after["step"], after["operation"]) == (3, 0)
    assert after["moment"] == len(program.moments) - 1
    assert after["before"] == walked["value"] != after["value"]
    assert after["inputs"] == walked["inputs"] and after["values"] == found["look"]
    assert after["losses"]["values"] == [after["loss"]]
    assert after["loss"] == pytest.approx(session.loss, rel=1e-5)
    answers = session.network(session.data.palette[0]).ravel()
    np.testing.assert_allclose(after["probe"], answers, atol=1e-5)


def test_a_clock_stops_before_a_step_that_is_not_finite(colors: InPage) -> None:
    found = colors.run("""
        const clock = new Clock(engine);
        clock.advance(6);
        clock.change({ kind: "edit", row: 5, value: NaN });
        clock.advance(10);
        const stopped = clock.state();
        clock.advance(1);
        const again = [clock.step, clock.operation, clock.stopped];
        clock.undo();
        clock.advance(4);
        return {stopped, again, step: clock.step, end: clock.stopped};
    """)
    last = len(rgb().network.program.moments) - 1
    state = found["stopped"]
    assert (state["step"], state["operation"], state["moment"]) == (6, last, last - 1)
    assert state["stopped"]["why"] == "gradient" and len(state["losses"]["values"]) == 6
    assert found["again"] == [6, last, state["stopped"]]
    assert found["step"] == 10 and found["end"] is None


def test_a_step_that_overflows_leaves_the_last_good_one(tmp_path: Path) -> None:
    session = rgb(optimizer=sv.SGD(1.0, l2=1e3))
    page = InPage(session, tmp_path)
    refused(UpdateError).by(session.advance, 99)
    found = page.run("const clock = new Clock(engine); clock.advance(99); return clock.state()")
    assert session.clock.step > 3
    assert [found["step"], found["operation"]] == [*session.clock.place]
    assert found["stopped"] == {"why": "overflow", "row": -1}
    assert found["value"] == pytest.approx(session.network.bank.value.tolist(), rel=1e-4)


def test_an_edit_within_a_step_has_its_operations_done_again(colors: InPage) -> None:
    found = colors.run(f"""{BOTH}
        clock.advance(20);
        clock.advance(5, "operation");
        const old = engine.value[6];
        for (const value of [1.2, 1.6]) clock.change({{ kind: "edit", row: 6, value }});
        const state = clock.state();
        other.advance(20);
        other.change({{ kind: "edit", row: 6, value: 1.6 }});
        other.advance(5, "operation");
        const wanted = other.state();
        const are = (name) => JSON.stringify(state[name]) === JSON.stringify(wanted[name]);
        const shown = ["values", "step", "operation", "moment", "value"].map(are);
        clock.advance(1, "operation");
        clock.back(1, "operation");
        const stays = Math.fround(1.6) === Math.fround(engine.value[6]);
        clock.undo();
        return [shown, stays, old === engine.value[6], clock.step, clock.operation,
            clock.branches.all.length];
    """)
    assert found == [[True] * 5, True, True, 20, 0, 1]


# ---- behind a worker ----------------------------------------------------------------------------


def test_commands_are_answered_in_order_with_their_states(colors: InPage) -> None:
    found = colors.run("""
        const page = client();
        const states = [];
        page.onstate = (state) => states.push([state.step, state.operation]);
        const all = await Promise.all([
            page.ask("advance", {count: 5, unit: "step"}), page.ask("edit", {row: 1, value: 3}),
            page.ask("advance", {count: 2, unit: "operation"}), page.ask("back", {count: 1}),
            page.ask("seek", {step: 2, operation: 3}), page.ask("learning rate", {rate: 0.125}),
            page.ask("undo"), page.ask("sample", {sample: 6}),
            page.ask("freeze", {rows: [0], on: true}), page.ask("reset"), page.ask("state"),
        ]);
        page.end();
        return {places: all.map(({step, operation}) => [step, operation]),
                rates: all.map(({rate}) => rate), focus: all.map(({focus}) => focus),
                edited: all[1].value[1], states: states.length};
    """)
    places = [
        [0, 0],
        [5, 0],
        [5, 0],
        [5, 2],
        [5, 0],
        [2, 3],
        [2, 3],
        [2, 3],
        [2, 3],
        [2, 3],
        [0, 0],
    ]
    assert found["places"] == [*places[1:], [0, 0]]
    assert found["rates"][5:7] == [0.125, 0.5] and found["edited"] == 3
    assert found["focus"][6:9] == [0, 6, 6] and found["states"] >= 12


def test_playing_goes_at_its_speed_and_sends_states_that_are_taken(colors: InPage) -> None:
    found = colors.run("""
        const page = client();
        let states = 0;
        let arrived = () => {};
        let wanted = Infinity;
        page.onstate = (state) => {
            states += 1;
            if (state.step >= wanted) arrived();
        };
        const play = async (speed, step) => {
            const start = performance.now();
            wanted = step;
            const there = new Promise((done) => (arrived = done));
            await page.ask("play", {speed});
            await there;
            const {playing, step: end} = await page.ask("pause");
            return {playing, step: end, seconds: (performance.now() - start) / 1000};
        };
        const slow = await play(200, 20);
        const rest = await page.ask("state");
        states = 0;
        const fast = await play(null, 5000);
        page.end();
        return {slow, rest: rest.step, fast, states};
    """)
    slow, fast = found["slow"], found["fast"]
    assert 20 <= slow["step"] <= 200 * slow["seconds"] + 1 and slow["playing"] is False
    assert found["rest"] == slow["step"]
    assert fast["step"] >= 5000 and found["states"] <= 30 * fast["seconds"] + 4


def test_starting_again_makes_no_branch_unless_something_was_changed(colors: InPage) -> None:
    found = colors.run("""
        const page = client(), places = [];
        for (const change of ["state", "double rate"]) {
            await page.ask("advance", {count: 5, unit: "step"});
            await page.ask(change);
            await page.ask("reset");
            await page.ask("advance", {count: 1, unit: "step"});
            places.push((await page.ask("undo")).step);
            places.push(workers[0].server.clock.branches.all.length);
        }
        page.end();
        return places;
    """)
    assert found == [1, 1, 6, 2]


PLAYED = [["play", "a film"], ["play", None], ["pause", None]]


def test_a_film_stands_at_its_steps_until_the_user_does_something(colors: InPage) -> None:
    stood = colors.run("""
        const page = client();
        let now = 0;
        performance.now = () => now;
        await page.ask("play", {speed: 100, film: {steps: [0, 1, 4, 9], seconds: 0.6}});
        const stood = [];
        for (const passed of [0, 600, 600, 600, 600, 1000]) {
            now += passed;
            await sleep(200);
            stood.push(workers[0].server.clock.step);
        }
        stood.push(workers[0].server.isPlaying);
        page.end();
        return stood;
    """)
    body = """
        const sent = [];
        const ask = async (name, { film } = {}) => sent.push([name, film]);
        const player = new Player({ ask }, { moments: 12, speed: 100 });
        player.play("a film");
        const ends = [player.see({ playing: false })]; // a state of before
        player.turns = 0;
        ends.push(player.see({ playing: true }));
        for (let i = 0; i < 2; i++) player.endFilm();
        await player.pause();
        player.endFilm();
        player.play("a film");
        player.turns = 0;
        return [...sent, ...ends, player.see({ playing: false }), player.playing];
    """
    assert [stood, in_web("player", body)] == [
        [0, 1, 4, 9, 9, 9, False],
        [*PLAYED, ["play", "a film"], False, False, True, False],
    ]


def test_the_sample_stays_while_it_plays_and_in_a_pause(colors: InPage) -> None:
    found = colors.run("""
        const page = client();
        const seen = new Set();
        let last = 0;
        page.onstate = ({inputs, step}) => {
            seen.add(String(inputs));
            last = step;
        };
        await page.ask("advance", {count: 3, unit: "step"});
        seen.clear();
        await page.ask("play", {speed: null});
        while (last < 500) await sleep(5);
        await page.ask("pause");
        await page.ask("edit", {row: 0, value: 0.5});
        const held = seen.size;
        await page.ask("advance", {count: 1, unit: "step"});
        page.end();
        return [held, seen.size];
    """)
    assert found == [1, 2]


def test_no_state_is_sent_until_the_page_has_taken_the_last(colors: InPage) -> None:
    assert (
        colors.run("""
        const page = client();
        await page.ask("state");
        const {worker} = page;
        const post = worker.postMessage.bind(worker);
        worker.postMessage = (message) => message.taken || post(message);
        let states = 0;
        page.onstate = () => (states += 1);
        await page.ask("play", {speed: null});
        const {clock} = workers[0].server;
        for (const from = clock.step; clock.step < from + 60000;) await sleep(20);
        const untaken = states;
        post({taken: true});
        while (states === untaken) await sleep(5);
        page.end();
        return untaken;
    """)
        == 1
    )


def test_a_worker_that_fails_is_replaced_and_goes_on_where_it_stood(colors: InPage) -> None:
    found = colors.run("""
        const page = client();
        const faults = [];
        page.onfault = (error) => faults.push(error.key);
        await page.ask("advance", {count: 30, unit: "step"});
        await page.ask("edit", {row: 2, value: 0.5});
        const before = await page.ask("advance", {count: 7, unit: "operation"});
        workers[0].server.clock.engine.draw = () => { throw new Error("a fault"); };
        const key = await page.ask("seek", {step: 4}).then(() => "", (error) => error.key);
        const after = await page.ask("state");
        page.end();
        const fields = ["step", "operation", "loss", "value", "grad", "values"];
        const pick = (state) => JSON.stringify(fields.map((name) => state[name]));
        return {key, faults, same: pick(before) === pick(after), workers: workers.length};
    """)
    assert found == {
        "key": "page.fault.again", "faults": ["page.fault.again"], "same": True, "workers": 2,
    }  # fmt: skip


def test_a_worker_that_fails_again_and_again_is_given_up(colors: InPage) -> None:
    assert colors.run("""
        const page = client();
        const faults = [];
        page.onfault = (error) => faults.push(error.key);
        await page.ask("advance", {count: 3, unit: "step"});
        page.given.module = new Uint8Array(3);
        workers[0].onerror({message: "it has run out of memory"});
        await sleep(300);
        return [faults, workers.length, workers.every((worker) => worker.isEnded)];
    """) == [["page.fault.again", "page.fault.again", "page.fault.lost"], 3, True]


def test_a_moment_that_was_reached_before_is_gone_to_from_the_nearest_keyframe(
    colors: InPage,
) -> None:
    found = colors.run(f"""{BOTH}{DENSE}
        clock.advance(300);
        clock.advance(3, "operation");
        clock.change({{ kind: "edit", row: 3, value: 0.25 }});
        clock.advance(10);
        clock.seek(2);
        let taken = 0;
        const train = engine.train;
        engine.train = (count) => {{
            taken += count;
            return train.call(engine, count);
        }};
        clock.seek(307);
        other.advance(300);
        other.advance(3, "operation");
        other.change({{ kind: "edit", row: 3, value: 0.25 }});
        other.go(other.arrival(307, 0));
        const loss = clock.state().loss;
        const bits = same(engine.save(), other.engine.save());
        clock.seek(306, 2);
        clock.seek(307); // the end of a step in progress, which is shown as such
        return [taken, loss === other.state().loss, bits, clock.moment === clock.operations - 1];
    """)
    assert found == [0, True, True, True]


# A player whose client answers when `next` is called; `sent` are the commands it got.
PLAYER = """
    const sent = [], open = [];
    const client = { ask: (name, args) => {
      const unit = args.unit === "operation" ? [args.unit] : [];
      sent.push(name === "pause" ? name : [name, args.count ?? args.step ?? 0, ...unit]);
      return name === "pause" ? Promise.resolve() : new Promise((done) => open.push(done));
    } };
    const player = new Player(client, { moments: 12, speed: 10 });
    const settled = () => new Promise((done) => setTimeout(done, 0));
    const next = () => { open.shift()(null); return settled(); };
    const back = () => player.navigate("back", { count: 1, unit: "step" });
    back();
    await settled();
    for (let i = 0; i < 30; i++) back();
"""


@pytest.mark.parametrize(
    ("act", "sent"),
    [
        ("", [["back", 1], ["back", 30]]),
        (
            'for (const count of [2, 3]) player.navigate("back", { count, unit: "operation" });',
            [["back", 1], ["back", 5, "operation"]],
        ),
        ('player.navigate("advance", { count: 2, unit: "step" });', [["back", 1], ["back", 28]]),
        ('player.navigate("advance", { count: 33, unit: "step" });', [["back", 1], ["advance", 3]]),
        ('player.navigate("advance", { count: 30, unit: "step" });', [["back", 1]]),
        (
            'player.navigate("seek", { step: 3 }); player.navigate("seek", { step: 7 });',
            [["back", 1], ["seek", 7]],
        ),
        ('player.navigate("reset");', [["back", 1], "pause", ["reset", 0]]),
        (
            'player.navigate("undo"); player.navigate("undo");',
            [["back", 1], "pause", "pause", ["undo", 0], ["undo", 0]],
        ),
        ("player.drop();", [["back", 1], "pause"]),
        (
            'player.navigate("new weights"); player.navigate("new weights");',
            [["back", 1], "pause", "pause", ["new weights", 0], ["new weights", 0]],
        ),
        (
            'for (const by of [1, 1]) player.navigate("branches", { by });',
            [["back", 1], ["branches", 0], ["branches", 0]],
        ),
    ],
)
def test_moves_that_wait_are_added_up_and_the_newest_replaces_them(act: str, sent: object) -> None:
    body = f"""{PLAYER}
        {act}
        while (open.length) await next();
        return [sent, player.going];
    """
    assert in_web("player", body) == [sent, None]


def test_play_drops_the_moves_that_wait() -> None:
    body = f"""{PLAYER}
        player.setSpeed(SPEEDS.length - 1);
        player.play();
        while (open.length) await next();
        return [sent, player.playing];
    """
    assert in_web("player", body) == [[["back", 1], "pause", ["play", 0]], True]


def test_play_goes_by_operation_where_that_is_the_unit() -> None:
    body = """
        const sent = [];
        const ask = async (name, args = {}) => sent.push(args.unit ?? args.speed ?? name);
        const client = { ask };
        const player = new Player(client, { moments: 12, speed: 10 });
        player.setUnit("operation");
        player.play();
        await new Promise((done) => setTimeout(done, 50));
        const first = [sent.splice(0), player.operations];
        player.setSpeed(player.speeds.length - 1);
        await player.pause();
        sent.length = 0;
        player.setUnit("step");
        player.play();
        await player.pause();
        return [...first, sent, player.operations, player.speeds === SPEEDS];
    """
    assert in_web("player", body) == [["pause", "operation"], 1, [10, "pause"], None, True]


def test_each_of_some_quick_presses_counts(tmp_path: Path) -> None:
    """Commands that are sent at once, before any of them is answered."""
    found = InPage(rgb(), tmp_path).run("""
        const one = client();
        const many = async (...all) =>
          (await Promise.all(all.map((each) => one.ask(...each)))).at(-1);
        const times = (count, ...each) => Array(count).fill(each);
        const { rate, batch } = await one.ask("state");
        const now = (await many(...times(5, "halve rate"))).rate;
        const told = [now / rate, (await many(...times(3, "sample", { by: 1 }))).focus];
        told.push((await many(...times(4, "sample", { by: -1 }))).focus - batch);
        const { seed } = await many(...times(3, "new weights"));
        told.push(seed - spec.initial.seed);
        for (let i = 0; i < 3; i++) {
          await many(["advance", { count: 2, unit: "step" }], ["back", { count: 1, unit: "step" }]);
          await one.ask("edit", { row: 2, value: i });
        }
        const all = await one.ask("state");
        const place = (key) => all.branches.findIndex((each) => each.key === key);
        const other = (await many(...times(2, "branches", { by: 1 }))).branch;
        const count = all.branches.length;
        return [...told, count > 3, (place(all.branch) + 2) % count === place(other)];
    """)
    assert found == [1 / 32, 3, -1, 3, True, True]


def test_a_page_that_nobody_can_see_pauses_and_plays_on() -> None:
    body = """
        const sent = [];
        const client = { ask: async (name) => sent.push(name) };
        const player = new Player(client, { moments: 12, speed: 100 });
        const seen = [];
        const look = (isHidden) => {
          player.setHidden(isHidden);
          seen.push(player.playing);
        };
        for (const isHidden of [true, false]) look(isHidden);
        player.play();
        for (const isHidden of [true, true, false, false]) look(isHidden);
        return [seen, sent];
    """
    played = [False, False, False, False, True, True]
    assert in_web("player", body) == [played, ["play", "pause", "play"]]


def test_a_moment_far_away_is_shown_on_the_way_until_it_is_not_wanted(tmp_path: Path) -> None:
    found = InPage(rgb(), tmp_path).run("""
        const one = client();
        const seen = [];
        one.onstate = (state) => seen.push(state.step);
        const sought = one.ask("seek", { step: 1e9, shows: true });
        const back = one.ask("back", { count: 1, unit: "step" });
        while (seen.length < 4) await sleep(5);
        one.ask("pause");
        const there = (await sought).step;
        return [there > 0, there < 1e9, there - (await back).step];
    """)
    assert found == [True, True, 1]


WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()


def test_scales_are_chosen_anew_after_a_jump_and_only_then(tmp_path: Path) -> None:
    found = InPage(rgb(), tmp_path).run(f"""
        const {{ Scales }} = await import("{WEB}/scales.js");
        const scales = new Scales();
        const one = client(), tops = [];
        let now = 0;
        const after = async (name, args) => {{
          const state = await one.ask(name, args);
          scales.take(state, ["value"], (now += 1)); // none shrinks in so few seconds
          tops.push(scales.of("value"));
          return [state.undoable, state.redoable];
        }};
        const counts = [
          await after("state"),
          await after("edit", {{ row: 3, value: 99 }}),
          await after("edit", {{ row: 3, value: 0 }}),
          await after("advance", {{ count: 1, unit: "operation" }}),
          await after("back", {{ count: 1, unit: "operation" }}),
          await after("undo"),
          await after("redo"),
        ];
        return [tops, counts];
    """)
    (first, *scales), counts = found
    assert first <= 2 and scales == [100, 100, 100, 100, first, first]
    assert counts == [[0, 0], *[[1, 0]] * 4, [0, 1], [1, 0]]


def test_the_loss_at_rest_is_said_to_be_that_before_an_edit(tmp_path: Path) -> None:
    found = InPage(rgb(), tmp_path).run(f"""
        const {{ restWords }} = await import("{WEB}/captions.js");
        const {{ setTexts }} = await import("{WEB}/texts.js");
        setTexts({json.dumps(dict(texts()))});
        const clock = new Clock(engine);
        const said = () => restWords(clock.state()).replace(/[\\d.]+\\d/, "X");
        clock.advance(6);
        const told = [said()];
        for (const value of [1, -1]) {{
          clock.change({{ kind: "edit", row: 3, value }});
          told.push(said());
        }}
        clock.undo();
        return [...told, said()];
    """)
    is_now, was = (
        "After 6 steps the loss is X.",
        "After 6 steps the loss was X, before your change.",
    )
    assert found == [is_now, was, was, is_now]


def line() -> sv.Session:
    """A linear network, whose loss has no bound."""
    data = [[0.0], [1.0], [2.0]], [[1.0], [3.0], [5.0]]
    net = sv.Network([1, 1], "linear", seed=0)
    return sv.Session(net, data, optimizer=sv.SGD(0.1), engine="python")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("session", "rates", "told"),
    [
        (rgb, [None, 1e30, 1e30], [False, True, False]),
        (line, [None, 3.0, 3.5], [False, True, True]),
        (line, [None, 0.2], [False, False]),
    ],
)
def test_it_is_told_once_for_each_rate(
    session: object, rates: list[float | None], told: list[bool], tmp_path: Path
) -> None:
    found = InPage(session(), tmp_path).run(f"""
        const {{ Growing }} = await import("{WEB}/messages.js");
        const growing = new Growing();
        const clock = new Clock(engine);
        let since = 0;
        const take = () => {{
          const state = clock.state(since);
          since = clock.branches.end;
          return growing.take(state);
        }};
        take();
        return {str(rates).replace("None", "null")}.map((rate) => {{
          if (rate) clock.change({{ kind: "learning rate", rate }});
          return Array.from({{ length: 20 }}, () => clock.advance(1) ?? take()).some(Boolean);
        }});
    """)
    assert found == told


def test_a_weight_that_is_typed_is_not_taken_for_it(tmp_path: Path) -> None:
    assert (
        InPage(rgb(), tmp_path).run(f"""
        const {{ Growing }} = await import("{WEB}/messages.js");
        const growing = new Growing();
        const clock = new Clock(engine);
        growing.take(clock.state());
        clock.change({{ kind: "edit", row: 3, value: 99999 }});
        return growing.take(clock.state());
    """)
        is False
    )
