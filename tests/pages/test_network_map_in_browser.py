"""Maps by the graphics card in a page, here by its stand-in in software, beside the worker's."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pictures.presenter.show import Show
from tests.pages.browser import ONLY_CHROMIUM, Tab
from tests.pages.conftest import Files, Opens

pytestmark = [pytest.mark.slow, ONLY_CHROMIUM]

# Of an output in float32, whose size is about 1. GLSL leaves the sine of an encoding 2**-11; half a
# level of a color is 2e-3.
LARGEST_ERROR = {"texture": 1e-3, "features": 1e-3, "else": 2e-6}
ONE_LEVEL = 1  # of 255, by which colors may be rounded otherwise


def three_classes() -> sv.Session:
    """Points of three classes, which a softmax reads."""
    points = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    classes = np.eye(3)[(points[:, 0] > 0).astype(int) + (points[:, 1] > 0)]
    net = sv.Network([2, 6, 3], "tanh", seed=1)
    return sv.Session(net, (points, classes), "softmax_cross_entropy", sv.Adam(0.02))


def one_probability() -> sv.Session:
    """One output, whose sigmoid the loss reads."""
    net = sv.Network([2, 4, 1], "gelu", seed=1)
    return sv.Session(net, data.Circle(samples=40), "sigmoid_cross_entropy", sv.Adam(0.02))


def small_texture() -> sv.Session:
    net = sv.Network([sv.FrequencyEncoding(2, octaves=2), sv.Dense(8, 6, "relu"), sv.Dense(6, 3)])
    picture = np.random.default_rng(0).random((30, 41, 3))
    return sv.Session(net, data.Texture(picture), "mse", sv.Adam(0.01), batch=64)


def features() -> sv.Session:
    """Inputs that are features of the coordinates, of which none is a coordinate."""
    points = data.Circle(samples=60, features="x2,y2,xy,sinx,siny", scale=5.0, signed=True)
    return sv.Session(sv.Network([5, 4, 1], "tanh", seed=1), points, "mse", sv.Adam(0.02))


SESSIONS = {
    "classes": three_classes,
    "sigmoid": one_probability,
    "texture": small_texture,
    "features": features,
}


@pytest.fixture(scope="module")
def files(files: Files) -> Files:
    for name, make in SESSIONS.items():
        files.write(name, Show.of(make()))
    return files


EXHIBIT = "(app.exhibit.map?.map ? app.exhibit.map : app.exhibit)"
# The outputs at the pixels of a picture, as float32, by the shader; and by the worker.
COMPARE = """(async () => {
  const exhibit = %s, {spec} = exhibit.map, side = 40;
  const raw = {...spec, fragment: spec.fragment.replace(/o_color = vec4\\(color, 1\\.0\\)/,
    "o_color = vec4(y[0], y[OUTPUTS > 1 ? 1 : 0], y[OUTPUTS > 2 ? 2 : 0], 1.0)")};
  const map = new exhibit.map.constructor(raw), {gl} = map;
  while (!map.ready) await new Promise((done) => setTimeout(done, 20));
  if (!gl.getExtension("EXT_color_buffer_float")) return null;
  const texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE3);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, side, side, 0, gl.RGBA, gl.FLOAT, null);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const look = exhibit.look();
  map.setNumbers(app.state.value);
  map.draw(look, side, side);
  const found = new Float32Array(4 * side * side);
  gl.readPixels(0, 0, side, side, gl.RGBA, gl.FLOAT, found);
  const rest = exhibit.data.rest ?? [0, 0], axes = look.axes ?? [0, 1];
  const inputs = Float64Array.from(Array.from({length: side * side}, (_, i) => {
    const at = [(i %% side + 0.5) / side, (Math.floor(i / side) + 0.5) / side];
    if (exhibit.inputsAt) return exhibit.inputsAt(at);
    const row = [...rest];
    axes.forEach((axis, k) => (row[axis] = look.low[k] + at[k] * (look.high[k] - look.low[k])));
    return row;
  }).flat());
  const wanted = await app.player.ask("evaluate", {inputs});
  const count = exhibit.data.outputs;
  let most = 0;
  for (let i = 0; i < side * side; i++)
    for (let k = 0; k < Math.min(3, count); k++)
      most = Math.max(most, Math.abs(found[4 * i + k] - wanted[count * i + k]));
  return [most, gl.getError()];
})()"""


@pytest.mark.parametrize("name", ["xor", "circle", *SESSIONS])
def test_the_card_computes_what_the_worker_computes(opened: Opens, name: str) -> None:
    tab = opened(name).ready()
    for _ in range(2):
        tab.press("Shift+ArrowRight", 2)
        found = tab.ask(COMPARE % EXHIBIT)
        assert found is not None and found[1] == 0
        assert 0.0 < found[0] < LARGEST_ERROR.get(name, LARGEST_ERROR["else"])


COLORS = """(() => {
  const exhibit = %s, {side} = exhibit.data, {map} = exhibit;
  exhibit.canUseCard();
  map.setNumbers(app.state.value);
  map.draw(exhibit.look(), side, side);
  const bytes = map.bytes(side, side);
  const wanted = exhibit.coarse.flatMap((answer) => exhibit.faded(answer));
  const below = (i) => side * (side - 1 - Math.floor(i / side)) + i %% side;
  return wanted.map((each, i) => Math.abs(bytes[4 * below(Math.floor(i / 3)) + i %% 3] - each));
})()"""


@pytest.mark.parametrize("name", ["xor", "circle", "classes", "sigmoid"])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_colors_are_those_of_the_worker(opened: Opens, name: str, theme: str) -> None:
    tab = opened(name, place=f"#tour=no&theme={theme}").ready()
    tab.press("Shift+ArrowRight", 3)
    off = np.reshape(tab.ask(COLORS % EXHIBIT), (-1, 3)).max(axis=1)
    wrong = np.count_nonzero(off > ONE_LEVEL)
    assert wrong <= (3 if name == "classes" else 0)  # of two classes that are as likely
    assert tab.ask(f"{EXHIBIT}.map.checked")


def cost(tab: Tab, milliseconds: float) -> None:
    """Set how long a pixel takes, and measure it no more."""
    words = f"{EXHIBIT}.map, {{cost: {milliseconds}, measured: Infinity}}"
    tab.ask(f"(Object.assign({words}), 0)")


def test_the_map_has_every_pixel_while_it_trains(opened: Opens) -> None:
    tab = opened("xor").ready()
    tab.until(f"{EXHIBIT}.map.checked")
    cost(tab, 1e-9)  # as of a card that is no stand-in
    tab.press("Space")
    tab.until("app.state.step > 20 && app.state.playing")
    drawn, pixels, margin = tab.ask(f"[{EXHIBIT}.drawn, {EXHIBIT}.canvas.width, {EXHIBIT}.margin]")
    assert drawn == [round(pixels * (1 - 2 * margin)), "card"]
    tab.press("Space")


def test_a_card_that_is_too_slow_leaves_it_to_the_worker(opened: Opens) -> None:
    for name in ("circle", "texture"):
        tab = opened(name).ready()
        tab.until(f"{EXHIBIT}.map.checked")
        cost(tab, 10)
        tab.press("ArrowRight")
        tab.until(f"{EXHIBIT}.drawn[{EXHIBIT}.drawn.length - 1] === 'worker'")


# What a browser may lack, or a driver do wrong.
WITHOUT = {
    "no context": """
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
          return kind === "webgl2" && this.id !== "cubes" ? null : get.call(this, kind, ...more);
        };""",
    "no compiler": """
        const take = WebGL2RenderingContext.prototype.shaderSource;
        WebGL2RenderingContext.prototype.shaderSource = function (shader, words) {
          take.call(this, shader, words.replace("network_row", "(network_row"));
        };""",
    "wrong numbers": """
        const take = WebGL2RenderingContext.prototype.shaderSource;
        WebGL2RenderingContext.prototype.shaderSource = function (shader, words) {
          take.call(this, shader, words.replace("answer = y[0];", "answer = y[0] + 0.2;"));
        };""",
    "no float textures": """
        const fill = WebGL2RenderingContext.prototype.texImage2D;
        WebGL2RenderingContext.prototype.texImage2D = function (...given) {
          if (given[2] !== this.RGBA32F) fill.call(this, ...given);
        };
        const part = WebGL2RenderingContext.prototype.texSubImage2D;
        WebGL2RenderingContext.prototype.texSubImage2D = function (...given) {
          if (given[7] !== this.FLOAT || given[6] !== this.RGBA) part.call(this, ...given);
        };""",
}


@pytest.mark.parametrize("lack", WITHOUT)
def test_without_it_the_worker_draws_and_nothing_complains(opened: Opens, lack: str) -> None:
    tab = opened("circle", before=WITHOUT[lack]).ready()
    tab.press("ArrowRight", 2)
    tab.until(f"{EXHIBIT}.map.failed && {EXHIBIT}.drawn[1] === 'worker'")
    tab.until(f"{EXHIBIT}.drawn[0] === 96")  # its finer map at rest
    tab.do("(app.pin({neuron: ['tanh 0', 1]}), 0)")
    assert not tab.page.locator(".neuron-map").is_visible()
    tab.complaints[:] = [each for each in tab.complaints if "WebGL" not in each]


def test_a_lost_context_comes_back(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.until(f"{EXHIBIT}.map.checked")
    tab.ask(f"(globalThis.loser = {EXHIBIT}.map.gl.getExtension('WEBGL_lose_context'), 0)")
    tab.ask("(loser.loseContext(), 0)")
    tab.until(f"!{EXHIBIT}.map.ready")
    tab.press("ArrowRight")
    assert tab.ask(f"{EXHIBIT}.drawn")[1] == "worker"
    tab.ask("(loser.restoreContext(), 0)")
    tab.until(f"{EXHIBIT}.map.ready")
    cost(tab, 1e-9)
    tab.press("ArrowRight")
    tab.until(f"{EXHIBIT}.drawn[1] === 'card'")


def test_a_pinned_neuron_has_its_own_map_on_its_card(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.press("Shift+ArrowRight", 3)
    tab.until(f"{EXHIBIT}.map.checked")
    image = "document.querySelector('.neuron-map canvas').toDataURL()"
    seen = set()
    for neuron in (["tanh 0", 1], ["tanh 0", 2], ["inputs", 0]):
        tab.do(f"(app.pin({{neuron: {neuron!r}}}), 0)")
        assert tab.page.locator(".neuron-map").is_visible()
        seen.add(tab.ask(image))
    assert len(seen) == 3
    tab.press("ArrowRight", 10)
    assert tab.ask(image) not in seen  # it follows the training
    tab.do("(app.pin({row: 2}), 0)")
    assert not tab.page.locator(".neuron-map").is_visible()


def test_the_map_of_a_neuron_has_its_values(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.press("Shift+ArrowRight")
    tab.until(f"{EXHIBIT}.map.checked")
    tab.do("(app.pin({neuron: ['tanh 0', 3]}), 0)")
    low, high = tab.ask(f"[{EXHIBIT}.data.low, {EXHIBIT}.data.high]")
    across = low[0] + (np.arange(24) + 0.5) / 24 * (high[0] - low[0])
    up = low[1] + (np.arange(24) + 0.5) / 24 * (high[1] - low[1])
    value = np.array(tab.state["value"])
    u, v, bias = value[6], value[7], value[8 + 3]
    largest = np.abs(np.tanh(u * across + v * up[:, np.newaxis] + bias)).max()
    reach = tab.ask(f"{EXHIBIT}.neuronMap.reaches.values().next().value")
    assert 0.96 * largest <= reach < 4.2 * largest and f"to {reach:g} from" in tab.shown("card")
    half = tab.ask(
        f"(e => (e.map.draw({{...e.look(), kind: 1, squash: 0, neuron: [2, 3], range: [0, {reach}],"
        " strength: [1, 1], colors: [[0,0,0], [0,0,1], [1,0,0], [0,0,0], [0,0,0]]}, 24, 24),"
        f" [...e.map.bytes(24, 24)]))({EXHIBIT})"
    )
    bytes_of = np.reshape(half, (24, 24, 4)).astype(float)
    wanted = np.clip(np.tanh(u * across + v * up[:, np.newaxis] + bias) / reach, -1, 1)
    np.testing.assert_allclose(
        (bytes_of[:, :, 0] - bytes_of[:, :, 2]) / 255, wanted, atol=0.6 / 255
    )
