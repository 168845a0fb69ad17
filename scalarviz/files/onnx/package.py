"""Loads the package onnx, which comes with an extra."""

from __future__ import annotations

from typing import Any

from scalarviz.errors import InputError


def the_package() -> Any:
    """Return the module onnx; raise InputError if it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise InputError(
            "ONNX files need onnx, which is not installed: pip install 'scalarviz[onnx]'"
        ) from error
    return onnx
