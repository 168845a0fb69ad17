"""What the bits of a result depend on beside the session: versions, and the processor."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import version

from scalarviz.engines.common.base import ORDER_OF_SUMS

LIBRARIES = ("scalarviz", "numpy", "numba", "llvmlite")


@cache
def versions_here() -> dict[str, str]:
    """Return the versions of this process by name."""
    found = {name: version(name) for name in LIBRARIES}
    found["Python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    found["order of sums"] = str(ORDER_OF_SUMS)
    return found


def difference(theirs: dict[str, str]) -> str:
    """Return the first version that differs from this process's, in words; "" if none does."""
    for name, here in versions_here().items():
        if theirs.get(name) != here:
            return f"{name} {here} in place of {theirs.get(name)}"
    return ""


@cache
def processor_here() -> str:
    """Return a name of this processor and what it can do, on which rounding depends."""
    from llvmlite import binding  # type: ignore[import-untyped]  # slow to import

    features = binding.get_host_cpu_features().flatten()
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{platform.machine()} {binding.get_host_cpu_name()} {digest}"
