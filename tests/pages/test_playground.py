"""The playground in a browser: what is changed, what stays of it, and what is undone."""

from __future__ import annotations

import random
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

from docs.build_pictures import NETWORK
from scalarviz.base.texts import text
from scalarviz.faces.cli.watch_scene import opened as shown_by
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.pages.plain_pages import build_link
from scalarviz.pages.playground import playground_page
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens
from tests.pages.test_looks_in_browser import NO_WEBGL

pytestmark = pytest.mark.slow

MORE, LESS = ".layer:nth-child(1) > button:last-child", ".layer:nth-child(1) > button"
ORDER = "#build, #picture, #exhibit, #strip, #controls, #band, #takes"  # for the Tab key
SIZES = "app.around.settings.hidden.join()"
ROWS = "[app.state.value.length, app.spec.facts.rows]"
BITS = "[app.state.step, [...app.state.value].join()]"
LINK = "app.around.linkNow()"
CURVE = """(k => {
  const { left, right, bottom } = document.querySelector("#curve").getBoundingClientRect();
  const place = { clientX: left + (right - left) * (k % 97) / 96, clientY: bottom - 30 };
  const event = { ...place, bubbles: true, pointerId: 1, buttons: 1 };
  const curve = document.querySelector("#curve");
  curve.setPointerCapture = () => {};
  if (curve.checkVisibility()) curve.dispatchEvent(new PointerEvent("pointerdown", event));
  curve.dispatchEvent(new Event("lostpointercapture"));
})"""
PRESS = """(k => {
  const all = [...document.querySelectorAll("button, select, input[type=range]")].filter((each) =>
    each.checkVisibility() && !each.disabled && !each.closest(".unseen, .strip"));
  const one = all[k % all.length];
  if (one.matches("select")) one.selectedIndex = k % one.options.length;
  if (one.matches("button")) one.click();
  else one.dispatchEvent(new Event(one.matches("select") ? "change" : "input", {bubbles: true}));
})"""


@pytest.fixture(scope="module")
def playground(files: Files) -> Path:
    return files.write("playground", playground_page(load(find("circle"))).text)


@pytest.fixture
def tab(opened: Opens, playground: Path) -> Tab:
    """The playground, paused at step 0."""
    return opened(playground, place="#step=0").ready()


def rest(tab: Tab) -> Tab:
    """Wait until all changes are made."""
    tab.until("app.around.busy === 0")
    return tab


def test_a_page_begins_to_train_by_itself_and_goes_on_through_a_change(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="#tour=no&play=30").ready()
    tab.until("app.state.step > 5")
    tab.page.click(MORE)
    step = rest(tab).ask("app.spec.engine.step")
    assert step > 5
    tab.until(f"app.player.playing && app.state.step > {step}")
    assert tab.ask("app.losses.first") == 0 and tab.ask("app.losses.end") > step


def test_another_neuron_changes_no_answer_and_is_undone_to_the_bit(tab: Tab) -> None:
    before = tab.ask("[[...app.state.value], app.exhibit.answers.slice(0, 9)]")
    tab.page.click(MORE)
    assert rest(tab).ask(SIZES) == "5,2" and tab.ask(ROWS) == [30, 30]
    assert tab.ask("app.exhibit.answers.slice(0, 9)") == pytest.approx(before[1], abs=1e-6)
    assert "25" in tab.shown("chip") and "2 → 5 → 2 → 1" in tab.page.inner_text(".task p")
    assert tab.spoken() == "layer 1: 5 neurons. 25 weights stay, 5 are new."
    assert tab.ask(f"document.activeElement === document.querySelector('{MORE}')")
    ids = f"[...document.querySelectorAll('{ORDER}')].map((each) => '#' + each.id).join(', ')"
    assert tab.ask(ids) == ORDER
    tab.page.click(MORE)
    rest(tab).page.focus("#undo")
    tab.page.keyboard.press("Enter")
    assert rest(tab).ask(SIZES) == "5,2" and tab.ask("document.activeElement.id") == "undo"
    tab.page.keyboard.press("Enter")
    assert rest(tab).ask("[...app.state.value]") == before[0] and tab.ask(SIZES) == "4,2"
    tab.page.click("#redo")
    assert rest(tab).ask(SIZES) == "5,2"


