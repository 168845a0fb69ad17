"""Challenges of the playground, solved and not solved in the engine of the page.

python -m tests.pages.test_challenges     records what the ways bring
"""

import base64
import json
import zlib
from base64 import urlsafe_b64encode
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import playground
from scalarviz.pages.playground_data import playground_data
from tests.pages.node import in_web

TABLE = Path(playground.__file__).with_name("challenges.json")
CHALLENGES: list[dict[str, Any]] = json.loads(TABLE.read_text())
DRAGS = [each for each in CHALLENGES if "drag" in each["may"]]
SETTINGS = "shape noise share seed features hidden activation init opt lr batch l1 l2".split()
FIELDS = {"layers": {"hidden", "activation"}}  # that may be changed, where not of the same name
COMMANDS = "edit play advance back seek reset freeze roll branches optimizer batch".split()
VALUES = {"xor": 4}  # of a weight on the grid, where there are too many combinations of 33
MODULES = "challenge own_challenge packed_link dense_page data_sets engine texts zipped"
OWN: dict[str, Any] = {
    "v": 1, "n": "Mine", "say": "Turn one.", "may": ["drag"], "moves": 1,
    "goal": [["right", ">=", 240]], "way": [["edit", 13, 1.7]],
}  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"v": 2}, {"v": None}, {"n": ""}, {"n": 7}, {"n": "n" * 41}, {"say": None}, {"say": "s" * 161},
    {"may": []}, {"may": ["drag", "eval"]}, {"may": "drag"}, {"may": ["play"]}, {"moves": 0},
    {"moves": "3"}, {"by": 9}, {"may": ["play"], "by": 20001}, {"tries": 2}, {"goal": []},
    {"goal": [["right", ">", 9]]}, {"goal": [["toString", ">=", 9]]}, {"goal": [["right", ">="]]},
    {"goal": [["right", ">=", "9"]]}, {"way": []}, {"way": [["edit", 17, 1]]}, {"way": [7]},
    {"way": [["edit", 1.5, 1]]}, {"way": [["edit", 1, None]]}, {"way": [["toString"]]},
    {"way": [["features", "z"]]}, {"way": [["layers", 1, 3]]}, {"way": [["layers", 0, 13]]},
    {"way": [["lr", -1]]}, {"way": [["pause", 0]]}, {"way": None}, {"goal": {"length": 1}},
    {"extra": "e" * 65536},
]  # fmt: skip
# `trained` returns the numbers of a network after some steps, by steps.
SCRIPT = """
setTexts(data.texts);
const module = await WebAssembly.compile(Buffer.from(data.module, "base64"));
const engineOf = async ({ settings, value }) => {
  const given = { ...settings, activations: settings.hidden.map(() => settings.activation[0]) };
  const { spec, image, held } = specOf(data.base, data.tables, given, { value });
  const { points, targets } = pointsOf(settings);
  const inputs = Float32Array.from([featuresOf(points, settings.features), held[0]].flat(2));
  const goals = [...targets, ...held[1]];
  const engine = await Engine.open(module, image, spec.engine);
  const numbers = () => numbersOf(settings, engine.evaluate(inputs, goals.length), goals, targets.length);
  return { engine, numbers };
};
const trained = async (now, ...steps) => {
  const { engine, numbers } = await engineOf(now);
  return steps.map((step) => (engine.train(step - engine.step), numbers()));
};
const { challenge } = data;
const { settings, value } = await readBuild(`#${challenge.start}`);
const begun = { settings, value };
const first = { ...begun, value: begun.value ?? (await engineOf(begun)).engine.value.slice() };
const plays = challenge.may.includes("play");
const isSolved = (numbers) => judge(challenge, numbers).solved;
"""  # noqa: E501
WAY = """
const places = [begun];
for (const entry of challenge.way) places.push(after(places.at(-1), entry));
const steps = plays ? [challenge.way[0][0] === "pause" ? challenge.way[0][1] : challenge.by] : [0];
const numbers = [];
for (const place of places) numbers.push(...(await trained(place, ...steps)));
const at = (place) => ({ ...place, value: place.value ?? first.value });
return {
  brought: numbers.map((each) => Number(each[challenge.goal[0][0]].toFixed(3))),
  solved: numbers.map(isSolved),
  moves: places.map((place) => movesOf(challenge, at(begun), at(place)).length),
  next: places.map((place) => nextOf(challenge, at(begun), at(place))),
};
"""
# The rows of all combinations of weights, each with some values of a grid, that reach the goal.
SEARCH = """
const { engine, numbers } = await engineOf(begun);
const grid = Array.from({ length: data.values }, (_, i) => -4 + (8 * i) / (data.values - 1));
const found = new Set();
const search = (rows, left) => {
  if (!left) return isSolved(numbers()) && found.add(rows.join());
  for (let row = (rows.at(-1) ?? -1) + 1; row <= engine.value.length - left; row++) {
    const old = engine.value[row];
    for (const value of grid) {
      engine.value[row] = value;
      search([...rows, row], left - 1);
    }
    engine.value[row] = old;
  }
};
search([], data.count);
return [...found];
"""
TRAINED = """
const found = [];
for (const [entries, last] of data.tries) {
  const place = entries.reduce((place, entry) => after(place, entry), begun);
  const all = Array.from({ length: last / 10 }, (_, i) => 10 * (i + 1));
  const steps = challenge.tries || challenge.last ? [last] : all; // others count at once
  found.push((await trained(place, ...steps)).some(isSolved));
}
return found;
"""
# Links with challenges, and what a page reads in them; `data.packed` are others than these.
LINKS = """
const start = await writeBuild(begun.settings, begun.value);
const packedRow = (row) => packedBytes(new TextEncoder().encode(JSON.stringify(row)));
const all = [...(await Promise.all(data.rows.map(packedRow))), ...data.packed];
const links = all.map((each) => `${start}&c=${each}`);
const read = await Promise.all(links.map(readChallenge));
const bad = await Promise.all(links.map(async (each) => (await readBuild(each)).bad));
return { links, read, bad };
"""
# A trained network with three weights turned round, packed and read again; or null.
TURN = """
const { engine } = await engineOf(begun);
engine.train(data.steps);
let { seed } = data;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const { spec, image } = specOf(data.base, data.tables, begun.settings, { value: engine.value });
const counter = await counterOf(module, { spec, image, settings: begun.settings });
const before = counter.right();
const found = await turned(counter, async () => data.goes, random);
const row = found && { n: "n", say: "say", ...found };
const hash = row && (await writeChallenge(row, begun.settings, counter.value));
return { trained: before, start: counter.right(), count: counter.count, read: hash && (await readChallenge(hash)) };
"""  # noqa: E501
RULES = """
return [data.settings.filter((name) => isAllowed(challenge, [name])), data.commands.filter((name) => takes(challenge, name))];
"""  # noqa: E501


