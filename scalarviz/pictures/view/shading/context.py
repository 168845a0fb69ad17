"""HiddenContext: an OpenGL context without a window, beside those of vispy and Qt.

vispy has one current canvas for all threads, and a toolkit one thread for all windows. So this
context belongs to neither: it is made by EGL itself, and used by the calls of OpenGL themselves.
EGL finds a graphics card without a display, too, and Mesa's software renderer where there is none.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, final

from scalarviz.errors import DisplayError
from scalarviz.pictures.view.offscreen import no_opengl

DEVICE, SURFACELESS = 0x313F, 0x31DD  # platforms of EGL
MOST_DEVICES = 32
SOFTWARE = "EGL_MESA_device_software"
INTS, PLACES = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p)


@final
class HiddenContext:
    """An OpenGL context, current on one thread at a time.

    renderer  name of what draws, such as "llvmpipe (LLVM 15.0.6, 256 bits)"

    Raises DisplayError if there is none here.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise DisplayError(
                "a context without a window is made by EGL, which only Linux has: maps of a window "
                "are drawn by the graphics card here, too"
            )
        try:
            self._egl: Any = import_module("vispy.ext.egl")
            self._display, self._surface, self._context = self._made()
            self.gl: Any = import_module("vispy.gloo.gl.gl2")
            self.renderer = str(self.gl.glGetParameter(self.gl.GL_RENDERER))
        except Exception as error:  # drivers and libraries raise errors of any class
            raise no_opengl(error) from error

    def begin(self) -> None:
        """Make the context current on this thread."""
        egl = self._egl
        egl.eglBindAPI(egl.EGL_OPENGL_API)
        egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context)

    def end(self) -> None:
        """Release the context, so that another thread can take it."""
        self._egl.eglMakeCurrent(self._display, None, None, None)

    def _made(self) -> tuple[Any, Any, Any]:
        """Return display, surface and context, which is current; a graphics card comes first."""
        failed: Exception = RuntimeError("EGL knows no device")
        for display in self._displays():
            try:
                return self._made_on(display)
            except Exception as error:  # such as a device without permission: take the next one
                failed = error
        raise failed

    def _made_on(self, display: Any) -> tuple[Any, Any, Any]:
        egl = self._egl
        egl.eglInitialize(display)
        egl.eglBindAPI(egl.EGL_OPENGL_API)
        wanted = [egl.EGL_SURFACE_TYPE, egl.EGL_PBUFFER_BIT]
        wanted += [egl.EGL_RENDERABLE_TYPE, egl.EGL_OPENGL_BIT]
        config = egl.eglChooseConfig(display, wanted)[0]
        size = egl.EGL_WIDTH, 1, egl.EGL_HEIGHT, 1
        surface = egl.eglCreatePbufferSurface(display, config, size)
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
        """Return the devices that EGL knows, graphics cards first."""
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
            return SOFTWARE in (about(device, self._egl.EGL_EXTENSIONS) or b"").decode()

        return [(DEVICE, device) for device in sorted(found[: count.value], key=is_software)]

    def _function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any] | None:
        """Return an extension's function of EGL; None if there is none."""
        find = self._egl._lib.eglGetProcAddress
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        address = find(name.encode())
        return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None
