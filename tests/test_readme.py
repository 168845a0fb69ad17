"""Lists of names in the guide are those of the tables."""

import re

import pytest

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import BIASES, INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.metrics import METRICS
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.layers import LAYERS
from scalarviz.data import DATA_SETS
from scalarviz.engines.registry import ENGINES
from scalarviz.files.onnx.operators import OPERATORS
from scalarviz.stage.channels import CHANNELS
from tests.root import ROOT

GUIDE = ROOT / "docs" / "guide"
PAGES = "networks", "pictures", "data-and-files"
TEXT = "".join((GUIDE / f"{name}.md").read_text(encoding="utf-8") for name in PAGES)
WORD = r"\w+(?![^(|]*\))"  # not in parentheses
CODE = r"`(\w+)`"
QUOTED = r'"(\w+)"'


def between(start: str, end: str, names: str = WORD) -> list[str]:
    """The names of the text from `start` to `end`."""
    assert TEXT.count(start) == 1, f"the guide has no {start!r}"
    return re.findall(names, TEXT.partition(start)[2].partition(end)[0])


ONNX = {row.onnx.name for row in ACTIVATIONS.values() if row.onnx is not None}
ONNX |= {name.removeprefix("ai.onnx.ml.") for name in OPERATORS}
LISTS = {
    "activations": (between("| activations |", "|"), ACTIVATIONS),
    "losses": (between("| losses |", "; on") + between("; on logits:", ". `"), LOSSES | ROW_LOSSES),
    "metrics": (between("| metrics |", ";"), METRICS),
    "optimizers": ([n.lower() for n in between("| optimizers |", "; each", CODE)], OPTIMIZERS),
    "schedules": (between("`sv.Schedule(", ", ...", QUOTED), SCHEDULES),
    "initializers": (between("| initializers |", ";"), INITIALIZERS),
    "biases": (between("`sv.Init(name, bias=", "`", QUOTED), BIASES),
    "layers": (between("| layers |", "|", CODE), LAYERS),
    "engines": (between("| engines |", ";"), ENGINES),
    "data sets": (
        between("`sv.data` has", "A pair of arrays", r"\b([A-Z]\w+)`"),
        {kind.__name__ for kind in DATA_SETS.values()},
    ),
    "operators of ONNX": (between("The operators", "Anything else", r"\b[A-Z]\w+"), ONNX),
    "channels": (between("sizes can stand for", ":", r"`([^`]+)`"), CHANNELS),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_has_the_rows_of_its_table(kind: str) -> None:
    listed, table = LISTS[kind]
    assert len(listed) == len(set(listed))
    wrong = set(listed) ^ set(table)
    assert not wrong, f"{wrong}: not in the list of {kind} in docs/guide, or not in the table"