@cache
def data_of_page() -> dict[str, Any]:
    make = load(find("circle"))
    module, tables = playground_data(make)
    base = playground.base_of(make(engine="python"), "")
    return {"module": base64.b64encode(module).decode(), "tables": tables, "base": base}


def asked(challenge: dict[str, Any], body: str, **more: Any) -> Any:
    """What JavaScript finds for a challenge, with the engine of the page."""
    given = data_of_page() | {"challenge": challenge, "texts": texts()} | more
    return in_web(MODULES, SCRIPT + body, **given)


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda each: each["id"])
def test_the_way_solves_a_challenge_that_is_not_solved_as_it_begins(challenge: Any) -> None:
    found = asked(challenge, WAY)
    assert not found["solved"][0] or challenge.get("tries")  # it is solved by the pause itself
    assert found["solved"][-1]
    assert found["moves"] == [*range(len(found["moves"]))] or challenge.get("tries")
    assert found["moves"][-1] <= challenge.get("moves", 99)
    assert found["next"][: len(challenge["way"])] == challenge["way"]
    if challenge in DRAGS:  # others train, to numbers that may differ in the last digits
        assert found["brought"] == challenge["brought"], "python -m tests.pages.test_challenges"


@pytest.mark.parametrize("challenge", DRAGS, ids=lambda each: each["id"])
def test_fewer_drags_do_not_solve_a_challenge(challenge: Any) -> None:
    values = VALUES.get(challenge["id"], 33)
    count, rows = challenge["moves"], [row for _, row, _ in challenge["way"]]
    if count == 1:  # no other single drag reaches the goal
        assert asked(challenge, SEARCH, values=values, count=1) == [str(rows[0])]
    else:
        assert asked(challenge, SEARCH, values=values, count=count - 1) == []


