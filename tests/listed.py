"""Names of table rows that are listed in files of the repository.

They are in the guide, with the keys of the window, in the help of the package and among the methods
of `Value`; `python -m tests.parity` writes them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import scalarviz as sv
from scalarviz.core import value
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.metric_formulas import METRICS
from scalarviz.core.layers import LAYERS
from scalarviz.engines.registry import ENGINES
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.keys import help_rows
from scalarviz.stage.show import Show
from scalarviz.stage.stages import Stages
from tests.faces.controller.fake_stage import FakeStage
from tests.machine import ROOT


class NameList(NamedTuple):
    """A list in the guide: the text before and after it, its names, and their format."""

    start: str
    end: str
    names: Iterable[str]
    form: str = "{}"


ALL_LOSSES = {**LOSSES, **ROW_LOSSES}
LISTS = {
    "activations": NameList("| activations | ", " |", ACTIVATIONS),
    "losses": NameList(
        "| losses | ", "; on logits", [x for x, row in ALL_LOSSES.items() if not row.logits]
    ),
    "losses on logits": NameList(
        "; on logits: ", ". `sv.Loss", [x for x, row in ALL_LOSSES.items() if row.logits]
    ),
    "metrics": NameList("| metrics | ", ";", METRICS),
    "initializers": NameList("| initializers | ", ";", INITIALIZERS),
    "layers": NameList("| layers | ", " |", LAYERS, "`{}`"),
    "engines": NameList("| engines | ", ";", ENGINES),
}


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file with names of rows, and its expected text."""
    guide = ROOT / "docs" / "guide"
    text = (guide / "networks.md").read_text(encoding="utf-8")
    for each in LISTS.values():
        text = with_names(text, each)
    yield guide / "networks.md", text
    yield guide / "window.md", with_keys((guide / "window.md").read_text(encoding="utf-8"))
    package, stub = Path(str(sv.__file__)), Path(value.__file__)
    yield package, with_layers(package.read_text(encoding="utf-8"))
    yield stub, with_methods(stub.read_text(encoding="utf-8"))


def with_names(text: str, listed: NameList) -> str:
    """Return the text with these names in its list.

    Existing names keep their positions, and their notes in parentheses.
    """
    assert text.count(listed.start) == 1, f"the guide has no {listed.start!r}"
    before, _, rest = text.partition(listed.start)
    found, end, after = rest.partition(listed.end)
    items = {re.findall(r"\w+", item)[0]: item for item in re.split(r", (?![^(]*\))", found)}
    kept = [item for name, item in items.items() if name in listed.names]
    new = [listed.form.format(name) for name in listed.names if name not in items]
    return before + listed.start + ", ".join(kept + new) + end + after


def with_keys(text: str) -> str:
    """Return the text of the window page with all keys in its table."""
    before, start, rest = text.partition("\n## Keys\n\n| | |\n|---|---|\n")
    session = sv.Session(sv.Network([3, 4, 3]), sv.data.Rgb(), engine="python")
    face = Face(Stages([FakeStage(Show(session))]))  # type: ignore[arg-type]  # a part of a stage
    rows = [f"| {keys} | {about} |\n" for keys, about in help_rows(face.state)]
    face.quit()
    face.rest()
    return before + start + "".join(rows) + rest[rest.index("\n\n") + 1 :]


def with_layers(text: str) -> str:
    """Return the text of the package with all kinds of layers in its docstring."""
    before, start, rest = text.partition("    layers        ")
    found, end, after = rest.partition("\n    start ")
    words = [each for each in found.split() if each in (*LAYERS, "Network", "Layer")]
    lines = textwrap.wrap(" ".join([*words, *[x for x in LAYERS if x not in words]]), 80)
    return before + start + f"\n{' ' * len(start)}".join(lines) + end + after


def with_methods(text: str) -> str:
    """Return the text of the module of `Value` with a method for each row that needs one."""
    before, start, rest = text.partition("        # The rows of OPERATIONS without a symbol.\n")
    _, end, after = rest.partition("        # End of the rows.\n")
    rows = sorted((row for row in OPERATIONS.values() if not row.symbol), key=lambda row: row.name)
    several = [row.name for row in rows if len(row.partials) > 1]
    one = [row.name for row in rows if len(row.partials) == 1]
    names = textwrap.wrap(" = ".join(one[1:]), 80, break_long_words=False)
    lines = [f"{name}: Callable[..., Value]" for name in several]
    lines += ["", f"def {one[0]}(self) -> Value: ...", ""]
    lines += [f"{each.removesuffix(' =').removeprefix('= ')} = {one[0]}" for each in names]
    block = "".join(f"        {line}".rstrip() + "\n" for line in lines)
    return before + start + block + end + after
