"""HTML tables of objects in notebooks, and a fallback if a display fails."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from scalarviz.base.texts import plural, text
from scalarviz.stage.displays.svg import escaped, shorten

if TYPE_CHECKING:
    from scalarviz.core.perceptron import Perceptron
    from scalarviz.training.network.network import Network
    from scalarviz.training.session.session import Session


LONGEST_TEXT = 24  # characters of a text that is not a number
LARGE = 1e9  # below this, all digits before the decimal point are shown

ThingT = TypeVar("ThingT")

CELL = "padding: 2px 12px; border: 0; text-align: left; font-variant-numeric: tabular-nums"
HEAD = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .6); font-weight: 600"
LINE = f"{CELL}; border-bottom: 1px solid rgba(128, 128, 128, .2)"
SIDE = f"{LINE}; font-weight: 600"


def number_text(number: object, digits: int = 4) -> str:
    """Return a number, or the number of a Value, as text; "none" for None.

    >>> number_text(-0.30000001), number_text(float("-inf")), number_text(None)
    ('−0.3', '−∞', 'none')
    """
    if number is None:
        return text("displays.none")
    try:
        x = float(number)  # type: ignore[arg-type]  # other objects are shown by their text
    except (TypeError, ValueError, OverflowError):
        return shorten(str(number), LONGEST_TEXT)
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    written = f"{x:,.0f}" if 10**digits <= abs(x) < LARGE else f"{x:.{digits}g}"
    return re.sub("e([+-])0*", r"e\1", written).replace("e+", "e").replace("-", "−")


def factors(*numbers: object) -> str:
    """Return a product as text; negative factors after the first are in parentheses.

    >>> factors(-2.0, -3.0)
    '−2 · (−3)'
    """
    texts = [number_text(number) for number in numbers]
    return " · ".join(f"({t})" if i and t.startswith("−") else t for i, t in enumerate(texts))


def table(lines: Sequence[Sequence[str]], head: str = "row") -> str:
    """Return rows of cells as an HTML table; the first row or column (`head`) is bold.

    The table inherits the colors of the page. A row with one cell is a sentence, never bold.
    """

    def cell(row: int, column: int, line: Sequence[str]) -> str:
        is_head = (row if head == "row" else column) == 0 and len(line) > 1
        tag, style = ("th", HEAD if head == "row" else SIDE) if is_head else ("td", LINE)
        wide = f' colspan="{max(map(len, lines))}"' if len(line) == 1 else ""
        return f'<{tag}{wide} style="{style}">{escaped(line[column])}</{tag}>'

    cells = ("".join(cell(i, j, line) for j in range(len(line))) for i, line in enumerate(lines))
    rows = [f'<tr style="background: none">{each}</tr>' for each in cells]
    return (
        '<table style="border-collapse: collapse; border: 0; margin: 6px 0; font-size: 13px">'
        f"{''.join(rows)}</table>"
    )


def never_raises(display: Callable[[ThingT], str]) -> Callable[[ThingT], str]:
    """Decorate a display so that it shows the object's repr if it raises an error."""

    @wraps(display)
    def shown(thing: ThingT) -> str:
        try:
            return display(thing)
        except Exception:  # a cell must not fail because of a display
            return plain(thing)

    return shown


def plain(thing: object) -> str:
    """Return the repr of an object, or its class if that raises."""
    try:
        words = repr(thing)
    except Exception:  # the repr of a custom class may raise
        words = text("displays.a", kind=type(thing).__name__)
    return f"<pre>{escaped(words)}</pre>"


# Tables of a Network, a Perceptron, a Session, and a confusion matrix.

RIGHT, WRONG = "64, 132, 244", "236, 130, 40"  # blue and orange, as for values
FAINTEST = 0.12  # opacity of a cell with a single case
MOST_WEIGHTS = 10  # weights of a perceptron; longer ones are abridged
FIRST, LAST = 5, 4
LONGEST_SETTING = 160  # characters of a setting


def titled(kind: str, about: str, rows: Sequence[Sequence[str]], head: str = "row") -> str:
    """Return a table with a descriptive line above it; `head` as in `table`."""
    return f"<div><b>{kind}</b> {escaped(about)}</div>{table(rows, head)}"


@never_raises
def network_html(network: Network) -> str:
    """Return a network's sizes, and the table of its layers."""
    sizes = " → ".join(f"{n:,}" for n in (network.inputs, *[x.outputs for x in network.layers]))
    count = plural("counts.parameters", len(network.bank))
    kinds = {"type": network.dtype, "engine": network.engine}
    names = ("layer", "kind", "shape", "activation", "parameters")
    rows = [tuple(text(f"displays.column.{name}") for name in names)]
    for i, layer in enumerate(network.layers):
        again = network.layers.index(layer)
        size = text("displays.network.shared", layer=again) if again != i else f"{layer.size:,}"
        shape = f"{layer.inputs:,} → {layer.outputs:,}"
        rows.append((str(i), type(layer).__name__, shape, layer.activation, size))
    return titled(
        "Network", text("displays.network.about", sizes=sizes, count=count, **kinds), rows
    )


