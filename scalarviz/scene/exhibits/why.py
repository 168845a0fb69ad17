"""Why: the pixels that support a prediction, and the images that are still misclassified.

Each pixel of the image is erased in turn. Orange pixels support the prediction: erasing them
reduces the margin of the largest output over the second largest. Blue pixels oppose it.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.scene.layout.camera import Box
from scalarviz.story.panel_words import percent

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme

LETTERS, TITLE, LINE, UNDER = 12.0, 16.0, 16.6, 19.0  # pixels of letters, line spacing beside
# and below the map
MAP, PAD, HEAD = 96.0, 12.0, 40.0  # its side, padding of the panel, and down to the map
WHOLE = 196.0  # height of the panel
PICTURE, PITCH, ROW, FIRST = (
    27.0,
    31.6,
    74.0,
    14.0,
)  # of a wrong image: side, and row pitch
BELOW, MOST_ROWS = (14.0, 30.0), 2  # from an image to its class, and to the prediction
ROOM = 1.12  # pitch of images in a column, relative to their size
LEAST, KNOWN = 220.0, 0.8  # width of the panel; minimum accuracy of a known class

Pictures = Callable[[int, float, float, float], None]  # draws one by its corner and side


@dataclass(frozen=True)
class Why:
    """How much each pixel supports the largest output.

    Attributes:
        said: index of the largest output, the prediction
        other: index of the second largest output
        lead: difference between these two outputs
        falls: contribution of each pixel to the difference
        across: pixels per row of the image
    """

    said: int
    other: int
    lead: float
    falls: list[float]
    across: int

    @property
    def strongest(self) -> int:
        """Index of the pixel with the largest contribution."""
        return self.falls.index(max(self.falls))


def why_of(outputs: Sequence[Sequence[float]], across: int) -> Why:
    """Return how much each pixel supports the prediction.

    Args:
        outputs: outputs for the image, then for copies in which one pixel is erased
        across: pixels per row of the image
    """
    whole: list[float] = [float(each) for each in outputs[0]]
    said = whole.index(max(whole))
    others = [each for i, each in enumerate(whole) if i != said]
    second = max(others)
    other = next(i for i, each in enumerate(whole) if i != said and each == second)
    lead = whole[said] - whole[other]
    falls = [lead - (float(each[said]) - float(each[other])) for each in outputs[1:]]
    return Why(said, other, lead, falls, across)


@dataclass(frozen=True)
class Learned:
    """Counts for some classes: samples right at the start, samples right now, and all samples."""

    classes: str
    before: int
    after: int
    count: int


def learned_of(
    names: Sequence[str], counts: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> list[Learned]:
    """Return the results for new and for known classes; empty unless both exist.

    New classes had no right samples at the start; known classes had nearly all right.

    Args:
        counts: number of samples of each class
        before: number of right samples of each class at the start
        after: number of right samples of each class now
    """
    every = range(len(counts))
    new = [i for i in every if before[i] == 0 and counts[i] > 0]
    old = [i for i in every if before[i] > KNOWN * counts[i]]
    if len(new) == 0 or len(old) < 2 or len(new) + len(old) < len(counts):
        return []
    found: list[Learned] = []
    for own in (new, old):
        ends = {"first": names[own[0]], "last": names[own[len(own) - 1]]}
        is_pair = len(own) == 2
        words = text("headline.pair", **ends) if is_pair else text("headline.span", **ends)
        sums = [sum([each[i] for i in own]) for each in (before, after, counts)]
        found.append(Learned(words, sums[0], sums[1], sums[2]))
    return found


def sure_words(answers: Sequence[float], goal: int) -> list[str]:
    """Return text that says whether the prediction is right, and its probability if available."""
    sizes: list[float] = [float(each) for each in answers]
    most = max(sizes)
    said = text("why.right") if sizes.index(most) == goal else text("why.wrong")
    if min(sizes) < 0.0 or most > 1.0 or abs(sum(sizes) - 1.0) > 0.01:
        return [said]
    return [said, percent(most), text("why.sure")]


def draw_why(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    why: Why | None,
    names: Sequence[str],
    draw_map: Callable[[list[float], float, float, float], None],
) -> None:
    """Draw a panel that shows which pixels support the prediction.

    Args:
        why: support of each pixel; None until computed
        draw_map: draws relative contributions of the pixels, given the corner and the pixel size
    """
    scale, size, pad = canvas.scale, LETTERS * canvas.scale, PAD * canvas.scale
    high = min(WHOLE * scale, box.height)
    line = 8.0 * scale
    canvas.box(box.x, box.y, box.width, high, theme.panel[:7], radius=line, outline=theme.rim)
    if why is None:
        room, low = box.width - 2.0 * pad, box.y + 24.0 * scale
        canvas.text(box.x + pad, low, text("why.waits"), size=size, color=theme.quiet, room=room)
        return
    said, other = names[why.said], names[why.other]
    left, top = box.x + pad, box.y + (HEAD - 4.0) * scale
    title = text("why.title", said=said)
    canvas.text(left, box.y + 24.0 * scale, title, size=TITLE * scale, color=theme.ink, bold=True)
    most = max([1e-12, *[abs(each) for each in why.falls]])
    cell = MAP * scale / max(why.across, (len(why.falls) + why.across - 1) // why.across)
    draw_map([each / most for each in why.falls], left, top, cell)
    down, right = why.strongest // why.across, why.strongest % why.across
    canvas.box(
        left + right * cell - scale,
        top + down * cell - scale,
        cell + 2.0 * scale,
        cell + 2.0 * scale,
        None,
        outline=theme.lit,
        line=1.6 * scale,
    )
    x = left + (MAP + 12.0) * scale
    for i, words in enumerate(text("why.how", said=said, other=other).split("\n")):
        low = top + (8.0 + LINE * i) * scale + 0.2 * size
        canvas.text(x, low, words, size=size, color=theme.soft, room=box.right - x)
    least = why.lead - why.falls[why.strongest]
    words = text("why.leads", said=said, other=other, lead=short(why.lead), least=short(least))
    low = top + (MAP + UNDER) * scale
    for i, line_of_it in enumerate(words.split("\n")):
        y = low + i * UNDER * scale
        canvas.text(left, y, line_of_it, size=size, color=theme.quiet, room=box.right - left)


def draw_reasons(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    why: Why | None,
    names: Sequence[str],
    wrong: Sequence[tuple[int, int]],
    count: int,
    draw_map: Callable[[list[float], float, float, float], None],
    draw_picture: Pictures,
) -> None:
    """Draw the support of the prediction, and below it the misclassified images that fit.

    Args:
        wrong: true and predicted class of some misclassified images
        count: number of all misclassified images
    """
    scale, top = canvas.scale, box.y
    if box.height >= WHOLE * scale and box.width >= LEAST * scale:
        draw_why(canvas, theme, box, why, names, draw_map)
        top += (WHOLE + 10.0) * scale
    pairs = [(names[true], names[said]) for true, said in wrong]
    if box.bottom - top >= (FIRST + ROW) * scale:
        below = Box(box.x, top, box.width, box.bottom - top)
        draw_wrong(canvas, theme, below, pairs, count, draw_picture)


def draw_wrong(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    wrong: Sequence[tuple[str, str]],
    count: int,
    draw_picture: Pictures,
) -> None:
    """Draw some of the misclassified images.

    Args:
        wrong: true and predicted class of the images to draw
        count: number of all misclassified images
    """
    scale, size = canvas.scale, LETTERS * canvas.scale
    names = [text("why.is"), text("why.said")]
    wide = max([canvas.measure(name, size=size) for name in names]) + 8.0 * scale
    pitch, side = PITCH * scale, PICTURE * scale
    per_row = max(1, int((box.width - wide) / pitch))
    first, high = (FIRST + 6.0) * scale, side + BELOW[1] * scale
    fits = int((box.height - first - high) / (ROW * scale) + 1.0)  # rows
    rows = max(0, min(MOST_ROWS, fits, (len(wrong) + per_row - 1) // per_row))
    inks = theme.ink, theme.worse
    shown = min(len(wrong), rows * per_row)
    words = text("why.all") if count == 0 else text("why.left", count=count)
    if 0 < shown < count:
        words = text("why.left.some", shown=shown, count=count)
    canvas.text(box.x, box.y + size, words, size=size, color=theme.soft, room=box.width)
    for row in range(rows):
        y = box.y + first + row * ROW * scale
        levels = [y + side + low * scale + 0.1 * size for low in BELOW]
        for name, low, ink in zip(names, levels, inks, strict=True):
            canvas.text(
                box.x, low, name, size=size, color=ink if ink == theme.worse else theme.quiet
            )
        for i in range(row * per_row, min(len(wrong), (row + 1) * per_row)):
            x = box.x + wide + (i - row * per_row) * pitch
            draw_picture(i, x, y, side)
            for name, low, ink in zip(wrong[i], levels, inks, strict=True):
                canvas.text(
                    x + 0.5 * side, low, name, size=size, color=ink, bold=True, anchor="center"
                )


def draw_columns(
    canvas: Canvas2D,
    theme: Theme,
    box: Box,
    names: Sequence[str],
    samples: Sequence[tuple[int, int]],
    draw_picture: Pictures,
) -> None:
    """Draw images in columns of their predicted classes, wrong ones first, with their true classes.

    Args:
        samples: predicted and true class of each image; if a column is too long, its last position
            shows the number of remaining images
    """
    size, across = LETTERS * canvas.scale, box.width / len(names)
    top, side = box.y + 1.7 * size, across / ROOM
    rows = int((box.bottom - top) / across + 1e-6)
    for kind, name in enumerate(names):
        x = box.x + (kind + 0.5) * across
        if across > 0.8 * size:
            canvas.text(
                x, box.y + size, name, size=size, color=theme.ink, bold=True, anchor="center"
            )
        own = [i for i, (said, label) in enumerate(samples) if said == kind and label != kind]
        wrong = len(own)
        own += [i for i, (said, label) in enumerate(samples) if said == kind and label == kind]
        shown = len(own) if len(own) <= rows else max(0, rows - 1)
        for row in range(shown):
            left, y = x - 0.5 * side, top + row * across
            draw_picture(own[row], left, y, side)
            if row >= wrong:
                continue
            canvas.box(left, y, side, side, None, outline=theme.worse, line=1.6 * canvas.scale)
            words, low = names[samples[own[row]][1]], y + side - 0.15 * size
            if side >= 1.6 * size:
                canvas.text(
                    left + side - 0.2 * size,
                    low,
                    words,
                    size=size,
                    color=theme.worse,
                    bold=True,
                    anchor="right",
                    outline=theme.ground,
                )
        more, low = f"+{len(own) - shown}", top + (rows - 0.5) * across + 0.36 * size
        if len(own) > shown and canvas.measure(more, size=size) < across:
            canvas.text(x, low, more, size=size, color=theme.quiet, anchor="center")
