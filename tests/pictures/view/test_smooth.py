"""Pictures whose pixels are the mean of four."""

from collections.abc import Callable

import numpy as np
import pytest
from vispy import gloo

from scalarviz.scene.offscreen import drawing
from scalarviz.scene.picture import Canvas
from scalarviz.scene.visuals import opengl
from scalarviz.scene.visuals.opengl import Smooth

VERTEX = """
attribute vec2 a_corner;
void main() { gl_Position = vec4(a_corner, 0.0, 1.0); }
"""
FRAGMENT = """
void main() {
    vec2 place = floor(gl_FragCoord.xy);
    float light = mod(place.x + 2.0 * place.y, 16.0) / 16.0;
    gl_FragColor = vec4(light, mod(place.x, 2.0), mod(place.y, 4.0) / 4.0, 1.0);
}
"""


def pattern(sizes: list[tuple[int, int, float]]) -> Callable[[int, int, float], None]:
    """Draws another colour in each pixel."""
    corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)

    def draw(width: int, height: int, ratio: float) -> None:
        sizes.append((width, height, ratio))
        gloo.set_viewport(0, 0, width, height)
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        program = gloo.Program(VERTEX, FRAGMENT)
        program["a_corner"] = corners
        program.draw("triangle_strip")

    return draw


def test_each_pixel_is_the_mean_of_four() -> None:
    sizes: list[tuple[int, int, float]] = []
    draw, made = pattern(sizes), Smooth()
    with Canvas(37, 21) as canvas, Canvas(74, 42) as larger:
        whole = larger.frame(draw).astype(float)
        for _ in range(2):  # the second time with the same framebuffer
            shown = canvas.frame(lambda *size: made.draw(draw, *size))
        with drawing():
            made.release()
    means = whole.reshape(21, 2, 37, 2, 3).mean(axis=(1, 3))
    assert np.abs(shown - means).max() <= 1.0 and np.ptp(means) > 100.0
    assert sizes[1:] == [(74, 42, 2.0)] * 2


def test_a_picture_larger_than_the_driver_can_draw_is_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[tuple[int, int, float]] = []
    monkeypatch.setattr(opengl, "largest_texture", lambda: 73)
    with Canvas(37, 21) as canvas:
        canvas.frame(lambda *size: Smooth().draw(pattern(sizes), *size))
    assert sizes == [(37, 21, 1.0)]


@pytest.mark.parametrize(
    ("maker", "quick"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", False),
        ("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)))", False),
        ("Microsoft Basic Render Driver", False),
        ("NVIDIA H100/PCIe/SSE2", True),
        ("Mesa Intel(R) UHD Graphics 620 (KBL GT2)", True),
    ],
)
def test_a_graphics_card_is_told_from_software(
    maker: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gloo.gl, "glGetParameter", lambda name: maker)
    assert Smooth.is_quick() is quick
