"""Keys that belong to fields and dialogs are no shortcuts, in any page."""

from __future__ import annotations

import string
from typing import Any

import pytest

from scalarviz.faces.cli.lessons import named, page_of_lesson
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.playground import playground_page
from tests.pages.browser import ONLY_CHROMIUM
from tests.pages.conftest import Files, Opens

pytestmark = pytest.mark.slow  # each page opens in a browser

ARROWS = "ArrowLeft ArrowRight ArrowUp ArrowDown Home End PageUp PageDown"
NAMED = f"{ARROWS} Enter Tab Escape Backspace Delete Insert CapsLock Dead " + " ".join(
    f"F{number}" for number in range(1, 13)
)
KEYS = [*NAMED.split(), *string.printable[:95], *"äöüßÄÖÜ−"]
TYPES = (
    "button checkbox color date datetime-local email file hidden image month number password radio "
    "range reset search submit tel text time url week"
)
# Adds fields of every kind to the page; each gets each key with each modifier. Returns the
# keys that the page has used.
TAKEN = """([keys, types]) => {
  const add = (tag, fields, parent = document.body) =>
    parent.appendChild(Object.assign(document.createElement(tag), fields));
  for (const type of types) add("input", { type });
  add("b", {}, add("p", { contentEditable: "true" }));
  for (const tag of ["select", "textarea"]) add(tag, {});
  const kinds = [HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement];
  const fields = [...document.querySelectorAll("*")].filter((each) =>
    each.isContentEditable || kinds.some((kind) => each instanceof kind));
  const modifiers = [[], ["shiftKey"], ["ctrlKey"], ["ctrlKey", "shiftKey"], ["metaKey"]];
  const choice = () => JSON.stringify(globalThis.scalarviz?.choice ?? null);
  const isTaken = (element, key, pressed) => {
    const before = choice();
    const more = Object.fromEntries(pressed.map((each) => [each, true]));
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
    return !element.dispatchEvent(event) || choice() !== before;
  };
  const taken = fields.flatMap((field) => keys.flatMap((key) => modifiers
    .filter((pressed) => isTaken(field, key, pressed))
    .map((pressed) => [field.tagName, field.type, field.id, ...pressed, key].join(" "))));
  const hasShortcuts = !globalThis.scalarviz || isTaken(document.body, ",", []);
  return [taken, fields.length - types.length - 4, hasShortcuts];
}"""


@pytest.fixture(scope="module", autouse=True)
def pages(files: Files) -> Files:
    files.write("playground", playground_page(load(find("circle"))).text)
    files.write("lesson", page_of_lesson(named("15")))
    return files


def taken_from_fields(place: Any, least: int) -> list[str]:
    """Return the keys that a page, or a frame of one, takes from its fields, `least` or more."""
    taken, count, has_shortcuts = place.evaluate(TAKEN, [KEYS, TYPES.split()])
    assert has_shortcuts and count >= least
    return list(taken)


@ONLY_CHROMIUM
@pytest.mark.parametrize(
    ("name", "place", "least"),
    [
        ("playground", "#step=0", 15),
        ("playground", "#c=3", 15),
        ("rgb", "#step=3&pin=30", 11),
        ("names", "#step=0", 12),
    ],
)  # fmt: skip
def test_no_key_is_a_shortcut_in_a_field(opened: Opens, name: str, place: str, least: int) -> None:
    tab = opened(name, place=place).ready()
    tab.ask("(app.run('more'), 0)")
    assert taken_from_fields(tab.page, least) == []


@ONLY_CHROMIUM
def test_no_key_is_a_shortcut_in_a_field_of_a_lesson_or_its_picture(opened: Opens) -> None:
    tab = opened("lesson", place="", bypass_csp=True)  # to ask the frames
    tab.page.wait_for_selector(".question .said", state="attached")
    tab.ask("scalarvizLesson.asked.forEach((each) => each.settle({ shown: true }))")
    assert taken_from_fields(tab.page, 2) == []
    picture = tab.page.locator(".picture").first
    picture.scroll_into_view_if_needed()
    frame = picture.locator("iframe").element_handle().content_frame()
    frame.wait_for_function("globalThis.scalarviz?.drawn")
    assert taken_from_fields(frame, 12) == []


@ONLY_CHROMIUM
def test_every_letter_arrives_in_a_name(opened: Opens) -> None:
    tab = opened("names", place="#step=0").ready()
    for letters in (string.ascii_lowercase[:13], string.ascii_lowercase[13:]):
        tab.page.fill("[type=search]", "")
        tab.page.focus("[type=search]")
        tab.page.keyboard.type(letters)
        assert tab.page.input_value("[type=search]") == letters
    assert tab.ask("app.state.step") == 0 and not tab.ask("app.player.playing")


@ONLY_CHROMIUM
def test_a_key_behind_an_open_dialog_changes_nothing(opened: Opens) -> None:
    tab = opened("playground", place="#step=0").ready()
    tab.page.click("#tiles button:last-child")
    for key in ("2", "+", "f"):
        tab.page.keyboard.press(key)
    tab.page.keyboard.press("Escape")
    tab.until("app.around.busy === 0 && !document.querySelector('dialog[open]')")
    assert tab.ask("[app.around.past.length, app.player.playing]") == [0, False]
    assert tab.page.url.endswith("#v=1")


@ONLY_CHROMIUM
def test_keys_are_shortcuts_again_after_a_slider_is_dragged(opened: Opens) -> None:
    tab = opened("playground", place="#step=0").ready()
    tab.page.click("#more-points")
    tab.page.click("#noise")
    tab.page.keyboard.press("2")
    tab.until("app.around.settings.shape === 'spiral' && app.around.settings.noise > .1")