def test_the_last_neuron_takes_its_layer_with_it_and_keys_do_the_same(tab: Tab) -> None:
    for _ in range(4):
        tab.page.click(LESS)
    assert rest(tab).ask(SIZES) == "2" and tab.ask(ROWS) == [9, 9]
    for key in ("2", "+", "+"):
        tab.page.keyboard.press(key)
    assert rest(tab).ask(f"app.around.settings.shape + {SIZES}") == "spiral4"


def test_without_webgl_the_boxes_of_layers_stand_side_by_side(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="#hidden=4,3&step=0", before=NO_WEBGL).ready()
    low, high = (tab.page.locator(f".layer:nth-child({k})").bounding_box() for k in (1, 2))
    assert low["x"] + low["width"] <= high["x"]


def test_the_dots_of_a_caption_can_be_pointed_at(tab: Tab) -> None:
    tab.page.click("#strip > :first-child")
    tab.page.hover(".line button")  # an error in the page fails the test
    assert rest(tab).ask("app.pointed") is None


def test_a_link_opens_what_was_built(tab: Tab, opened: Opens, playground: Path) -> None:
    tab.page.click("#chosen-inputs")
    tab.page.click("#shelf button:nth-child(6)")
    tab.page.select_option(".layer:nth-child(2) select", "relu")
    assert rest(tab).page.url.endswith("#v=1&features=x,y,sinx&activation=tanh,relu")
    other = opened(
        playground, place=tab.page.url.partition("#")[1] + tab.page.url.partition("#")[2]
    )
    assert other.ready().ask("app.around.settings") == tab.ask("app.around.settings")


def test_colours_are_learned_by_the_network_of_rgb_and_pairs_are_chosen(tab: Tab) -> None:
    tab.page.click("#tiles button:last-child")
    tab.page.click("#set-colours")
    assert rest(tab).page.url.endswith("#v=1&shape=invert&hidden=8&lr=0.5&batch=8")
    before = tab.ask("[...app.state.value]")
    assert len(before) == 59 and "3 → 8 → 3 learns to invert" in tab.page.inner_text(".task p")
    tab.page.select_option("#colours select", "colours")
    tab.page.click(".chosen-pairs > button")
    assert rest(tab).ask("[...app.state.value]") == before
    assert tab.ask("app.spec.engine.samples") == 5 and tab.ask("app.around.settings.batch") == 4
    for _ in range(4):
        rest(tab).page.click(".pairs button")
    assert rest(tab).ask("app.spec.engine.samples") == 2 and "two pairs" in tab.shown("chip")
    tab.page.keyboard.press("1")
    assert rest(tab).page.url.endswith("#v=1")


def test_the_page_of_rgb_leads_to_its_network_in_the_playground(
    opened: Opens, playground: Path, files: Files
) -> None:
    show, other = load(find("rgb"))(), shown_by(read_link(f"play?{NETWORK}"), {})[0]
    assert repr(show.session.trainer.settings) == repr(other.session.trainer.settings)
    assert (show.session.network.bank.value == other.session.network.bank.value).all()
    path = files.write("built_on", page_of(show, links=build_link(NETWORK)).text)
    tab = opened(path, place="#step=30").ready()
    tab.ask("app.run('learning rate', 0.25)")
    with tab.page.expect_popup() as popup:
        tab.page.click(".build")
    value = tab.ask("[...app.state.value]")
    tab.page = popup.value
    settings = tab.ready().ask("app.around.settings")
    assert (settings["shape"], settings["lr"], settings["hidden"]) == ("invert", 0.25, [8])
    tab.ask("app.still('seek', {step: 0, operation: 0})")
    tab.until("app.state.step === 0")
    assert tab.ask("[...app.state.value]") == value


