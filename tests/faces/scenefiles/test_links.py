"""Links: moments of trainings as texts, in the grammar of pages."""

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.faces.links import Link, link_to, read_link
from tests.pages.in_web import in_web
from tests.wording import refused

GOOD = {
    "rgb": Link("rgb"),
    "rgb#step=120&op=7&pin=42": Link("rgb", {}, 120, 7, 42),
    "rgb?hidden=4&map=grey#step=3": Link("rgb", {"hidden": "4", "map": "grey"}, 3),
    "circle?hidden=8,8#op=2": Link("circle", {"hidden": "8,8"}, None, 2),
    "a%20run%231.safetensors#step=20": Link("a run#1.safetensors", {}, 20),
    "rgb#neuron=tanh%200:3": Link("rgb", neuron=("tanh 0", 3)),
    "rgb#sample=2&play=0.5&theme=light&tour=no": Link(
        "rgb", sample=2, play=0.5, theme="light", tour="no"
    ),
    "rgb#hide=controls,strip": Link("rgb", hide=("controls", "strip")),
}


@pytest.mark.parametrize("text", GOOD)
def test_a_link_says_what_to_open_and_where(text: str) -> None:
    assert read_link(text) == GOOD[text]


@pytest.mark.parametrize("text", GOOD)
def test_a_link_that_is_written_reads_back(text: str) -> None:
    assert read_link(str(GOOD[text])) == GOOD[text]


@pytest.mark.parametrize(
    "text",
    ["", "#step=1", "rgb#step=-1", "rgb#step=1e3", "rgb#step=1000000000", "rgb#step=", "rgb#op=x",
     "rgb#pin=1.5", "rgb#step=١٢", "rgb#neuron=tanh 0", "rgb#sample=-1", "rgb#play=0",
     "rgb#play=nan", "rgb#theme=blue", "rgb#tour=yes", "rgb#hide=all", "rgb#hide=", "rgb#hide=,",
     "rgb#alert(1)=2", "rgb#__proto__=1", "rgb?hidden=../x", "rgb?picture=/etc/passwd",
     "rgb?folder=\\\\host\\x", "rgb?picture=http://host/x", "rgb?hidden=$(id)", "x" * 2001,
     "rgb?picture=mine.png", "rgb?folder=.."],
)  # fmt: skip
def test_what_means_nothing_is_refused_in_one_sentence(text: str) -> None:
    with refused(InputError):
        read_link(text)


def test_pages_read_the_same_moments() -> None:
    fragments = [link.fragment for link in GOOD.values()]
    body = """
      const sizes = new Map([["tanh 0", 9]]);
      const limits = {first: 0, last: 1e9, operations: 12, rows: 99, batch: 8, sizes};
      return data.links.map((hash) => writeLink(readLink(`#${hash}`, limits)));
    """
    written = in_web("links", body, links=fragments)
    for fragment, text in zip(fragments, written, strict=True):
        ours, theirs = read_link(f"rgb#{fragment}"), read_link(f"rgb{text}")
        if ours.operation and ours.step is None:  # a page writes the step that it stands at
            assert theirs.step == 0 and theirs.operation == ours.operation
        else:
            assert theirs == ours, fragment


def test_a_session_has_a_link_to_its_moment(colours: sv.Session) -> None:
    colours.seek(0)
    colours.advance(2, progress=False)
    colours.advance(3, "operation")
    colours.focus = 1
    link = link_to(colours, "rgb", {"hidden": 4, "first_setup": True}, 7)
    assert str(link) == "rgb?hidden=4&first_setup=true#step=2&op=3&pin=7&sample=1"
    assert link_to(colours, "rgb", pinned=("tanh 0", 1)).fragment.endswith(
        "neuron=tanh%200:1&sample=1"
    )
