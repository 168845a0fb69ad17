"""The walk in CONTRIBUTING is true: the path of one weight, file by file."""

import re

import pytest

import scalarviz as sv
from scalarviz.stage.network_layout import layout_of
from tests.root import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK = re.findall(r"^\d+\. (.*)$", TEXT.partition("## The path of one weight")[2], re.MULTILINE)


def test_the_path_of_one_weight_has_twelve_lines() -> None:
    assert len(WALK) == 12


@pytest.mark.parametrize("line", WALK)
def test_the_path_of_one_weight_names_files_and_what_is_in_them(line: str) -> None:
    marked = re.findall(r"`([^`]+)`", line)
    files = [ROOT / each for each in marked if "/" in each]
    assert all(file.is_file() for file in files), [str(file) for file in files]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for name in {each for each in marked if "/" not in each}:
        assert re.search(rf"\b{name}\b", code), f"none of its files has {name}"
    defined = [name for name in marked if re.search(rf"(def|class|vec4) {name}\b", code)]
    assert defined, "it names nothing that its files define"


def test_the_weight_of_that_path_is_where_it_says() -> None:
    s = sv.Session(sv.Network([3, 8, 3]), sv.data.Rgb(levels=2), engine="python")
    weight = s.network.layers[0].perceptrons[2].weights[1]
    assert "net.layers[0].perceptrons[2].weights[1]" in TEXT
    assert (weight.index, len(s.network.bank)) == (7, 59)
    assert layout_of(s).plate_of(7) is not None