@pytest.mark.parametrize(
    ("wrong", "said"),
    {
        "hidden=900": "hidden=900 is not valid here: at most 5 layers of 1 to 12 neurons.",
        "v=9&foo=1": "v=9 is not valid here: it was made by another version",
        "foo=1": "Unknown parts of this link: foo=1. The rest is shown.",
        "lr=NaN": "lr=NaN is not valid here: a rate from 0 to 1000.",
        "w=a9jPbT": "This link ends in the middle: its weights are missing. Everything else is",
    }.items(),
)  # fmt: skip
def test_a_wrong_part_of_a_link_is_explained_and_the_rest_is_open(
    opened: Opens, playground: Path, wrong: str, said: str
) -> None:
    tab = opened(playground, place=f"#shape=spiral&step=0&{wrong}").ready()
    tab.until("document.querySelector('#chip').checkVisibility()")
    assert tab.shown("chip").startswith(said)
    assert tab.ask(f"app.around.settings.shape + {SIZES}") == "spiral4,2"


def test_too_long_a_link_is_explained(opened: Opens, playground: Path) -> None:
    tab = opened(playground, place=f"#shape=spiral&w={'a' * 8000}").ready()
    tab.until("document.querySelector('#chip').checkVisibility()")
    said = "A link has at most 8,000 characters; this one has 8,016. Everything else is open."
    assert tab.shown("chip") == said


def test_numbers_beyond_all_bounds_lead_back_with_a_lower_rate(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="#lr=1000&l2=1").ready()
    tab.until("app.state.stopped")
    tab.page.click("#chip button")
    tab.until("app.state.rate === 100 && !app.state.stopped")


def go(tab: Tab, step: int) -> Any:
    """Click the curve at a step, and return the bits there."""
    box = tab.page.locator("#curve").bounding_box()
    part = "app.curve.chart.plot.x + app.curve.chart.plot.width"
    x = tab.ask(f"{part} * {step} / app.curve.chart.last")
    tab.page.mouse.click(box["x"] + x, box["y"] + 0.7 * box["height"])
    tab.until("!app.around.busy && !app.player.going")
    return tab.ask(BITS)


def train(tab: Tab, step: int) -> Any:
    tab.ask(f"(app.run('seek', {step}), 0)")
    rest(tab).until(f"app.state.step === {step}")
    return tab.ask(BITS)


def test_steps_before_a_change_are_reached_again_and_none_is_lost(
    tab: Tab, opened: Opens, playground: Path
) -> None:
    places = [train(tab, 40), train(tab, 100)]
    tab.page.click(MORE)
    rest(tab)
    tab.ask("(app.edit(3, .5), app.around.learn('lr', .1), 0)")
    places.append(train(tab, 200))
    tab.press("2")
    rest(tab)
    tab.ask("(app.player.ask('freeze', { rows: [4, 5], on: true }), 0)")
    places.append(train(tab, 300))
    link = tab.ask(LINK)
    assert go(tab, 40)[0] in range(38, 43) and tab.ask(SIZES) == "4,2"
    assert train(tab, 40) == places[0]
    assert go(tab, 300) == places[3] and tab.ask("app.around.settings.shape") == "spiral"
    for known in (places[2], places[1]):  # the first step of a training, and the last one before
        first = train(tab, known[0])
        tab.press("ArrowLeft")
        assert rest(tab).ask(BITS) == known and (first[1] == known[1]) == (known[0] == 200)
    for _ in range(2):
        tab.ask("(app.run('redo'), 0)")
        rest(tab)
    assert train(tab, 300) == places[3] and tab.ask(LINK) == link
    assert train(tab, 40) == places[0]
    tab.page.click(MORE)  # what came later is no more shown, and yet not lost
    rest(tab)
    steps = []
    while not tab.page.locator("#undo").is_disabled():
        tab.ask("(app.run('undo'), 0)")
        steps.append(rest(tab).ask("app.state.last"))
    assert 300 in steps
    other = opened(playground, place=link).ready()
    other.until("!app.around.busy && app.state.step === 300")
    assert other.ask(BITS) == places[3] and other.ask(LINK) == link
    assert train(other, 40) == places[0] and other.ask("app.player.playing") is False
    wrong = link.replace(link.partition("&k=")[2][:6], "000000")
    other.ask(f"(location.hash = '{wrong}', 0)")
    other.until("!app.around.busy && app.state.step === 300")
    assert "numbers may differ" in other.shown("chip") and other.ask(BITS) == places[3]


