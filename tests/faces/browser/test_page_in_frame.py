"""The page of a session in a frame, in Chromium.

What a person does reaches the session, under any policy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.faces.browser.link import PageLink
from scalarviz.faces.notebook import page_view
from scalarviz.scene.loss_chart import words_of
from scalarviz.stage.curves import measured_of
from scalarviz.stage.show import Show
from scalarviz.story.formats import said
from scalarviz.training.session import value_session
from tests.faces.browser.framed import FramedPage
from tests.faces.browser.pages import ended_links, linked
from tests.sessions import advanced, inverting, session_on

pytestmark = pytest.mark.slow

ROW = 5


def linked_value(session: sv.Session | None = None) -> PageLink:
    return linked(Show(session or inverting("cpu"), title="colors"), theme="light")


@pytest.fixture(scope="module", autouse=True)
def links_end() -> Iterator[None]:
    """Links end with the module in place of the test: pages share one."""
    yield from ended_links()


@pytest.fixture(scope="module")
def framed(browser: Any) -> FramedPage:
    return FramedPage(browser, linked_value())


@pytest.fixture
def page(framed: FramedPage) -> Iterator[FramedPage]:
    """The page at step 0 of its training, with nothing pinned; nothing may have gone wrong."""
    framed.link.controller.time.reset()
    framed.frame.evaluate("scalarviz.pin(null); scalarviz.setSheet(false); null")
    framed.wait(lambda: framed.app("state.step") == 0)
    yield framed
    assert framed.complaints == []


@pytest.fixture
def new_page(browser: Any) -> FramedPage:
    return FramedPage(browser, linked_value())


def test_no_screenshot_is_taken_of_a_page_that_failed(new_page: FramedPage) -> None:
    new_page.frame.evaluate(
        "dispatchEvent(new ErrorEvent('error', { error: Error('planted') })); null"
    )
    with pytest.raises(AssertionError, match="planted"):
        new_page.screenshot()


def session_of(page: FramedPage) -> sv.Session:
    return page.link.session


@pytest.mark.usefixtures("links_end")
def test_a_click_into_the_picture_gives_keys_to_the_page(page: FramedPage) -> None:
    page.page.evaluate("document.body.tabIndex = 0; document.body.focus()")
    assert not page.frame.evaluate("document.hasFocus()")
    page.mouse.click(*page.at(20.0, 60.0))
    page.page.keyboard.press("ArrowRight")
    page.wait(lambda: page.step == 1)


@pytest.mark.usefixtures("links_end")
def test_another_neuron_keeps_camera_and_pin(new_page: FramedPage) -> None:
    new_page.drag()
    new_page.frame.evaluate("scalarviz.pin({row: 2}); null")
    new_page.rest(0.3)
    before, count = new_page.camera(), new_page.app("spec.scene.count")
    new_page.frame.evaluate("scalarviz.player.ask('add neuron', {value: null}); null")
    new_page.wait(lambda: new_page.app("spec.scene.count") > count)
    new_page.rest(0.3)
    assert new_page.app("pinned.row") == 2
    now, then = (json.loads(each)["camera"] for each in (new_page.camera(), before))
    assert (now["azimuth"], now["elevation"]) == (then["azimuth"], then["elevation"])
    new_page.app("pin(null)")
    new_page.rest(0.3)
    assert (
        "training continues with the learned weights" in new_page.frame.locator("body").inner_text()
    )
    assert new_page.complaints == []


def test_before_python_answers_the_page_shows_the_state_that_it_was_made_with(
    browser: Any,
) -> None:
    link = linked_value()
    link.session.advance(2)
    page = FramedPage(browser, link, is_busy=True)
    assert page.app("state.step") == 2 and page.app("losses.end") == 2
    page.drag()
    page.rest(0.2)
    page.is_busy = False
    link.session.advance(1)
    page.wait(lambda: page.app("state.step") == 3)
    assert page.complaints == []


def test_who_looks_on_is_told_what_one_can_do(new_page: FramedPage) -> None:
    new_page.reader.looks = True
    new_page.frame.evaluate("scalarviz.client.begin(); null")
    body = new_page.frame.locator("body")
    new_page.wait(lambda: text("page.looks") in body.inner_text())
    new_page.link.controller.time.step(+1)
    new_page.wait(lambda: new_page.app("state.step") == 1)
    new_page.rest(0.2)
    assert text("page.looks") in body.inner_text() and new_page.complaints == []


@pytest.mark.usefixtures("links_end")
def test_what_has_ended_says_so_and_can_be_turned(new_page: FramedPage) -> None:
    new_page.link.close("The kernel has ended.")
    new_page.wait(lambda: "The kernel has ended." in new_page.frame.inner_text("body"))
    assert new_page.turns() and new_page.complaints == []


def test_a_node_of_a_graph_that_is_clicked_opens_its_card(browser: Any) -> None:
    a, b = sv.Value(2.0, label="a"), sv.Value(-3.0, label="b")
    page = FramedPage(browser, linked_value(value_session.session_of((a * b + a**2).relu() + b)))
    page.do("run('advance', 2, 'operation')")
    page.wait(lambda: page.frame.locator("#caption h2").inner_text() == "a × b is −6.")
    page.mouse.click(*page.place_of("{neuron: ['[0]', 0]}"))
    card = page.frame.locator("#card")
    page.wait(lambda: "2 × (−3) = −6" in card.inner_text())
    assert "a × b" in card.inner_text() and page.complaints == []


FIELDS = "[...document.querySelectorAll('#card input')].map(each => each.value)"
TABLE = "[...document.querySelectorAll('#walls td button')].map(each => each.textContent)"


@pytest.mark.parametrize(
    ("sizes", "tile"), [((300, 160, 3), 1), ((784, 128, 10), 4), ((1000, 820, 10), 16)]
)
def test_what_a_page_writes_of_a_large_network_is_exact(
    browser: Any, sizes: tuple[int, ...], tile: int
) -> None:
    """Its cubes are drawn by codes, or by those of means of tiles, which it says."""
    net = sv.Network([*sizes], "tanh", seed=0)
    net.bank.value[100:112] = 0.9  # beyond the scale
    data = np.random.default_rng(0).random((8, sizes[0])), np.ones((8, sizes[-1]))
    session = advanced(sv.Session(net, data, batch=4, engine="cpu"), 2)
    page = FramedPage(browser, linked_value(session))
    value = session.network.bank.value
    page.wait(lambda: "…" not in page.frame.evaluate(TABLE))
    drawn = page.app(
        "picture.placed.plates.filter((each) => each.levels).map((each) => [each.first, each.stop])"
    )
    assert [each[:2] for each in page.app("state.value.noted.spreads")] == drawn
    beyond = int(np.count_nonzero(np.abs(value) > page.app("picture.frame.scale")))
    news = page.frame.locator("#legend-news")
    assert news.text_content() == f"{beyond:,} larger than shown"
    cells = page.frame.evaluate(TABLE)
    assert cells[:16] == [said(float(each), 3) for each in value[:16]]
    row, x, y = page.cube_in_sight()
    page.mouse.move(x, y)
    exact = said(float(value[row]))
    hovered = f"this weight {exact}, its cube" if tile > 1 else f"{beyond:,} larger than shown"
    page.wait(lambda: news.text_content().startswith(hovered))
    page.wait(lambda: short(float(value[row]), 2) in page.app("picture.words"))
    page.mouse.click(x, y)
    page.wait(lambda: said(float(value[row]), 3) in page.frame.evaluate(FIELDS))
    assert page.complaints == []
    page.page.context.close()


AXIS = "[scalarviz.curve.chart.first, scalarviz.curve.first, scalarviz.curve.last]"
FIELDS_OF_SHEET = """[...document.querySelectorAll("#sheet [data-row]")]
  .filter(each => each.closest("#first, .offers")).map(each => each.dataset.row).sort()"""


def test_a_training_that_grows_keeps_its_controls_and_its_curve(browser: Any) -> None:
    session = advanced(inverting("cpu"), 30)
    page = FramedPage(browser, linked_value(session))
    page.wait(lambda: len(page.frame.evaluate(FIELDS_OF_SHEET)) > 10)
    page.do("setSheet(true)")
    before, curve = page.frame.evaluate(FIELDS_OF_SHEET), page.app("curve.chart.own")
    assert {"add neuron", "option optimizer", "go wrong"} <= {*before}
    page.frame.click("[data-row='add neuron']")
    page.wait(lambda: page.link.session is not session and page.app("state.value.length") > 31)
    assert page.frame.evaluate(FIELDS_OF_SHEET) == before
    assert page.frame.evaluate("document.activeElement.dataset.row") == "add neuron"
    page.wait(lambda: len(page.app("curve.chart.own")) > 20)
    assert page.frame.evaluate(AXIS) == [-30, 0, 0]
    heights = [[y for _, y in points] for points in (curve, page.app("curve.chart.own"))]
    assert heights[0] == pytest.approx(heights[1], abs=0.5)
    page.frame.click("#on")
    page.wait(lambda: page.step == 1)
    assert page.frame.evaluate(FIELDS_OF_SHEET) == before
    page.do("setSheet(true)")
    page.frame.click("[data-row='remove neuron']")
    page.wait(lambda: page.step == 0 and page.app("state.value.length") == 31)
    page.rest(0.3)
    assert page.frame.evaluate(FIELDS_OF_SHEET) == before
    assert page.frame.evaluate(AXIS) == [-31, 0, 0] and page.complaints == []
    page.page.context.close()


def test_the_curve_of_a_page_has_the_metrics_of_the_session(
    browser: Any, rng: np.random.Generator
) -> None:
    data = sv.data.Arrays(rng.random((40, 3)), rng.integers(0, 3, 40), share=0.8)
    more = {"metrics": ["accuracy"], "every": 20, "engine": "cpu", "batch": 8}
    session = session_on(
        data, [3, 8, 3], "tanh", loss="softmax_cross_entropy", optimizer=sv.Adam(0.01), **more
    )
    session.advance(200)
    page = FramedPage(browser, linked_value(session))

    def told() -> list[str]:
        return [words_of(each, session.step_index) for each in measured_of(session.metrics)]

    page.wait(lambda: page.app("curve.measures.wordsAt(scalarviz.state.step)") == told())
    assert "measured" in page.frame.evaluate("document.body.className")
    page.do("run('advance', 30, 'step')")
    page.wait(lambda: page.step == 230)
    page.wait(lambda: page.app("curve.measures.wordsAt(scalarviz.state.step)") == told())
    assert page.app("curve.measures.series[0].steps.length") == 11 and page.complaints == []
    page.page.context.close()


DELAY = 0.15  # seconds each way
NONCE = "3xSiiV8bSVqL2yAb"
CDN = "'self' https://*.vscode-cdn.net"
HOST, OUTPUT = "https://host.example/", "https://output.example/"
POLICIES = {
    "VS Code": f"default-src 'none'; script-src {CDN} 'unsafe-inline' 'unsafe-eval';"
    f" style-src {CDN} 'unsafe-inline'; img-src {CDN} https: http: data:; font-src {CDN} https:;"
    " connect-src https:; child-src https: data:",
    "Colab": "object-src 'none'; base-uri 'self';"
    f" script-src 'nonce-{NONCE}' 'strict-dynamic' https: http: 'unsafe-inline'",
}
OUTER = f'<!DOCTYPE html><body><iframe src="{OUTPUT}" style="width: 95vw; height: 90vh"></iframe>'
# A model as anywidget passes it, whose messages go to this process.
INNER = """<!DOCTYPE html><body></body><script type="module" nonce="{nonce}">{widget}
  const heard = new Map();
  globalThis.show = (html) => {{
    const size = {{ width: 800, height: 560 }};
    const traits = {{ pages: [["a page", html]], size, gone: "gone" }};
    let view;
    const model = {{
      get: (name) => traits[name],
      on: (name, act) => heard.set(name, act),
      off: (name) => heard.delete(name),
      send: (message) => {{
        view = message.view;
        toPython(message.message);
      }},
    }};
    globalThis.down = (header, texts) => {{
      const bytes = texts.map((text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
      const buffers = bytes.map((each) => new DataView(each.buffer));
      heard.get("msg:custom")({{ view, page: 0, header }}, buffers);
    }};
    widget.render({{ model, el: document.body }});
  }};
</script>"""


class HostedPage(FramedPage):
    """The widget in a page of a policy; in Colab that page is in a frame of another origin."""

    def __init__(self, browser: Any, host: str) -> None:
        self._name = host
        super().__init__(browser, linked(inverting("cpu")), size=(1000, 760), delay=DELAY)

    def _show(self, html: str) -> None:
        script = text_beside(page_view.__file__, "widget.js")
        script = script.replace("export default", "const widget =")
        body = INNER.format(nonce=NONCE, widget=script)
        policy = {"Content-Security-Policy": POLICIES[self._name]}
        inner = {"body": body, "headers": policy, "content_type": "text/html"}
        outer = {**inner, "body": OUTER} if self._name == "Colab" else inner
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.route(HOST, lambda route: route.fulfill(**outer))
        self.page.route(OUTPUT, lambda route: route.fulfill(**inner))
        self.page.goto(HOST)
        self.host = self.page.frames[-1]
        self.host.evaluate("(html) => show(html)", html)


@pytest.mark.parametrize("host", POLICIES)
def test_under_the_policy_of_a_host_a_page_opens_plays_steps_and_is_edited(
    browser: Any, host: str
) -> None:
    page = HostedPage(browser, host)
    session = page.link.session
    began = time.monotonic()
    page.frame.click("#on")
    page.wait(lambda: page.app("state.step") == 1)
    assert 2 * DELAY < time.monotonic() - began < 20 * DELAY
    page.frame.click("#play")
    page.wait(lambda: session.playing and page.app("state.step") > 5)
    page.frame.click("#play")
    page.wait(lambda: not session.playing and page.app("state.step") == session.step_index)
    page.frame.evaluate(f"scalarviz.pin({{row: {ROW}}}); null")
    page.wait(lambda: page.frame.locator("#card").is_visible())
    page.frame.fill("#card input:not([type=range])", "0.75")
    page.frame.press("#card input:not([type=range])", "Enter")
    page.wait(lambda: session.network.bank.value[ROW] == 0.75)
    page.wait(lambda: page.app(f"state.value[{ROW}]") == 0.75)
    assert page.complaints == []
    outside = [url for url in page.asked if not url.startswith((HOST, OUTPUT, "about:", "data:"))]
    assert outside == []
    page.page.context.close()
