"""Display of a Value: its graph, with numbers, gradients and operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.arithmetic import no_gradient
from scalarviz.core.value_graph import all_values, one_step
from scalarviz.scene.layout.layered import GraphLayout, lay_out
from scalarviz.stage.displays.html_tables import never_raises, number_text, titled
from scalarviz.stage.displays.svg import (
    LOOK,
    NORMAL,
    SMALL,
    SvgDrawing,
    escaped,
    image,
    shorten,
    width_of,
)

if TYPE_CHECKING:
    from scalarviz.core.value import Value


MOST = 60  # maximum nodes of a drawn graph
LONGEST_LABEL = 26
LONGEST_FORMULA = 320
DEPTH = 4  # nested operations shown of a large formula
SIGNS = {"-": "−", "*": "×", "<=": "≤", ">=": "≥", "!=": "≠"}
COMMUTES = ("+", "*", "==", "!=", "maximum", "minimum")

PADDING = 10.0  # inside a box
ROW = 17.0
RADIUS, ARROW = 13.0, 15.0  # radius of an operation; length of the arrow to its box
BETWEEN = 46.0  # between columns
PORT = 6.0  # half the distance between the outermost ends of edges at an operation


@dataclass
class DrawnNode:
    """A Value as a node of the drawn graph.

    Attributes:
        number, grad: the number and the gradient as strings, or ""
        operation: operation that computed it; "" for a leaf
        inputs: indices of its operands, in order
        is_plain: whether it is a constant without gradient
    """

    label: str
    number: str
    grad: str
    operation: str
    inputs: list[int]
    is_plain: bool

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The lines of the box, each a caption and a text."""
        if self.is_plain:
            return [("", self.number)]
        lines = [(text("card.value"), self.number), ("grad", self.grad)]
        return [line for line in lines if line[1]] or [("", text("displays.value.empty"))]

    @property
    def width(self) -> float:
        lines = [width_of(self.label, NORMAL, bold=True)] if self.label else []
        lines += [(38.0 if a else 0.0) + width_of(b) for a, b in self.rows]
        return max([28.0, *lines]) + 2 * PADDING

    @property
    def height(self) -> float:
        return ROW * (len(self.rows) + bool(self.label)) + 11.0

    @property
    def head(self) -> float:
        """Width of the operation with its arrow, to the left of the box."""
        return 2 * self.radius + ARROW if self.operation else 0.0

    @property
    def radius(self) -> float:
        """Half the width of the drawn operation."""
        return max(RADIUS, width_of(self.operation) / 2 + 8.0)


@never_raises
def value_html(value: Value) -> str:
    """Return the graph of a Value from left to right; a summary if it is large."""
    found = unlike(all_values(value))
    if len(found) > MOST:
        return large(value, found)
    nodes = nodes_of(found)
    layout = lay_out([node.inputs for node in nodes], [node.height for node in nodes])
    return image(draw(nodes, layout), words(value, nodes))


def unlike(values: list[Value]) -> list[Value]:
    """Return the Values without duplicates; Values of the same network weight count as equal."""
    return list({key_of(value): value for value in values}.values())


def key_of(value: Value) -> Any:
    weight = getattr(value, "weight", None)
    return id(value) if weight is None else (id(weight.bank), weight.index)


def nodes_of(values: list[Value]) -> list[DrawnNode]:
    """Return the node to draw for each Value."""
    places = {key_of(value): i for i, value in enumerate(values)}
    uses: list[list[bool]] = [[] for _ in values]  # whether a gradient is needed
    for value in values:
        partials = value._formula.partials
        for i, source in enumerate(value._inputs):
            plain = i < len(partials) and partials[i] is no_gradient
            uses[places[key_of(source)]].append(not plain)
    nodes = []
    for value, asked in zip(values, uses, strict=True):
        has_number = not value._is_recorded
        inputs = [places[key_of(source)] for source in value._inputs]
        data, grad = (value.data, value.grad) if has_number else (0.0, None)
        is_plain = not (value._inputs or value.label or any(asked)) and bool(asked) and not grad
        name = value._op
        nodes.append(
            DrawnNode(
                shorten(str(value.label or ""), LONGEST_LABEL),
                number_text(data) if has_number else "",
                number_text(grad) if has_number else "",
                SIGNS.get(name, name) if inputs else "",
                inputs if name not in COMMUTES else sorted(inputs),
                is_plain,
            )
        )
    return nodes


def draw(nodes: list[DrawnNode], layout: GraphLayout) -> SvgDrawing:
    """Return the drawing of a graph."""
    count = max(layout.columns) + 1
    heads, widths = [0.0] * count, [0.0] * count
    for node, column in zip(nodes, layout.columns, strict=True):
        heads[column] = max(heads[column], node.head)
        widths[column] = max(widths[column], node.width)
    lefts = [0.0]  # x of the boxes of each column
    for i in range(1, count):
        lefts.append(lefts[-1] + widths[i - 1] + BETWEEN + heads[i])
    drawing = SvgDrawing()
    ways = iter(layout.ways)
    for i, node in enumerate(nodes):
        edge_ways = [next(ways) for _ in node.inputs]
        ends = ports(node, edge_ways, layout)
        for source, way, (x, y) in zip(node.inputs, edge_ways, ends, strict=True):
            start = layout.columns[source]
            points = [(lefts[start] + widths[start], layout.heights[source])]
            for column, height in way:
                points.append((lefts[column] - heads[column], height))
                points.append((lefts[column] + widths[column], height))
            points.append((lefts[layout.columns[i]] - node.head + x, layout.heights[i] + y))
            drawing.path(curve(points), LOOK.ghost, thick=1.4, kind="edge")
            drawing.reach(0.0, max(height for _, height in points))
    for i, node in enumerate(nodes):
        column, y = layout.columns[i], layout.heights[i]
        draw_operation(drawing, node, lefts[column], y)
        width = node.width if node.is_plain else widths[column]  # equal widths in a column
        left = lefts[column] + widths[column] - width
        draw_box(drawing, node, (left, y, width), is_root=i == len(nodes) - 1)
    return drawing