@never_raises
def perceptron_html(perceptron: Perceptron) -> str:
    """Return a perceptron's position, and the table of its weights and gradients."""
    bank, inputs = perceptron.bank, perceptron.inputs
    shape = text(
        f"displays.perceptron.{'unbiased' if perceptron.bias is None else 'biased'}",
        weights=plural("counts.weights", inputs),
        activation=perceptron.activation.name,
    )
    place = perceptron.parts[0].name.rpartition(", ")[0]  # in a network, "layer 0, perceptron 2"
    rows: list[tuple[str, ...]] = [("", text("card.value"), text("card.gradient"))]
    values, grads = bank.value[perceptron.rows], bank.grad[perceptron.rows]
    for i, pair in enumerate(zip(values, grads, strict=True)):
        if inputs <= MOST_WEIGHTS or not FIRST <= i < inputs - LAST:
            rows.append((f"w{i}" if i < inputs else "b", *map(number_text, pair)))
        elif i == FIRST:
            rows.append((text("displays.more", count=inputs - FIRST - LAST), "", ""))
    return titled("Perceptron", f"{place}: {shape}" if place else shape, rows)


@never_raises
def session_table(session: Session) -> str:
    """Return the progress of a session, and the table of its settings, without waiting."""
    timeline, trainer = session.timeline, session.trainer
    settings, network = trainer.settings, trainer.network
    loss = (
        text("chart.none")
        if np.isnan(timeline.loss) and not len(session.losses)
        else text("displays.session.loss", loss=number_text(timeline.loss))
    )
    about = text(
        f"displays.session.{'playing' if session.playing else 'paused'}",
        step=session.step_index,
        loss=loss,
        done=session.done or text("status.nothing"),
        next=session.next,
    )
    engine = settings.engine
    engine = text("displays.session.mixed", engine=engine) if settings.precision.mixed else engine
    branches = plural("counts.branches", len(timeline.branches))
    if len(timeline.branches) > 1:
        here = timeline.branch
        fields = {"number": here.number, "name": here.name}
        branches = text("displays.session.branches", branches=branches, **fields)
    size = plural("counts.samples", trainer.batches.size)
    rate = settings.optimizer.rate(trainer.bank.step_count)
    optimizer = shorten(f"{settings.optimizer!r}", LONGEST_SETTING)
    if rate != settings.optimizer.lr:
        optimizer = text("displays.session.rate", optimizer=optimizer, rate=number_text(rate))
    if own := len(settings.optimizer.own_rates):
        optimizer = plural("displays.session.own_rates", own, optimizer=optimizer)
    found = {
        "trains": shorten(repr(network).splitlines()[0].replace("->", "→"), LONGEST_SETTING),
        "data": shorten(settings.data.describe(), LONGEST_SETTING).replace("->", "→"),
        "batch": text("displays.session.batch", samples=size, all=settings.data.samples),
        "loss": shorten(repr(trainer.loss), LONGEST_SETTING),
        "optimizer": optimizer,
        "engine": engine,
        "branches": branches,
    }
    rows = [(text(f"displays.session.row.{name}"), value) for name, value in found.items()]
    return titled("Session", about, rows, "column")


@never_raises
def confusion_html(given: tuple[npt.NDArray[np.int64], Sequence[str]]) -> str:
    """Return a confusion matrix, one row per true class: right is blue, wrong is orange."""
    counts, names = given
    head = "".join(f'<th style="{CELL}">{escaped(name)}</th>' for name in names)
    rows = [
        f'<tr><th style="{CELL}">{escaped(name)}</th>{"".join(cells_of(counts[i], i))}</tr>'
        for i, name in enumerate(names)
    ]
    caption = f"<caption>{escaped(text('exhibits.confusion.axes'))}</caption>"
    return f'<table>{caption}<tr><th style="{CELL}"></th>{head}</tr>{"".join(rows)}</table>'


def cells_of(row: npt.NDArray[np.int64], true: int) -> list[str]:
    """Return the table cells of one true class, a row of the confusion matrix."""
    found = []
    for said, count in enumerate(row.tolist()):
        share = count / max(1, int(row.sum()))
        strength = (FAINTEST + (0.75 - FAINTEST) * share) * (count > 0)
        color = RIGHT if said == true else WRONG
        found.append(f'<td style="{CELL}; background: rgba({color}, {strength:.2f})">{count}</td>')
    return found
