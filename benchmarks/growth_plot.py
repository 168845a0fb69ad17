"""The plot of `growth`: the time of a step over what grows, on logarithmic scales."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

INK, SOFT, GRID, LINE = "#22303c", "#6b7a88", "#e6eaee", "#1f77b4"
EVEN = {1: "twice", 2: "four times"}
BELOW = 2.0  # so far, as a factor, the dashed line lies below the last point


@dataclass(frozen=True)
class Panel:
    """A curve: of each round the seconds at every size, and the power they grow with in the end."""

    title: str
    axis: str
    sizes: Sequence[int]
    rounds: Sequence[Sequence[float]]
    power: int

    @property
    def columns(self) -> list[Sequence[float]]:
        """The seconds of all rounds at every size."""
        return list(zip(*self.rounds, strict=True))

    @property
    def medians(self) -> list[float]:
        return [statistics.median(column) for column in self.columns]


def draw(panels: Sequence[Panel], path: str) -> str:
    """Draw one panel beside the other into a PNG file; say so, or what is missing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return (
            "no plot: it takes matplotlib, which is not installed: pip install 'scalarviz[bench]'"
        )
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"font.size": 10.5, "text.color": INK, "axes.labelcolor": INK})
    figure, axes = plt.subplots(1, len(panels), figsize=(12.5, 5.6), sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        draw_panel(ax, panel)
    axes[0].set_ylabel("time of a step", labelpad=10)
    title = "How a training step of the cpu engine grows"
    figure.suptitle(title, x=0.02, ha="left", fontsize=17, fontweight="bold")
    figure.tight_layout(rect=(0.005, 0, 1, 0.98), w_pad=4)
    for ax, panel in zip(axes, panels, strict=True):
        label_guide(ax, panel)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return f"drawn into {path}"


def draw_panel(ax: Any, panel: Panel) -> None:
    """Medians, a band from the least to the most, a dashed line of even growth."""
    sizes, columns, medians = panel.sizes, panel.columns, panel.medians
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    low, high = [min(c) for c in columns], [max(c) for c in columns]
    ax.fill_between(sizes, low, high, color=LINE, alpha=0.22, linewidth=0)
    ax.plot(sizes, medians, "o-", color=LINE, linewidth=2.2, markersize=6, zorder=3)
    ends = guide(panel)
    ax.plot(*zip(*ends, strict=True), "--", color=SOFT, linewidth=1.3, zorder=2)
    for i, shift, side in ((0, (-6, -18), "left"), (-1, (-9, 3), "right")):
        place = {"xytext": shift, "textcoords": "offset points", "ha": side}
        bold = {"color": LINE, "fontweight": "bold"}
        ax.annotate(duration(medians[i]), (sizes[i], medians[i]), **place, **bold)
    ax.set_title(panel.title, loc="left", fontsize=12, color=SOFT, pad=12)
    ax.set_xlabel(panel.axis, labelpad=8)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.margins(x=0.06, y=0.1)
    ax.yaxis.set_major_formatter(lambda seconds, _: duration(seconds))
    ax.grid(color=GRID, linewidth=0.9)
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, length=0, labelleft=True, pad=6)
    ax.tick_params(axis="x", labelsize=9)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(SOFT)


def guide(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of a line of even growth, below the curve but no lower than that begins."""
    end, top, bottom = panel.sizes[-1], panel.medians[-1] / BELOW, min(panel.medians) / BELOW
    start = max(panel.sizes[0], end * (bottom / top) ** (1 / panel.power))
    return (start, top * (start / end) ** panel.power), (end, top)


def label_guide(ax: Any, panel: Panel) -> None:
    """Write along the dashed line what it means; after the layout, which decides on its slope."""
    (x0, y0), (x1, y1) = ends = guide(panel)
    (a0, b0), (a1, b1) = ax.transData.transform(ends)
    ax.annotate(
        f"twice the {panel.axis}, {EVEN[panel.power]} the time",
        (math.sqrt(x0 * x1), math.sqrt(y0 * y1)),
        xytext=(4, -5),
        textcoords="offset points",
        rotation=math.degrees(math.atan2(b1 - b0, a1 - a0)),
        rotation_mode="anchor",
        ha="center",
        va="top",
        color=SOFT,
        fontsize=9.5,
    )


def duration(seconds: float) -> str:
    """A time in the unit that suits it, in three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995:
            return f"{seconds * factor:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"
