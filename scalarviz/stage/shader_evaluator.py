"""Evaluator: a network as a fragment shader in a hidden context, evaluated for many samples.

A sample is a pixel of a float32 picture; its inputs are texels. Pictures are drawn in strips that
take a few milliseconds each, so that a window on the same GPU can be drawn in between.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from time import perf_counter
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.package_files import text_beside
from scalarviz.errors import DisplayError
from scalarviz.files.shaders.shader import FOURS_READER, TEXELS, Shader
from scalarviz.scene.canvas.canvas2d import Floats
from scalarviz.scene.offscreen import no_opengl

# An OpenGL context without a window, independent of vispy and Qt: vispy has one current
# canvas for all threads, and a toolkit one thread for all windows. It is created directly by EGL,
# and used by direct calls of OpenGL. EGL also finds a GPU without a display, or Mesa's software
# renderer.

DEVICE, SURFACELESS = 0x313F, 0x31DD  # platforms of EGL
MOST_DEVICES = 32
SOFTWARE_DEVICE = "EGL_MESA_device_software"
INTS, PLACES = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p)


@final
class HiddenContext:
    """A hidden OpenGL context, which is current in one thread at a time.

    Attributes:
        renderer: name of the renderer, such as "llvmpipe (LLVM 15.0.6, 256 bits)"

    Raises:
        DisplayError: if OpenGL is not available.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise DisplayError(
                "a context without a window is made by EGL, which only Linux has: maps of a "
                "window are still drawn by the graphics card"
            )
        try:
            self._egl: Any = import_module("vispy.ext.egl")
            self._display, self._surface, self._context = self._made()
            self.gl: Any = import_module("vispy.gloo.gl.gl2")
            self.renderer = str(self.gl.glGetParameter(self.gl.GL_RENDERER))
        except Exception as error:  # drivers and libraries raise errors of any class
            raise no_opengl(error) from error

    def begin(self) -> None:
        """Make the context current in this thread."""
        egl = self._egl
        egl.eglBindAPI(egl.EGL_OPENGL_API)
        egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context)

    def end(self) -> None:
        """Release the context, so that another thread can take it."""
        self._egl.eglMakeCurrent(self._display, None, None, None)

    def _made(self) -> tuple[Any, Any, Any]:
        """Return display, surface and the context, made current; GPUs are tried first."""
        failed: Exception = RuntimeError("EGL knows no device")
        for display in self._displays():
            try:
                return self._made_on(display)
            except Exception as error:  # such as a device without permission: try the next one
                failed = error
        raise failed

    def _made_on(self, display: Any) -> tuple[Any, Any, Any]:
        egl = self._egl
        egl.eglInitialize(display)
        egl.eglBindAPI(egl.EGL_OPENGL_API)
        wanted = [egl.EGL_SURFACE_TYPE, egl.EGL_PBUFFER_BIT]
        wanted += [egl.EGL_RENDERABLE_TYPE, egl.EGL_OPENGL_BIT]
        config = egl.eglChooseConfig(display, wanted)[0]
        surface = egl.eglCreatePbufferSurface(
            display, config, (egl.EGL_WIDTH, 1, egl.EGL_HEIGHT, 1)
        )
        context = egl.eglCreateContext(display, config, None)
        egl.eglMakeCurrent(display, surface, surface, context)
        return display, surface, context

    def _displays(self) -> Iterator[Any]:
        """Yield the displays of EGL: graphics cards, then software, then the default."""
        of_platform = self._function(
            "eglGetPlatformDisplayEXT", ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, INTS
        )
        if of_platform is not None:
            for platform, device in [*self._devices(), (SURFACELESS, None)]:
                found = of_platform(platform, device, None)
                if found:
                    yield ctypes.c_void_p(found)
        yield self._egl.eglGetDisplay()

    def _devices(self) -> list[tuple[int, int | None]]:
        """Return the devices known to EGL, GPUs first."""
        list_devices = self._function(
            "eglQueryDevicesEXT", ctypes.c_uint, ctypes.c_int, PLACES, INTS
        )
        about = self._function(
            "eglQueryDeviceStringEXT", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int
        )
        if list_devices is None or about is None:
            return []
        found, count = (ctypes.c_void_p * MOST_DEVICES)(), ctypes.c_int()
        if not list_devices(MOST_DEVICES, found, ctypes.byref(count)):
            return []

        def is_software(device: int | None) -> bool:
            return SOFTWARE_DEVICE in (about(device, self._egl.EGL_EXTENSIONS) or b"").decode()

        return [(DEVICE, device) for device in sorted(found[: count.value], key=is_software)]

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any] | None:
        """Return an extension function of EGL, or None if it is missing."""
        find = self._egl._lib.eglGetProcAddress
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        address = find(name.encode())
        return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None


