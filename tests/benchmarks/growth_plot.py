"""The plot of `growth`: seconds a step over size, on logarithmic scales."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

INK, SOFT, LINE = "#22303c", "#8795a1", "#1f77b4"
# The title, what grows, its sizes, and of each round the seconds at every size.
Panel = tuple[str, str, Sequence[int], Sequence[Sequence[float]]]


def draw(panels: Sequence[Panel], path: str) -> str:
    """Draw one panel beside the other into a PNG file; say so, or what is missing."""
    try:
        import matplotlib as mpl
    except ImportError:
        return "no plot: it takes matplotlib, which is not installed: pip install matplotlib"
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"font.size": 11, "text.color": INK, "axes.edgecolor": SOFT})
    figure, axes = plt.subplots(1, len(panels), figsize=(12, 5.4), sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        draw_panel(ax, panel)
    axes[0].set_ylabel("time of one step", color=INK)
    figure.suptitle(
        "One training step of the cpu engine", x=0.015, ha="left", fontsize=16, fontweight="bold"
    )
    figure.tight_layout(rect=(0, 0, 1, 0.97), w_pad=3)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return f"drawn into {path}"


def draw_panel(ax: Any, panel: Panel) -> None:
    """One curve: medians, a band from the least to the most, dashed lines of even growth."""
    title, name, sizes, rounds = panel
    columns = list(zip(*rounds, strict=True))
    medians = [statistics.median(column) for column in columns]
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.fill_between(
        sizes, [min(c) for c in columns], [max(c) for c in columns], color=LINE, alpha=0.2, lw=0
    )
    ax.plot(sizes, medians, "o-", color=LINE, lw=2, ms=6, zorder=3)
    for power, word in [(1, f"grows with the {name}")] + (
        [(2, f"with its square")] if name == "width" else []
    ):
        guide(ax, sizes, medians, power, word)
    ax.set_title(title, loc="left", color=INK, fontsize=12)
    ax.set_xlabel(name, color=INK)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(lambda seconds, _: duration(seconds))
    ax.grid(color="#e4e8ec", lw=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=INK, length=0, labelleft=True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    for i in (0, -1):
        offset = (0, 12)
        ax.annotate(
            duration(medians[i]),
            (sizes[i], medians[i]),
            offset,
            textcoords="offset points",
            ha="center",
            color=LINE,
            fontweight="bold",
        )


def guide(ax: Any, sizes, medians, power, word) -> None:
    """A dashed line of steady growth through the last point."""
    low, high = medians[0] / 2, medians[-1]
    line = [medians[-1] * (size / sizes[-1]) ** power for size in sizes]
    ax.plot(sizes, line, "--", color=SOFT, lw=1.2, zorder=2)


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 0.9995:
            return f"{seconds * factor:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"
