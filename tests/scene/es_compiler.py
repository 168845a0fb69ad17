"""Compiles and links shaders by OpenGL ES 3 without a window; test_shaders.py runs it.

It reads a list of pairs of a vertex and a fragment shader as JSON from standard input, and prints
what the compiler says of each, "" for nothing. The exit code is 3 where there is no such context.
"""

import ctypes
import json
import sys
from typing import Any

ES_API, ES3_BIT, RENDERABLE, VERSION, NONE = 0x30A0, 0x40, 0x3040, 0x3098, 0x3038
SURFACE, ANY = 0x3033, 0  # nothing is drawn
VERTEX, FRAGMENT, COMPILED, LINKED = 0x8B31, 0x8B30, 0x8B81, 0x8B82
Ints = ctypes.POINTER(ctypes.c_int)


def context() -> Any:
    """libEGL with an ES 3 context that is current."""
    egl: Any = ctypes.CDLL("libEGL.so.1")
    for name in ("eglGetDisplay", "eglCreateContext", "eglGetProcAddress"):
        getattr(egl, name).restype = ctypes.c_void_p
    display = ctypes.c_void_p(egl.eglGetDisplay(None))
    config, count = ctypes.c_void_p(), ctypes.c_int()
    wanted = (ctypes.c_int * 5)(RENDERABLE, ES3_BIT, SURFACE, ANY, NONE)
    version = (ctypes.c_int * 3)(VERSION, 3, NONE)
    ready = (
        egl.eglInitialize(display, None, None)
        and egl.eglBindAPI(ES_API)
        and egl.eglChooseConfig(display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
        and count.value
    )
    made = ready and egl.eglCreateContext(display, config, None, version)
    if not made or not egl.eglMakeCurrent(display, None, None, ctypes.c_void_p(made)):
        raise OSError("there is no context of OpenGL ES 3")
    return egl


def function(egl: Any, name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(egl.eglGetProcAddress(name.encode()))


class Compiler:
    """The few functions of OpenGL that compile."""

    def __init__(self, egl: Any) -> None:
        number, text = ctypes.c_uint, ctypes.c_char_p
        self.create_shader = function(egl, "glCreateShader", number, number)
        self.source = function(
            egl, "glShaderSource", None, number, ctypes.c_int, ctypes.POINTER(text), Ints
        )
        self.compile = function(egl, "glCompileShader", None, number)
        self.create_program = function(egl, "glCreateProgram", number)
        self.attach = function(egl, "glAttachShader", None, number, number)
        self.link = function(egl, "glLinkProgram", None, number)
        self.of = {
            kind: (
                function(egl, f"glGet{kind}iv", None, number, number, Ints),
                function(egl, f"glGet{kind}InfoLog", None, number, ctypes.c_int, Ints, text),
            )
            for kind in ("Shader", "Program")
        }

    def said(self, kind: str, made: int, question: int) -> str:
        """What went wrong with a shader or program."""
        ask, log = self.of[kind]
        fine = ctypes.c_int()
        ask(made, question, ctypes.byref(fine))
        if fine.value:
            return ""
        text = ctypes.create_string_buffer(10_000)
        log(made, len(text), None, text)
        return text.value.decode() or "failed"

    def errors(self, vertex: str, fragment: str) -> str:
        program, found = self.create_program(), ""
        for kind, text in ((VERTEX, vertex), (FRAGMENT, fragment)):
            shader = self.create_shader(kind)
            self.source(shader, 1, ctypes.byref(ctypes.c_char_p(text.encode())), None)
            self.compile(shader)
            found += self.said("Shader", shader, COMPILED)
            self.attach(program, shader)
        self.link(program)
        return found or self.said("Program", program, LINKED)


if __name__ == "__main__":
    try:
        compiler = Compiler(context())
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    print(json.dumps([compiler.errors(*pair) for pair in json.load(sys.stdin)]))
