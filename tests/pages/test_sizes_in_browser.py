"""Pages in windows of all sizes: everything can be read, and OUT has its place and its wire."""

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.playground import playground_page
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens

pytestmark = [pytest.mark.slow, ONLY_CHROMIUM]  # a page per size and state takes seconds

# A phone upright, narrow and on its side, a small window, a desk, and the desk at 200 %.
SIZES = [(390, 844), (320, 640), (844, 390), (640, 400), (800, 500), (1280, 800)]
DESK = 240  # logical pixels of OUT, at least, at (1280, 800)
SMALL = 130  # and in all other windows
CSV = {
    "name": "a_table_with_a_long_name_of_its_file.csv",
    "mimeType": "text/csv",
    "buffer": "\n".join(
        ["alpha,beta,gamma,a name of a column that is long"]
        + [f"{i / 10},{7 * i % 5},{3 * i % 4},{'yes' if i % 3 else 'no'}" for i in range(40)]
    ).encode(),
}

# What cannot be read or reached by scrolling down, of all texts and controls that are seen. Their
# boxes are those at the end of the page, where nothing sticks to the lower edge.
UNREADABLE = """(() => {
  const [found, boxes] = [[], []];
  scrollTo({ top: 1e6, behavior: "instant" });
  const seen = { opacityProperty: true, visibilityProperty: true };
  const add = (element, words, box) => {
    let { left, right, top, bottom } = box;
    for (let each = element; each !== document.body; each = each.parentElement) {
      const { overflowX, overflowY, position, display, clipPath } = getComputedStyle(each);
      const room = each.getBoundingClientRect();
      if (clipPath !== "none" || !room.height) return; // left out, or for screen readers alone
      if (display === "inline" || display === "contents" || overflowX === "visible") continue;
      if (left < room.left - 2 || right > room.right + 2)
        if (!each.matches(".flows")) found.push(`${words}: cut at a side`); // a bar of tools
      if (overflowY === "hidden" && (top < room.top - 4 || bottom > room.bottom + 4))
        found.push(`${words}: cut above or below`);
      [left, right] = [Math.max(left, room.left), Math.min(right, room.right)];
      [top, bottom] = [Math.max(top, room.top), Math.min(bottom, room.bottom)];
      if (position === "fixed") break;
    }
    if (right - left < 2 || bottom - top < 2) return;
    if (left < -1 || right > innerWidth + 1) found.push(`${words}: beside the page`);
    if (top + scrollY < -1 || bottom > innerHeight + 1) found.push(`${words}: not reached`);
    boxes.push({ element, words, left, right, top, bottom });
  };
  // The sizes of layers in the title are left out without room; buttons of the strip have no words.
  const others = ".unseen, [aria-hidden=true], #words, .playground .task p, #strip button, option";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement: element } = texts.currentNode;
    if (!data.trim() || !element.checkVisibility(seen) || element.closest(others)) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    for (const box of range.getClientRects()) add(element, data.trim(), box);
  }
  for (const element of document.querySelectorAll("button, select, input, .exhibit .map"))
    if (element.checkVisibility(seen) && !element.closest(others))
      add(element, element.id || element.textContent, element.getBoundingClientRect());
  const isOne = (one, other) => one.contains(other) || other.contains(one) ||
    Boolean(one.closest(".middle, .part")?.contains(other)); // its name
  const isOver = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 4;
  boxes.forEach((one, i) => {
    for (const other of boxes.slice(0, i))
      if (!isOne(one.element, other.element) && isOver(one, other))
        found.push(`${one.words}: over ${other.words}`);
    const [x, y] = [(one.left + one.right) / 2, (one.top + one.bottom) / 2];
    for (const each of document.elementsFromPoint(x, y)) {
      if (isOne(each, one.element)) break;
      const { backgroundColor } = getComputedStyle(each);
      if (!/^rgba.*, 0(\\.[0-4]\\d*)?\\)$/.test(backgroundColor))
        found.push(`${one.words}: under ${each.id || each.className}`);
    }
  });
  if (document.scrollingElement.scrollWidth > innerWidth) found.push("wider than the window");
  scrollTo({ top: 0, behavior: "instant" });
  return [...new Set(found)];
})()"""

