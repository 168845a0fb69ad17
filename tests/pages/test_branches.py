"""Branches of a page and links to its moments, in Node.

Against the session, named, within memory.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import texts as texts_module
from scalarviz.base.texts import text, texts
from scalarviz.faces.controller.changes import Edits
from tests.pages.conftest import rgb, xor
from tests.pages.node import InPage, in_web
from tests.sessions import advanced

Act = tuple[Any, ...]

# Does acts, each a list of a name and its arguments, on a clock.
ACTS = """
    const acts = {
        advance: (count, unit) => clock.advance(count, unit),
        back: (count, unit) => clock.back(count, unit),
        seek: (step) => clock.step === step && clock.operation === 0 || clock.seek(step),
        edit: (row, value) => clock.change({ kind: "edit", row, value }),
        freeze: (row, on) => clock.change({ kind: "freeze", rows: [row], on }),
        rate: (rate) => clock.change({ kind: "learning rate", rate }),
        size: (size) => clock.change({ kind: "batch", size }),
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
        const lossesOf = (each) => each.branches.since(0).values.slice(0, clock.step);
        const [one, other] = [clock, straight].map(lossesOf);
        return same(clock.engine.save(), straight.engine.save()) && `${one}` === `${other}`;
    };
"""


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
def test_branches_are_those_of_a_session(exact: InPage, seed: int) -> None:
    session, acts = xor(), walk(seed, 60, undoes=False)
    wanted, values = [], []
    for name, *given in acts:
        if name == "switch":
            branch = session.branches[given[0] % len(session.branches)]
            if branch is not session.current_branch:  # a page offers the others only
                session.switch(branch)
        elif name == "edit":  # within a step a page begins the step again, as faces do
            Edits(session).edit(*given)
        elif name != "seek" or session.clock.place != (given[0], 0):
            getattr(session, name)(*given)
        forks = [[each.number, each.fork.step, each.end.step] for each in session.branches]
        wanted.append([[*session.clock.place], session.current_branch.number, forks])
        values.append(session.network.bank.value.tolist())
    found = exact.run(f"""
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
def test_a_walk_over_branches_ends_where_the_straight_way_does(exact: InPage, memory: int) -> None:
    walks = [walk(seed, 80, undoes=True) for seed in range(10, 16)]
    assert (
        exact.run(f"""
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


def test_undo_and_redo_lead_home_through_branches(exact: InPage) -> None:
    assert exact.run("""
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


def test_an_undo_of_a_change_keeps_what_was_trained_after_it(exact: InPage) -> None:
    assert exact.run("""
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


def test_losses_of_a_branch_come_with_those_before_it(exact: InPage) -> None:
    assert exact.run("""
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


def test_the_branch_that_was_not_shown_for_longest_is_dropped(exact: InPage) -> None:
    found = exact.run(f"""
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
    assert InPage(rgb(), tmp_path).run("""
        const page = client();
        await page.ask("advance", {count: 30, unit: "step"});
        await page.ask("seek", {step: 10});
        await page.ask("edit", {row: 2, value: 0.5});
        const before = await page.ask("advance", {count: 7, unit: "step"});
        page.fail("");
        const after = await page.ask("state");
        const first = await page.ask("branches", {key: 0});
        page.end();
        const of = ({branch, branches, step, value}) => JSON.stringify([
            branch, branches.map(({number, start, end}) => [number, start, end]), step, value]);
        return [of(before) === of(after), first.step, first.last, first.branch];
    """) == [True, 17, 30, 0]


ENGLISH = json.loads(
    Path(texts_module.__file__).with_name("english.json").read_text(encoding="utf-8")
)
NAME = """
    setTexts(data.english);
    const branch = {journal: data.journal, fork: data.fork, parent: data.parent};
    const {step: start, operation} = data.fork;
    return branchName({start, operation, is_first: branch.parent === null, done: begunBy(branch)},
        {optimizers: [{title: "Adam"}]});
"""
Change = dict[str, Any]


def name_in_page(step: int, changes: list[Change], before: int = 0, operation: int = 0) -> Any:
    """The name of a branch whose journal has some changes after those of the branch before."""
    place = {"step": step, "operation": operation}
    journal = [{"kind": "learning rate", "rate": 9.0, "step": 0, "operation": 0}] * before
    journal += [place | change for change in changes]
    return in_web(
        "changes texts",
        NAME,
        english=ENGLISH,
        journal=journal,
        fork=place | {"applied": before},
        parent=0,
    )


def name_in_session(step: int, changes: list[Change], operation: int = 0) -> str:
    """The name of the branch of a session in which a user does the same."""
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    s = advanced(sv.Session(net, data.Xor(), batch=1, engine="python"), 6)
    s.seek(step)
    if operation:
        s.advance(operation, "operation")
    for change in changes:
        if change["kind"] == "edit":
            s.edit(change["row"], change["value"])
        elif change["kind"] == "freeze":
            s.freeze(change["rows"], change["on"])
        elif change["kind"] == "learning rate":
            s.learning_rate = change["rate"]
        else:
            s.batch = change["size"]
    return s.current_branch.name


RATE, SIZE = {"kind": "learning rate", "rate": 0.3}, {"kind": "batch", "size": 4}
EDIT = {"kind": "edit", "row": 3, "value": -0.123456}
FREEZE = {"kind": "freeze", "rows": [1], "on": True}


@pytest.mark.parametrize(
    ("step", "changes", "operation"),
    [
        (2, [RATE], 0),
        (0, [SIZE], 0),
        (2, [EDIT, EDIT | {"value": 0.5}], 0),
        (2, [EDIT], 3),
        (1, [EDIT, EDIT | {"row": 4}, RATE], 0),
        (1, [FREEZE, RATE, SIZE, EDIT], 0),
        (3, [{"kind": "freeze", "rows": [0, 1, 2], "on": False}], 0),
    ],
)
def test_names_are_those_of_a_session(step: int, changes: list[Change], operation: int) -> None:
    wanted = name_in_session(step, changes, operation)
    assert name_in_page(step, changes, 2 if step else 0, operation) == wanted


def test_what_only_a_page_does_has_its_words() -> None:
    assert name_in_page(0, [{"kind": "weights", "seed": 4}]) == "from the start: other weights"
    assert name_in_page(7, [{"kind": "optimizer", "number": 0}]) == "from step 7: Adam"
    assert name_in_page(7, []) == "from step 7"


LIMITS = """
const limits = {first: 10, operations: 13, rows: 43, batch: 8, end: 1e9 + 1,
  sizes: new Map([["inputs", 3], ["tanh 0", 4], ["a:b", 2]]),
  look: new Map([["theme", ["dark", "light"]], ["numbers", ["yes", "no"]]])};
"""
NOTHING = {
    "step": None, "operation": None, "pinned": None, "sample": None, "hide": [], "play": None,
    "look": {}, "tour": None, "bad": [], "over": [],
}  # fmt: skip


def read(*links: str) -> Any:
    """What each link says."""
    body = LIMITS + "return data.links.map((hash) => readLink(hash, limits));"
    return in_web("links", body, links=links)


@pytest.mark.parametrize(
    ("link", "fields"),
    [
        ("", {}),
        ("#", {}),
        ("#step=120&op=7&pin=42", {"step": 120, "operation": 7, "pinned": {"row": 42}}),
        ("#op=3", {"step": 10, "operation": 3}),
        ("#op=12&step=11", {"step": 11, "operation": 12}),
        ("#neuron=tanh 0:3", {"pinned": {"neuron": ["tanh 0", 3]}}),
        ("#neuron=tanh%200%3A3", {"pinned": {"neuron": ["tanh 0", 3]}}),
        ("#neuron=a:b:1", {"pinned": {"neuron": ["a:b", 1]}}),
        ("#hide=controls, strip", {"hide": ["controls", "strip"]}),
        ("#play=.5&theme=light&tour=no", {"play": 0.5, "look": {"theme": "light"}, "tour": "no"}),
        ("#sample=7", {"sample": 7}),
        ("#numbers=yes", {"look": {"numbers": True}}),
    ],
)
def test_a_link_says_where_a_page_opens(link: str, fields: dict[str, Any]) -> None:
    assert read(link) == [{**NOTHING, **fields}]


BAD = [
    "step=-1", "step=9", "step=1e3", "step=", "step=9999999999", "op=13", "pin=43", "pin=x",
    "neuron=tanh 0", "neuron=tanh 0:4", "neuron=none:0", "sample=-1", "sample=8", "hide=all",
    "hide=", "hide=strip,all", "play=0", "play=fast", "play=-3", "play=1.2.3", "theme=blue",
    "tour=yes", "guess=1", "constructor=1", "__proto__=1", "toString=2", "alert(1)=2",
]  # fmt: skip


def test_what_means_nothing_is_left_out_and_named() -> None:
    for part, found in zip(BAD, read(*(f"#theme=dark&{part}&pin=1" for part in BAD)), strict=True):
        expected = {**NOTHING, "look": {"theme": "dark"}, "pinned": {"row": 1}}
        # A part without a value is named by its name.
        assert found == {**expected, "bad": [part.removesuffix("=")]}, part


def test_what_is_named_of_a_long_part_is_short() -> None:
    ((bad,),) = (each["bad"] for each in read(f"#{'x' * 5000}=1"))
    assert bad == "x" * 24 + "…"


def test_of_parts_that_say_the_same_the_last_one_holds_and_the_others_are_named() -> None:
    (found,) = read("#pin=1&neuron=tanh 0:3&step=12&pin=2&step=x")
    assert found["pinned"] == {"row": 2} and found["step"] == 12
    assert found["over"] == ["pin=1", "neuron=tanh 0:3"] and found["bad"] == ["step=x"]


def test_letters_that_are_not_seen_or_turn_others_are_not_said() -> None:
    ((bad,),) = (each["bad"] for each in read("#%E2%80%AEx%00=%0A\U0001f600"))
    assert bad == "\ufffdx\ufffd=\ufffd\U0001f600"


def test_of_many_bad_parts_some_are_named_and_the_rest_is_counted() -> None:
    body = "setTexts(data.texts); return data.bad.map(badParts);"
    few, many = in_web("links texts", body, texts=texts(), bad=[["a", "b"], list("abcdefghi")])
    assert few == "a, b"
    assert many == text("page.link.more", parts="a, b, c, d, e, f", count=3)


def test_a_link_names_neurons_and_steps_that_a_page_shows() -> None:
    body = """
    const lines = [
      {values: "tanh 0", sums: "sums 0", count: 4, one: true},
      {sums: "sums 1", count: 1, one: false}];
    const spec = {engine: {moments: [1, 2], sizes: {batch: 4}, step: 3}, facts: {rows: 9, lines},
      page: {look: {words: {}}}};
    const links = [
      "#neuron=tanh 0:4", "#neuron=sums 0:1", "#neuron=sums 1:0", "#step=9", "#sample=2"];
    const badIn = (each) => links.map((link) => readLink(link, linkLimits(each)).bad);
    return [spec, {...spec, recording: {steps: [3, 4, 8]}}].map(badIn);"""
    trains, recorded = in_web("links", body)
    assert trains == [[], ["neuron=sums 0:1"], [], [], []]
    assert recorded == [*trains[:3], ["step=9"], ["sample=2"]]


def test_a_link_that_is_written_reads_back() -> None:
    moments = [
        {"step": 120, "operation": 7, "pinned": {"row": 0}},
        {"step": 10, "operation": 0, "pinned": {"neuron": ["a:b", 1]}, "sample": 3},
        {
            "step": 11,
            "operation": 12,
            "hide": ["controls", "curve"],
            "look": {"theme": "dark"},
        },
    ]
    both = "return data.moments.map((m) => [writeLink(m), readLink(writeLink(m), limits)]);"
    body = LIMITS + both
    for moment, (link, found) in zip(moments, in_web("links", body, moments=moments), strict=True):
        assert found == {**NOTHING, **moment, "operation": moment["operation"] or None}
        assert not set(link) & set('<>" '), link
    body = "return writeLink({step: 120, operation: 7, pinned: {row: 42}, hide: ['controls']});"
    assert in_web("links", body) == "#step=120&op=7&pin=42&hide=controls"


def test_after_its_last_operation_a_step_is_linked_as_it_was_walked() -> None:
    walked, stands, within = in_web(
        "links",
        "return data.states.map(shownMoment)",
        states=[
            {"step": 5, "operation": 0, "moment": 11, "focus": 0},
            {"step": 5, "operation": 0, "moment": -1, "focus": 2},
            {"step": 5, "operation": 3, "moment": 2, "focus": 0},
        ],
    )
    assert walked == {"step": 4, "operation": 12, "sample": 0}
    assert stands == {"step": 5, "operation": 0, "sample": 2}
    assert within == {"step": 5, "operation": 3, "sample": 0}
