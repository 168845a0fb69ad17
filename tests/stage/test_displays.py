"""Displays in notebooks: the graph of a Value, the card of a Weight, tables, and their drawings."""

import base64
import math
import re
import time
from html import unescape
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import data
from scalarviz.core.value import Value
from scalarviz.core.value_graph import all_values
from scalarviz.scene.canvas.palette import contrast, rgb
from scalarviz.stage.displays.html_tables import (
    HEAD,
    SIDE,
    never_raises,
    number_text,
    session_table,
    table,
)
from scalarviz.stage.displays.svg import MARGIN, WIDEST, SvgDrawing, image, shorten, width_of
from scalarviz.stage.displays.value_display import MOST
from scalarviz.stage.displays.weight_display import color_of, ink_on
from tests.sessions import advanced, at_work

NAMESPACE = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]  # left, top, right, bottom


class Drawn:
    """The drawing of a display: its only image."""

    def __init__(self, html: str) -> None:
        (source,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', html)
        (words,) = re.findall(r'alt="([^"]*)"', html)
        self.svg = base64.b64decode(source).decode()
        self.root = ElementTree.fromstring(self.svg)
        self.words = unescape(words)
        self.width, self.height = (
            float(self.root.attrib["width"]),
            float(self.root.attrib["height"]),
        )

    def all(self, name: str, kind: str | None = None) -> list[ElementTree.Element]:
        """The elements of a name, and of a class if one is given."""
        found = self.root.iter(NAMESPACE + name)
        return [each for each in found if kind is None or each.attrib.get("class") == kind]

    @property
    def texts(self) -> list[str]:
        return ["".join(each.itertext()) for each in self.all("text")]

    def boxes(self, kind: str) -> list[Box]:
        return [box_of(each) for each in self.all("rect", kind)]

    def sizes(self) -> list[float]:
        return [float(each.attrib["font-size"]) for each in self.all("text")]


def box_of(rect: ElementTree.Element) -> Box:
    x, y, width, height = [float(rect.attrib[key]) for key in ("x", "y", "width", "height")]
    return x, y, x + width, y + height


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cells_of(html: str) -> list[list[str]]:
    """The texts of a table, line by line."""
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
        for line in re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    ]


def drawn_of(shown: Value) -> Drawn:
    return Drawn(shown._repr_html_())


def words_of(weight: sv.Weight) -> str:
    """What the display of a weight says, its cells apart from each other."""
    return unescape(" ".join(re.sub("<[^>]*>", " ", weight._repr_html_()).split()))


def example() -> Value:
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    c = (a * b + a**2).relu() + b
    c.label = "c"
    c.backward()
    return c


@st.composite
def expressions(draw: st.DrawFn) -> Value:
    """Some Values, each made of earlier ones, by names and operations of all widths."""
    values = [Value(0.5, label="x"), Value(-2.0, label="a long name"), Value(1.0)]
    for _ in range(draw(st.integers(1, 14))):
        x, y = [values[draw(st.integers(0, len(values) - 1))] for _ in range(2)]
        made = (x * y, x + y, x - 3, x.leaky_relu(), sv.where(x > 0, x, y), x.maximum(y))
        values.append(made[draw(st.integers(0, 5))])
    return values[-1]


@pytest.fixture
def drawing() -> SvgDrawing:
    return SvgDrawing()


def test_every_value_is_a_box_and_every_use_an_edge() -> None:
    drawn = drawn_of(example())
    kinds = ("rect", "value"), ("path", "edge"), ("rect", "operation")
    # a, b, 2 and five that were made; relu has one input, the others two
    assert [len(drawn.all(*kind)) for kind in kinds] == [8, 9, 5]


def test_it_shows_labels_operations_values_and_gradients() -> None:
    texts = drawn_of(example()).texts
    for text in ("a", "b", "c", "×", "**", "+", "relu", "−6", "4", "−2", "−3"):
        assert text in texts
    assert texts.count("value") == texts.count("grad") == 7  # the exponent is a plain number
    assert texts.count("+") == 2


def test_a_weight_used_twice_is_one_box() -> None:
    w = sv.Weight(0.5)
    assert drawn_of(w * w + w).texts.count("the weight") == 1


@given(expressions())
def test_nothing_lies_on_top_of_another(value: Value) -> None:
    drawn = drawn_of(value)
    boxes = drawn.boxes("value") + drawn.boxes("operation")
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    assert all(x >= 0 and right <= drawn.width for x, _, right, _ in boxes)


