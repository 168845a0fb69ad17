"""Branches of a page in Node: against the session, against a straight replay, and within memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages.pages import InPage
from tests.pages.test_engine import rgb, xor

Act = tuple[Any, ...]

# Does acts, each a list of a name and its arguments, on a clock.
ACTS = """
    const acts = {
        advance: (count, unit) => clock.advance(count, unit),
        back: (count, unit) => clock.back(count, unit),
        seek: (step) => clock.step === step && clock.operation === 0 || clock.seek(step),
        edit: (row, value) => clock.change({ kind: "edit", row, value }),
        freeze: (row, on) => clock.change({ kind: "freeze", rows: [row], on }),
        rate: (rate) => clock.change({ kind: "rate", rate }),
        size: (size) => clock.change({ kind: "size", size }),
        optimizer: (number) => clock.change({ kind: "optimizer", number }),
        begin: (seed) => clock.begin(seed),
        reset: () => clock.reset(),
        switch: (k) => clock.choose(clock.branches.all[k % clock.branches.all.length].key),
        undo: () => clock.undo(),
        redo: () => clock.redo(),
    };
"""
# The bits, and the losses, of a new engine that goes straight to where a clock stands.
STRAIGHT = """
    const goes = async (clock) => {
        const straight = new Clock(await open());
        for (const {step, operation, ...change} of clock.journal.slice(0, clock.applied)) {
            straight.go({step, operation, applied: straight.applied});
            straight.change(change);
        }
        straight.go({step: clock.step, operation: clock.operation, applied: straight.applied});
        const lossesOf = (each) => each.losses.since(0).values.slice(0, clock.step);
        const [one, other] = [clock, straight].map(lossesOf);
        return same(clock.engine.save(), straight.engine.save()) && `${one}` === `${other}`;
    };
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> InPage:
    """xor in float64 at its start."""
    return InPage(xor(), tmp_path_factory.mktemp("branches"))


def walk(seed: int, count: int, undoes: bool) -> list[Act]:
    """Return acts of a user, at random."""
    chance = random.Random(seed)
    acts: list[Act] = []
    for _ in range(count):
        ways: list[Act] = [
            ("advance", chance.randint(1, 40), "step"),
            ("advance", chance.randint(1, 15), "operation"),
            ("back", chance.randint(1, 30), "step"),
            ("back", chance.randint(1, 15), "operation"),
            ("seek", chance.randint(0, 60)),
            ("edit", chance.randrange(12), round(chance.uniform(-1, 1), 3)),
            ("edit", chance.randrange(12), round(chance.uniform(-1, 1), 3)),
            ("freeze", chance.randrange(12), chance.random() < 0.5),
            ("switch", chance.randrange(100)),
            ("reset",),
        ]
        if undoes:
            ways += [("undo",), ("undo",), ("redo",), ("rate", chance.uniform(0.05, 0.2))]
            ways += [("size", chance.choice([1, 2, 4])), ("optimizer", chance.randrange(2))]
            ways += [("begin", chance.randrange(5))]
        acts.append(chance.choice(ways))
    return acts


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4))
def test_branches_are_those_of_a_session(page: InPage, seed: int) -> None:
    session, acts = xor(), walk(seed, 60, undoes=False)
    wanted, values = [], []
    for name, *given in acts:
        if name == "switch":
            branch = session.branches[given[0] % len(session.branches)]
            if branch is not session.current_branch:  # a page offers the others only
                session.switch(branch)
        elif name != "seek" or session.clock.place != (given[0], 0):
            getattr(session, name)(*given)
        forks = [[each.number, each.fork.step, each.end.step] for each in session.branches]
        wanted.append([[*session.clock.place], session.current_branch.number, forks])
        values.append(session.network.bank.value.tolist())
    found = page.run(f"""
        const clock = new Clock(engine);
        {ACTS}
        return {json.dumps(acts)}.map(([name, ...given]) => {{
            acts[name](...given);
            const {{branches}} = clock.state();
            const told = branches.map(({{number, start, end}}) => [number, start, end]);
            return [[[clock.step, clock.operation], clock.branch.number, told], [...engine.value]];
        }});
    """)
    assert [each for each, _ in found] == wanted
    np.testing.assert_allclose([each for _, each in found], values, rtol=1e-9)


@pytest.mark.parametrize("memory", [4_000, 2**24])
def test_a_walk_over_branches_ends_where_the_straight_way_does(page: InPage, memory: int) -> None:
    walks = [walk(seed, 80, undoes=True) for seed in range(10, 16)]
    assert (
        page.run(f"""
        {STRAIGHT}
        const wrong = [];
        for (const walk of {json.dumps(walks)}) {{
            const clock = new Clock(await open(), {{memory: {memory}}});
            {ACTS}
            for (const [k, [name, ...given]] of walk.entries()) {{
                acts[name](...given);
                if (k % 5 === 0 && !(await goes(clock))) wrong.push([k, name]);
            }}
        }}
        return wrong;
    """)
        == []
    )


