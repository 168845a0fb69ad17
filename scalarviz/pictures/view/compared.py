"""Compared: what a picture of several networks shows besides their panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalarviz.pictures.view.frame_data import CubeValues, Curve, Work


@dataclass(frozen=True)
class Head:
    """The head of a column; where there is little room, columns of a high rank are left out."""

    words: str
    rank: int


@dataclass(frozen=True)
class ComparedRow:
    """A row of the table: the network of a pane.

    name   its name, beside a dot of the `color` of its loss curve
    cells  a text for each head of the table
    curve  its losses
    """

    name: str
    color: str
    cells: Sequence[str]
    curve: Curve


@dataclass(frozen=True)
class Compared:
    """What is drawn around the panes.

    heads    of the columns of the table, without that of the names
    rows     one for each pane
    legend   what cubes show in all panes; its scales are those of the legend
    view     the loss curve that has the steps shown, the step under the mouse and the clock
    caption  of the chosen pane, or ""
    chosen   number of the pane that is marked as chosen; None: none is
    chips    short messages, each with the label of its button or ""
    work     work in the background, or None
    offers   labels of the large buttons
    help     pairs of key and meaning while the help is open
    """

    heads: Sequence[Head]
    rows: Sequence[ComparedRow]
    legend: CubeValues
    view: Curve
    caption: str = ""
    chosen: int | None = None
    chips: Sequence[tuple[str, str]] = ()
    work: Work | None = None
    offers: Sequence[str] = ()
    help: Sequence[tuple[str, str]] = ()
