"""Runs exported GLSL in software, without a screen; a process of its own, started by test_glsl.

    python run_shaders.py FOLDER

For each NAME.glsl in the folder there is NAME.inputs.npy, one row a sample, and NAME.json, which
says how many outputs; NAME.outputs.npy is written. Every pixel of a picture is one output of one
sample, in 32 bits. NAME.frag is a whole shader, which makes its samples from the place of a pixel;
NAME.outputs.npy is then the picture, row by row from the bottom. The exit status
is 77, with the reason printed, if there is no OpenGL here.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

MISSING = 77

VERTEX = "attribute vec2 corner; void main() { gl_Position = vec4(corner, 0.0, 1.0); }"
VERTEX_150 = "#version 150\nin vec2 corner; void main() { gl_Position = vec4(corner, 0.0, 1.0); }"
SIDE = 32  # pixels of the picture of a whole shader
CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
FRAGMENT = """
uniform sampler2D samples;
void main() {{
    float x[{inputs}];
    float y[{outputs}];
    for (int i = 0; i < {inputs}; i++)
        x[i] = texture2D(
            samples, vec2(gl_FragCoord.x / {count}.0, (float(i) + 0.5) / {inputs}.0)
        ).r;
    {call}
    float found = 0.0;
    for (int i = 0; i < {outputs}; i++) if (i == int(gl_FragCoord.y)) found = y[i];
    gl_FragColor = vec4(found, 0.0, 0.0, 1.0);
}}
"""
PARTS = "xyzw"


def call(inputs: int, outputs: int, by_vector: bool) -> str:
    """The lines that call the network, by its arrays or by its vectors."""
    if not by_vector:
        return "network_row(x, y);"
    given = ", ".join(f"x[{i}]" for i in range(inputs))
    given = given if inputs == 1 else f"vec{inputs}({given})"
    parts = [f".{part}" for part in PARTS[:outputs]] if outputs > 1 else [""]
    kind = "float" if outputs == 1 else f"vec{outputs}"
    lines = [f"y[{i}] = result{part};" for i, part in enumerate(parts)]
    return f"{kind} result = network({given}); {' '.join(lines)}"


def run(gloo: Any, text: str, samples: Any, case: dict[str, Any]) -> Any:
    """The outputs of a shader for each sample."""
    (count, inputs), outputs = samples.shape, case["outputs"]
    words = call(inputs, outputs, case["by_vector"])
    fragment = FRAGMENT.format(inputs=inputs, outputs=outputs, count=count, call=words)
    texture = gloo.Texture2D(
        np.ascontiguousarray(samples.T[:, :, np.newaxis], np.float32),
        internalformat="r32f",
        interpolation="nearest",
    )
    return draw(gloo, VERTEX, text + fragment, (outputs, count), samples=texture)[:, :, 0].T


def draw(gloo: Any, vertex: str, fragment: str, size: tuple[int, int], **given: Any) -> Any:
    """The pixels of a picture of (rows, columns), the lowest row first."""
    rows, columns = size
    program = gloo.Program(vertex, fragment)
    program["corner"] = CORNERS
    for name, value in given.items():
        program[name] = value
    picture = gloo.Texture2D((rows, columns, 4), format="rgba", internalformat="rgba32f")
    with gloo.FrameBuffer(color=picture):
        gloo.set_viewport(0, 0, columns, rows)
        gloo.set_state(blend=False, depth_test=False, cull_face=False)
        program.draw("triangle_strip")
        pixels = gloo.read_pixels((0, 0, columns, rows), out_type="float")
    return pixels[::-1]


def main(folder: Path) -> int:
    os.environ.update(EGL_PLATFORM="surfaceless", PYOPENGL_PLATFORM="egl")
    os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"  # what is compiled here is what was written
    try:
        import vispy

        vispy.use("egl", "gl+")
        from vispy import app, gloo

        canvas = app.Canvas(size=(4, 4), show=False)
        canvas.set_current()
        gloo.clear()
        gloo.flush()
    except Exception as error:  # whatever vispy and PyOpenGL say where a library is missing
        print(f"{type(error).__name__}: {error}")
        return MISSING
    for path in sorted(folder.glob("*.glsl")):
        case = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        samples = np.load(path.with_suffix(".inputs.npy"))
        text = path.read_text(encoding="utf-8")
        np.save(path.with_suffix(".outputs.npy"), run(gloo, text, samples, case))
    for path in sorted(folder.glob("*.frag")):
        pixels = draw(gloo, VERTEX_150, path.read_text(encoding="utf-8"), (SIDE, SIDE))
        np.save(path.with_suffix(".outputs.npy"), pixels)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
