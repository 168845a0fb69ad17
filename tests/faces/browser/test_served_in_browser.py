"""A served training in Chromium over a real socket: the first picture, use, interruptions."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import scenes
from scalarviz.pages.addresses import address_for_others
from scalarviz.pages.web_server import LARGEST
from tests.faces.browser.test_serve import Served, serving, short_token, watching

pytestmark = pytest.mark.slow

SECONDS = 60.0
ROW = 5
NO_COPYING = "document.execCommand = () => false"
REFUSED = "net::ERR_CONNECTION_REFUSED"  # of a console, while there is no server
FORBIDDEN = "status of 403", "Autofocus"  # of a console, where a token is asked for
NOTING = """
  globalThis.sockets = 0; // that were opened
  globalThis.largest = 0; // message that was sent
  globalThis.WebSocket = class extends WebSocket {
    constructor(address) { super(address); sockets += 1; }
    send(sent) { super.send(sent); largest = Math.max(largest, sent.size ?? sent.length); }
  };
"""


class Opened:
    """A page of a served training."""

    def __init__(self, browser: Any, address: str, before: str = "") -> None:
        self.page = browser.new_context(viewport={"width": 1000, "height": 700}).new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if before:
            self.page.add_init_script(before)
        self.page.goto(address)

    def ready(self) -> Opened:
        self.until("globalThis.scalarviz?.drawn")
        return self

    def app(self, expression: str) -> Any:
        return self.page.evaluate(f"scalarviz.{expression}")

    def until(self, expression: str) -> Any:
        ends = time.monotonic() + SECONDS
        while not (found := self.page.evaluate(expression)):
            assert time.monotonic() < ends, f"never: {expression}; {self.complaints}"
            self.page.wait_for_timeout(20)
        return found

    def says(self, words: str) -> None:
        self.until(f"document.body.innerText.includes({words!r})")

    def heard(self, *known: str) -> list[str]:
        """What the console says beside what is known."""
        return [each for each in self.complaints if not any(words in each for words in known)]

    def close(self) -> None:
        self.page.context.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with watching() as made:
        yield made


def own_address(served: Served) -> str:
    return f"http://127.0.0.1:{served.port}/?token={served.token}"


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Opened]:
    """The page at rest at step 0."""
    made = Opened(browser, own_address(served)).ready()
    made.page.evaluate("scalarviz.player.pause().then(() => scalarviz.run('reset')); null")
    made.until("scalarviz.state.step === 0 && !scalarviz.state.playing")
    yield made
    assert made.complaints == []
    made.close()


def test_the_neurons_of_an_operation_come_one_by_one(page: Opened) -> None:
    page.page.select_option("#unit", "neuron")
    for operation, sums in ((1, 0), (2, 1), (2, 2)):
        page.page.click("#on")
        page.until(f"scalarviz.state.operation === {operation}")
        page.until(f"(scalarviz.picture.frame.values['affine 0'] ?? []).length === {sums}")
    assert page.app("picture.frame.walked") == ["affine 0", 1]
    page.page.click("#back")
    page.until("scalarviz.picture.frame.values['affine 0'].length === 1")
    assert page.app("state.operation") == 2
    page.page.select_option("#unit", "step")


def test_a_lost_connection_comes_back_with_the_newest_state(page: Opened, browser: Any) -> None:
    other = Opened(browser, page.page.url).ready()
    page.page.evaluate("scalarviz.client.channel.socket.close(); null")
    page.says(text("page.linked.lost"))
    other.app("player.ask('advance', {count: 7}).then(() => null)")
    page.until("scalarviz.client.isOpen && scalarviz.state.step === 7")
    page.until(f"!document.body.innerText.includes({text('page.linked.lost')!r})")
    page.page.click("#on")
    page.until("scalarviz.state.step === 8")
    other.until("scalarviz.state.step === 8")
    other.close()


def test_without_a_right_token_there_is_a_form_and_no_training(
    browser: Any, served: Served
) -> None:
    address = own_address(served)
    for path in (address.partition("?")[0], f"{address}x"):
        page = Opened(browser, path)
        page.says(text("browser.wrong" if path == f"{address}x" else "browser.ask"))
        page.page.fill("input", "NONE22")
        page.page.press("input", "Enter")
        page.page.wait_for_url("**/?token=NONE22")
        page.says(text("browser.wrong"))
        assert page.heard(*FORBIDDEN) == []
        page.close()


def test_a_killed_server_is_missed_and_the_one_in_its_place_asks_for_its_own_token(
    browser: Any,
) -> None:
    with watching() as first:
        port = first.port
        page = Opened(browser, own_address(first)).ready()
        page.until("scalarviz.state.step > 0")
        first.process.send_signal(signal.SIGKILL)
        page.says(text("page.linked.lost"))
        before = page.page.evaluate("JSON.stringify(scalarviz.picture.eyes)")
        page.app("move('orbit', 30, 10)")
        assert page.page.evaluate("JSON.stringify(scalarviz.picture.eyes)") != before
    with watching("--port", str(port)) as second:
        page.says(text("browser.other"))
        assert page.heard(REFUSED) == []
        page.page.goto(own_address(second))
        page.ready()
        page.until("scalarviz.client.isOpen")
    page.close()


@pytest.mark.parametrize("scene", sorted(scenes()))
def test_no_scene_sends_more_than_its_server_takes(browser: Any, scene: str) -> None:
    """Played, paused, stepped, with all maps drawn finely, and grown where its network can."""
    with watching(scene=scene) as served:
        page = Opened(browser, own_address(served), NOTING).ready()
        page.until("scalarviz.state.step > 3")
        for unit in ("", "operation", "control"):
            if unit == "operation":
                page.app(f"still('advance', {{ count: 5, unit: {unit!r} }}).then(() => null)")
            elif unit:
                page.app("player.ask('control', { name: 'add neuron', value: null }); null")
                page.page.wait_for_timeout(1000)
            page.app("player.pause().then(() => null)")
            page.until("!scalarviz.state.playing")
            page.until("!(scalarviz.exhibit?.plane && !scalarviz.exhibit.plane.fine)")
            page.page.wait_for_timeout(500)
        assert page.page.evaluate("[sockets, scalarviz.client.isOpen]") == [1, True]
        assert page.page.evaluate("largest") <= LARGEST
        assert page.complaints == []
        page.close()


@pytest.fixture(scope="module")
def in_network() -> Iterator[Served]:
    if not address_for_others(4):
        pytest.skip("this machine has no address but its own")
    with watching("--address", "0.0.0.0") as made:
        yield made


@pytest.mark.parametrize("before", ["", NO_COPYING])
def test_from_elsewhere_six_characters_let_one_look_and_copying_does_without_a_clipboard(
    browser: Any, in_network: Served, before: str
) -> None:
    page = Opened(browser, f"http://{address_for_others(4)}:{in_network.port}/", before)
    page.page.fill("input", short_token(in_network).lower())
    page.page.click("button")
    page.ready()
    assert not page.page.evaluate("isSecureContext || 'clipboard' in navigator")
    page.until("scalarviz.state.step > 0")
    page.page.evaluate("scalarviz.player.ask('pause'); null")
    page.says("you are a viewer".capitalize())
    assert not page.page.is_visible("#play") and page.page.is_visible("#more")
    page.page.click("#cubes", position={"x": 5, "y": 5})
    page.page.evaluate("scalarviz.run('copy link')")
    page.says(text("page.link.kept", link="#step=") if before else text("page.link.copied"))
    assert page.heard(*FORBIDDEN) == []
    page.close()


ROUNDS = 3
SIZES = {"ten thousand": [3, 96, 96, 3], "a million": [3, 998, 998, 3]}
PROGRAM = """import scalarviz as sv
net = sv.Network({sizes}, "tanh", "sigmoid", seed=0)
s = sv.Session(net, sv.data.Rgb(), "mse", sv.SGD(0.1), batch=8)
sv.watch(s, browser=True, play=False)"""
DRAWN = "performance.getEntriesByName('first picture')[0]?.startTime"


def seconds_of(browser: Any, sizes: list[int]) -> list[float]:
    """From the request of the page to its first picture, each time in a new context."""
    found = []
    with serving("-c", PROGRAM.format(sizes=sizes)) as served:
        for _ in range(ROUNDS):
            page = Opened(browser, own_address(served)).ready()
            found.append(page.until(DRAWN) / 1e3)
            assert page.complaints == []
            page.close()
    return found


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_million_weights_are_seen(browser: Any, sizes: list[int]) -> None:
    assert min(seconds_of(browser, sizes)) > 0.0
