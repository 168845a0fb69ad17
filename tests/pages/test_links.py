"""Links to moments of a page: what is read, what is written, and what means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from scalarviz.base.texts import text, texts
from tests.pages.in_web import in_web

LIMITS = """
const limits = {first: 10, operations: 12, rows: 43, batch: 8, last: 1e9,
  sizes: new Map([["inputs", 3], ["tanh 0", 4], ["a:b", 2]])};
"""
NOTHING = {
    "step": None, "operation": None, "pinned": None, "sample": None, "hide": [], "play": None,
    "theme": None, "tour": None, "guess": None, "bad": [], "over": [],
}  # fmt: skip


def read(*links: str) -> Any:
    """What each link says."""
    body = LIMITS + "return data.links.map((hash) => readLink(hash, limits));"
    return in_web("links", body, links=links)


@pytest.mark.parametrize(
    ("link", "fields"),
    [
        ("", {}),
        ("#", {}),
        ("#step=120&op=7&pin=42", {"step": 120, "operation": 7, "pinned": {"row": 42}}),
        ("#op=3", {"step": 10, "operation": 3}),
        ("#op=12&step=11", {"step": 11, "operation": 12}),
        ("#neuron=tanh 0:3", {"pinned": {"neuron": ["tanh 0", 3]}}),
        ("#neuron=tanh%200%3A3", {"pinned": {"neuron": ["tanh 0", 3]}}),
        ("#neuron=a:b:1", {"pinned": {"neuron": ["a:b", 1]}}),
        ("#hide=controls, strip", {"hide": ["controls", "strip"]}),
        ("#play=.5&theme=light&tour=no", {"play": 0.5, "theme": "light", "tour": "no"}),
        ("#sample=7&guess=1", {"sample": 7, "guess": True}),
    ],
)
def test_a_link_says_where_a_page_opens(link: str, fields: dict[str, Any]) -> None:
    assert read(link) == [{**NOTHING, **fields}]


BAD = [
    "step=-1", "step=9", "step=1e3", "step=", "step=9999999999", "op=13", "pin=43", "pin=x",
    "neuron=tanh 0", "neuron=tanh 0:4", "neuron=none:0", "sample=-1", "sample=8", "hide=all",
    "hide=", "hide=strip,all", "play=0", "play=fast", "play=-3", "play=1.2.3", "theme=blue",
    "tour=yes", "guess=yes", "constructor=1", "__proto__=1", "toString=2", "alert(1)=2",
]  # fmt: skip


def test_what_means_nothing_is_left_out_and_named() -> None:
    for part, found in zip(BAD, read(*(f"#theme=dark&{part}&pin=1" for part in BAD)), strict=True):
        expected = {**NOTHING, "theme": "dark", "pinned": {"row": 1}}
        # A part without a value is named by its name.
        assert found == {**expected, "bad": [part.removesuffix("=")]}, part


def test_what_is_named_of_a_long_part_is_short() -> None:
    ((bad,),) = (each["bad"] for each in read(f"#{'x' * 5000}=1"))
    assert bad == "x" * 24 + "…"


def test_of_parts_that_say_the_same_the_last_one_holds_and_the_others_are_named() -> None:
    (found,) = read("#pin=1&neuron=tanh 0:3&step=12&pin=2&step=x")
    assert found["pinned"] == {"row": 2} and found["step"] == 12
    assert found["over"] == ["pin=1", "neuron=tanh 0:3"] and found["bad"] == ["step=x"]


def test_letters_that_are_not_seen_or_turn_others_are_not_said() -> None:
    ((bad,),) = (each["bad"] for each in read("#%E2%80%AEx%00=%0A\U0001f600"))
    assert bad == "\ufffdx\ufffd=\ufffd\U0001f600"


def test_of_many_bad_parts_some_are_named_and_the_rest_is_counted() -> None:
    body = "setTexts(data.texts); return data.bad.map(badParts);"
    few, many = in_web("links texts", body, texts=texts(), bad=[["a", "b"], list("abcdefghi")])
    assert few == "a, b"
    assert many == text("page.link.more", parts="a, b, c, d, e, f", count=3)


def test_a_link_names_neurons_and_steps_that_a_page_shows() -> None:
    body = """
    const lines = [
      {values: "tanh 0", sums: "sums 0", count: 4, one: true},
      {sums: "sums 1", count: 1, one: false}];
    const spec = {engine: {moments: [1, 2], sizes: {batch: 4}, step: 3}, say: {rows: 9, lines}};
    const links = [
      "#neuron=tanh 0:4", "#neuron=sums 0:1", "#neuron=sums 1:0", "#step=9", "#sample=2"];
    const badIn = (each) => links.map((link) => readLink(link, linkLimits(each)).bad);
    return [spec, {...spec, recording: {steps: [3, 4, 8]}}].map(badIn);"""
    trains, recorded = in_web("links", body)
    assert trains == [[], ["neuron=sums 0:1"], [], [], []]
    assert recorded == [*trains[:3], ["step=9"], ["sample=2"]]


def test_a_link_that_is_written_reads_back() -> None:
    moments = [
        {"step": 120, "operation": 7, "pinned": {"row": 0}},
        {"step": 10, "operation": 0, "pinned": {"neuron": ["a:b", 1]}, "sample": 3},
        {"step": 11, "operation": 12, "hide": ["controls", "curve"], "play": 10, "theme": "dark"},
    ]
    both = "return data.moments.map((m) => [writeLink(m), readLink(writeLink(m), limits)]);"
    body = LIMITS + both
    for moment, (link, found) in zip(moments, in_web("links", body, moments=moments), strict=True):
        assert found == {**NOTHING, **moment, "operation": moment["operation"] or None}
        assert not set(link) & set('<>" '), link
    body = "return writeLink({step: 120, operation: 7, pinned: {row: 42}, hide: ['controls']});"
    assert in_web("links", body) == "#step=120&op=7&pin=42&hide=controls"


def test_after_its_last_operation_a_step_is_linked_as_it_was_walked() -> None:
    body = "return data.states.map(shownMoment)"
    walked, stands, within = in_web(
        "links",
        body,
        states=[
            {"step": 5, "operation": 0, "moment": 11, "focus": 0},
            {"step": 5, "operation": 0, "moment": -1, "focus": 2},
            {"step": 5, "operation": 3, "moment": 2, "focus": 0},
        ],
    )
    assert walked == {"step": 4, "operation": 12, "sample": 0}
    assert stands == {"step": 5, "operation": 0, "sample": 2}
    assert within == {"step": 5, "operation": 3, "sample": 0}
