"""Damaged files, killed saves and damaged pages: a one-sentence error or a valid result."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
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
from tests.machine import ROOT, output_of
from tests.pages.browser import Tab, chromium
from tests.pages.node import unpacked
from tests.proofs.kills import KINDS
from tests.proofs.mutants import ANY, FORMATS, MOST_SECONDS, ODD, Chance, leaves
from tests.proofs.report import Proof

MUTANT_SEED = 4
LONGEST = 600.0  # seconds for all files of one kind


def loaded(kind: str, count: int, folder: Path) -> Any:
    """What came of so many spoilt files, in a process of its own."""
    inside = folder / kind / "inside"
    inside.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.proofs.mutants", kind, str(MUTANT_SEED), str(count)]
    done = subprocess.run(
        [*command, str(inside)], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST
    )
    lines = done.stdout.splitlines()
    last = f"at {lines[-1]}" if lines else "at its start"
    assert done.returncode == 0, f"{kind} ended by {done.returncode} {last}: {done.stderr[-3000:]}"
    return json.loads(lines[-1])


@pytest.mark.slow
def test_spoilt_files_are_refused_or_valid(proof: Proof, tmp_path: Path) -> None:
    count = proof.count(1000)
    results = {kind: loaded(kind, count, tmp_path) for kind in FORMATS}
    wrong = [f"{kind}, {each}" for kind, found in results.items() for each in found["wrong"]]
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(MUTANT_SEED)
    proof.tried = [f"{count:,} spoilt files each of the kinds {', '.join(FORMATS)}"]
    for outcome, name in (
        ("refused with an error message", "refused"),
        ("loaded with the original content", "same"),
        ("loaded with other valid content", "loaded"),
    ):
        proof.found.append(f"{sum(found[name] for found in results.values()):,} {outcome}")
    slowest = max(found["slowest"] for found in results.values())
    grown = max(found["grown"] for found in results.values())
    proof.found.append(
        f"the slowest took {slowest:.2f} s of at most {MOST_SECONDS:g} s, and memory grew by at "
        f"most {grown / 2**20:.0f} MiB"
    )


KILL_SEED = 5


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
def test_kills_while_saving(proof: Proof, tmp_path: Path) -> None:
    count = proof.count(100) // len(KINDS) + 1
    litter, found = 0, set()
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        words = "-m", "tests.proofs.kills", kind, str(KILL_SEED), str(count), str(folder)
        result = json.loads(output_of(*words, seconds=300).splitlines()[-1])
        litter += result["litter"]
        found |= set(result["found"])
    assert len(found) > 1 or proof.share < 1.0  # kills came before and after a save
    proof.seeds = str(KILL_SEED)
    proof.tried = [f"{count * len(KINDS)} kills of a process that saves {', '.join(KINDS)}"]
    proof.found = [
        "each time the old or the new file was complete",
        f"{litter} kills left an unfinished file, which is hidden",
    ]


PAGE_SEED = 17
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
            chance = random.Random(f"{PAGE_SEED} {number}")
            way = WAYS[number % len(WAYS)]
            parts = before, way(data, chance).replace("<", "\\u003c"), after
            file = tmp_path / f"{number}.html"
            file.write_text("".join(parts), encoding="utf-8")
            came, said = came_of(browser, file)
            found[came] += 1
            if said:
                wrong.append(f"page {number}, {way.__name__}: {said}")
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(PAGE_SEED)
    proof.tried = [f"{count} pages of xor with damaged data, in Chromium"]
    proof.found = [
        f"{found['failure']} show an error message, {found['picture']} show a network with changed "
        "data"
    ]
    assert found["waiting"] == 0  # the script, which takes that sentence away, is whole