@given(expressions())
def test_edges_lead_from_box_to_operation(value: Value) -> None:
    drawn = drawn_of(value)
    starts = {(round(right, 1), round((top + bottom) / 2, 1)) for _, top, right, bottom in
              drawn.boxes("value")}  # fmt: skip
    for edge in drawn.all("path", "edge"):
        x, y = map(float, edge.attrib["d"][1:].split("C")[0].split())
        assert any(abs(x - a) < 0.2 and abs(y - b) < 0.2 for a, b in starts)
        *_, x, y = map(float, edge.attrib["d"].replace("L", " ").replace("C", " ").split()[1:])
        inside = [left - 1 <= x <= right and top <= y <= bottom for left, top, right, bottom in
                  drawn.boxes("operation")]  # fmt: skip
        assert sum(inside) == 1


def test_a_second_derivative_is_shown_as_a_number() -> None:
    x = Value(2.0, label="x")
    y = x**3
    y.backward(create_graph=True)
    texts = drawn_of(y).texts
    at = texts.index("x")
    assert texts[at + 1 : at + 5] == ["value", "2", "grad", "12"]
    assert "12" in drawn_of(x.grad).texts


def test_every_number_can_be_shown_and_a_gradient_that_is_none_says_so() -> None:
    value = Value(math.nan)
    value.grad = None
    assert drawn_of(value).texts == ["value", "NaN", "grad", "none"]


def sum_of(count: int) -> Value:
    """A graph of so many Values, an odd number."""
    y = Value(1.0, label="x") * 2.0
    while len(all_values(y)) < count:
        y = y * 2.0
    return y


def test_a_large_graph_says_how_large_it_is() -> None:
    assert len(drawn_of(sum_of(MOST - 1)).all("rect", "value")) == MOST - 1
    assert cells_of(sum_of(MOST + 1)._repr_html_()) == [
        ["… * 2.0 * 2.0 * 2.0 * 2.0"],
        ["61 Values, 30 operations: too many for a picture"],
    ]


@pytest.mark.parametrize("deep", [5_000, 50_000])
def test_a_deep_chain_is_quick_and_needs_no_recursion(deep: int) -> None:
    x = Value(1.0, label="x")
    y = x
    for _ in range(deep):
        y = y + x
    start = time.perf_counter()
    html = y._repr_html_()
    assert time.perf_counter() - start < 5.0
    assert f"{deep + 1:,} Values, {deep:,} operations" in html
    assert f"value {number_text(deep + 1)}, gradient 0" in html


def test_a_deep_graph_of_one_column_each_is_drawn_up_to_the_limit() -> None:
    y = Value(1.0, label="x")
    for _ in range(MOST - 1):
        y = y.tanh()
    assert len(drawn_of(y).all("rect", "value")) == MOST
    assert "min-width" in y._repr_html_()


def test_looking_changes_nothing() -> None:
    c = example()
    before = [(v.data, v.grad) for v in (c, *c._inputs)]
    c._repr_html_()
    assert [(v.data, v.grad) for v in (c, *c._inputs)] == before


def test_an_operation_of_your_own_is_drawn() -> None:
    x = Value(2.0, label="x")
    y = Value(4.0, (x,), "my op")
    assert "my op" in drawn_of(y).texts and len(drawn_of(y).all("path", "edge")) == 1


def test_a_parameter_of_a_compiled_function_is_drawn() -> None:
    slope = Value(1.5, label="slope")
    sv.compile(lambda x: slope * x, inputs=1, engine="python")
    assert drawn_of(slope).texts == ["slope", "value", "1.5", "grad", "0"]


ENGINES = ["python", "cpu"]


def session(engine: str = "python", optimizer: sv.Optimizer | None = None) -> sv.Session:
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(net, data.Rgb(levels=4), "mse", optimizer or sv.Adam(0.1), 8, engine)


def state(s: sv.Session) -> list[Any]:
    """Everything that a user could see of a session and its numbers."""
    bank = s.network.bank
    arrays = [
        bank.value,
        bank.grad,
        bank.frozen,
        bank.scaling,
        bank._moved,
        bank._cleared,
        *(bank.slots[name] for name in sorted(bank.slots)),
    ]
    waiting = [list(weight._inputs) for weight in s.network.parameters()]
    journals = [(each.number, len(each.journal), each.end) for each in s.branches]
    return [
        *[array.tobytes() for array in arrays],
        *(bank.step_count, bank.has_gradients, waiting, s.clock, journals),
        *(s.current_branch.number, s.loss, s.losses.tobytes(), s.learning_rate, s.done, s.next),
    ]