def test_changes_of_inputs_and_layers_at_once_are_those_of_their_link(
    tab: Tab, opened: Opens, playground: Path
) -> None:
    train(tab, 3)
    fields = "features: ['x', 'y', 'sinx'], hidden: [5, 3, 3], opt: 'adam', lr: .01"
    tab.ask(f"(app.around.change({{ {fields}, activation: ['tanh', 'sin', 'sin'] }}), 0)")
    bits, link = rest(tab).ask(BITS), tab.ask(LINK)
    assert len(bits[1].split(",")) == 54 and "features=x,y,sinx@3;hidden=5,3,3@3" in link
    other = opened(playground, place=link).ready()
    other.until("!app.around.busy && app.state.step === 3")
    assert other.ask(BITS) == bits


def test_a_link_before_a_change_leads_there_and_a_long_journal_to_weights(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="#do=hidden=5,2@20;e3:0.5@30&step=10").ready()
    tab.until("!app.around.busy && app.state.step === 10")
    assert tab.ask(SIZES) == "4,2" and tab.ask("app.around.future.length") == 1
    train(tab, 30)
    tab.ask("(app.player.ask('roll', {}), [0, 0])")
    for value in range(300):
        tab.ask(f"(app.player.ask('edit', {{ row: {value % 25}, value: {value} }}), 0)")
    train(tab, 31)
    assert "&w=" in tab.ask(LINK) and "&do=" not in tab.ask(LINK)


def test_losses_of_other_points_are_not_compared_and_small_values_are_of_now(tab: Tab) -> None:
    train(tab, 1010)
    tab.press("2")
    rest(tab)
    train(tab, 1020)
    assert tab.ask("[app.state.changed, app.curve.marks[0][0]]") == [1010, 1010]
    tab.until("app.frame === 0")
    (loss,) = tab.ask("app.curve.measures.wordsAt(1020)")
    shown = "document.querySelectorAll('.now > span')[0].textContent"
    loss_now = tab.ask(f"Number({shown}.slice(10))")
    _, count, _, total = tab.page.inner_text(".exhibit .test").split()
    answers, (targets, held) = (
        tab.ask("app.exhibit.answers"),
        tab.ask("[app.exhibit.data.targets, app.exhibit.data.held]"),
    )
    right = [(answer > 0) == (goal > 0) for answer, goal in zip(answers, targets, strict=True)]
    assert [sum(right[held:]), len(right[held:])] == [int(count), int(total)]
    assert float(loss.split()[-1]) == pytest.approx(loss_now, abs=0.0051)  # two digits


FLOWERS = "long,wide,kind\n" + "".join(f"{i},{i * i % 7},k{i % 3}\n" for i in range(30))
DROP = """((words) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([words], "flowers.csv"));
  document.dispatchEvent(new DragEvent("drop", {dataTransfer, cancelable: true}));
})"""


