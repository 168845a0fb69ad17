"""The division of a picture into scene, panels and panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from scalarviz.scene.layout.camera import Box as Box
from scalarviz.scene.layout.projection import Found
from scalarviz.scene.layout.projection import ProjectedPoints as ProjectedPoints
from scalarviz.scene.layout.projection import Projection as Projection

MARGIN, SMALL_MARGIN = 16.0, 10.0  # in a picture of at least SMALL width, and in others
WIDTH, HEIGHT = 1280.0, 800.0  # picture size with unscaled letters; they grow with larger pictures
LOW = 560.0  # height in pixels below which head, strip and band are lower
CURVE_LEFT = 76.0  # of the loss curve with the words left of it: right of Play
HEAD, LOW_HEAD = 64.0, 42.0  # height of the head
HEADLINE, LEAST_EXHIBIT = 88.0, 150.0  # height of a headline, and of an exhibit below it
SMALL = 720.0  # width in pixels below which margins are small
CARD = 260.0, 300.0  # width that an exhibit leaves for a card, and maximum width of a card
CARD_SHARE = 0.29  # fraction of the picture's width that suffices for a card
CARD_HIGH = 400.0  # height that the exhibit below leaves for a card
FOOT = 100.0  # minimum height of that exhibit, half the requirement of card and exhibit
SHARE = 0.42  # maximum fraction of the width for the exhibit, and for the card
LEAST = 120.0  # width in pixels below which there is no exhibit and no card
CHART = 0.58  # fraction of the network's remaining height for a large chart
SHALLOW = 200.0  # height in pixels below which there is no strip and no band
PANE_HEAD = 26.0  # height of the head of a pane, and its maximum fraction of the pane
PANE_SHARE = 0.25
PANE_LEAST = 64.0  # width in pixels below which a pane has no exhibit; height, if it is below
UPRIGHT = 1.25  # aspect ratio of scene or pane below which the exhibit is below the network
PANE_CARD = 560.0  # width in pixels below which a pane has no card
NOWHERE = Box(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Division:
    """The boxes of a picture's parts; a missing part has zero width or height.

    Attributes:
        whole: the whole picture
        head: the title, and the legend to the right
        scene: the stage, over the full width
        exhibit: the result plot, at the right end of the stage
        card: the card of the pinned item; it takes the place of the exhibit, which moves below it
        inner: the rest of the stage, used for the network
        strip: the strip with the parts of a step
        band: the loss curve, used to select steps
        scale: size of letters and margins, relative to a picture of 1280 x 800
        chart: a large chart below the network
        headline: the progress of training, above the exhibit
    """

    whole: Box
    head: Box
    scene: Box
    exhibit: Box
    card: Box
    inner: Box
    strip: Box
    band: Box
    scale: float = 1.0
    chart: Box = NOWHERE
    headline: Box = NOWHERE

    @property
    def margin(self) -> float:
        """Pixels by which the network and its labels may extend beyond the inner box."""
        return self.inner.x - self.scene.x

    @property
    def view(self) -> Box:
        """The part of the stage that shows the network, not covered by panels."""
        right = min(self.scene.right, self.inner.right + self.margin)
        bottom = min(self.scene.bottom, self.inner.bottom + self.margin)
        return Box(self.scene.x, self.scene.y, right - self.scene.x, bottom - self.scene.y)

    @property
    def curve_left(self) -> float:
        """Left end of the step strip and the loss curve, to the right of the Play button."""
        return CURVE_LEFT * self.scale

    @staticmethod
    @lru_cache(maxsize=64)
    def of(
        width: float,
        height: float,
        *,
        exhibit: float = 0.0,
        card: bool = False,
        menus: float = 0.0,
        panel: float = 0.0,
        chart: bool = False,
        tall: bool = False,
    ) -> Division:
        """Divide a picture of this size in logical pixels.

        Args:
            exhibit: preferred width of the exhibit; 0 (default) for none
            card: whether a card is shown; default False
            menus: width of menus at the right end of the head; 0 (default) for none
            panel: width of a panel at the right end of the stage, above the exhibit, which replaces
                the card; 0 (default) for none
            chart: whether a large chart below the network replaces the band; default False
            tall: whether this chart replaces the network; default False
        """
        scale = max(1.0, min(width / WIDTH, height / HEIGHT))
        low = height < LOW
        head = LOW_HEAD if low else HEAD
        head = head * scale if height >= SHALLOW else 0.0
        strip, band = ((26.0, 62.0) if low else (28.0, 86.0)) if height >= SHALLOW else (0.0, 0.0)
        strip, band = strip * scale, 0.0 if chart else band * scale
        high = max(1.0, height - head - strip - band)
        scene = Box(0.0, head, width, high)
        margin = min(MARGIN * scale if width >= SMALL else SMALL_MARGIN, width / 8.0, high / 8.0)
        is_below = width < UPRIGHT * scene.height and not panel
        free, at_end, beside = at_ends(
            *(scene.inside(margin), margin, scale, exhibit),
            card=card,
            is_below=is_below,
            panel=panel,
        )
        whole = free
        free, large = below(free, margin, LEAST, CHART * free.height if chart else 0.0)
        if tall and large.height:  # nothing of the network is in the view
            free, large = replace(free, y=scene.y - margin, height=1.0), whole
        line, room = HEADLINE * scale, at_end.height - HEADLINE * scale
        line = 0.0 if room < LEAST_EXHIBIT or not at_end.width else line
        headline = replace(at_end, height=line)
        at_end = replace(at_end, y=at_end.y + line, height=at_end.height - line)
        return Division(
            Box(0.0, 0.0, width, height),
            Box(0.0, 0.0, max(1.0, width - menus), head),
            scene,
            at_end,
            beside,
            free,
            Box(0.0, scene.bottom, width, strip),
            Box(0.0, scene.bottom + strip, width, band),
            scale,
            chart=large,
            headline=headline,
        )

    @staticmethod
    @lru_cache(maxsize=64)
    def of_pane(
        width: float, height: float, scale: float, *, exhibit: float = 0.0, card: bool = False
    ) -> Division:
        """Divide a pane of this size, one of several in a picture; panes have no strip and no band.

        Args:
            scale: size of letters and margins in the picture
            exhibit: preferred width of the exhibit, which is below the network in an upright pane;
                0 (default) for none
            card: whether a card is shown; default False
        """
        head = min(PANE_HEAD * scale, PANE_SHARE * height)
        scene = Box(0.0, head, width, max(1.0, height - head))
        margin = min(MARGIN * scale, width / 8.0, scene.height / 8.0)
        card = card and width >= PANE_CARD * scale
        is_below = width < UPRIGHT * scene.height and not card
        free, at_end, beside = at_ends(
            *(scene.inside(margin), margin, scale, exhibit),
            card=card,
            is_below=is_below,
            least=PANE_LEAST,
        )
        whole, none = Box(0.0, 0.0, width, height), Box(0.0, height, width, 0.0)
        return Division(
            whole, Box(0.0, 0.0, width, head), scene, at_end, beside, free, none, none, scale
        )


def at_ends(
    free: Box,
    margin: float,
    scale: float,
    exhibit: float,
    *,
    card: bool,
    is_below: bool,
    panel: float = 0.0,
    least: float = LEAST,
) -> tuple[Box, Box, Box]:
    """Split a box into boxes for the network, the exhibit, and a card.

    With an exhibit, the space for a card is always reserved, so that opening a card does not move
    the network. The exhibit is drawn below the card, or below a panel that replaces it.

    Args:
        exhibit: preferred width of the exhibit; 0 for none
        is_below: whether the exhibit is below the network
    """
    whole = free.width + 2.0 * margin
    least_card = min(CARD[0] * scale, CARD_SHARE * whole)
    wide = max(exhibit, least_card) if card or exhibit >= least else exhibit
    if exhibit and is_below:
        free, end = below(free, margin, least, SHARE * free.height)
        return free, *taken(end, least_card * card, margin)
    free, end = taken(free, panel - margin if panel else min(wide, SHARE * whole), margin, least)
    beside = Box(end.right, end.y, 0.0, end.height)
    if card or panel:
        high = max(FOOT * scale, min(end.height - CARD_HIGH * scale - margin, SHARE * end.height))
        has_foot = exhibit and end.height >= 2.0 * FOOT * scale
        beside, end = below(end, margin, FOOT * scale, high if has_foot else 0.0)
        wide = min(beside.width, CARD[1] * scale) * (not panel)
        beside = replace(beside, x=beside.right - wide, width=wide)
    return free, end, beside


def below(box: Box, margin: float, least: float, high: float) -> tuple[Box, Box]:
    """Split off the lower part of a box; return the rest and that part.

    The lower part is empty if it would be narrower or lower than `least`.
    """
    if min(high, box.width) < least:
        return box, Box(box.right, box.y, 0.0, box.height)
    part = Box(box.x, box.bottom - high, box.width, high)
    return Box(box.x, box.y, box.width, box.height - high - margin), part


def taken(box: Box, width: float, margin: float, least: float = LEAST) -> tuple[Box, Box]:
    """Split off the right end of a box; return the rest and that end.

    The right end is empty if it would be narrower than `least`.
    """
    if width < least or box.width - width - margin < 1.0:
        return box, Box(box.right, box.y, 0.0, box.height)
    left = Box(box.x, box.y, box.width - width - margin, box.height)
    return left, Box(box.right - width, box.y, width, box.height)


def what_at(places: Sequence[tuple[Box, Found]], x: float, y: float) -> Found | None:
    """Return the item of the first box that contains the point (x, y), or None."""
    return next((what for box, what in places if box.has(x, y)), None)


# Panes: the boxes of a picture of several networks.

PANE_SHAPE = 1.5  # best aspect ratio of a pane
BAND, LEGEND_BAND = 96.0, 64.0  # height below the panes, with the loss curves and without
LEGEND_WIDE = 440.0  # width of the legend beside the loss curves
LEAST_CHART = 160.0  # minimum width of loss curves beside the legend
CHART_PAD = 12.0  # pixels around a chart in place of missing panes, and left of one in the band
PARTLY = 0.9  # maximum cost of an incomplete last row
LARGE_CHART = 0.62  # fraction of the height of the panes for a large chart


@dataclass(frozen=True, slots=True)
class Panes:
    """The boxes of a picture with several networks, in logical pixels.

    Attributes:
        whole: the whole picture
        panes: the pane of each network, row by row
        band: the rest, with caption, loss curves and legend
        chart: the chart of the loss curves; a large one is above the band
        scale: size of letters and margins, relative to a picture of 1280 x 800

    Parts that do not fit have zero height.
    """

    whole: Box
    panes: tuple[Box, ...]
    band: Box
    chart: Box
    scale: float

    @property
    def division(self) -> Division:
        """The picture as a Division: stage is the area of all panes, head is the band."""
        high = self.band.y
        scene = Box(0.0, 0.0, self.whole.width, high)
        none = Box(0.0, high, self.whole.width, 0.0)
        at_end = Box(scene.right, 0.0, 0.0, high)
        inner = scene.inside(min(MARGIN * self.scale, scene.width / 8.0, high / 8.0))
        parts = (self.whole, self.band, scene, at_end, at_end, inner, none, self.band)
        return Division(*parts, self.scale)

    def at(self, x: float, y: float) -> int | None:
        """Return the index of the pane at a pixel, or None."""
        return next((i for i, box in enumerate(self.panes) if box.has(x, y)), None)

    @staticmethod
    def of(count: int, width: float, height: float, *, large: bool = False) -> Panes:
        """Divide a picture of this size in logical pixels.

        Args:
            count: number of networks
            large: whether the chart is large; default False
        """
        scale = max(1.0, min(width / WIDTH, height / HEIGHT))
        pad, wide = CHART_PAD * scale, width - (LEGEND_WIDE + CHART_PAD) * scale
        band = LEGEND_BAND * scale if count > 1 and height >= SHALLOW else 0.0
        is_partly = panes_of(count, width, max(1.0, height - band))[-1].right < width
        is_beside = band > 0.0 and wide >= LEAST_CHART * scale and not (is_partly or large)
        high = max(1.0, height - (BAND * scale if is_beside else band))
        part = LARGE_CHART * high * large
        panes = panes_of(count, width, high - part)
        chart = NOWHERE
        if is_beside:
            chart = Box(pad, high + 0.5 * pad, wide, height - high - 0.5 * pad)
        elif large:
            chart = Box(MARGIN * scale, high - part, width - 2.0 * MARGIN * scale, part)
        elif is_partly:  # in place of the missing panes of the last row
            end = panes[-1]
            chart = Box(end.right, end.y, width - end.right, end.height).inside(pad)
        whole, rest = Box(0.0, 0.0, width, height), Box(0.0, high, width, height - high)
        return Panes(whole, panes, rest, chart, scale)


def panes_of(count: int, width: float, height: float) -> tuple[Box, ...]:
    """Return `count` equal boxes in rows, with an aspect ratio that suits networks.

    The last row may have fewer boxes. Edges are on whole pixels.
    """

    def room(columns: int) -> float:
        rows = -(-count // columns)
        full = 1.0 if columns * rows == count else PARTLY
        return full * min(width / columns, PANE_SHAPE * height / rows)

    columns = max(range(count, 0, -1), key=room)
    rows = -(-count // columns)
    xs = [float(round(i * width / columns)) for i in range(columns)] + [width]
    ys = [float(round(i * height / rows)) for i in range(rows)] + [height]
    boxes = []
    for number in range(count):
        i, j = divmod(number, columns)
        boxes.append(Box(xs[j], ys[i], xs[j + 1] - xs[j], ys[i + 1] - ys[i]))
    return tuple(boxes)
