"""The widget of a session under the policies of VS Code and Colab, far away, in Chromium.

What stands for them is a page with their Content-Security-Policy, no file beside it, and messages
that take 150 ms each way. VS Code's policy is that of its notebooks where
notebook.experimental.enableCsp is set; without it there is none. Of Colab it is known that outputs
are in a frame of another origin, and that its own page allows scripts by a nonce; the policy of the
frame is not known: here it has the strict one of the page, which an inner frame inherits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from scalarviz.base.package_files import text_beside
from scalarviz.faces.notebook import page_view
from tests.faces.browser.framed import FramedPage
from tests.faces.browser.pages import linked
from tests.faces.browser.test_page_in_frame import ROW, rgb_session
from tests.pages.browser import chromium

pytestmark = pytest.mark.slow

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
        super().__init__(browser, linked(rgb_session()), size=(1000, 760), delay=DELAY)

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        yield made


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
    page.frame.fill("#card input", "0.75")
    page.frame.press("#card input", "Enter")
    page.wait(lambda: session.network.bank.value[ROW] == 0.75)
    page.wait(lambda: page.app(f"state.value[{ROW}]") == 0.75)
    assert page.complaints == []
    outside = [url for url in page.asked if not url.startswith((HOST, OUTPUT, "about:", "data:"))]
    assert outside == []
    page.page.context.close()