# The width of OUT; whether all of it is seen; whether it is beside the network, not below it; and
# whether each wire ends at the edge of the picture, within the heights of the picture and of OUT.
OUT = """(() => {
  const [canvas, out] = ["#cubes", ".pair :is(.map, .tile, i)"].map((each) =>
    document.querySelector(each).getBoundingClientRect());
  const isSeen = (part) => Boolean(document.elementFromPoint(
    out.left + out.width / 2, out.top + part * out.height)?.closest(".pair"));
  const isIn = (y, { top, bottom }) => y >= top && y <= bottom;
  const doors = app.exhibit.result.doors(document.querySelector("#cubes"));
  return {
    width: out.width,
    isSeen: [0.05, 0.5, 0.95].every(isSeen),
    isBeside: out.top < canvas.bottom,
    ends: doors.map(([x, y]) => Math.abs(canvas.left + x - out.left) <= 1 &&
      Math.abs(x - canvas.width) <= 1 && [canvas, out].every((each) => isIn(canvas.top + y, each))),
  };
})()"""


def check(tab: Tab, moment: str, *, is_plane: bool = True, starts: bool = False) -> None:
    tab.page.wait_for_timeout(300)
    tab.settle()
    tab.ask("scrollTo({ top: 0, behavior: 'instant' })")
    out = tab.ask(OUT)
    size = tab.page.viewport_size
    assert tab.ask(UNREADABLE) == [], (moment, size)
    least = DESK if (size["width"], size["height"]) == (1280, 800) else SMALL
    assert not is_plane or out["width"] >= least, (moment, size, out)
    assert out["isSeen"] or not starts, (moment, size, out)
    assert all(out["ends"]) and bool(out["ends"]) == out["isBeside"], (moment, size, out)


@pytest.fixture(scope="module")
def playground(files: Files) -> str:
    files.write("playground", playground_page(load(find("circle"))).text)
    return "playground"


def challenge(tab: Tab, number: int) -> None:
    tab.ask(f"(location.hash = '#c={number}', 0)")
    tab.until(f"document.querySelector('h1').textContent.includes('{number} of')")
    tab.until("app.around.challenges.first && !app.around.busy && app.frame === 0")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_everything_in_a_playground_can_be_read_and_out_keeps_its_place_and_its_wire(
    opened: Opens, playground: str, size: tuple[int, int]
) -> None:
    tab = opened(playground, size, "", has_touch=min(size) < 400).ready()
    check(tab, "first card", starts=True)
    tab.click("#first-card button")
    check(tab, "no thanks", starts=True)
    for panel in ("inputs", "learning", "data", "layers"):
        tab.do(f"app.around.open('{panel}')")
        check(tab, panel)
    tab.do("app.around.open('')")
    for moment in ("pin({ row: 3 })", "pin(null)", "run('more')", "run('more')"):
        tab.do(f"app.{moment}")
        check(tab, moment)
    tab.do("app.around.setPoints()")
    for panel in ("data",) if size[0] < 640 else ("learning", "inputs", ""):
        tab.ask(f"document.body.dataset.panel === '{panel}' || app.around.open('{panel}')")
        tab.until("document.querySelector('#own-points button')?.checkVisibility()")
        check(tab, f"own points, {panel}")
    tab.page.set_input_files("#csv-file", CSV)
    tab.until("document.body.matches('.tabled') && !app.around.busy")
    for panel in ("learning", ""):
        tab.do(f"app.around.open('{panel}')")
        check(tab, f"a table, {panel}", is_plane=False)
    for number in (1, 2, 3):
        challenge(tab, number)
        check(tab, f"challenge {number}", starts=True)
    tab.do("app.around.open('learning')")
    check(tab, "rate of challenge 3")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_everything_in_a_page_can_be_read(opened: Opens, size: tuple[int, int]) -> None:
    tab = opened("rgb", size, "#tour=no&step=5", reduced_motion="reduce").ready()
    check(tab, "rgb", is_plane=False, starts=True)
    tab.do("app.still('advance', { count: 1, unit: 'operation' })")
    check(tab, "an operation of rgb", is_plane=False, starts=True)
