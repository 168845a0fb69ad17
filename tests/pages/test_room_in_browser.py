"""The exhibit of a page at many sizes: nothing covers it, cuts it off, or changes its shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.conftest import Opens

pytestmark = pytest.mark.slow

SIZES = [
    (320, 568), (360, 740), (480, 800), (640, 480), (667, 375), (740, 360), (800, 500), (900, 360),
    (1024, 600), (768, 1024), (1280, 800), (1246, 686),
]  # fmt: skip  # the last one: a lesson on a screen of 1280 x 800

# Points of the maps and pictures, a tenth apart, that something else covers; and how far the sides
# of each differ from its shape, in pixels.
COVERED = """[...document.querySelectorAll("#exhibit canvas:not(.sorted)")].map((map) => {
    const box = map.getBoundingClientRect();
    const parts = [...Array(10).keys()].map((i) => (i + 0.5) / 10);
    const points = box.width ? parts.flatMap((x) => parts.map((y) => [x, y])) : [];
    const [wide, high] = (map.style.aspectRatio || "1 / 1").split("/").map(Number);
    return [
        points.filter(([x, y]) => {
            const at = [box.left + x * box.width, box.top + y * box.height];
            return !document.elementsFromPoint(...at).slice(0, 1).every((each) => each === map);
        }).length,
        map.classList.contains("pad") ? 0 : Math.abs(box.width - (box.height * wide) / high),
    ];
})"""
# Words of the exhibit that are cut off.
CUT = """[...document.querySelectorAll("#exhibit")]
    .flatMap((all) => [...all.querySelectorAll("h2, p, td, figcaption, .keys-of-map, .bars > *")])
    .filter((each) => {
        const [box, room] = [each, document.querySelector("#exhibit")].map((of) =>
            of.getBoundingClientRect());
        const isSeen = each.checkVisibility() && !each.closest(".unseen") && box.height;
        return isSeen && (box.top < room.top - 1 || box.bottom > room.bottom + 1);
    }).map((each) => each.textContent)"""


@pytest.fixture(scope="module", params=["circle", "xor", "texture", "digits"])
def file(request: pytest.FixtureRequest, files: dict[str, Path]) -> Path:
    return files[request.param]


def test_nothing_covers_or_cuts_the_exhibit(opened: Opens, file: Path) -> None:
    tab = opened(file).ready()
    acts = "app.change({opened: false})", "app.change({opened: true})", "app.tell('it')"
    tab.ask("app.run('on', 2, 'operation')")
    for width, height in SIZES:
        tab.page.set_viewport_size({"width": width, "height": height})
        for act in acts:
            tab.do(act)
            tab.page.wait_for_timeout(100)  # parts that are observed are drawn again
            for covered, off in tab.ask(COVERED):
                assert covered == 0 and off < 1.5, (width, height, act)
            assert tab.ask(CUT) == [], (width, height, act)
        tab.do("app.pin({row: 0})")
        tab.page.wait_for_timeout(100)
        assert tab.ask(CUT) == [], (width, height, "a card")
        tab.do("app.pin(null)")
    assert "exhibits." not in tab.page.inner_text("#exhibit")  # a text that the page lacks


# How many cubes and spheres have a number.
NUMBERS = "app.picture.words.filter((words) => /^-?([.]\\d+|0)$/.test(words)).length"


@pytest.mark.parametrize("size", [(1280, 800), (1366, 700)], ids=str)
def test_a_card_takes_its_room_from_the_exhibit_and_leaves_cubes_their_numbers(
    opened: Opens, tmp_path: Path, size: tuple[int, int]
) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(page_of(Show.of(load(find("rgb"))())).text)
    tab = opened(file, size).ready()
    tab.do("app.run('on', 20, 'step')")
    before = tab.ask(NUMBERS)
    tab.do("app.pin({row: 5})")
    tab.page.wait_for_timeout(500)  # the camera moves
    assert tab.ask(NUMBERS) == before > 59
    exhibit, card = (tab.page.locator(f"#{name}").bounding_box() for name in ("exhibit", "card"))
    assert exhibit["x"] == card["x"] and exhibit["y"] >= card["y"] + card["height"]
