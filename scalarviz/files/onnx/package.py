"""Loads the package onnx, which comes with an extra."""

from __future__ import annotations

from typing import Any

from scalarviz.base.shell_commands import needed


def the_package() -> Any:
    """Return the module onnx; raise InputError if it is not installed."""
    return needed("onnx", "ONNX files need onnx", "onnx")