def test_it_shows_name_value_and_gradient() -> None:
    w = sv.Network([3, 8, 3], seed=0).layers[0].perceptrons[2].weights[1]
    w.value, w.grad = -0.25, 6.5
    words = words_of(w)
    assert words.startswith("−0.25 layer 0, perceptron 2, weight from input 1 grad 6.5 ")
    assert "frozen" not in words


def test_a_frozen_weight_says_so() -> None:
    w = sv.Weight(0.0)  # of a scale without numbers
    w.freeze()
    assert "grad 0 frozen" in words_of(w)


def test_it_shows_the_arithmetic_of_what_waits_for_a_backward() -> None:
    w = sv.Weight(0.5)
    w.forward(3.0)
    lines = cells_of(w._repr_html_())
    assert lines == [["y", "w x = 0.5 · 3", "1.5"], ["1 input is waiting for a backward pass"]]
    assert w.unmatched == 1
    w.backward(1.0)
    assert cells_of(w._repr_html_()) == [["y = w x; no inputs are waiting for a backward pass"]]


def test_of_many_inputs_the_newest_come_first() -> None:
    w = sv.Weight(2.0)
    for x in range(10):
        w.forward(float(x))
    assert cells_of(w._repr_html_()) == [
        *[["y", f"w x = 2 · {x}", f"{2 * x}"] for x in (9, 8, 7)],
        ["… 7 more"],
        ["10 inputs are waiting for a backward pass; the next is x = 9"],
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_training_that_was_looked_at_goes_on_as_one_that_was_not(engine: str) -> None:
    looked, other = session(engine), session(engine)
    for unit in ("step", "operation", "operation", "phase", "step", "step", "operation"):
        looked.advance(1, unit)  # type: ignore[arg-type]  # one of the units
        other.advance(1, unit)  # type: ignore[arg-type]  # one of the units
        looked.network.weight(3)._repr_html_()
    looked.advance(20)
    other.advance(20)
    assert state(looked) == state(other)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_user_has_under_way_stays(engine: str) -> None:
    s = advanced(session(engine), 3)
    net, x = s.network, np.full((2, 3), 0.5)
    net.zero_grad()
    net.forward(x)
    net.backward()
    net.forward(x)
    before = state(s)
    words_of(net.weight(0))
    assert state(s) == before
    first = net.backward()  # the forward still waits for it
    net.forward(x)
    assert np.array_equal(first, net.backward())


def test_what_was_written_past_the_session_is_not_taken_down_by_looking() -> None:
    s = advanced(session(), 3)
    s.seek(2)
    w = s.network.weight(0)
    w.value = 0.5
    before = state(s)
    words = words_of(w)
    assert state(s) == before and len(s.branches) == 1
    assert words.startswith("0.5 ") and "outside its session" in words


def test_a_step_that_was_left_in_the_middle_keeps_its_inputs() -> None:
    s = advanced(session(), 2)
    s.advance(4, "operation")
    s.seek(1)
    before = state(s)
    assert "in the middle of a step" in words_of(s.network.weight(0))
    assert state(s) == before


def test_a_session_that_plays_is_not_held_up() -> None:
    s = advanced(session("cpu"), 1)
    s.play()
    try:
        start, step = time.perf_counter(), s.step_index
        words = [words_of(s.network.weight(3)) for _ in range(20)]
        assert time.perf_counter() - start < 2.0
        assert s.playing
        while s.step_index == step:
            assert time.perf_counter() - start < 10.0
    finally:
        s.pause()
    assert all("Its session is playing" in each for each in words)
    assert "The step from" in words_of(s.network.weight(3))


def test_a_session_that_is_at_work_in_another_thread_is_not_waited_for() -> None:
    s = advanced(session(), 1)
    with at_work(s):
        assert "busy" in words_of(s.network.weight(0))


def test_a_long_step_of_objects_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sv.Session, "explain", lambda *_: pytest.fail("it is done again"))
    net = sv.Network([100, 100, 1])
    s = sv.Session(net, (np.ones((100, 100)), np.ones((100, 1))), engine="python")
    s.timeline.clock = type(s.timeline.clock)(1)  # as if a step were done
    assert "takes long" in words_of(net.weight(0))


