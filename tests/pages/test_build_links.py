"""Links to networks built in a playground, read and written in Python and in a page."""

import random
import re
import zlib
from base64 import urlsafe_b64encode
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import text, texts
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.data.plane import FEATURES
from scalarviz.data.rgb import MAPS, Rgb
from scalarviz.faces.cli.watch_scene import opened
from scalarviz.faces.links import lines_of, pairs_of, read_link, unpacked
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import own_options
from scalarviz.story import build_link
from scalarviz.story.build_link import LONGEST, count_of, read_build, write_build, written
from scalarviz.story.journal import NAMES, Change, changes_in, edit_part, parts_between
from tests.pages.node import in_web

PACKED = re.compile("table=[^&]*")
USUAL, _ = read_build([])
NO_TABLE = {name: USUAL[name] for name in build_link.TABLE}
KINDS = [*NAMES, "drop", "edit", "freeze", "free", "weights"]
PAGES = """
const links = [];
for (const hash of data.links) {
  setTexts(data.texts);
  const { settings, value, changes, kernels: k, rest, bad } = await readBuild(`#${hash}`);
  const table = settings.table && settings.table.lines;
  const done = { do: new URLSearchParams(hash).get("do") ?? "", k };
  const plain = (each) => (each instanceof Map ? Object.fromEntries(each) : each);
  const now = (given) => ({ ...plain(given), table });
  const made = changes.map((each) => ({ ...each, settings: now(each.settings) }));
  const again = await writeBuild(settings, value, "#", done);
  links.push([{ ...settings, table }, bad, again, value, rest, made]);
}
return links;
"""
HOSTILE = """hidden=900 hidden=1,1,1,1,1,1 hidden=0 hidden=, hidden=٣ hidden=1e1 hidden=%ff
features= features=x,,y activation=tanh,relu,sin hidden=&activation=relu,sin lr=-1 lr=1e999
lr=nan lr=1_0 lr=0x1 lr=. lr=😀aaaaaaaaaaaaaaaaaaaaaaaaa l1=2 share=1 share=0 noise=1 noise=٠
batch=3 batch=1e1 seed=1.5 seed=9999999999999999 v=2 v= opt=adam,beta1:9 opt=__proto__
share=0.1&batch=64 init=constructor shape=<img/src=x/onerror=alert(1)> shape=é%00 bias=true w=%00
w=a.b points=a.bc points=AAA points=____ points=AAAAAAAA points=AAAA&batch=4 colours=AAAAAAAA
colours=AAAAAAAAAAAAAAAAA colours=AAAAAAAAAAAAAA.A k=12345 k=XYZXYZ
do=; do=@ do=@1 do=lr=1 do=e24:1 do=e25:1@3 do=e1:1@5;e1:1@4 do=e1:1@5.2;e1:1@5.1 do=e1:1@5.100
do=lr=1@20001 do=lr=1@1e9 do=lr=1@1000000000 do=e1:nan@3 do=e1:1e7@3 do=e1:--1@3 do=e1:1e-@3
do=e٣:1@3 do=e1:1@٣ do=drop=2@1 do=drop=-1@1 do=freeze=3-25@1 do=freeze=4-3@1 do=free=@1
do=hidden=1,1,1,1@1 do=hidden=4@1 do=hidden=900,2@1 do=activation=tanh,tanh,tanh@1 do=init=zeros@1
do=bias=no@1 do=w=AAAA@1 do=do=@1 do=weights=1.5@1 do=share=.1@1;batch=64@1 do=shape=x@1;lr=1@2
do=table=AAAA@1 do=names=a,b@1 do=drop=0@1;e9:1@2 do=__proto__=1@1 do=constructor@1""".split()


def chosen_table(choose: random.Random) -> dict[str, Any]:
    """A packed table chosen at random: of two or more classes, or of numbers."""
    columns, kinds = choose.randint(1, 20), choose.choice([0, 2, choose.randint(3, 10)])
    varied = choose.choice([1, 2, columns])  # the others are constant
    lines = [
        [choose.gauss(3, 2) if k < varied else 0.5 for k in range(columns)]
        + [i % kinds if kinds else choose.choice([1.0, choose.gauss(0, 100)])]
        for i in range(choose.randint(max(kinds, 6), 40))
    ]
    letters = "abc äµ%&#+=?/'\"<中"
    names = ["".join(choose.choices(letters, k=choose.randint(1, 26))) for _ in range(40)]
    names = [f"x{each}y" for each in names]
    return {
        "table": packed(np.array(lines)), "names": names[: columns + 1],
        "classes": names[-kinds:] if kinds else [],
    }  # fmt: skip