def ports(
    node: DrawnNode, ways: list[list[tuple[int, float]]], layout: GraphLayout
) -> list[tuple[float, float]]:
    """Return the endpoints of edges at an operation, relative to its left end and center.

    They are in the order of operands, or of the edges' heights if the operation commutes.
    """
    heights = [
        way[-1][1] if way else layout.heights[source]
        for source, way in zip(node.inputs, ways, strict=True)
    ]
    order = list(range(len(heights)))
    if node.operation in [SIGNS.get(name, name) for name in COMMUTES]:
        order.sort(key=lambda i: heights[i])
    ends = [(0.0, 0.0)] * len(heights)
    for place, i in enumerate(order):
        y = (place - (len(order) - 1) / 2) * PORT * 2 / max(1, len(order) - 1)
        ends[i] = (RADIUS - (RADIUS**2 - y**2) ** 0.5, y)
    return ends


def curve(points: list[tuple[float, float]]) -> str:
    """Return a smooth path through points, horizontal at each; every second segment is straight."""
    way = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for i in range(1, len(points)):
        (a, b), (x, y) = points[i - 1], points[i]
        if i % 2:
            middle = (a + x) / 2
            way.append(f"C{middle:.1f} {b:.1f} {middle:.1f} {y:.1f} {x:.1f} {y:.1f}")
        else:
            way.append(f"L{x:.1f} {y:.1f}")
    return "".join(way)


def draw_operation(drawing: SvgDrawing, node: DrawnNode, x: float, y: float) -> None:
    """Draw the operation of a node, and the arrow to its box, which begins at x."""
    if not node.operation:
        return
    middle = x - ARROW - node.radius
    drawing.path(f"M{x - ARROW:.1f} {y:.1f}L{x - 5:.1f} {y:.1f}", LOOK.ghost, thick=1.4)
    drawing.path(f"M{x - 7:.1f} {y - 4:.1f}l7 4l-7 4z", fill=LOOK.ghost)
    size = 2 * node.radius, 2 * RADIUS
    left = middle - node.radius, y - RADIUS
    drawing.rect(*left, *size, LOOK.ground, rim=LOOK.quiet, radius=RADIUS, kind="operation")
    drawing.text(middle, y + 0.35 * NORMAL, node.operation, anchor="middle")


def draw_box(
    drawing: SvgDrawing, node: DrawnNode, place: tuple[float, float, float], is_root: bool
) -> None:
    """Draw the box of a node: label, number, gradient; `place` is left, middle and width."""
    x, y, width = place
    top, height = y - node.height / 2, node.height
    radius = height / 2 if node.is_plain else 6.0
    rim = None if node.is_plain else LOOK.ink if is_root else LOOK.faint
    drawing.rect(x, top, width, height, LOOK.panel[:7], rim=rim, radius=radius, kind="value")
    line = top + 5.5 + 0.75 * ROW
    if node.label:
        drawing.text(x + PADDING, line, node.label, bold=True)
        line += ROW
    for caption, number in node.rows:
        if node.is_plain:
            drawing.text(x + width / 2, line, number, anchor="middle")
            continue
        drawing.text(x + PADDING, line, caption, SMALL, color=LOOK.quiet)
        strong = LOOK.ink if caption == text("card.value") else LOOK.quiet
        drawing.text(x + width - PADDING, line, number, color=strong, anchor="end")
        line += ROW


def large(value: Value, found: list[Value]) -> str:
    """Return the summary of a graph that is too large to draw."""
    made = sum(bool(each._inputs) for each in found)
    sizes = ", ".join([plural("counts.values", len(found)), plural("counts.operations", made)])
    numbers = text("displays.value.empty")
    if not value._is_recorded:
        number, grad = map(number_text, (value.data, value.grad))
        numbers = text("displays.numbers", value=number, grad=grad)
    formula = shorten(outermost(value), LONGEST_FORMULA)
    rows = [(formula,), (text("displays.value.too_many", sizes=sizes),)]
    return titled(escaped(value.label or "Value"), numbers, rows)


def outermost(value: Value, depth: int = DEPTH) -> str:
    """Return the formula of the outermost operations; deeper operands become "…"."""
    if depth == 0 and value._inputs:
        return "…"
    pieces = [
        piece if isinstance(piece, str) else outermost(piece, depth - 1)
        for piece in one_step(value)
    ]
    return "".join(pieces)


def words(value: Value, nodes: list[DrawnNode]) -> str:
    """Return the description of a graph as text."""
    told = []
    for node in nodes:
        name = (
            text("displays.value.result", operation=node.operation)
            if node.operation
            else text("displays.value.number")
        )
        found = (
            text("displays.value.is", name=node.label or name, number=node.number)
            if node.number
            else text("displays.value.nothing", name=node.label or name)
        )
        if node.grad and not node.is_plain:
            found = text("displays.value.gradient", value=found, grad=node.grad)
        told.append(found)
    formula = shorten(str(value), LONGEST_FORMULA)
    count = plural("counts.values", len(nodes))
    return text("displays.value.alt", formula=formula, count=count, nodes="; ".join(told))
