"""Going elsewhere in the training of a page, in Node: what waits, and what replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.in_web import in_web
from tests.pages.pages import InPage
from tests.pages.test_engine import rgb

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
            'player.navigate("begin"); player.navigate("begin");',
            [["back", 1], "pause", "pause", ["begin", 0], ["begin", 0]],
        ),
        (
            'for (const by of [1, 1]) player.navigate("choose", { by });',
            [["back", 1], ["choose", 0], ["choose", 0]],
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
        const ask = async (name, args = {}) => sent.push(args.unit ?? args.rate ?? name);
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
    played = [["pause", "operation"], 1, [10, "pause"], None, True]
    assert in_web("player", body) == played


def test_each_of_some_quick_presses_counts(tmp_path: Path) -> None:
    """Commands that are sent at once, before any of them is answered."""
    found = InPage(rgb(), tmp_path).run("""
        const one = client();
        const many = async (...all) =>
          (await Promise.all(all.map((each) => one.ask(...each)))).at(-1);
        const times = (count, ...each) => Array(count).fill(each);
        const { rate, batch } = await one.ask("state");
        const now = (await many(...times(5, "scaleRate", { factor: 0.5 }))).rate;
        const told = [now / rate, (await many(...times(3, "focus", { by: 1 }))).focus];
        told.push((await many(...times(4, "focus", { by: -1 }))).focus - batch);
        const { seed } = await many(...times(3, "begin"));
        told.push(seed - spec.initial.seed);
        for (let i = 0; i < 3; i++) {
          await many(["advance", { count: 2, unit: "step" }], ["back", { count: 1, unit: "step" }]);
          await one.ask("edit", { row: 2, value: i });
        }
        const all = await one.ask("state");
        const place = (key) => all.branches.findIndex((each) => each.key === key);
        const other = (await many(...times(2, "choose", { by: 1 }))).branch;
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