def packed(numbers: Any) -> str:
    raw = zlib.compress(np.asarray(numbers, "<f4").tobytes(), wbits=-15)
    return urlsafe_b64encode(raw).decode().rstrip("=")


def chosen(choose: random.Random) -> dict[str, Any]:
    """Settings of a playground, chosen at random."""
    hidden = [choose.randint(1, 12) for _ in range(choose.randint(0, 5))]
    share = choose.choice([0.1, 0.5, choose.uniform(0.1, 0.9)])
    points = [(choose.uniform(-6, 6), choose.uniform(-6, 6), kind) for kind in (1.0, -1.0) * 9]
    own = choose.choice([0, 0, 2, 18])  # the user's points
    pairs = [[choose.random() for _ in range(6)] for _ in range(choose.choice([0, 2, 9]))]
    table = chosen_table(choose) if choose.random() < 0.3 else NO_TABLE
    lines = len(lines_of(table)[0]) if table["table"] else 0
    maps = [] if table["table"] or own else choose.choice([[], [], build_link.COLOURS])
    trained = build_link.trained_of({"share": share}, lines) if lines else own or 500 * share
    trained = len(pairs) or build_link.GRID if maps else trained
    batches = [each for each in build_link.BATCHES if each <= trained]

    def number(most: float) -> float:
        return choose.choice([0.0, most, most * choose.random(), most * 1e-9])

    return {
        "shape": choose.choice(maps or build_link.SHAPES), "noise": number(0.5),
        "share": share,
        "points": "" if lines else build_link.packed_points(points[:own]), **table,
        "colours": build_link.packed_colours(pairs) if maps else "",
        "seed": choose.choice([1, 0, choose.randrange(10**15)]),
        "features": [each for each in FEATURES if choose.random() < 0.5] or ["x"],
        "hidden": hidden, "activation": [choose.choice(build_link.ACTIVATIONS) for _ in hidden],
        "init": choose.choice(build_link.INITIALIZERS), "bias": choose.random() < 0.5,
        "opt": choose.choice([*build_link.RATES]), "lr": number(1000.0),
        "batch": choose.choice(batches), "l1": number(1.0), "l2": number(1.0),
        "w": "", "do": "", "k": choose.choice(["", "0a1b2c"]),
    }  # fmt: skip


def changes_at_random(choose: random.Random, settings: dict[str, Any]) -> str:
    """Some changes during training, all valid."""
    words, step = "", 0
    for _ in range(choose.choice([0, 0, 1, 12])):
        step += choose.choice([0, 1, 300])
        new, kind = chosen(choose), choose.choice(KINDS)
        row, sign = choose.randrange(99), choose.choice([-1, 1])
        given = {"freeze": f"{row}-{row + 3}", "free": row, "weights": row, "drop": row % 3}
        value = choose.choice([0.0, 0.5, 1e-9, 3e5, choose.random()])
        part = f"{kind}={given[kind] if kind in given else written(kind, new.get(kind, ''))}"
        part = edit_part(row, sign * value) if kind == "edit" else part
        more = f"{words};{part}@{step}{choose.choice(['', f'.{row}'])}".lstrip(";")
        words = words if changes_in(settings, more) is None or len(more) > 2000 else more
    return words


def in_pages(links: list[str]) -> Any:
    return in_web("packed_link texts", PAGES, links=links, texts=texts())


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_settings_are_read_as_they_were_written_and_alike_in_a_page(count: int) -> None:
    choose = random.Random(count)
    made = [USUAL, *(chosen(choose) for _ in range(count))]
    for each in made[1:]:
        each["do"] = changes_at_random(choose, each)
    links = [write_build(each) for each in made]
    assert links[0] == "v=1"
    for settings, link, page in zip(made, links, in_pages(links), strict=True):
        assert read_build(pairs_of(link)) == (settings, [])
        first = {name: each for name, each in settings.items() if name not in ("w", "do", "k")}
        table = settings["table"] and lines_of(settings)[0]
        assert page[0] == {**first, "table": table}
        assert PACKED.sub("", page[2]) == PACKED.sub("", f"#{link}")  # it may be packed otherwise
        again = read_link(f"play?{page[2][1:]}") if table else None
        options = {**settings, "table": again.options["table"]} if again else {}
        assert not again or lines_of(options)[0] == table
        assert [page[1], *page[3:5]] == ["", None, "#"]
        changes = read_link(f"play?{link}").changes
        assert page[5] == [
            {**vars(each), "settings": {**each.settings, "table": table}} for each in changes
        ]
        for before, change in pairwise([Change("", 0, 0, first), *changes]):
            layer = change.first if change.kind == "drop" else None
            parts = [f"{part}@1" for part in parts_between(before.settings, change.settings, layer)]
            made_again = changes_in(before.settings, ";".join(parts)) if parts else [before]
            assert made_again and made_again[-1].settings == change.settings


