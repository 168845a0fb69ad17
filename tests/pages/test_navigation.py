"""Going elsewhere in the training of a page, in Node: what waits, and what replaces it."""

from __future__ import annotations

import pytest

from tests.pages.in_web import in_web

# A player whose client answers when `next` is called; `sent` are the commands it got.
PLAYER = """
    const sent = [], open = [];
    const client = { ask: (name, args) => {
      sent.push(name === "pause" ? name : [name, args.count ?? args.step ?? 0]);
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
        ('player.navigate("back", { count: 1, unit: "operation" });', [["back", 1], ["back", 1]]),
        ('player.navigate("advance", { count: 2, unit: "step" });', [["back", 1], ["advance", 2]]),
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
        const first = [sent.splice(0), player.operations, player.quicken()];
        player.setSpeed(player.speeds.length - 1);
        await player.pause();
        sent.length = 0;
        player.setUnit("step");
        player.play();
        await player.pause();
        return [...first, sent, player.operations, player.speeds === SPEEDS];
    """
    played = [["pause", "operation"], 1, False, [10, "pause"], None, True]
    assert in_web("player", body) == played
