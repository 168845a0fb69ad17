"""Outcome: what the training of some networks of one setting came to, as arrays and as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.errors import FileError
from scalarviz.files.atomic import replace_file
from scalarviz.files.checked_safetensors import Array, encode, read

KIND = "sweep"  # of the files
NEVER = -1  # in place of a step

Steps = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of the networks of one setting that were trained by one task.

    seeds      int64, one a network
    checks     int64: the steps at which the networks were measured
    losses     mean training loss between two checks, shape (networks, checks); NaN after the end
    succeeded  int64: the check at which each network first succeeded, or NEVER
    ended      int64: the step at which `stop` ended each network, or NEVER
    failed     int64: the step that each network could not take, since a number would not be finite,
               or NEVER
    values     weights at the end, shape (networks, parameters); without rows if they are not kept
    digests    the first 16 hexadecimal digits of the SHA-256 of each network's weights
    metrics    values of each metric, shape (networks, checks)
    seconds    time that the training took
    processor  where it ran; see `processor_here`
    """

    seeds: Steps
    checks: Steps
    losses: FloatArray
    succeeded: Steps
    ended: Steps
    failed: Steps
    values: FloatArray
    digests: tuple[str, ...]
    metrics: Mapping[str, FloatArray] = field(default_factory=dict)
    seconds: float = 0.0
    processor: str = ""

    @property
    def last_losses(self) -> FloatArray:
        """The last measured loss of each network; NaN without any."""
        known = np.isfinite(self.losses)
        if not known.shape[1]:
            return np.full(len(self.losses), np.nan)
        last = self.losses.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
        found = self.losses[np.arange(len(self.losses)), last]
        return np.where(known.any(axis=1), found, np.nan)

    @property
    def final_losses(self) -> FloatArray:
        """The last measured loss of each network; infinite for one that failed or has none."""
        found = self.last_losses
        return np.where((self.failed == NEVER) & np.isfinite(found), found, np.inf)

    def row_of(self, seed: int) -> int:
        """Return the row of a seed."""
        seeds: list[int] = self.seeds.view(np.uint64).tolist()
        return seeds.index(seed)

    @property
    def lasted(self) -> Steps:
        """Number of steps that each network was trained."""
        through = np.full(len(self.seeds), self.checks[-1] if len(self.checks) else 0, np.int64)
        for stopped in (self.ended, self.failed):
            through = np.where(stopped == NEVER, through, stopped)
        return through

    def save(self, path: Path, key: str) -> None:
        """Write a file, whole or not at all, with the key of its task."""
        arrays: dict[str, Array] = {
            "seeds": self.seeds.view(np.int64), "checks": self.checks, "losses": self.losses,
            "succeeded": self.succeeded, "ended": self.ended, "failed": self.failed,
            "values": self.values,
        }  # fmt: skip
        arrays |= {f"metric {name}": values for name, values in self.metrics.items()}
        about = {
            "key": key,
            "digests": list(self.digests),
            "metrics": list(self.metrics),
            "seconds": self.seconds,
            "processor": self.processor,
        }
        replace_file(path, encode(KIND, about, arrays))

    @staticmethod
    def load(path: Path, key: str) -> Outcome:
        """Return what `save` wrote; raise FileError if it is damaged or of another task."""
        about, arrays = read(path, KIND)
        if about.get("key") != key:
            raise FileError(f"{path.name} is the result of another setting or of other seeds")
        try:
            return checked(about, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{path.name} is not a result of a sweep: remove it") from error


def checked(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> Outcome:
    """Return the Outcome of a file; raise KeyError, TypeError or ValueError if it is none."""
    seeds, checks = arrays["seeds"], arrays["checks"]
    count, times = len(seeds), len(checks)
    steps = [arrays[name] for name in ("succeeded", "ended", "failed")]
    metrics = {str(name): arrays[f"metric {name}"] for name in about["metrics"]}
    digests = tuple(str(digest) for digest in about["digests"])
    good = all(array.dtype == np.int64 and array.ndim == 1 for array in (seeds, checks, *steps))
    good &= all(len(array) == count for array in steps) and len(digests) == count
    for table in (arrays["losses"], *metrics.values()):
        good &= table.shape == (count, times) and table.dtype == np.float64
    values = arrays["values"]
    good &= values.ndim == 2 and len(values) in (0, count)
    if not good:
        raise ValueError("the arrays do not belong together")
    return Outcome(
        seeds, checks, arrays["losses"], steps[0], steps[1], steps[2], values, digests, metrics,
        float(about["seconds"]), str(about["processor"]),
    )  # fmt: skip


def joined(parts: list[Outcome]) -> Outcome:
    """Return the results of all parts of a setting as one.

    Parts under way may have fewer checks than others.
    """
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=lambda part: len(part.checks))
    width = len(longest.checks)

    def wide(table: FloatArray) -> FloatArray:
        missing = width - table.shape[1]
        return np.pad(table, ((0, 0), (0, missing)), constant_values=np.nan)

    def whole(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    kept = [part.values for part in parts] if all(len(part.values) for part in parts) else []
    processors = dict.fromkeys(part.processor for part in parts)
    return Outcome(
        whole("seeds"), longest.checks, np.concatenate([wide(part.losses) for part in parts]),
        whole("succeeded"), whole("ended"), whole("failed"),
        np.concatenate(kept) if kept else parts[0].values[:0],
        tuple(digest for part in parts for digest in part.digests),
        {
            name: np.concatenate([wide(part.metrics[name]) for part in parts])
            for name in longest.metrics
        },
        sum(part.seconds for part in parts),
        ", ".join(processors),
    )  # fmt: skip