def test_a_csv_becomes_a_network_and_a_link(tab: Tab, opened: Opens, playground: Path) -> None:
    tab.page.click("#tiles .mine")
    csv = {"name": "flowers.csv", "mimeType": "text/csv", "buffer": FLOWERS.encode()}
    tab.page.set_input_files("#csv-file", csv)
    tab.until("app.around.settings.table")
    assert rest(tab).ask(ROWS) == [51, 51] and not tab.page.is_visible("#own-data, #chosen-inputs")
    assert "2 → 8 → 3 learns flowers.csv" in tab.page.inner_text(".task p")
    assert tab.shown("table-words") == "flowers.csv: 30 lines, 2 inputs, 3 classes"
    other = opened(playground, place=f"#{tab.page.url.partition(chr(35))[2]}&step=0").ready()
    numbers = "[app.around.settings.table.lines, [...app.state.probe]]"
    assert other.ask(numbers) == tab.ask(numbers)
    tab.ask("(app.around.learn('l2', .1), app.around.resize(0, -1), 0)")
    assert "&classes=k0,k1,k2&" in rest(tab).ask(LINK) and "hidden=7@0" in tab.ask(LINK)
    tab.page.evaluate(DROP, FLOWERS + "x,1,k1\n")
    tab.until("chip.textContent.includes('column 1')")
    assert tab.shown("chip").startswith("flowers.csv, line 32, column 1: 'x' is not a number.")
    tab.page.click("#chip button")
    assert rest(tab).ask("app.around.settings.table.lines.length") == 30
    tab.page.evaluate(DROP, "a,b\n" + "".join(f"{i},{i**3 % 97 / 7}\n" for i in range(2000)))
    tab.until("app.around.settings.table.lines.length === 2000")
    rest(tab).page.click("#share")
    tab.until("chip.textContent.includes('too long for a link')")
    for _ in range(4):
        tab.page.click("#undo")
    assert rest(tab).ask(f"app.around.settings.shape + {SIZES}") == "circle4,2"


def choose_csv(tab: Tab, words: str) -> None:
    if not tab.page.is_visible("#tiles"):
        tab.page.click("#tabs [data-panel=data]")
    tab.page.click("#tiles .mine")
    csv = {"name": "river.csv", "mimeType": "text/csv", "buffer": words.encode()}
    tab.page.set_input_files("#csv-file", csv)


SIZES_OF_CSV = pytest.mark.parametrize("size", [(1280, 800), (390, 844)])


@SIZES_OF_CSV
def test_a_fault_in_a_csv_is_read_and_mended_in_its_dialog(
    opened: Opens, playground: Path, size: tuple[int, int]
) -> None:
    tab = opened(playground, size, "#step=0").ready()
    choose_csv(tab, "")
    fault = tab.page.locator("dialog[open] [role=alert]")
    fault.filter(has_text="river.csv is empty").wait_for()
    tab.page.click("#own-data form button")
    choose_csv(tab, FLOWERS + "x,1,k1\n")
    fault.filter(has_text="river.csv, line 32, column 1: 'x' is not a number.").wait_for()
    x, y = tab.middle("#csv-fault")
    assert tab.ask(f"document.elementFromPoint({x}, {y}).closest('#csv-fault') !== null")
    assert tab.page.locator("#chip").is_hidden()
    fault.get_by_role("button").click()
    tab.until("app.around.settings.table.lines?.length === 30")
    assert tab.page.locator("#own-data").is_hidden()


