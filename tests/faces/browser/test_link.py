"""A page whose training is a session in Python: commands, states, and what is refused."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text, texts
from scalarviz.errors import InputError
from scalarviz.faces.browser.link import OTHERS
from scalarviz.faces.browser.wire import LEAST
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.nn import MLP
from scalarviz.scene.visuals.mip_levels import spread_of
from scalarviz.stage import narration
from scalarviz.stage.channels import largest
from scalarviz.stage.commands import COMMANDS
from scalarviz.stage.curves import measured_of
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import CardLine
from scalarviz.training.session.value_session import session_of
from tests.faces.browser.pages import FakePage, linked, opened
from tests.machine import until as until_it_is
from tests.pages.node import in_web
from tests.sessions import session_on

X = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [0.9, 0.1, 0.5]])
ASKED = *OTHERS, *(row.name for row in COMMANDS.values() if row.takes is not None)
NESTED = json.loads("[" * 900 + "]" * 900)  # JSON that is read, and too deep for repr


def session(*, engine: str = "cpu", **more: Any) -> sv.Session:
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=1)
    return sv.Session(net, (X, 1.0 - X), "mse", sv.SGD(0.5), batch=2, engine=engine, **more)


@pytest.fixture
def s() -> sv.Session:
    return session()


@pytest.fixture
def page(s: sv.Session) -> FakePage:
    return opened(s)


def test_a_page_has_the_numbers_of_the_session(s: sv.Session, page: FakePage) -> None:
    assert (page.state["value"] == s.network.bank.value).all()
    page.ask("advance", {"count": 3, "unit": "step"})
    state = page.state
    assert (state["step"], state["operation"], state["moment"]) == (3, 0, -1)
    assert (state["value"] == s.network.bank.value).all()
    assert state["losses"]["values"].tolist() == s.losses.tolist()
    assert state["loss"] == s.loss
    inputs, _ = s.trainer.batches.at(2)
    assert state["inputs"] == pytest.approx(inputs[0])
    outputs = state["values"][page.link.described["spec"]["facts"]["outputs"]]
    assert outputs == pytest.approx(np.asarray(s.network(inputs))[0], abs=1e-6)
    assert "losses" in state and "offers" not in state


def test_many_operations_lead_as_far_as_they_are(s: sv.Session, page: FakePage) -> None:
    page.ask("advance", {"count": 12 * len(s.operations) + 1, "unit": "operation"})
    assert (page.state["step"], page.state["operation"]) == (12, 1)
    assert "refused" in page.ask("advance", {"count": 1001, "unit": "sample"})


def test_operations_are_seen_one_by_one(s: sv.Session) -> None:
    before = s.network.bank.value.copy()
    page = opened(s)
    known = []
    for moment in range(len(s.operations) - 1):
        page.ask("advance", {"count": 1, "unit": "operation"})
        assert (page.state["operation"], page.state["moment"]) == (moment + 1, moment)
        known.append(len(page.state["values"]) + len(page.state["gradients"]))
        assert (page.state["before"] == before).all()
    assert known == sorted(known) and known[-1] > known[0]
    page.ask("advance", {"count": 1, "unit": "operation"})
    state = page.state
    assert (state["step"], state["operation"]) == (1, 0)
    assert state["moment"] == len(s.operations) - 1  # the step is shown until the next
    assert (state["before"] == before).all() and (state["value"] != before).any()
    assert len(state["all"]["targets"]) == 6 and len(state["fresh"]) == 6
    page.ask("back", {"count": 2, "unit": "operation"})
    assert (page.state["step"], page.state["operation"]) == (0, len(s.operations) - 2)


def test_going_back_and_changing_begins_a_branch(s: sv.Session, page: FakePage) -> None:
    page.ask("advance", {"count": 5})
    page.ask("seek", {"step": 2})
    jumps = page.state["jumps"]
    page.ask("edit", {"row": 3, "value": 0.25})
    assert s.network.bank.value[3] == 0.25 == page.state["value"][3]
    assert [branch["number"] for branch in page.state["branches"]] == [0, 1]
    assert page.state["undoable"] > 0
    page.ask("undo")
    assert s.network.bank.value[3] != 0.25
    page.ask("branches", {"key": 0})
    assert page.state["branch"] == 0 and page.state["jumps"] > jumps
    assert len(page.state["losses"]["values"]) == 5  # all, of another branch


SAID_OF_AN_EDIT = """
    setTexts(data.texts);
    const { scene } = data.spec;
    const facts = readyFacts(data.spec.facts);
    const state = new BankReader(scene).read(data.state);
    const lines = cardOf({ facts }, state, { row: data.row }).blocks.map(({ words }) => words);
    return [restWords(state), ...lines, state.changed];