def test_undo_and_redo_lead_home_through_branches(page: InPage) -> None:
    assert page.run("""
        const clock = new Clock(engine);
        const seen = [];
        const see = () => seen.push([clock.branch.key, clock.step, `${engine.value}`].join());
        clock.advance(30);
        see();
        clock.seek(10);
        clock.change({ kind: "edit", row: 3, value: 1 });
        clock.advance(10);
        const key = clock.branch.key;
        clock.choose(0);
        const chosen = [clock.step, clock.state().last];
        clock.reset();
        clock.advance(4);
        clock.undo();
        clock.undo();
        const home = [clock.branch.key === key, clock.step, engine.value[3] !== 1];
        clock.undo();
        const before = [clock.branch.key, clock.step, clock.state().last];
        clock.seek(30);
        see();
        const redone = [clock.redo(), clock.redo(), clock.redo(), clock.redo()];
        return {chosen, home, before, same: seen[0] === seen[1], redone,
                end: [clock.step, clock.state().last],
                all: clock.state().branches.map(({number, start, end}) => [number, start, end])};
    """) == {
        "chosen": [20, 30],
        "home": [True, 20, True],
        "before": [0, 10, 30],
        "same": True,
        "redone": [True, True, True, False],
        "end": [0, 4],
        "all": [[0, 0, 30], [1, 10, 20], [2, 0, 4]],
    }


def test_an_undo_of_a_change_keeps_what_was_trained_after_it(page: InPage) -> None:
    assert page.run("""
        const clock = new Clock(engine);
        clock.advance(10);
        clock.change({ kind: "edit", row: 3, value: 1 });
        clock.advance(10);
        const late = engine.save();
        clock.undo();
        const undone = [clock.branch.number, clock.step, clock.state().last];
        clock.redo();
        const redone = [clock.branch.number, clock.step, clock.state().branches.length];
        clock.advance(10);
        return [undone, redone, same(late, engine.save())];
    """) == [[1, 10, 10], [0, 10, 1], True]


def test_losses_of_a_branch_come_with_those_before_it(page: InPage) -> None:
    assert page.run("""
        const clock = new Clock(engine);
        clock.advance(30);
        clock.state();
        clock.seek(20);
        clock.change({ kind: "edit", row: 3, value: 1 });
        const {losses: {from, values}} = clock.state(30);
        clock.advance(5);
        const grown = clock.state(20).losses;
        clock.choose(0);
        const back = clock.state(25).losses;
        return [from, values.length, grown.values.length, back.from, back.values.length];
    """) == [0, 20, 5, 0, 30]


def test_the_branch_that_was_not_shown_for_longest_is_dropped(page: InPage) -> None:
    found = page.run(f"""
        {STRAIGHT}
        const clock = new Clock(engine, {{memory: 60 * engine.save().byteLength}});
        Object.defineProperty(clock, 'pace', {{get: () => 1, set: () => {{}}}});
        const dropped = [];
        const shown = [];
        for (let k = 0; k < 8; k++) {{
            clock.seek(10 * k);
            clock.change({{ kind: "edit", row: k, value: 0.5 }});
            clock.advance(40);
            const state = clock.state();
            dropped.push(...state.dropped);
            shown.push(state.branches.map(({{number}}) => number));
        }}
        const good = [await goes(clock)];
        while (clock.undo()) good.push(await goes(clock));
        for (const {{key}} of clock.state().branches) {{
            clock.choose(key);
            good.push(await goes(clock));
        }}
        const {{used, memory}} = clock.branches;
        return {{dropped, last: shown.at(-1), used, memory, good}};
    """)
    assert found["dropped"] == sorted(found["dropped"]) and found["dropped"]
    assert 7 in found["last"] and not {*found["last"]} & {*found["dropped"]}
    assert found["used"] <= found["memory"] and all(found["good"])


@pytest.mark.slow
def test_another_worker_takes_up_all_branches(tmp_path: Path) -> None:
    page = InPage(rgb(), tmp_path)
    assert page.run("""
        const page = client();
        await page.ask("advance", {count: 30, unit: "step"});
        await page.ask("seek", {step: 10});
        await page.ask("edit", {row: 2, value: 0.5});
        const before = await page.ask("advance", {count: 7, unit: "step"});
        page.fail("");
        const after = await page.ask("state");
        const first = await page.ask("choose", {key: 0});
        page.end();
        const of = ({branch, branches, step, value}) => JSON.stringify([
            branch, branches.map(({number, start, end}) => [number, start, end]), step, value]);
        return [of(before) === of(after), first.step, first.last, first.branch];
    """) == [True, 17, 30, 0]