def test_a_parameter_of_a_compiled_function_has_no_sum_of_products() -> None:
    w = sv.Network([1, 1]).weight(0)
    f = sv.compile(lambda x: w * x, inputs=1, dtype="float32", engine="python")
    s = sv.Session(f, ([[1.0], [2.0]], [[2.0], [4.0]]), "mse", sv.SGD(0.1), engine="python")
    s.advance(2)
    words = words_of(w)
    assert "The step from 1 to 2" in words and "w − lr · g" in words


@pytest.mark.parametrize("x", np.linspace(-1, 1, 21))
def test_the_number_on_its_cell_can_be_read(x: float) -> None:
    color = color_of(x, 1.0)
    assert contrast(rgb((color,)), rgb((ink_on(color),)))[0] > 4.5


def test_text_of_a_graph_can_be_read() -> None:
    assert min(drawn_of(example()).sizes()) >= 11


def settings(s: sv.Session) -> dict[str, str]:
    return dict(cells_of(session_table(s)))


def test_a_network_says_kind_shape_activation_and_parameters() -> None:
    shared = sv.Dense(4, 4, "tanh")
    html = sv.Network([sv.Dense(2000, 4), shared, shared])._repr_html_()
    assert "2,000 → 4 → 4 → 4: 8,024 parameters, float32, engine python" in html
    assert cells_of(html) == [
        ["layer", "kind", "shape", "activation", "parameters"],
        ["0", "Dense", "2,000 → 4", "linear", "8,004"],
        ["1", "Dense", "4 → 4", "tanh", "20"],
        ["2", "Dense", "4 → 4", "tanh", "shared with layer 1"],
    ]


def test_a_perceptron_says_its_weights_and_gradients() -> None:
    p = sv.Network([2, 3], "tanh", "tanh").layers[0].perceptrons[1]
    rows = np.asarray(p.rows)
    p.bank.value[rows], p.bank.grad[rows] = [0.5, -0.25, 0.125], [1.0, np.nan, 3.0]
    html = p._repr_html_()
    assert "layer 0, perceptron 1: 2 weights, a bias, tanh" in html
    assert cells_of(html) == [
        ["", "value", "gradient"],
        ["w0", "0.5", "1"],
        ["w1", "−0.25", "NaN"],
        ["b", "0.125", "3"],
    ]


def test_of_many_weights_the_first_and_the_last_are_shown() -> None:
    assert [row[0] for row in cells_of(sv.Perceptron(784)._repr_html_())] == [
        *("", "w0", "w1", "w2", "w3", "w4", "… 775 more"),
        *("w780", "w781", "w782", "w783", "b"),
    ]
    assert len(cells_of(sv.Perceptron(10, bias=False)._repr_html_())) == 11


def test_looking_at_them_changes_nothing() -> None:
    net = sv.Network([2, 3, 1])
    net.forward([1.0, 2.0])
    before = net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]
    net._repr_html_()
    net.layers[0].perceptrons[0]._repr_html_()
    assert (net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]) == before


def test_a_session_says_where_it_stands() -> None:
    assert "step 0, no loss yet; done: nothing, next: zero_grad" in session_table(session())
    s = advanced(session(), 12)
    s.advance(3, "operation")
    assert f"step 12, loss {s.loss:.4g}; done: tanh 0, next: affine 1" in session_table(s)


def test_a_session_says_what_it_trains_with() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5)), 5)
    s.seek(2)
    s.learning_rate = 0.25
    told = settings(s)
    assert told["trains"] == "Network 3 → 4 → 3: 31 parameters, float32, engine python"
    assert told["data"].startswith("Rgb(map='invert', levels=4): 3 → 3, 64 samples")
    assert told["batch"] == f"8 samples of {s.data.samples}"
    assert "mse" in told["loss"] and told["engine"] == "python"
    assert told["optimizer"] == "SGD(lr=0.25)"
    assert told["branches"] == "2 branches, current: 1, from step 2: rate 0.25"


def test_a_rate_that_a_schedule_has_changed_is_told() -> None:
    s = advanced(session(optimizer=sv.SGD(0.5, schedule=sv.Schedule("cosine", steps=100))), 50)
    assert settings(s)["optimizer"].endswith(", rate now 0.25")