@pytest.mark.parametrize(
    ("name", "tries"),
    [
        ("inputs", [([["features", each]], 500) for each in "x y x2 y2 xy sinx siny".split()]),
        ("rate", [([], 300), ([["lr", 3]], 300), ([["lr", 0.03]], 300)]),
        ("few", [([["layers", 0, 4]], 3000), ([["layers", 0, 2]], 3000)]),
        ("stop", [([], 500), ([], 2500), ([], 4000), ([], 6000)]),
        ("tame", [([], 3000), ([["l2", 0.0001]], 3000), ([["l2", 0.1]], 3000)]),
        ("spiral", [([["features", "sinx"], ["features", "siny"]], 8000)]),
        ("spiral", [([["features", "sinx"], ["layers", 0, 6]], 8000), ([["layers", 0, 6]], 8000)]),
    ],
)  # fmt: skip
def test_other_settings_do_not_solve_a_challenge(name: str, tries: Any) -> None:
    (challenge,) = [each for each in CHALLENGES if each["id"] == name]
    assert not any(asked(challenge, TRAINED, tries=tries))


@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda each: each["id"])
def test_what_may_not_be_changed_is_refused(challenge: Any) -> None:
    settings, commands = asked(challenge, RULES, settings=SETTINGS, commands=COMMANDS)
    may = set().union(*(FIELDS.get(each, {each}) for each in challenge["may"]))
    assert set(settings) == may - {"drag", "play"}
    assert set(commands) == {{"drag": "edit"}.get(each, each) for each in may & {"drag", "play"}}


def test_a_network_with_three_weights_turned_round_is_a_challenge() -> None:
    start = {"start": "features=x2,y2&hidden=6&seed=2", "may": ["drag"], "goal": [], "way": []}
    found = asked(start, TURN, steps=800, seed=1, goes=True)
    own = found["read"]
    wanted = own["goal"][0][2]
    assert found["start"] < wanted <= found["trained"] <= found["count"] == 250
    assert wanted >= 0.98 * found["trained"] and own["moves"] == len(own["way"]) == 3
    way = asked(own, WAY)
    assert way["moves"] == [0, 1, 2, 3]
    assert way["solved"] == [False, False, way["solved"][2], True]
    assert way["brought"][0] == found["start"] and way["brought"][3] == found["trained"]
    assert way["next"] == [*own["way"], None]
    assert asked(own, SEARCH, values=33, count=1) == []
    assert asked(start, TURN, steps=800, seed=1, goes=False)["read"] is None  # it was closed
    for easy in ("shape=gaussians&hidden=2&seed=1", "hidden=&features=x"):  # or with 2 weights
        assert asked(start | {"start": easy}, TURN, steps=800, seed=1, goes=True)["read"] is None


def test_a_damaged_challenge_is_one_sentence_and_its_network_is_open() -> None:
    bomb = urlsafe_b64encode(zlib.compress(bytes(3_000_000), wbits=-15)).decode().rstrip("=")
    packed = ["AAAA", "", "99", "-1", "1.5", "__proto__", "<img/src=x/onerror=alert(1)>", "é", bomb]
    found = asked(CHALLENGES[0], LINKS, rows=[OWN, *(OWN | each for each in WRONG)], packed=packed)
    first, *rest = found["read"]
    assert {name: first[name] for name in OWN} == OWN
    assert rest == [None] * (len(WRONG) + len(packed))
    rows = zip(found["links"], found["bad"], strict=True)
    for link, bad in [*rows][1:]:
        assert bad == f"{texts()['challenge.bad']} {texts()['build.rest']}"
        assert read_link(f"play?{link[1:]}").weights is not None


@pytest.mark.parametrize("number", range(1, len(CHALLENGES) + 1))
def test_python_opens_the_start_of_a_challenge(number: int) -> None:
    row = CHALLENGES[number - 1]
    own = asked(row, LINKS, rows=[OWN], packed=[])["links"][0]
    start = read_link(f"play?{row['start']}")
    for link in (f"play?c={number}&step=7", f"file:///page.html#c={number}", f"play?{own[1:]}"):
        found = read_link(link)
        assert found == replace(start, bad=(texts()["challenge.python"],))
        assert np.array_equal(found.weights, start.weights)
    assert read_link("play?c=99").bad == (texts()["challenge.bad"],)


def test_each_challenge_has_a_name_and_a_sentence() -> None:
    keys = [f"challenge.{each['id']}.{part}" for each in CHALLENGES for part in ("name", "say")]
    assert set(keys) <= texts().keys()


def record() -> None:
    """Write what each way brings into the table: one line for each field."""
    for each in CHALLENGES:
        each["brought"] = asked(each, WAY)["brought"]
    rows = [
        [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in each.items()]
        for each in CHALLENGES
    ]
    words = ",\n".join("  {\n" + ",\n".join(row) + "\n  }" for row in rows)
    TABLE.write_text(f"[\n{words}\n]\n")


if __name__ == "__main__":
    record()