# The evaluator.

WIDE, HIGH = 1024, 256  # maximum samples of a picture
STRIP = 0.012  # approximate seconds of a strip
MOST_TARGETS = 8  # pictures drawn at once, with four outputs each
VERSION = "#version 120"
VERTEX = f"""{VERSION}
attribute vec2 a_corner;
void main() {{ gl_Position = vec4(a_corner, 0.0, 1.0); }}
"""
CORNERS = np.array([[-1, -1], [3, -1], [-1, 3]], np.float32)
FLOAT_RGBA, FIRST_COLOR, MOST_DRAWN = 0x8814, 0x8CE0, 0x8824  # OpenGL: GL_RGBA32F and so on

POINTER = ctypes.c_void_p


@final
class Evaluator:
    """A network compiled to a shader; the context must be current in all calls.

    Args:
        context: the hidden context
        shader: the network, with its parameters in groups of four
        inputs, outputs: number of inputs and of outputs of a sample

    Raises:
        DisplayError: if the driver cannot compile the shader or lacks float textures.
    """

    def __init__(self, context: HiddenContext, shader: Shader, inputs: int, outputs: int) -> None:
        self.gl: Any = context.gl
        self.shader, self.inputs, self.outputs = shader, inputs, outputs
        self._targets = min(-(-outputs // 4), self._number(MOST_DRAWN), MOST_TARGETS)
        self._largest = self._number(self.gl.GL_MAX_TEXTURE_SIZE)
        self._rows = 8  # rows of a strip
        self._size = (0, 0)
        self._held: list[Floats] = []  # the parameters on the GPU
        self._pictures: list[int] = []
        self._program = self.gl.glCreateProgram()
        self._textures = [self._texture() for _ in range(2)]
        self._frame = self.gl.glCreateFramebuffer()
        self._corners = self.gl.glCreateBuffer()
        try:
            self._compile()
            self._resize(1, 1)  # checks that the driver supports float textures
        except DisplayError:
            self.release()
            raise

    def release(self) -> None:
        """Free the GPU memory."""
        gl = self.gl
        for texture in (*self._textures, *self._pictures):
            gl.glDeleteTexture(texture)
        gl.glDeleteFramebuffer(self._frame)
        gl.glDeleteBuffer(self._corners)
        gl.glDeleteProgram(self._program)

    def put(self, numbers: FloatArray) -> None:
        """Set the parameters, in bank order, followed by the state."""
        texels = self.shader.in_fours(numbers)
        if self._held and np.array_equal(self._held[0], texels, equal_nan=True):
            return
        if len(texels) > self._largest:
            raise DisplayError(
                f"the network has {len(numbers):,} parameters, and a texture of this graphics card "
                f"holds {4 * TEXELS * self._largest:,}"
            )
        self._held = [texels]
        self._fill(0, texels)

    def evaluate(self, samples: Floats, found: Floats) -> Iterator[None]:
        """Write the outputs for samples to `found`, one sample per row; yield after each strip.

        No other evaluator may draw before this one has finished.
        """
        blocks = -(-self.inputs // 4)
        high = max(1, min(HIGH, self._largest // blocks))
        for first in range(0, len(samples), WIDE * high):
            part = samples[first : first + WIDE * high]
            wide = min(WIDE, len(part))
            rows = -(-len(part) // wide)
            yield from self._evaluate(part, found[first : first + len(part)], wide, rows, blocks)

    def _evaluate(
        self, samples: Floats, found: Floats, wide: int, rows: int, blocks: int
    ) -> Iterator[None]:
        texels = np.zeros((blocks, rows * wide, 4), np.float32)
        for k in range(blocks):
            own = samples[:, 4 * k : 4 * k + 4]
            texels[k, : len(own), : own.shape[1]] = own
        written = 4 * self._targets
        for start in range(0, self.outputs, written):
            self._begin(texels.reshape(blocks * rows, wide, 4), wide, rows, start)
            row = 0
            while row < rows:
                row += self._draw(row, min(rows, row + self._rows), wide)
                yield
            for i, target in enumerate(range(start, min(start + written, self.outputs), 4)):
                numbers = self._read(i, wide, rows).reshape(-1, 4)[: len(found)]
                found[:, target : target + 4] = numbers[:, : self.outputs - target]

    # Resources on the GPU.

    def _begin(self, texels: Floats, wide: int, rows: int, start: int) -> None:
        """Prepare a picture of `rows` rows for the outputs that begin at index `start`."""
        gl = self.gl
        self._resize(wide, rows)
        self._fill(1, texels)
        gl.glUseProgram(self._program)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._frame)
        gl.glViewport(0, 0, wide, rows)
        for i, name in enumerate(("u_fours", "u_inputs")):
            gl.glActiveTexture(gl.GL_TEXTURE0 + i)
            gl.glBindTexture(gl.GL_TEXTURE_2D, self._textures[i])
            gl.glUniform1i(gl.glGetUniformLocation(self._program, name), i)
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._corners)
        gl.glEnableVertexAttribArray(0)
        gl.glVertexAttribPointer(0, 2, gl.GL_FLOAT, False, 0, 0)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        sizes = {"u_fours_size": self._held[0].shape[1::-1], "u_inputs_size": texels.shape[1::-1]}
        for name, size in sizes.items():
            gl.glUniform2fv(gl.glGetUniformLocation(self._program, name), 1, size)
        for name, value in (("u_rows", rows), ("u_first", start)):
            gl.glUniform1f(gl.glGetUniformLocation(self._program, name), float(value))

    def _draw(self, first: int, end: int, wide: int) -> int:
        """Draw some rows, wait for them, and choose the next number; return the number drawn."""
        gl = self.gl
        gl.glScissor(0, first, wide, end - first)
        start = perf_counter()
        gl.glDrawArrays(gl.GL_TRIANGLES, 0, 3)
        gl.glFinish()
        self._check("while drawing")
        took = max(perf_counter() - start, 1e-6)
        self._rows = max(1, int((end - first) * min(8.0, max(0.25, STRIP / took))))
        return end - first

    def _read(self, i: int, wide: int, rows: int) -> Floats:
        """Return the numbers in picture `i`."""
        gl = self.gl
        self._native("glReadBuffer", ctypes.c_uint)(FIRST_COLOR + i)
        pixels = np.empty((rows, wide, 4), np.float32)
        read = self._native("glReadPixels", *[ctypes.c_int] * 4, *[ctypes.c_uint] * 2, POINTER)
        read(0, 0, wide, rows, gl.GL_RGBA, gl.GL_FLOAT, pixels.ctypes.data)
        self._check("while reading")
        return pixels

    def _resize(self, wide: int, rows: int) -> None:
        """Allocate the pictures if their size changes."""
        gl = self.gl
        if self._size == (wide, rows):
            return
        if not self._pictures:
            self._pictures = [self._texture() for _ in range(self._targets)]
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self._frame)
        for i, texture in enumerate(self._pictures):
            gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
            gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, FLOAT_RGBA, gl.GL_RGBA, gl.GL_FLOAT, (rows, wide))
            place = gl.GL_FRAMEBUFFER, FIRST_COLOR + i, gl.GL_TEXTURE_2D, texture, 0
            gl.glFramebufferTexture2D(*place)
        drawn = (ctypes.c_uint * self._targets)(*range(FIRST_COLOR, FIRST_COLOR + self._targets))
        self._native("glDrawBuffers", ctypes.c_int, POINTER)(self._targets, drawn)
        state = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
        if state != gl.GL_FRAMEBUFFER_COMPLETE or gl.glGetError():
            raise DisplayError("this graphics card draws no pictures of float32 numbers")
        self._size = wide, rows

    def _fill(self, i: int, texels: Floats) -> None:
        gl = self.gl
        gl.glBindTexture(gl.GL_TEXTURE_2D, self._textures[i])
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, FLOAT_RGBA, gl.GL_RGBA, gl.GL_FLOAT, texels)
        self._check("while it takes a texture")

    def _texture(self) -> int:
        gl = self.gl
        texture: int = gl.glCreateTexture()
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        for name in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, name, gl.GL_NEAREST)
        for name in (gl.GL_TEXTURE_WRAP_S, gl.GL_TEXTURE_WRAP_T):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, name, gl.GL_CLAMP_TO_EDGE)
        return texture

    def _compile(self) -> None:
        gl, program = self.gl, self._program
        fragment = fragment_of(self.shader, self.inputs, self.outputs, self._targets)
        for kind, text in ((gl.GL_VERTEX_SHADER, VERTEX), (gl.GL_FRAGMENT_SHADER, fragment)):
            shader = gl.glCreateShader(kind)
            gl.glShaderSource(shader, text)
            gl.glCompileShader(shader)
            gl.glAttachShader(program, shader)
            gl.glDeleteShader(shader)  # once the program is deleted
            if not gl.glGetShaderParameter(shader, gl.GL_COMPILE_STATUS):
                raise cannot_compile(gl.glGetShaderInfoLog(shader))
        gl.glBindAttribLocation(program, 0, "a_corner")
        gl.glLinkProgram(program)
        if not gl.glGetProgramParameter(program, gl.GL_LINK_STATUS):
            raise cannot_compile(gl.glGetProgramInfoLog(program))
        gl.glBindBuffer(gl.GL_ARRAY_BUFFER, self._corners)
        gl.glBufferData(gl.GL_ARRAY_BUFFER, CORNERS, gl.GL_STATIC_DRAW)

    # Calls.

    def _number(self, name: int) -> int:
        found = self.gl.glGetParameter(name)
        return int(found[0] if isinstance(found, tuple) else found)

    def _native(self, name: str, *arguments: Any) -> Any:
        """Return an OpenGL function that vispy does not wrap, or wraps with an unnecessary copy."""
        return self.gl._get_gl_func(name, None, arguments)

    def _check(self, when: str) -> None:
        error = self.gl.glGetError()
        if error:
            raise DisplayError(f"OpenGL failed {when} (error {error:#x})")


def cannot_compile(said: str) -> DisplayError:
    """Return the error for a shader rejected by the driver, with the first line of its log."""
    line = next((line.strip() for line in said.splitlines() if line.strip()), "without a reason")
    return DisplayError(f"the driver of this graphics card does not compile the network ({line})")


def fragment_of(shader: Shader, inputs: int, outputs: int, targets: int) -> str:
    """Return the fragment shader that draws `targets` pictures of four outputs each."""
    sizes = {
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "BLOCKS": -(-inputs // 4),
        "WRITTEN": 4 * targets,
    }
    defines = [f"#define {name} {size}" for name, size in sizes.items()]
    fours = [", ".join(f"written[{4 * i + k}]" for k in range(4)) for i in range(targets)]
    lines = [f"    gl_FragData[{i}] = vec4({four});" for i, four in enumerate(fours)]
    main = text_beside(__file__, "evaluate.frag")
    return "\n".join([VERSION, *defines, FOURS_READER, shader.text, main, *lines, "}", ""])