@SIZES_OF_CSV
def test_long_names_of_columns_are_cut_within_the_panel(
    opened: Opens, playground: Path, size: tuple[int, int]
) -> None:
    tab = opened(playground, size, "#step=0").ready()
    choose_csv(tab, f"{'W' * 40},{'M' * 40},goal\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    tab.until("app.around.settings.table && app.around.busy === 0 && app.frame === 0")
    table, panel = (tab.page.locator(each).bounding_box() for each in (".questions", "#exhibit"))
    assert table["x"] >= panel["x"]
    assert table["x"] + table["width"] <= panel["x"] + panel["width"] <= size[0]
    shown = tab.page.locator(".questions th").first
    assert shown.evaluate("each => [each.scrollWidth > each.clientWidth, each.title.length]") == [
        True,
        28,
    ]
    assert "WWWWWWWWW…" in tab.page.inner_text("figcaption")


def test_inputs_that_are_left_out_are_counted_beside_the_table(tab: Tab) -> None:
    lines = [f"c{i}" for i in range(300)], *([i * j % 11 for j in range(300)] for i in range(9))
    choose_csv(tab, "\n".join(",".join(map(str, line)) for line in lines))
    tab.page.locator("#table-words").filter(has_text="9 lines, 20 of 299 inputs").wait_for()


MANY = pytest.param((1280, 800), 3, 1000)


@pytest.mark.parametrize(
    ("size", "seed", "count"),
    [*(((*each, 100)) for each in product([(1280, 800), (390, 844)], [1, 2])), MANY],
)
def test_a_hundred_presses_leave_one_network(
    opened: Opens, playground: Path, size: tuple[int, int], seed: int, count: int
) -> None:
    tab, choose = opened(playground, size, "").ready(), random.Random(seed)
    for _ in range(count):
        tab.page.evaluate(choose.choice([PRESS, PRESS, CURVE]), choose.randrange(10**6))
        tab.page.wait_for_timeout(choose.choice([0, 30]))
    rest(tab).ask(
        "(app.player.pause(), app.around.challenges.now && app.around.challenges.leave())"
    )
    tab.until("!app.around.busy && !app.state.playing && !app.player.going")
    rows = tab.ask(ROWS)
    wanted = "((s, ends) => [ends.inputs, ...s.hidden, ends.outputs])"
    wanted += "(app.around.settings, app.spec.engine.sizes)"
    sizes = tab.ask(wanted)
    assert rows == [sum(b * (a + 1) for a, b in pairwise(sizes))] * 2
    assert len(tab.page.query_selector_all(".layer:not(.output)")) == len(sizes) - 2
    bits, link = tab.ask(BITS), tab.ask(LINK)
    place = link if "step=" in link else f"{link}&step=0"
    other = opened(playground, size, place).ready()
    other.until("!app.around.busy && !app.player.going")
    if "&w=" not in link:
        other.until(f"app.state.step === {bits[0]}")
        assert other.ask(BITS) == bits


# What ends each card of the first minute, after the first one.
CARDS = {
    "play": "app.run('seek', 1500)",
    "back": "app.run('seek', 1)",
    "parts": "document.querySelector('#first-card button:last-child').click()",
    "neuron": f"document.querySelector({MORE!r}).click()",  # and it has to learn
    "spiral": "document.querySelector('#tiles button:nth-child(2)').click()",
    "input": "document.querySelector('#tiles button:nth-child(5)').click()",
    "own": "app.around.take({points: 'JVSqWrtWJVtXWrSr'})",
}
COVERED = """(() => {
  const [card, ...others] = ["#first-card", "#first-mark", "#exhibit", "#tiles", ".controls"].map(
    (each) => document.querySelector(each).getBoundingClientRect());
  return others.some((each) => each.right > card.left && card.right > each.left &&
    each.bottom > card.top && card.bottom > each.top);
})()"""
PHONE = {"has_touch": True, "is_mobile": True}
SIDES = "app.picture.placed.fans.map(({weights: row}) => 2 * app.picture.placeOf({row}).half)"
CLIPPED = """[...document.querySelectorAll("h1, h2, p, b, span, figcaption, button")].filter(
  (each) => each.checkVisibility() && !each.closest(".unseen") && each.id !== "legend-news" &&
    each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible"
).map((each) => each.outerHTML)"""


# The reasons of the operations that Next shows, each once.
REASONS = "zero_grad affine activation loss delta weight input bent step".split()
OTHERS = "#first-card button:nth-child(2)"


# Whether a step has brought the answer to its dot closer to the goal.
CLOSER = """(({all, fresh, focus}) => {
  const [before, after] = [all.values[app.spec.facts.outputs], fresh].map((each) =>
    Math.abs(each[focus] - all.targets[focus]));
  return after < before;
})(app.state)"""


def shown_reasons(tab: Tab) -> list[str]:
    """What the cards of a step say, by their keys; others are offered where some are skipped."""
    keys = {text(f"build.why.{each}"): each for each in REASONS}
    found = []
    for done in (1, 2, 3, 8, 9, 10, 11, 12, 0):
        tab.until(f"app.state.operation === {done} && app.frame === 0")
        found.append(keys[tab.page.inner_text("#first-card h2")])
        assert tab.page.locator(OTHERS).is_visible() == (done in (3, 12))  # it skips some
        if done:
            tab.page.click("#first-card button:last-child")
    return found


@ONLY_CHROMIUM
def test_the_first_cards_end_when_they_are_done_and_cover_nothing(
    opened: Opens, playground: Path
) -> None:
    tab = opened(playground, place="").ready()
    tab.until("app.offered")
    x, y = tab.place_of("app.offered")
    assert tab.ask("app.state.step") == 0 and not tab.ask("app.player.playing")
    tab.drag((x, y), (x, y - 30))
    for name, act in CARDS.items():
        tab.page.get_by_role("heading", name=text(f"build.first.{name}")).wait_for()
        assert not rest(tab).ask(COVERED)
        tab.ask(f"({act}, 0)")
        if name == "parts":  # it ends after the step
            assert shown_reasons(tab) == REASONS and tab.ask(CLOSER)
            tab.page.click("#first-card button:last-child")
            tab.until("app.around.firstMinute.number === 4")
            tab.ask("(app.run('seek', 0), 0)")
        if name == "neuron":
            assert rest(tab).ask("app.around.firstMinute.number") == 4
            tab.ask("(app.run('seek', 100), 0)")
        if name == "spiral":  # "Build it"
            tab.page.click("#first-card button:nth-child(2)")
            assert rest(tab).ask(SIZES) == "8,4"
    solved, offered = "app.around.challenges.solved", "#first-card button:nth-child(3)"
    tab.ask(f"({solved}.add('turn').add('inputs'), app.around.firstMinute.show(8), 0)")
    tab.page.click(offered)
    tab.until("app.around.challenges.number === 3 && app.around.challenges.first")
    tab.until("document.querySelector('#first-card').hidden")
    tab.ask("(app.around.challenges.leave(true), 0)")
    assert rest(tab).ask("app.around.past.length") > 3  # what was before the challenge


@ONLY_CHROMIUM
@pytest.mark.parametrize(
    ("place", "seen"),
    [("", 9), ("#tour=no&play=9", 0), ("#hidden=3", 0), ("#c=3", 0)],
)
def test_a_visitor_who_knows_the_page_or_follows_a_link_sees_no_card(
    opened: Opens, playground: Path, place: str, seen: int
) -> None:
    before = f"localStorage['scalarviz cards'] = {seen}"
    tab = opened(playground, (390, 844), place, before).ready()
    tab.until("app.state.step > 3 || app.around.challenges.first")
    assert tab.page.locator("#first-card").is_hidden()


@ONLY_CHROMIUM
@pytest.mark.parametrize(("card", "trains"), [(1, False), (3, False), (9, True)])
def test_the_address_of_the_playground_waits_for_play_below_a_card(
    opened: Opens, playground: Path, card: int, *, trains: bool
) -> None:
    before = f"localStorage['scalarviz cards'] = {card}"
    tab = opened(playground, place="#v=1", before=before).ready()
    tab.until("app.state.step > 3" if trains else "!document.querySelector('#first-card').hidden")
    tab.page.wait_for_timeout(500)
    assert tab.ask("app.state.step > 0") is trains


@ONLY_CHROMIUM
@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_a_finger_on_a_phone_finds_cubes_by_a_close_up(
    opened: Opens, playground: Path, size: tuple[int, int]
) -> None:
    tab = opened(playground, size, "#hidden=12,12,12&step=0", **PHONE).ready()
    assert max(tab.ask(SIDES)) < 24
    tab.page.touchscreen.tap(*tab.place_of("{row: 60}"))
    tab.until(f"{SIDES}[1] >= 24 && app.frame === 0")
    assert tab.ask("app.pinned") is None
    x, y = tab.place_of("{row: 60}")
    tab.page.touchscreen.tap(x + 12, y - 12)
    assert tab.until("app.pinned") == {"row": 60}
    tab.ask("(app.pin(null), 0)")
    tab.page.tap("#whole")
    tab.until("app.picture.eyes.framed && app.frame === 0")
    assert max(tab.ask(SIDES)) < 24


@ONLY_CHROMIUM
@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_a_panel_of_a_phone_keeps_its_place_and_shows_the_layer_in_hand(
    opened: Opens, playground: Path, size: tuple[int, int]
) -> None:
    tab = opened(playground, size, "", **PHONE).ready()
    assert tab.ask("app.around.closeUp.place.layer") == 2  # of the first card's cube
    tab.ask("(app.around.firstMinute.show(3), app.around.firstMinute.walk(), 0)")
    tab.until("app.around.firstMinute.isWithin && app.frame === 0")
    out, side = (tab.page.locator(f"#exhibit {x}").bounding_box() for x in (".map", ".side"))
    assert out["x"] + out["width"] <= side["x"] and side["y"] < out["y"]  # how it is computed
    assert tab.page.inner_text("#first-card h2") == text("build.why.zero_grad")
    tab.ask("(app.around.firstMinute.show(4), 0)")
    assert tab.page.inner_text("#first-card p").startswith("Tap “Layers”.")
    tab = opened(playground, size, "#step=0", **PHONE).ready()
    for panel in ("data", "inputs", "learning", "layers"):
        tab.page.tap(f"#tabs [data-panel={panel}]")
        assert rest(tab).ask(CLIPPED) == []
        assert tab.page.locator("#play").is_visible() and "step 0" in tab.page.inner_text(".now")
    top = tab.page.locator("#build").bounding_box()
    for button in (".another", ".layer:nth-child(2) > button:last-child"):
        tab.page.tap(button)
        tab.until("app.around.busy === 0 && app.frame === 0")
        assert tab.page.locator("#build").bounding_box() == top
    fan = "app.picture.placed.fans[1]"
    for column in (0, 4):
        x, y = tab.place_of(f"{{row: {fan}.row_of(2, {column})}}")
        assert 0 < x < size[0] and 48 < y < top["y"]
    assert tab.ask("app.around.closeUp.place.layer") == 1


def test_escape_closes_what_is_open(tab: Tab) -> None:
    tab.page.click(".opener")
    panel, words = (tab.page.locator(each).bounding_box() for each in ("#learning", ".says"))
    assert panel["y"] >= words["y"] + words["height"]
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#learning").is_hidden()
    tab.page.click(".what")
    assert tab.page.locator("#words").is_visible()
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#words").is_hidden()


def test_own_points_begin_with_none_and_nothing_is_learned_before_both_colours(tab: Tab) -> None:
    settings = "[app.around.settings.points.length / 4, app.around.settings.batch]"
    drawn = "app.exhibit.drawn?.dots.length"
    tab.page.click("#tiles button:last-child")
    tab.page.click("#set-points")
    tab.until(f"{drawn} === 0")
    for place in (2, 3):
        tab.ask(f"(app.around.point([.1 * {place}, .1]), 0)")
    tab.ask("(app.around.resize(0, 1), 0)")  # another network has the same points
    assert rest(tab).ask(f"[{drawn}, ...{settings}]") == [2, 0, 10]
    for command in ("play", "advance"):
        tab.ask(f"(app.chip.hide(), app.run('{command}'), 0)")
        assert tab.ask("app.chip.words.textContent") == text("build.own.few")
    assert tab.page.inner_text("#own-points p") == text("build.own.few")
    assert rest(tab).state["step"] == 0 and not tab.ask("app.player.playing")
    tab.page.click("#own-points [data-side=low]")
    for place in range(8):  # as a stroke, before the first network is there
        tab.ask(f"(app.around.point([.1 * {place}, .9]), 0)")
    assert rest(tab).ask(f"[{drawn} ?? 0, ...{settings}]") == [0, 10, 10]
    tab.page.click("#own-points button:last-child")
    assert rest(tab).ask(f"[{drawn}, ...{settings}]") == [0, 10, 10]
    tab.ask("(app.run('undo'), 0)")
    assert rest(tab).ask(f"[{drawn} ?? 0, ...{settings}]") == [0, 10, 10]
    tab.press("ArrowRight")
    assert tab.state["step"] == 1
