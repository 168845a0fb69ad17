"""Pages whose data is damaged: each works, or says in a sentence that it cannot."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.bundle import packed_bytes
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.browser import Tab, chromium
from tests.pages.pages import unpacked
from tests.proofs.mutants import ANY, ODD, Chance, leaves
from tests.proofs.report import Proof

SEED = 17
DATA = re.compile(r'(.* id="data">)(.*?)(</script>.*)', re.DOTALL)
# Whether a page has drawn its picture, says that it cannot, or says still that it begins.
CAME = """(() => {
  const failure = document.querySelector("#failure");
  if (failure && !failure.hidden) return "failure";
  if (app?.drawn && performance.getEntriesByName("first picture").length) return "picture";
  const waiting = document.querySelector("#waiting");
  const seen = waiting && getComputedStyle(waiting).visibility === "visible";
  return seen && document.readyState === "complete" ? "waiting" : "";
})()"""


def other_letters(data: str, chance: Chance) -> str:
    """Some bytes of the data are others."""
    return chance.choice(ANY)(data.encode(), chance).decode("utf-8", "replace")


def other_packed(data: str, chance: Chance) -> str:
    """A letter of one of the packed parts is another one, or letters are missing."""
    held = json.loads(data)
    name = chance.choice([*held])
    at = chance.randrange(len(held[name]))
    other = chance.choice(("", "A", "_", "é"))
    held[name] = held[name][:at] + other + held[name][at + 1 :]
    return json.dumps(held)


def other_value(data: str, chance: Chance) -> str:
    """A value of the description is odd, or missing."""
    held = json.loads(data)
    plain = json.loads(unpacked(held["plain"]))
    holder, key = chance.choice(leaves(plain["spec"]))
    if isinstance(holder, dict) and chance.random() < 0.5:
        del holder[key]
    else:
        holder[key] = chance.choice(ODD)
    return json.dumps(held | {"plain": packed_bytes(json.dumps(plain).encode())})


WAYS: tuple[Callable[[str, Chance], str], ...] = (other_letters, other_packed, other_value)


def came_of(browser: Any, file: Path) -> tuple[str, str]:
    """What a page shows, and what is wrong with that."""
    tab = Tab(browser, file)
    came = tab.until(CAME)
    wrong = ""
    if came == "failure":
        words = tab.page.inner_text("#failure p").strip()
        if not 20 < len(words) < 400 or words.startswith("page."):
            wrong = f"it fails with {words!r}"
    elif came == "waiting" and tab.shown("waiting") != text("page.html.waiting"):
        wrong = f"it waits with {tab.shown('waiting')!r}"
    tab.complaints.clear()  # errors stand in the console
    tab.close()
    return came, wrong


@pytest.mark.slow
def test_pages_whose_data_is_damaged_work_or_say_so(proof: Proof, tmp_path: Path) -> None:
    whole = page_of(Show.of(load(find("xor"))())).text.decode()
    before, data, after = DATA.fullmatch(whole).groups()
    found, wrong = Counter[str](), []
    count = proof.count(45)
    with chromium() as browser:
        for number in range(count):
            chance = random.Random(f"{SEED} {number}")
            way = WAYS[number % len(WAYS)]
            parts = before, way(data, chance).replace("<", "\\u003c"), after
            file = tmp_path / f"{number}.html"
            file.write_text("".join(parts), encoding="utf-8")
            came, said = came_of(browser, file)
            found[came] += 1
            if said:
                wrong.append(f"page {number}, {way.__name__}: {said}")
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(SEED)
    proof.tried = [f"{count} pages of xor in chromium, whose data is damaged"]
    proof.found = [
        f"{found['failure']} say so in a sentence, {found['picture']} show the network, of which "
        "something is another"
    ]
    assert found["waiting"] == 0  # the script, which takes that sentence away, is whole
