"""The key to the marks: what each mark that is in the picture means."""

from __future__ import annotations

from collections.abc import Iterator

from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.legend import legend_box
from scalarviz.pictures.view.scene.frame import Box, Division

SIZE, ROW, PAD = 13.0, 18.0, 12.0  # letters, height of a line, and margins in pixels
WIDEST = 560.0  # largest width in pixels
NAMES = 0.42  # largest part of it for the names
MOST_LINES = 3  # for what one mark means


def mark_rows(frame_data: FrameData) -> list[tuple[str, str]]:
    """Return the names of the marks that are in a picture, and what they mean."""
    names = ["cube", "sphere", "numbers", *extra_marks(frame_data)]
    rows = [(text(f"marks.{name}.name"), text(f"marks.{name}.meaning")) for name in names]
    cubes = frame_data.cubes
    if cubes.clipped:
        beyond = text("legend.only_beyond", count=cubes.clipped)
        rows.append((beyond, text("marks.beyond.meaning")))
    if cubes.grown is not None:
        before, after = (f"{each:g}" for each in cubes.grown)
        grown = text("legend.grown", before=before, after=after)
        rows.append((grown, text("marks.grown.meaning")))
    return rows


def extra_marks(frame_data: FrameData) -> Iterator[str]:
    """Yield the marks that not every picture has."""
    cubes, buffers = frame_data.cubes, frame_data.buffers
    if any((buffers.saturated[name] > 0.0).any() for name in buffers.saturated):
        yield "striped"
    if any((each > 0.0).any() for each in buffers.left_out.values()):
        yield "crossed"
    if buffers.flows:
        yield "dot"
    if cubes.pushes is not None:
        yield "arrow"
    if cubes.before is not None:
        yield "before"
    if cubes.frozen is not None:
        yield "frozen"


def draw_marks_key(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> Box | None:
    """Draw the key over the lower left part of the stage, above the legend; return its box."""
    if not frame_data.marks:
        return None
    scale, scene, legend = division.scale, division.scene, legend_box(division)
    size, row, pad = SIZE * scale, ROW * scale, PAD * scale
    rows = mark_rows(frame_data)
    x = division.inner.x
    wide = min(WIDEST * scale, scene.right - x - pad)
    names = max(canvas.measure(name, size=size, bold=True) for name, _ in rows) + pad
    names = min(names, NAMES * wide)
    room = wide - names - 2.0 * pad
    told = [(name, canvas.wrap(about, room, MOST_LINES, size=size)) for name, about in rows]
    high = row * (1 + sum(len(lines) for _, lines in told)) + 1.5 * pad
    end = scene.bottom - pad if legend is None else legend.y - 0.5 * pad
    box = Box(x, max(scene.y, end - high), wide, high)
    canvas.box(*box.place, theme.panel[:7], radius=8.0, outline=theme.rim)
    base = box.y + pad + 0.7 * size
    title, left = text("marks.title"), box.x + pad
    canvas.text(left, base, title, size=size, color=theme.ink, bold=True)
    for name, lines in told:
        short = canvas.fit(name, names - 0.5 * pad, size=size, bold=True)
        canvas.text(left, base + row, short, size=size, color=theme.ink, bold=True)
        for line in lines:
            base += row
            canvas.text(left + names, base, line, size=size, color=theme.quiet)
    return box