def test_each_invalid_part_is_one_sentence_and_the_rest_is_read() -> None:
    links = [
        f"{each}&lr=0.5&step=7" if "lr=" not in each else f"{each}&step=7"
        for each in [*HOSTILE, "w=" + "A" * 6001]
    ]
    for link, (settings, bad, _, value, rest, made) in zip(links, in_pages(links), strict=True):
        opened_by = read_link(f"play?{link}")
        sentences = [*opened_by.bad]
        assert len(sentences) == 1 and sentences[0].count(".") >= 1 and len(sentences[0]) < 160
        assert bad == f"{sentences[0]} Everything else is open."
        assert settings.items() <= read_build(pairs_of(link))[0].items()
        assert value is None and rest == "#step=7"
        assert opened_by.step == 7 and opened_by.changes == () and made == []


def test_the_last_of_equal_names_holds_and_inputs_have_one_order() -> None:
    assert read_build(pairs_of("features=x2&features=y,x,y+"))[0]["features"] == ["x", "y"]


def test_packed_weights_are_read_bit_for_bit_or_refused() -> None:
    settings = USUAL | {"features": [*FEATURES], "hidden": [12] * 5, "activation": ["tanh"] * 5}
    value = np.random.default_rng(0).normal(size=count_of(settings)).astype(np.float32)
    script = "return writeBuild(data.settings, Float32Array.from(data.value));"
    link = in_web("packed_link", script, settings=settings, value=value)[1:]
    words = dict(pairs_of(link))["w"]
    assert len(link) < 4000
    read, wrong = unpacked(words, len(value))
    assert read is not None and read.tobytes() == value.tobytes() and wrong == ""
    assert in_pages([link])[0][3] == value.tolist()
    wrong_number = packed(np.where(value == value[3], np.nan, value))
    wrongs = {
        words[:900]: "cut", words[:901]: "cut", words[:-1]: "cut", words[9:]: "damaged",
        words + "AAAA": "damaged", "AAAA": "cut", packed(value[1:]): "miscounted",
        packed(np.zeros(750_000)): "miscounted", wrong_number: "not_finite",
    }  # fmt: skip
    for wrong, key in wrongs.items():
        [(_, bad, _, read, *_)] = in_pages([link.replace(words, wrong)])
        assert unpacked(wrong, len(value)) == (None, key) and read is None
        assert bad == f"{text(f'build.{key}')} Everything else is open."
    too_long = in_pages(["w" * (LONGEST + 1)])[0][1]
    assert (
        too_long
        == "A link has at most 8,000 characters; this one has 8,002. Everything else is open."
    )
    start = opened(read_link(f"play?{link}#step=0"), {})[0].session
    start.advance(3, progress=False)
    start.seek(0)
    assert start.network.bank.value.tobytes() == value.tobytes()


def test_what_links_offer_exists_in_python() -> None:
    options = own_options(load(scenes()["circle"]))
    assert {*build_link.SHAPES} == {*options["shape"].info.names}
    assert (*MAPS,) == build_link.COLOURS and len(Rgb().batches().inputs) == build_link.GRID
    assert {*build_link.FEATURES} == {*FEATURES}
    assert {*build_link.ACTIVATIONS} <= {*ACTIVATIONS} and {*build_link.INITIALIZERS} <= {
        *INITIALIZERS
    }


def test_changes_of_a_link_are_repeated_by_a_session() -> None:
    words = "e3:0.5@2;freeze=0-2@2.3;features=x,y,x2@4;hidden=3,2,2@5;drop=0@6;opt=adam@6;l2=0.1@7;"
    words += "activation=relu@8;activation=relu,sin@8;shape=spiral@9;share=0.1@9;batch=64@9"
    assert changes_in(USUAL, words) is None
    words = words.replace("activation=relu@8;", "").replace("batch=64", "batch=32")
    link = read_link(f"play?do={words}&k=000000&step=11")
    assert link.bad == (text("build.kernels"),)
    sessions = [opened(link, {})[0].session]
    while (origin := sessions[-1].origin) and origin.session:
        sessions.append(origin.session)
    session = sessions[0]
    assert [each.step_index for each in sessions] == [3, 1, 0, 1, 4]
    assert [each.outputs for each in session.network.layers] == [2, 2, 1]
    assert [*session.data.input_names] == ["x", "y", "x²"] and session.batch == 32
    assert "50 samples" in repr(session.data) and session.optimizer.l2 == 0.1
    assert sessions[-1].network.bank.frozen.sum() == 3
    other = opened(read_link("play?do=e3:0.5@2;lr=1@9&step=2"), {})[0].session
    assert other.network.bank.value[3] == 0.5 and other.learning_rate == 0.03
