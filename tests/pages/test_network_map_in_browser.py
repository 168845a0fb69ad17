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


def small_texture() -> sv.Session:
    net = sv.Network([sv.FrequencyEncoding(2, octaves=2), sv.Dense(8, 6, "relu"), sv.Dense(6, 3)])
    picture = np.random.default_rng(0).random((30, 41, 3))
    return sv.Session(net, data.Texture(picture), "mse", sv.Adam(0.01), batch=64)


SESSIONS = {"texture": small_texture}


@pytest.fixture(scope="module")
def files(files: Files) -> Files:
    for name, make in SESSIONS.items():
        files.write(name, Show.of(make()))
    return files


EXHIBIT = "app.exhibit"
# The outputs at the pixels of a picture, as float32, by the shader; and by the worker.
COMPARE = """(async () => {
  const exhibit = %s, {spec} = exhibit.map, side = 40;
  const raw = {...spec, fragment: spec.fragment.replace(/o_color = vec4\\(known.*\\);/,
    "o_color = vec4(y[0], y[OUTPUTS > 1 ? 1 : 0], y[OUTPUTS > 2 ? 2 : 0], 1.0);")};
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
  const inputs = Float64Array.from(Array.from({length: side * side}, (_, i) => {
    const at = [(i %% side + 0.5) / side, (Math.floor(i / side) + 0.5) / side];
    return at.map((part, k) => look.low[k] + part * (look.high[k] - look.low[k]));
  }).flat());
  const wanted = await app.player.ask("evaluate", {inputs});
  const count = exhibit.data.outputs;
  let most = 0;
  for (let i = 0; i < side * side; i++)
    for (let k = 0; k < Math.min(3, count); k++)
      most = Math.max(most, Math.abs(found[4 * i + k] - wanted[count * i + k]));
  return [most, gl.getError()];
})()"""


@pytest.mark.parametrize("name", SESSIONS)
def test_the_card_computes_what_the_worker_computes(opened: Opens, name: str) -> None:
    tab = opened(name).ready()
    for _ in range(2):
        tab.press("Shift+ArrowRight", 2)
        found = tab.ask(COMPARE % EXHIBIT)
        assert found is not None and found[1] == 0
        assert 0.0 < found[0] < LARGEST_ERROR.get(name, LARGEST_ERROR["else"])


def cost(tab: Tab, milliseconds: float) -> None:
    """Set how long a pixel takes, and measure it no more."""
    words = f"{EXHIBIT}.map, {{cost: {milliseconds}, measured: Infinity}}"
    tab.ask(f"(Object.assign({words}), 0)")


def test_a_card_that_is_too_slow_leaves_it_to_the_worker(opened: Opens) -> None:
    tab = opened("texture").ready()
    tab.until(f"{EXHIBIT}.map.checked")
    cost(tab, 10)
    tab.press("ArrowRight")
    tab.until(f"{EXHIBIT}.drawn.at(-1) === 'worker'")


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
          take.call(this, shader, words.replace("y[i];", "y[i] + 0.2;"));
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
    tab = opened("texture", before=WITHOUT[lack]).ready()
    tab.press("ArrowRight", 2)
    tab.until(f"{EXHIBIT}.map.failed && {EXHIBIT}.drawn.at(-1) === 'worker'")
    tab.complaints[:] = [each for each in tab.complaints if "WebGL" not in each]


def test_spheres_have_the_maps_of_their_neurons_while_it_trains_and_at_rest(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.until("app.maps.now?.side === 40")
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    across, down = (np.arange(40) + 0.5) / 40, 1 - (np.arange(40) + 0.5) / 40
    x, y = (low[k] + part * (high[k] - low[k]) for k, part in enumerate((across, down)))
    value = np.array(tab.state["value"])
    wanted = np.tanh(value[6] * x + value[7] * y[:, np.newaxis] + value[8 + 3])
    found = tab.ask("Array.from(app.maps.now.values['tanh 0'].subarray(3 * 1600, 4 * 1600))")
    np.testing.assert_allclose(np.reshape(found, (40, 40)), wanted, atol=1e-5)
    tab.press("Space")
    tab.until("app.state.step > 20 && app.maps.now.side === 20")
    tab.press("Space")
    tab.until("app.maps.now.side === 40 && app.maps.of === app.state.value")


def test_a_pinned_neuron_has_its_own_map_on_its_card(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.press("Shift+ArrowRight", 3)
    tab.until("app.maps.now && app.maps.of === app.state.value")
    image = "document.querySelector('.neuron-map canvas').toDataURL()"
    seen = set()
    for neuron in (["tanh 0", 1], ["tanh 0", 2], ["inputs", 0]):
        tab.do(f"(app.pin({{neuron: {neuron!r}}}), 0)")
        assert tab.page.locator(".neuron-map").is_visible()
        seen.add(tab.ask(image))
    assert len(seen) == 3
    tab.do("(app.pin({row: 2}), 0)")
    assert not tab.page.locator(".neuron-map").is_visible()
