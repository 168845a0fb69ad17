"""The package onnx, which reads and writes the format; it comes with an extra."""

from __future__ import annotations

from typing import Any

from scalarviz.errors import InputError


def the_package() -> Any:
    """The module onnx, loaded when it is first needed."""
    try:
        import onnx
    except ImportError as error:
        raise InputError(
            "ONNX files take onnx, which is not installed: pip install 'scalarviz[onnx]'"
        ) from error
    return onnx