def test_a_session_of_a_compiled_function_has_a_table() -> None:
    slope = sv.Value(0.0)
    f = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    s = sv.Session(f, ([[1.0], [2.0]], [[3.0], [6.0]]), "mse", sv.SGD(0.1), engine="python")
    assert settings(advanced(s, 5))["trains"].startswith("Expression")


@pytest.mark.parametrize("operations", [0, 3])
def test_looking_at_a_session_changes_nothing(operations: int) -> None:
    s = advanced(session(), 5)
    s.advance(operations, "operation") if operations else None
    s.network.weight(0).value = 0.5  # past the session: it stays unnoticed
    before = state(s)
    s._repr_html_()
    assert state(s) == before and not s.current_branch.journal


NASTY = "<a & b> \"c\" 'd' \x00 \ud800 é 中"


def test_texts_are_escaped_and_come_back(drawing: SvgDrawing) -> None:
    drawing.text(0, 10, NASTY)
    drawn = Drawn(image(drawing, NASTY))
    assert drawn.texts == [NASTY.replace("\x00", r"\x00").replace("\ud800", r"\ud800")]
    assert drawn.words == drawn.texts[0]


def test_a_card_has_room_for_everything(drawing: SvgDrawing) -> None:
    drawing.rect(10, 20, 300, 5)
    drawing.text(0, 97.5, "x", 10.0)
    drawn = Drawn(image(drawing, ""))
    assert (drawn.width, drawn.height) == (310 + 2 * MARGIN, 100 + 2 * MARGIN)


def test_a_wide_drawing_is_scrolled_and_keeps_its_size() -> None:
    narrow, wide = SvgDrawing(), SvgDrawing()
    narrow.rect(0, 0, 500, 10)
    wide.rect(0, 0, 2000, 10)
    assert image(narrow, "").startswith("<img") and "min-width" not in image(narrow, "")
    assert "max-width: 100%" in image(narrow, "")
    assert image(wide, "").startswith('<div style="overflow-x: auto">')
    assert f"min-width: {2000 + 2 * MARGIN:.0f}px" in image(wide, "")
    assert WIDEST < 2000


def test_an_anchored_text_reaches_as_far_as_it_does(drawing: SvgDrawing) -> None:
    drawing.text(100, 10, "mmmm", 10.0, anchor="end")
    assert drawing.right == 100
    drawing.text(100, 10, "mmmm", 10.0, anchor="middle")
    assert drawing.right == 100 + width_of("mmmm", 10.0) / 2


@pytest.mark.parametrize("text", ["mmm", "iii", "−0.1234", "layer 0, perceptron 2", "中文"])
def test_bold_and_large_is_wider(text: str) -> None:
    assert width_of(text, 12) < width_of(text, 12, bold=True) < width_of(text, 15, bold=True)


def test_shorten_keeps_what_fits() -> None:
    assert shorten("a\n b", 3) == "a b"
    assert shorten("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (-1.5, "−1.5"),
        (1 / 3, "0.3333"),
        (1.25e-5, "1.25e−5"),
        (12345.6, "12,346"),
        (1e30, "1e30"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (None, "none"),
        (np.float32(0.5), "0.5"),
        (np.float64(-2), "−2"),
        (Value(3.0), "3"),
        ("word", "word"),
        (10**400, "100000000000000000000000"[:23] + "…"),
    ],
)
def test_a_number_is_shown_as_one_reads_it(number: object, text: str) -> None:
    assert number_text(number) == text


def test_a_table_says_what_it_was_given() -> None:
    lines = [["a", "<b>"], ["1 & 2", '"q"']]
    html = table(lines)
    assert cells_of(html) == lines
    assert "<b>" not in html


def test_the_head_of_a_table_is_its_first_row_or_its_first_column() -> None:
    lines = [["a", "b"], ["c", "d"]]
    assert table(lines).count("<th") == table(lines, head="column").count("<th") == 2
    assert ">b</th>" in table(lines) and ">b</td>" in table(lines, head="column")
    assert table(lines).count(f'<th style="{HEAD}"') == 2
    assert table(lines, head="column").count(f'<th style="{SIDE}"') == 2


def test_a_display_that_fails_shows_the_plain_text() -> None:
    @never_raises
    def broken(thing: object) -> str:
        raise RuntimeError

    class Thing:
        def __repr__(self) -> str:
            return "<thing>"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert broken(Thing()) == "<pre>&lt;thing&gt;</pre>"
    assert broken(Broken()) == "<pre>a Broken</pre>"