"""


def test_a_change_by_hand_is_said_to_be_one_as_in_python(s: sv.Session) -> None:
    page, row = opened(s), 3
    page.ask("advance", {"count": 3})
    for value in (2.0, 2.5):
        page.ask("edit", {"row": row, "value": value})
    spec = page.link.described["spec"]
    given = {"texts": dict(texts()), "spec": spec, "state": page.state, "row": row}
    said = in_web("arrays cards captions facts texts", SAID_OF_AN_EDIT, **given)
    blocks = [each.words for each in blocks_of_weight(s, row) if isinstance(each, CardLine)]
    caption = Stage(s).frame_data().words.caption
    assert caption is not None and said == [caption.title, *blocks, 3]
    assert blocks[0].startswith("edited: ") and blocks[0].endswith(" → 2.5") and len(blocks) == 3
    assert blocks[2].startswith("Input 0 sent ")
    page.ask("advance", {"count": 1})
    assert page.state["edited"] == {} and page.state["changed"] == 3


def test_a_step_under_way_is_sent_with_the_numbers_that_it_moves_from(
    s: sv.Session, page: FakePage
) -> None:
    page.ask("advance", {"count": 2})
    begun = s.network.bank.value.copy()
    page.ask("advance", {"count": 1})
    after = s.network.bank.value.copy()
    assert (page.state["before"] == begun).all()
    s.advance(3, "operation")
    s.edit(5, 0.25)
    page.ask("advance", {"count": 1, "unit": "operation"})
    after[5] = 0.25
    assert page.state["operation"] == 4 and (page.state["before"] == after).all()
    page.ask("advance", {"count": len(s.operations) - 4, "unit": "operation"})
    assert (page.state["before"] == after).all() and page.state["moment"] >= 0


def test_seek_goes_to_an_operation_and_to_the_end_at_most(page: FakePage) -> None:
    page.ask("advance", {"count": 4})
    page.ask("seek", {"step": 1, "operation": 3})
    assert (page.state["step"], page.state["operation"]) == (1, 3)
    page.ask("seek", {"step": 10**9})
    assert (page.state["step"], page.state["operation"]) == (4, 0)


def test_it_plays_and_pauses(s: sv.Session, page: FakePage) -> None:
    page.ask("advance", {"count": 3, "unit": "step"})
    seen = [page.state["inputs"].tolist()]
    page.ask("play", {"speed": None})
    until = time.monotonic() + 20.0
    while s.step_index < 50 and time.monotonic() < until:
        page.link.attend()
        seen.append(page.state["inputs"].tolist())
    page.link.attend()
    page.ask("pause")
    assert seen[1:] == [seen[0]] * (len(seen) - 1) and page.state["inputs"].tolist() == seen[0]
    assert not s.playing and not page.state["playing"]
    assert page.state["step"] == s.step_index >= 50
    assert (page.state["value"] == s.network.bank.value).all()


def test_a_page_that_takes_no_state_gets_none(s: sv.Session, page: FakePage) -> None:
    page.reader.taken = False
    known = len(page.messages)
    s.advance(1)
    page.link.attend()
    assert len(page.messages) == known
    page.link.receive(page.reader, {"taken": page.reader.number})
    time.sleep(0.04)
    page.link.attend()
    assert page.state["step"] == 1


def test_what_others_do_is_seen_by_all(s: sv.Session) -> None:
    one = opened(s)
    other = FakePage(one.link)
    other.ask("open", {"version": 1})
    one.ask("edit", {"row": 0, "value": 2.0})
    s.network.bank.value[1] = 3.0  # in a cell
    s.advance(1)
    time.sleep(0.04)
    for _ in range(3):
        one.link.attend()
    for page in (one, other):
        assert page.state["step"] == 1
        assert (page.state["value"] == s.network.bank.value).all()


@pytest.mark.parametrize("row", [4, 12])
def test_what_a_cell_writes_into_a_weight_is_seen_and_undone(
    s: sv.Session, page: FakePage, row: int
) -> None:
    before = float(s.network.bank.value[row])
    s.network.bank.value[row] = 0.625
    until_it_is(lambda: page.state["value"][row] == 0.625, page.link.attend)
    page.ask("undo")
    assert s.network.bank.value[row] == before == page.state["value"][row]


def test_inputs_of_the_users_own_are_answered(s: sv.Session, page: FakePage) -> None:
    page.ask("own input", {"inputs": [0.5, 0.25, 0.75]})
    assert page.state["own"] is True and page.state["target"] is None
    outputs = page.state["values"][page.link.described["spec"]["facts"]["outputs"]]
    assert outputs == pytest.approx(s.network([0.5, 0.25, 0.75]), abs=1e-6)
    page.ask("own input", {"inputs": None})
    assert page.state["own"] is None
    answers = page.ask("evaluate", {"inputs": X.ravel().tolist()})["answers"]
    assert answers == pytest.approx(np.asarray(s.network(X)).ravel(), abs=1e-6)


def test_settings_are_changed_by_commands(s: sv.Session, page: FakePage) -> None:
    page.ask("learning rate", {"rate": 0.25})
    assert s.learning_rate == 0.25 == page.state["rate"]
    page.ask("double rate")
    assert s.learning_rate == 0.5
    page.ask("freeze", {"row": 1, "on": True})
    assert np.flatnonzero(page.state["frozen"]).tolist() == [1]
    page.ask("freeze", {"row": 1, "layer": True, "on": True})
    assert np.flatnonzero(page.state["frozen"]).tolist() == [*range(16)]
    page.ask("batch", {"size": 3})
    assert s.trainer.batches.size == 3 == page.state["size"]
    page.ask("sample", {"by": 1})
    assert page.state["focus"] == 1


def test_what_a_page_has_not_by_itself_is_offered(s: sv.Session) -> None:
    page = FakePage(linked(s))
    offers = {each["name"]: each for each in page.ask("open", {"version": 1})["state"]["offers"]}
    assert "python" in offers["option engine"]["names"]
    assert offers["option l1"]["label"] == "pull to 0 (l1)" and offers["go wrong"]["label"] == ""
    assert [offers[name]["menu"] for name in ("add layer", "go wrong")] == ["Change", "Go wrong"]
    assert offers["freeze layer"]["label"] == "Keep its layer from moving"
    assert offers["stop when"]["example"] == "loss < 0.01"
    page.ask("stop when", {"value": "loss < 0.001"})
    offers = {each["name"]: each for each in page.state["offers"]}
    assert offers["stop when"]["value"] == "loss < 0.001"
    page.ask("option engine", {"value": "python"})
    assert s.engine == "python"


def test_a_grown_network_is_described_anew(s: sv.Session) -> None:
    s.advance(3)
    page = opened(s)
    page.ask("add neuron")
    page.ask("state")
    described = [each for each in page.messages if "description" in each]
    assert [each["version"] for each in described] == [2]
    assert described[0]["description"]["spec"]["scene"]["count"] == len(page.state["value"]) == 38
    came = described[0]["description"]["spec"]["page"]["came"]
    assert (
        came
        == "1 neuron added to layer 0 after step 3: training continues with the learned weights."
    )
    earlier = described[0]["description"]["spec"]["page"]["earlier"]
    assert (earlier["from"], earlier["past"]) == (-3, []) and earlier["values"]["shape"] == [3]


def test_who_looks_on_changes_nothing(s: sv.Session) -> None:
    page = FakePage(linked(s), looks=True)
    page.ask("open", {"version": 1})
    for name in ASKED:
        if name not in ("open", "state"):
            assert "a viewer" in page.ask(name, {"count": 1, "row": 0, "value": 1.0})["refused"]
    assert s.step_index == 0


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.some(1)
@pytest.mark.parametrize(
    "value",
    ["/etc/passwd", "C:\\x", "..", "mine.png", "none.png", "private"],
)
def test_others_who_control_set_no_option_to_a_path(value: str, tmp_path: Path) -> None:
    for name in ("mine.png", "private"):
        Path(name).touch()
    made: list[str] = []

    def scene(source: str = "", form: Annotated[str, OptionInfo(("(a)", "(b)"))] = "(a)") -> Show:
        made.append(source + form)
        return Show(session())

    recipe = Recipe(scene)
    owner = FakePage(linked(recipe.make({}).session, recipe))
    other = FakePage(owner.link, owns=False)
    for page in (owner, other):
        page.ask("open", {"version": 1})
    asked = "option source", {"value": value}
    told = other.ask(*asked)["refused"]
    assert "'source'" in told and f"not {value!r}" in told and made == ["(a)"]
    other.ask("option source", {"value": "8,0.5"})
    other.ask("option form", {"value": "(b)"})
    owner.ask(*asked)
    assert made[-3:] == ["8,0.5(a)", "8,0.5(b)", f"{value}(b)"]


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("advance", {"count": -1}),
        ("advance", {"count": 1, "unit": "year"}),
        ("back", {"count": 2**53, "unit": "operation"}),
        ("seek", {"step": "1"}),
        ("seek", {"step": 1, "operation": 99}),
        ("edit", {"row": 31, "value": 0.0}),
        ("edit", {"row": 0, "value": float("nan")}),
        ("edit", {"row": 0, "value": True}),
        ("edit", {"row": 0, "value": 10**400}),
        ("edit", {"row": 10**400, "value": 0.0}),
        ("learning rate", {"rate": -(10**400)}),
        ("freeze", {"row": "all", "on": True}),
        ("freeze", {"row": 0, "on": 1}),
        ("freeze", {"row": 99, "layer": True, "on": True}),
        ("own input", {"inputs": [1.0]}),
        ("own input", {"inputs": ["a", "b", "c"]}),
        ("evaluate", {"inputs": []}),
        ("evaluate", {"inputs": [10**400, 0.0, 0.0]}),
        ("branches", {"key": 7}),
        ("play", {"speed": "fast"}),
        ("option engine", {"value": "quantum"}),
        ("nothing", {}),
        ("stop when", {"value": NESTED}),
        ("press", {"name": NESTED}),
        ("stop when", {"value": 1}),
        ("__class__", {}),
    ],
)
def test_what_is_no_command_is_refused_in_a_sentence(
    s: sv.Session, page: FakePage, name: str, args: dict[str, Any]
) -> None:
    before, journal = s.network.bank.value.copy(), len(s.timeline.branch.journal)
    words = page.ask(name, args)["refused"]
    assert words[0].isupper() and 10 < len(words) < 300 and "\n" not in words
    assert (s.network.bank.value == before).all()
    assert len(s.timeline.branch.journal) == journal and s.step_index == 0


def test_random_messages_leave_the_session_as_it_is(s: sv.Session, page: FakePage) -> None:
    chance = random.Random(3)
    parts: list[Any] = [None, True, -1, 1e308, 2**60, "x" * 100, [], {}, [[]], {"id": 1}, "open"]
    names = ["id", "name", "args", "taken", "row", "value", "inputs", "rows"]
    before = s.network.bank.value.copy()
    for _ in range(500):
        message = {chance.choice(names): chance.choice(parts) for _ in range(4)}
        try:
            page.link.receive(page.reader, chance.choice([message, chance.choice(parts)]))
        except InputError:
            continue
    page.link.attend()
    assert (s.network.bank.value == before).all() and s.step_index == 0
    page.ask("advance", {"count": 1})
    assert s.step_index == 1


@pytest.mark.parametrize("count", [100, pytest.param(390, marks=pytest.mark.slow)])
def test_random_arguments_of_commands_are_taken_or_refused(page: FakePage, count: int) -> None:
    """Whatever else a command raised would end the server for everyone."""
    chance = random.Random(1)
    values: list[Any] = [None, True, 0, -1, 3, 1e308, -0.5, 2**60, float("nan"), "", "x", [], [0]]
    values += [[1, 2, 3], [0.1, 0.2, 0.3], ["h", 0], {"a": 1}, "loss < 0.1", "relu", "0.1"]
    names = "unit step operation rate key by sample inputs row value rows on factor size neuron"
    offers = [each["name"] for each in page.state["offers"]]
    for number in range(10, 10 + count):  # an offer may begin another training, which takes a while
        name = chance.choice([*ASKED, *offers, "evaluate"])
        args = {each: chance.choice(values) for each in chance.sample(names.split(), 4)}
        args["count"] = chance.choice([0, 1, 2, -1, "x"])
        page.link.receive(page.reader, {"id": number, "name": name, "args": args})
        page.link.attend()
    assert page.ask("state")["state"]["step"] >= 0


def large(*sizes: int) -> sv.Session:
    net = sv.Network([*sizes], "tanh", seed=0)
    net.bank.value[7] = 3.0  # beyond the scale of all others
    rng = np.random.default_rng(0)
    data = rng.random((8, sizes[0])), rng.random((8, sizes[-1]))
    return sv.Session(net, data, batch=4, engine="cpu")


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("sizes", "tile"),
    [((300, 160, 3), 1), ((300, 300, 200, 10), 2), ((1000, 820, 10), 4)],
    ids=["bytes", "tiles of 4", "tiles of 16"],
)
def test_what_is_counted_or_asked_of_a_large_network_is_exact(
    sizes: tuple[int, ...], tile: int
) -> None:
    s = large(*sizes)
    page = opened(s)
    page.ask("advance", {"count": 1})
    assert page.bytes <= 200_000 and page.state["light"]
    for name, numbers in (("value", s.network.bank.value), ("grad", s.network.bank.grad)):
        sent = page.state[name]
        assert sent.get("tile", 1) == tile
        ((covered, counts),) = sent["parts"]
        assert covered == pytest.approx(largest(numbers))
        for stop, count in counts:
            assert count == np.count_nonzero(np.abs(numbers) > stop)
        assert counts[-1][1] == 0 and (name == "grad" or counts[0][1] > 0)
        spreads, first = {(start, stop): each for start, stop, each in sent["spreads"]}, 0
        for layer in s.network.layers:  # of weights, which a page looks up without their biases
            stop = first + layer.inputs * layer.outputs
            assert spreads[first, stop] == pytest.approx(spread_of(numbers[first:stop]))
            first = stop + layer.outputs
    rows = np.array([7, 4321], np.uint32)
    assert page.state["exact"]["rows"].tolist() == []
    answers = page.ask("exact", {"rows": rows})["answers"]
    assert (answers["step"], answers["operation"]) == (1, 0)
    assert answers["rows"].tolist() == [7, 4321]
    assert (answers["value"] == s.network.bank.value[rows]).all()
    page.ask("advance", {"count": 1})  # and those of each state after it
    assert (page.state["exact"]["value"] == s.network.bank.value[rows]).all()
    assert (page.state["exact"]["grad"] == s.network.bank.grad[rows]).all()


def test_each_page_has_exact_numbers_of_its_own_rows() -> None:
    s = large(300, 300, 200, 10)
    page = opened(s)
    onlooker = FakePage(page.link, looks=True)
    onlooker.ask("open", {"version": 1})
    onlooker.ask("exact", {"rows": [5]})
    page.ask("advance", {"count": 1})
    until_it_is(lambda: onlooker.state["step"] == 1, page.link.attend)
    assert page.state["exact"]["rows"].tolist() == []
    assert onlooker.state["exact"]["rows"].tolist() == [5]
    count = len(s.network.bank)
    for rows in (None, 3, [count], [-1], ["a"], [0.5], [0] * 10_001, np.array([np.nan])):
        assert "refused" in page.ask("exact", {"rows": rows})


@pytest.mark.slow
def test_exact_numbers_of_a_network_that_has_shrunk_are_those_that_it_has() -> None:
    s = large(300, 300, 200, 10)
    page = opened(s)
    page.ask("add neuron", {"value": None})
    page.ask("state")
    count = len(page.link.session.network.bank)
    page.ask("exact", {"rows": [0, count - 1]})
    page.ask("remove neuron", {"value": None})
    page.ask("state")
    assert len(page.link.session.network.bank) < count
    assert page.state["exact"]["rows"].tolist() == [0]


def test_of_a_large_network_python_says_captions_and_cards() -> None:
    s = large(300, 300, 200, 10)
    page = opened(s)
    page.ask("look", {"row": 4321})
    page.ask("advance", {"count": 2, "unit": "operation"})
    until_it_is(
        lambda: page.state["caption"] and page.state["caption"]["title"], page.link.attend, 20.0
    )
    assert page.state["caption"]["title"] == s.caption(4321).title
    assert page.state["about"] == 4321 and page.state["card"]["row"] == 4321
    page.ask("look", {})
    assert page.state["card"] is None


@pytest.mark.slow
def test_a_card_whose_arithmetic_comes_late_is_sent_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*given: Any, **options: Any) -> Any:
        time.sleep(0.1)
        return blocks_of_weight(*given, **options)

    monkeypatch.setattr(narration, "blocks_of_weight", slowly)
    page = opened(large(300, 300, 200, 10))
    reading = page.link.stage.reading
    reading.patience = 0.0
    page.ask("look", {"row": 4321})
    (waits,) = page.state["card"]["blocks"]
    assert waits["words"] == text("explanation.pending")
    while reading.pending:
        time.sleep(0.01)
    page.link.attend()
    assert waits not in page.state["card"]["blocks"]


def test_codes_are_means_of_tiles() -> None:
    s = large(300, 300, 200, 10)
    page = opened(s)
    value, tile = page.state["value"], page.state["value"]["tile"]
    rows, columns, indices = page.link._light._layout.plates[0].cells()
    first = (rows < tile) & (columns < tile)
    mean = float(s.network.bank.value[indices[first]].mean())
    assert value["codes"][0] * value["top"] / 127 == pytest.approx(mean, abs=value["top"] / 127)


@pytest.mark.slow
def test_layers_wider_than_a_state_leave_room_for_banks() -> None:
    page = opened(session_on((X, X), [3, 30_000, 3], "tanh", batch=2, engine="cpu"))
    page.ask("advance", {"count": 1})
    assert page.state["step"] == 1
    assert 0 < len(page.state["value"]["codes"]) <= LEAST


def test_losses_of_a_long_training_are_few(s: sv.Session, page: FakePage) -> None:
    s.advance(30_000)
    time.sleep(0.04)
    page.link.attend()
    late = FakePage(page.link)
    late.ask("open", {"version": 1})
    losses = late.state["losses"]
    assert late.bytes < 200_000
    assert losses["past"][-1][0] + len(losses["values"]) == 30_000
    end, mean = losses["past"][0]
    assert mean == pytest.approx(s.losses[:end].mean())


def test_metrics_come_as_they_are_measured_and_go_where_the_training_goes_back() -> None:
    net = sv.Network([3, 4, 3], "tanh", seed=1)
    kinds = np.eye(3)[X.argmax(axis=1)]
    data = sv.data.Arrays(X, kinds, held_out=(X, kinds))
    s = sv.Session(
        net, data, "mse", sv.SGD(0.5), batch=2, engine="cpu", metrics=["accuracy"], every=5
    )
    s.advance(12)
    page = opened(s)

    def seen() -> Any:
        measured = page.state["measured"]
        return measured["from"], [(each["name"], *each["steps"]) for each in measured["series"]]

    names = "new data: loss", "new data: right"
    assert seen() == (-1, [(name, 5.0, 10.0) for name in names])
    page.ask("advance", {"count": 8})
    assert seen() == (10, [(name, 15.0, 20.0) for name in names])
    page.ask("advance", {"count": 1})
    assert seen() == (20, [(name,) for name in names])
    page.ask("back", {"count": 4})
    assert seen() == (17, [(name,) for name in names])  # what comes after 17 is taken away
    page.ask("edit", {"row": 0, "value": 0.5})
    page.ask("advance", {"count": 8})
    assert seen()[1] == [(name, 20.0, 25.0) for name in names]
    late = FakePage(page.link)
    late.ask("open", {"version": 1})
    assert [len(each["steps"]) for each in late.state["measured"]["series"]] == [5, 5]
    for each, own in zip(late.state["measured"]["series"], measured_of(s.metrics), strict=True):
        assert (each["name"], each["share"]) == (own.name, own.share)
        assert each["values"].tolist() == own.values.tolist()


def test_the_python_engine_and_other_optimizers_are_shown_too() -> None:
    s = session_on((X, X), [3, 4, 3], "tanh", "sigmoid", first=1, optimizer=sv.Adam(0.01))
    page = opened(s)
    page.ask("advance", {"count": 2})
    slots = s.network.bank.slots
    assert len(slots) == 2 and set(page.state["slots"]) == set(slots)
    for name, numbers in slots.items():
        assert (page.state["slots"][name] == numbers).all()


def test_many_pages_share_the_arrays_of_a_state() -> None:
    link = linked(session())
    got: list[list[bytes]] = []
    for reader in [link.join(lambda header, buffers: got.append(buffers)) for _ in range(3)]:
        link.receive(reader, {"id": 1, "name": "open", "args": {"version": 1}})
    until_it_is(lambda: len(got) == 3, link.attend)
    assert all(each[0] is got[0][0] for each in got)


def graph() -> FakePage:
    """A page of relu(a b + a²) + b."""
    a, b = sv.Value(2.0, label="a"), sv.Value(-3.0, label="b")
    return opened(session_of((a * b + a**2).relu() + b))


def test_of_a_graph_python_says_what_each_moment_does() -> None:
    page = graph()
    s, spec = page.link.session, page.link.described["spec"]
    assert page.state["caption"] is None and page.state["values"]["[4]"].tolist() == [-3.0]
    (layout,) = spec["scene"]["layouts"][:1]
    assert [sign["above"] for sign in layout["signs"] if sign["buffer"]] == [
        "×",
        "^2",
        "+",
        "relu",
        "+",
    ]
    for done in range(1, len(s.operations)):
        page.ask("advance", {"count": 1, "unit": "operation"})
        caption = page.state["caption"]
        assert page.state["operation"] == done
        assert caption["title"] == s.caption().title
        assert ["".join(piece["words"] for piece in line) for line in caption["lines"]] == [
            *s.caption().numbers
        ]
    assert page.state["gradients"]["[4]"].tolist() == [1.0]
    before, now = (page.state[name] for name in ("gradients_before", "gradients"))
    assert before["[0]"] == now["[0]"] == 0.0
    assert page.state["grad"] == pytest.approx(s.network.bank.grad)


def test_the_card_of_a_node_or_a_leaf_comes_from_python() -> None:
    page = graph()
    page.ask("advance", {"count": 9, "unit": "operation"})
    page.ask("look", {"neuron": ["[1]", 0]})
    card, about = page.state["card"], page.state["about"]
    assert (card["name"], about) == ("a²", ["[1]", 0])
    assert ["value", "4"] in card["facts"] and card["blocks"][1]["words"] == "2² = 4"
    page.ask("look", {"row": 0})
    assert (page.state["card"]["name"], page.state["about"]) == ("a", 0)
    words = " ".join(each.get("words", "") for each in page.state["card"]["blocks"])
    assert 'it comes at "a × b"' in words
    page.ask("look", {})
    assert page.state["card"] is None
    page.ask("edit", {"row": 1, "value": 4.0})
    page.ask("advance", {"count": 1})
    assert page.state["values"]["[4]"] == pytest.approx(page.link.session.network([0.0])[0])


@pytest.mark.slow
def test_a_page_tells_what_is_pinned_where_python_has_more_of_it() -> None:
    told = graph()
    assert told.link.described["spec"]["facts"]["is_graph"] and "card" in told.state
    few = opened(session())
    assert not few.link.described["spec"]["facts"]["is_graph"] and "light" not in few.state
    many = session_on((np.ones((4, 300)), np.ones((4, 3))), [300, 300, 3], engine="cpu")
    assert "light" in opened(many).state


def test_neurons_of_single_values_have_maps() -> None:
    model = MLP(2, [3, 1])
    layers = [[each.parameters() for each in layer.neurons] for layer in model.layers]
    named = {f"layer {i}": own for i, own in enumerate(layers)}
    f = sv.compile(lambda x, y: model([x, y]), inputs=2, engine="python", parameters=named)
    page = opened(sv.Session(f, ([[2.0, 1.0]], [[0.0]]), engine="python"))
    maps = page.link.described["spec"]["scene"]["maps"]
    assert maps["buffers"] == [("inputs", 2), ("layer 0", 3), ("outputs", 1)]
    inputs = np.array([[0.5, -1.0], [0.25, 0.75]])
    found = np.reshape(page.ask("survey", {"inputs": inputs.ravel().tolist()})["answers"], (6, 2))
    np.testing.assert_allclose(found[:2], inputs.T, atol=1e-6)
    np.testing.assert_allclose(found[5], f(inputs)[:, 0], atol=1e-6)
    hidden = [[float(each.data) for each in model.layers[0](row)] for row in inputs.tolist()]
    np.testing.assert_allclose(found[2:5].T, hidden, atol=1e-6)


def test_a_graph_has_no_maps_and_its_steps_have_their_samples() -> None:
    w = sv.Value(3.0, label="w")
    f = sv.compile(lambda x: (w * x).tanh(), inputs=1, engine="python")
    page = opened(sv.Session(f, ([[2.0]], [[0.0]]), engine="python"))
    assert "maps" in page.ask("survey", {"inputs": [1.0]})["refused"]
    page.ask("own input", {"inputs": [9.0]})
    assert page.state["own"] and page.state["values"]["[0]"].tolist() == [27.0]
    page.ask("advance", {"count": 2, "unit": "operation"})
    page.ask("own input", {"inputs": [9.0]})
    assert not page.state["own"] and page.state["values"]["[0]"].tolist() == [6.0]


def test_codes_of_a_graph_are_in_the_order_of_its_plates() -> None:
    rows = [[sv.Value(0.1 * i + j) for i in range(4)] for j in range(6)]

    def f(*xs: sv.Value) -> sv.Value:
        sums = [sum((w * x for w, x in zip(row, xs, strict=True)), row[0]) for row in rows]
        return sum((each.tanh() for each in sums), sv.Value(0.0))

    made = sv.compile(f, 4, parameters={"wall": rows}, engine="python")
    link = linked(sv.Session(made, (np.ones((2, 4)), np.ones((2, 1))), engine="python"))
    described = link.described["spec"]["scene"]["layouts"][0]["plates"]
    assert [each["first"] for each in described] == [
        each.first for each in link._light._layout.plates
    ]
    assert len(described) > 1


def all_of(page: FakePage, asked: dict[str, Any]) -> Any:
    """What is answered about the past, as soon as all of it is known."""
    while page.ask("past", asked)["answers"]["more"]:
        time.sleep(0.02)
    return page.ask("past", asked)["answers"]


def test_a_page_asks_for_all_weights_over_time(s: sv.Session, page: FakePage) -> None:
    page.ask("advance", {"count": 30, "unit": "step"})
    asked = {"order": "value"}
    found = all_of(page, asked)
    assert found["steps"].tolist() == list(range(31))
    tiles = found["tiles"].reshape(len(s.network.bank), 31)
    for step in (0, 11, 30):
        s.seek(step)
        assert np.array_equal(tiles[:, step], s.network.bank.value)
    assert found["groups"] == [["0", 0, 16], ["1", 16, 15]]
    for args in ({}, {"order": 3}, {"order": "y"}, {"order": "health"}):
        assert "refused" in page.ask("past", args)
    assert "answers" in FakePage(page.link, looks=True).ask("past", asked)


def test_a_page_asks_which_samples_moved_a_weight_most(s: sv.Session, page: FakePage) -> None:
    page.ask("advance", {"count": 20, "unit": "step"})
    while (found := page.ask("moved", {"row": 4})["answers"]["words"]) is None:
        time.sleep(0.02)
    best = s.samples_that_moved(4, 30, 3, progress=False).samples[0]
    assert f"Samples {best.sample} (" in found
    assert "refused" in page.ask("moved", {"row": 99})
