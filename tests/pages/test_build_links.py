"""Links to networks built in a playground, read and written in Python and in a page."""

import random
import zlib
from base64 import urlsafe_b64encode
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.data.plane import FEATURES
from scalarviz.faces.cli.watch_scene import opened
from scalarviz.faces.links import pairs_of, read_link, unpacked
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import own_options
from scalarviz.story import build_link
from scalarviz.story.build_link import LONGEST, count_of, read_build, write_build
from tests.pages.node import in_web

USUAL, _ = read_build([])
PAGES = """
const links = [];
for (const hash of data.links) {
  setTexts(data.texts);
  const { settings, value, rest, bad } = await readBuild(`#${hash}`);
  links.push([{ ...settings, w: "" }, bad, await writeBuild(settings, value), value, rest]);
}
return links;
"""
HOSTILE = """hidden=900 hidden=1,1,1,1,1,1 hidden=0 hidden=, hidden=٣ hidden=1e1 hidden=%ff
features= features=x,,y activation=tanh,relu,sin hidden=&activation=relu,sin lr=-1 lr=1e999
lr=nan lr=1_0 lr=0x1 lr=. lr=😀aaaaaaaaaaaaaaaaaaaaaaaaa l1=2 share=1 share=0 noise=1 noise=٠
batch=3 batch=1e1 seed=1.5 seed=9999999999999999 v=2 v= opt=adam,beta1:9 opt=__proto__
share=0.1&batch=64 init=constructor shape=<img/src=x/onerror=alert(1)> shape=é%00 bias=true w=%00
w=a.b""".split()


def chosen(choose: random.Random) -> dict[str, Any]:
    """Settings of a playground, chosen at random."""
    hidden = [choose.randint(1, 12) for _ in range(choose.randint(0, 5))]
    share = choose.choice([0.1, 0.5, choose.uniform(0.1, 0.9)])
    batches = [each for each in build_link.BATCHES if each <= 500 * share]

    def number(most: float) -> float:
        return choose.choice([0.0, most, most * choose.random(), most * 1e-9])

    return {
        "shape": choose.choice(build_link.SHAPES), "noise": number(0.5),
        "share": share,
        "seed": choose.choice([1, 0, choose.randrange(10**15)]),
        "features": [each for each in FEATURES if choose.random() < 0.5] or ["x"],
        "hidden": hidden, "activation": [choose.choice(build_link.ACTIVATIONS) for _ in hidden],
        "init": choose.choice(build_link.INITIALIZERS), "bias": choose.random() < 0.5,
        "opt": choose.choice([*build_link.RATES]), "lr": number(1000.0),
        "batch": choose.choice(batches), "l1": number(1.0), "l2": number(1.0), "w": "",
    }  # fmt: skip


def in_pages(links: list[str]) -> Any:
    return in_web("packed_link texts", PAGES, links=links, texts=texts())


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_settings_are_read_as_they_were_written_and_alike_in_a_page(count: int) -> None:
    choose = random.Random(count)
    made = [USUAL, *(chosen(choose) for _ in range(count))]
    links = [write_build(each) for each in made]
    assert links[0] == "v=1"
    for settings, link, page in zip(made, links, in_pages(links), strict=True):
        assert read_build(pairs_of(link)) == (settings, [])
        assert page == [{**settings, "w": ""}, "", f"#{link}", None, "#"]


def test_each_invalid_part_is_one_sentence_and_the_rest_is_read() -> None:
    links = [
        f"{each}&lr=0.5&step=7" if "lr=" not in each else f"{each}&step=7"
        for each in [*HOSTILE, "w=" + "A" * 6001]
    ]
    for link, (settings, bad, _, value, rest) in zip(links, in_pages(links), strict=True):
        ours, sentences = read_build(pairs_of(link))
        assert len(sentences) == 1 and sentences[0].count(".") >= 1 and len(sentences[0]) < 160
        assert bad == f"{sentences[0]} The rest of the link has been opened."
        assert settings == {**ours, "w": ""}
        assert value is None and rest == "#step=7"
        opened_by = read_link(f"play?{link}")
        assert opened_by.bad == (*sentences,) and opened_by.step == 7


def test_the_last_of_equal_names_holds_and_inputs_have_one_order() -> None:
    assert read_build(pairs_of("features=x2&features=y,x,y+"))[0]["features"] == ["x", "y"]


def test_packed_weights_are_read_bit_for_bit_or_refused() -> None:
    settings = USUAL | {"features": [*FEATURES], "hidden": [12] * 5, "activation": ["tanh"] * 5}
    value = np.random.default_rng(0).normal(size=count_of(settings)).astype(np.float32)
    script = "return writeBuild(data.settings, Float32Array.from(data.value));"
    link = in_web("packed_link", script, settings=settings, value=value)[1:]
    words = dict(pairs_of(link))["w"]
    assert len(link) < 4000
    assert unpacked(words, len(value)).tobytes() == value.tobytes()
    assert in_pages([link])[0][3] == value.tolist()
    bomb = urlsafe_b64encode(zlib.compress(bytes(3_000_000), wbits=-15)).decode().rstrip("=")
    for wrong in (words[:900], words + "AAAA", "AAAA", words[9:], bomb):
        [(_, bad, _, read, _)] = in_pages([link.replace(words, wrong)])
        assert unpacked(wrong, len(value)) is read is None and "weights are missing" in bad
    too_long = in_pages(["w" * (LONGEST + 1)])[0][1]
    assert too_long == "A link has 8,000 characters at most, this one has 8,002. The rest of the link has been opened."
    start = opened(read_link(f"play?{link}#step=0"), {})[0].session
    start.advance(3, progress=False)
    start.seek(0)
    assert start.network.bank.value.tobytes() == value.tobytes()


def test_what_links_offer_exists_in_python() -> None:
    options = own_options(load(scenes()["circle"]))
    assert {*build_link.SHAPES} == {*options["shape"].info.names}
    assert {*build_link.FEATURES} == {*FEATURES}
    assert {*build_link.ACTIVATIONS} <= {*ACTIVATIONS} and {*build_link.INITIALIZERS} <= {
        *INITIALIZERS
    }
