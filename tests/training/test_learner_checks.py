"""check: code of a learner beside ours; which number is wrong, and which mistake gives it."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.wording import refused

WEIGHT = """
class Mine:
    def __init__(self, value):
        self.value, self.grad, self.inputs = value, 0.0, []

    def forward(self, x):
        self.inputs.append(x)
        return self.value * x

    def backward(self, upstream):
        self.grad += upstream * self.inputs.pop()
        return upstream * self.value

    def step(self, rate):
        self.value -= rate * self.grad

    def zero_grad(self):
        self.grad = 0.0
"""

VALUE = """
class Mine:
    def __init__(self, data, children=()):
        self.data, self.grad, self.children = data, 0.0, children
        self._backward = lambda: None

    def __add__(self, other):
        out = Mine(self.data + other.data, (self, other))
        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Mine(self.data * other.data, (self, other))
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out

    def tanh(self):
        out = Mine(math.tanh(self.data), (self,))
        def _backward():
            self.grad += (1 - out.data**2) * out.grad
        out._backward = _backward
        return out

    def relu(self):
        out = Mine(max(0.0, self.data), (self,))
        def _backward():
            self.grad += (out.data > 0) * out.grad
        out._backward = _backward
        return out

    def backward(self):
        order, seen = [], set()
        def visit(value):
            if value not in seen:
                seen.add(value)
                for child in value.children:
                    visit(child)
                order.append(value)
        visit(self)
        self.grad = 1.0
        for value in reversed(order):
            value._backward()
"""

PERCEPTRON = """
class Mine:
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias
        self.zero_grad()

    def zero_grad(self):
        self.weights_grad, self.bias_grad = [0.0] * len(self.weights), 0.0

    def forward(self, x):
        self.x = x
        self.sum = sum(w * x for w, x in zip(self.weights, x)) + self.bias
        self.y = math.tanh(self.sum)
        return self.y

    def backward(self, upstream):
        delta = upstream * (1 - self.y**2)
        for i, x in enumerate(self.x):
            self.weights_grad[i] += delta * x
        self.bias_grad += delta
        return [delta * w for w in self.weights]
"""

LAYER = """
class Mine:
    def __init__(self, weights, bias):
        self.weights, self.bias = np.array(weights), np.array(bias)
        self.zero_grad()

    def zero_grad(self):
        self.weights_grad, self.bias_grad = 0 * self.weights, 0 * self.bias

    def forward(self, x):
        self.x = x
        self.y = np.tanh(self.weights @ x + self.bias)
        return self.y

    def backward(self, upstream):
        delta = upstream * (1 - self.y**2)
        self.weights_grad += np.outer(delta, self.x)
        self.bias_grad += delta
        return self.weights.T @ delta
"""

BATCH = """
class Mine:
    def __init__(self, weights, bias):
        self.weights, self.bias = np.array(weights), np.array(bias)
        self.weights_grad, self.bias_grad = 0 * self.weights, 0 * self.bias

    def forward(self, x):
        self.x = x
        return x @ self.weights + self.bias

    def backward(self, upstream):
        self.weights_grad += self.x.T @ upstream
        self.bias_grad += upstream.sum(axis=0)
        return upstream @ self.weights.T
"""

SGD = """
def mine(w, g):
    return w - 0.1 * g
"""

MOMENTUM = """
class Mine:
    def __init__(self, rate):
        self.rate, self.velocity = rate, 0.0

    def step(self, w, g):
        self.velocity = 0.9 * self.velocity + g
        return w - self.rate * self.velocity
"""

ADAM = """
class Mine:
    def __init__(self, rate):
        self.rate, self.m, self.v, self.t = rate, 0.0, 0.0, 0

    def step(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return w - self.rate * m / (math.sqrt(v) + 1e-8)
"""

SAMPLES = [[1.0, 2.0], [-1.0, 2.0], [0.5, 0.5], [3.0, 4.0]]
WIDE = [[0.1, 0.2, 0.3], [0.4, -0.4, 0.5]]
SQUARE = [[0.1, 0.2], [0.3, -0.4]]

# How each is checked: the code, and what is made of it.
CHECKS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "weight": (WEIGHT, sv.check),
    "value": (VALUE, sv.check),
    "perceptron": (PERCEPTRON, lambda made: sv.check(made([0.5, -0.75], 0.25))),
    "tanh": (
        PERCEPTRON,
        lambda made: sv.check(made([0.5, -0.75], 0.25), sv.Perceptron(2, "tanh")),
    ),
    "layer": (LAYER, lambda made: sv.check(made(SQUARE, [0.1, 0.2]))),
    "dense": (LAYER, lambda made: sv.check(made(SQUARE, [0.1, 0.2]), sv.Dense(2, 2, "tanh"))),
    "batch": (BATCH, lambda made: sv.check(made(WIDE, [0.1, 0.2, 0.3]), x=SAMPLES)),
    "sgd": (SGD, lambda made: sv.check(made, sv.SGD(0.1))),
    "momentum": (MOMENTUM, lambda made: sv.check(made, sv.Momentum(0.1))),
    "adam": (ADAM, lambda made: sv.check(made, sv.Adam(0.1))),
}


def made_of(code: str) -> Any:
    """What a learner has written."""
    names: dict[str, Any] = {"math": math, "np": np}
    exec(code, names)
    return names.get("Mine") or names["mine"]


def checked(which: str, right: str = "", wrong: str = "") -> Any:
    """The check of one of these codes, with a mistake in place of what is right."""
    code, run = CHECKS[which]
    assert right in code, "the mistake has no place"
    return run(made_of(code.replace(right, wrong) if right else code))


@pytest.mark.parametrize("which", CHECKS)
def test_what_is_right_is_said_to_be_right(which: str) -> None:
    found = checked(which)
    assert found and found.wrong is None
    assert repr(found) == f"{found.name} is right: every number agrees."


ORDER = """                for child in value.children:
                    visit(child)
                order.append(value)
"""
NO_ORDER = """                order.insert(0, value)
                for child in value.children:
                    visit(child)
"""

# Which code, what is right in it, what stands in its place, and parts of the sentence.
MISTAKES = [
    ("weight", "grad += up", "grad = up", "w.grad after backward(2) is 6, expected -2", "+="),
    (
        "weight",
        "upstream * self.inputs.pop()",
        "upstream",
        "backward(-4) is -4, expected -8",
        "-4 * 2",
    ),
    (
        "weight",
        "upstream * self.inputs.pop()",
        "self.inputs.pop()",
        "is 2, expected -8",
        "the upstream gradient is missing",
    ),
    ("weight", "self.inputs.pop()", "self.value", "is -2, expected -8", "times the weight"),
    ("weight", "grad += up", "grad -= up", "is 8, expected -8", "sign"),
    (
        "weight",
        "self.grad += upstream * self.inputs.pop()",
        "pass",
        "is 0, expected -8",
        "added nothing",
    ),
    ("weight", "inputs.pop()", "inputs[-1]", "backward(3) is 38, expected 12.5", "another forward"),
    (
        "weight",
        "inputs.pop()",
        "inputs.pop(0)",
        "backward(1) is -0.5, expected 8",
        "another forward",
    ),
    (
        "weight",
        "        return upstream * self.value\n",
        "",
        "the result of backward(-4) is None, expected -2",
        "-4 * 0.5",
    ),
    (
        "weight",
        "return upstream * self.value",
        "return self.grad",
        "is -8, expected -2",
        "this is the gradient of the weight",
    ),
    (
        "weight",
        "value -= rate",
        "value += rate",
        "w.value after step(0.125) is 2.0625, expected -1.0625",
        "uphill",
    ),
    ("weight", "-= rate * ", "-= ", "is -12, expected -1.0625", "rate is missing"),
    (
        "weight",
        "self.value -= rate",
        "self.value = rate",
        "is 1.5625, expected -1.0625",
        "minus the rate",
    ),
    (
        "weight",
        "        self.grad = 0.0",
        "        pass",
        "w.grad after zero_grad() is 12.5, expected 0",
        "0",
    ),
    (
        "weight",
        "self.value * x",
        "self.value + x",
        "the result of forward(2) is 2.5, expected 1",
        "0.5 * 2",
    ),
    (
        "value",
        "self.grad += other.data",
        "self.grad = other.data",
        "a.grad of a * b * (a * b) is 4.5, expected 9",
        "1.5 * 3 + 1.5 * 3",
    ),
    (
        "value",
        "grad += out.grad",
        "grad = out.grad",
        "a.grad of a + a is 1, expected 2",
        "1 * 1 + 1 * 1",
    ),
    (
        "value",
        "other.data * out.grad",
        "self.data * out.grad",
        "a.grad of a * b is 0.5, expected 3",
        "the other factor",
    ),
    (
        "value",
        "other.data * out.grad",
        "other.data",
        "a.grad of a * b * c is 3, expected -6",
        "the gradient of the result is missing",
    ),
    (
        "value",
        "other.data * out.grad",
        "out.grad",
        "a.grad of a * b is 1, expected 3",
        "multiply it by the derivative",
    ),
    ("value", "+= other.data", "-= other.data", "a.grad of a * b is -3, expected 3", "sign"),
    (
        "value",
        "out._backward = _backward",
        "pass",
        "a.grad of a + b is 0, expected 1",
        "no gradient has arrived",
    ),
    (
        "value",
        "1 - out.data**2",
        "1 - self.data**2",
        "a.grad of tanh(a) is 0.75, expected 0.786448",
        "wrong point",
    ),
    (
        "value",
        "1 - out.data**2",
        "1 - math.tanh(out.data)**2",
        "a.grad of tanh(a) is 0.813542",
        "wrong point",
    ),
    (
        "value",
        "(1 - out.data**2) * ",
        "",
        "a.grad of tanh(a) is 1, expected 0.786448",
        "multiply it by the derivative",
    ),
    ("value", "(out.data > 0) * ", "", "c.grad of relu(c) is 1, expected 0", "1 * 0"),
    (
        "value",
        "reversed(order)",
        "order",
        "a.grad of (a + b) * c is 0, expected -2",
        "from the result to the leaves",
    ),
    (
        "value",
        ORDER,
        NO_ORDER,
        "a.grad of (a + b) * ((a + b) * c) is -7, expected -14",
        "used twice",
    ),
    (
        "value",
        "self.data * other.data",
        "self.data + other.data",
        "data of a * b is 3.5, expected 1.5",
        "the result",
    ),
    (
        "value",
        "        return out\n\n    def __mul__",
        "\n    def __mul__",
        "data of a + b is None, expected 3.5",
        "the result",
    ),
    (
        "perceptron",
        "upstream * (1 - self.y**2)",
        "upstream",
        "weights_grad[0] after backward(2.0) is 1, expected 0.143734",
        "the derivative of tanh is missing",
    ),
    ("perceptron", "self.y**2", "self.sum**2", "is -1.64062, expected 0.143734", "wrong point"),
    ("perceptron", "self.y**2", "math.tanh(self.y)**2", "is 0.469409", "wrong point"),
    (
        "perceptron",
        "+= delta * x",
        "+= delta",
        "is 0.287469, expected 0.143734",
        "multiply it by the input",
    ),
    (
        "perceptron",
        "+= delta * x",
        "= delta * x",
        "after backward(2.0), backward(2.0) is 0.143734, expected 0.287469",
        "+=",
    ),
    ("perceptron", "+= delta * x", "-= delta * x", "is -0.143734", "sign"),
    (
        "perceptron",
        "self.bias_grad += delta",
        "pass",
        "bias_grad after backward(2.0) is 0, expected 0.287469",
        "added nothing",
    ),
    (
        "perceptron",
        "[delta * w",
        "[upstream * w",
        "the result of backward(2.0)[0] is 1",
        "the derivative of tanh is missing",
    ),
    (
        "perceptron",
        "        return [delta * w for w in self.weights]\n",
        "",
        "is (), expected (2,)",
        "returns the gradient of the inputs",
    ),
    (
        "perceptron",
        "        self.weights_grad, self.bias_grad = [0.0]",
        "        if not hasattr(self, 'y'): self.weights_grad, self.bias_grad = [0.0]",
        "weights_grad[0] after zero_grad() is 0.287469, expected 0",
        "zero_grad",
    ),
    (
        "tanh",
        "math.tanh(self.sum)",
        "self.sum",
        "the result of forward([0.5, -1.5]) is 1.625, expected 0.925346",
        "tanh of it is still missing",
    ),
    ("tanh", " + self.bias", "", "is 0.879827, expected 0.925346", "plus the bias"),
    (
        "layer",
        "self.weights.T @ delta",
        "self.weights @ delta",
        "the result of backward([2.0, -3.0])[0] is",
        "transposed",
    ),
    (
        "layer",
        "np.outer(delta, self.x)",
        "np.outer(self.x, delta)",
        "weights_grad[0][1] after",
        "transposed",
    ),
    (
        "layer",
        "upstream * (1 - self.y**2)",
        "upstream",
        "weights_grad[0][0] after",
        "the derivative of tanh is missing",
    ),
    (
        "dense",
        "self.weights @ x",
        "self.weights.T @ x",
        "the result of forward([0.5, -1.5])[0] is",
        "tanh of the weighted sum",
    ),
    (
        "batch",
        "self.x.T @ upstream",
        "self.x.T @ upstream / 4",
        "weights_grad[0][0] after backward(",
        "mean over the samples",
    ),
    (
        "batch",
        "sum(axis=0)",
        "mean(axis=0)",
        "bias_grad[0] after backward(",
        "mean over the samples",
    ),
    (
        "batch",
        "+= self.x.T @ upstream",
        "= upstream.T @ self.x",
        "the shape of weights_grad is (3, 2), expected (2, 3)",
        "the shape of its array",
    ),
    (
        "sgd",
        "w - ",
        "w + ",
        "w after step 1, from w = 0.5 with gradient -8, is -0.3, expected 1.3",
        "uphill",
    ),
    ("sgd", "0.1 * g", "g", "is 8.5, expected 1.3", "rate is missing"),
    ("sgd", "w - 0.1", "-0.1", "is 0.8, expected 1.3", "only the change"),
    ("sgd", "return w - 0.1 * g", "return w", "is 0.5, expected 1.3", "w has not moved"),
    ("sgd", "return w - 0.1 * g", "w -= 0.1 * g", "is None, expected 1.3", "sgd moves w by 0.8"),
    (
        "momentum",
        "0.9 * self.velocity + g",
        "g",
        "w after step 2, from w = 1.3 with gradient 4, is 0.9, expected 1.62",
        "plain gradient descent",
    ),
    (
        "adam",
        "self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)",
        "self.m, self.v",
        "is 0.816228, expected 0.6",
        "correction",
    ),
]


@pytest.mark.parametrize(("which", "right", "wrong", "number", "why"), MISTAKES)
def test_a_typical_mistake_is_named_with_its_numbers(
    which: str, right: str, wrong: str, number: str, why: str
) -> None:
    found = checked(which, right, wrong)
    assert not found
    assert number in str(found.wrong)
    assert why in found.wrong.why
    assert str(found.wrong) in repr(found)


def test_a_step_without_decay_is_told_what_decay_adds() -> None:
    assert "0.5 * 0.5" in sv.check(lambda w, g: w - 0.1 * g, sv.SGD(0.1, l2=0.5)).wrong.why
    assert sv.check(lambda w, g: w - 0.1 * (g + 0.5 * w), sv.SGD(0.1, l2=0.5))


def test_what_is_not_written_yet_is_left_out() -> None:
    start, _, _ = WEIGHT.partition("    def step")
    assert checked("weight", WEIGHT, start)
    product = VALUE[: VALUE.index("    def __add__")] + VALUE[VALUE.index("    def __mul__") :]
    assert checked("value", VALUE, product)
    wrong = checked("value", VALUE, product.replace("self.grad += other", "self.grad = other"))
    assert "a.grad of a * b * (a * b)" in wrong.wrong.place


def test_a_class_made_of_ours_is_right() -> None:
    class Tripled(sv.Value):
        def __mul__(self, other: Any) -> Any:
            made = sv.Value(self.data * other.data, (self, other), "times")

            def _backward() -> None:
                self.grad += other.data * made.grad
                other.grad += self.data * made.grad

            made._backward = _backward  # type: ignore[method-assign]
            return made

    assert sv.check(sv.Value) and sv.check(Tripled)


def test_a_perceptron_may_be_made_of_weights_of_ones_own() -> None:
    mine = made_of(WEIGHT)

    class Perceptron:
        def __init__(self, weights: list[float], bias: float) -> None:
            self.weights = [mine(weight) for weight in weights]
            self.bias = mine(bias)

        def forward(self, x: Any) -> float:
            total = sum(w.forward(x) for w, x in zip(self.weights, x, strict=True))
            self.y = math.tanh(total + self.bias.forward(1.0))
            return self.y

        def backward(self, upstream: float) -> list[float]:
            delta = upstream * (1 - self.y**2)
            self.bias.backward(delta)
            return [weight.backward(delta) for weight in self.weights]

    made = Perceptron([0.5, -0.75], 0.25)
    made.backward(made.forward([1.0, 1.0]))
    before = [weight.grad for weight in made.weights]
    assert sv.check(made) and sv.check(made, sv.Perceptron(2, "tanh"))
    assert [weight.grad for weight in made.weights] == before  # a copy is checked
    made.bias.backward = lambda delta: None
    assert str(sv.check(made).wrong).startswith("bias.grad after backward(2.0) is ")


def test_a_layer_that_is_none_of_ours_is_checked_by_differences() -> None:
    class Scaled:
        def __init__(self) -> None:
            self.scale, self.scale_grad = np.array([0.5, 2.0]), np.zeros(2)

        def forward(self, x: Any) -> Any:
            self.x = x
            return np.sin(self.scale * x)

        def backward(self, upstream: Any) -> Any:
            delta = upstream * np.cos(self.scale * self.x)
            self.scale_grad += delta * self.x
            return delta * self.scale

    assert sv.check(Scaled()) and sv.check(Scaled(), x=[1.0, 2.0])


def test_micrograd_is_right() -> None:
    reflected = """
    def __neg__(self):
        return self * Mine(-1.0)

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    def __pow__(self, other):
        out = Mine(self.data**other, (self,))
        def _backward():
            self.grad += other * self.data ** (other - 1) * out.grad
        out._backward = _backward
        return out
"""
    assert sv.check(made_of(VALUE + reflected))
    wrong = reflected.replace("+= other * self.data **", "= other * self.data **")
    found = sv.check(made_of(VALUE + wrong))
    assert "a.grad of a / a is -2" in str(found.wrong) and "+=" in str(found.wrong)


def test_a_kink_is_no_mistake() -> None:
    code = PERCEPTRON.replace("math.tanh(self.sum)", "max(0.0, self.sum)")
    code = code.replace("(1 - self.y**2)", "(self.sum > 0)")
    mine = made_of(code)
    assert sv.check(mine([1.0, 1.0], 0.0), x=[1.0, -1.0])
    assert sv.check(mine([1.0, 1.0], 0.0), sv.Perceptron(2, "relu"), x=[1.0, 2.0])


class Layer:
    """A right layer, which keeps more than its parameters."""

    def __init__(self, **kept: Any) -> None:
        self.weights, self.weights_grad = np.eye(2), np.zeros((2, 2))
        self.__dict__ |= kept

    def forward(self, x: Any) -> Any:
        self.x = x
        return self.weights @ x

    def backward(self, upstream: Any) -> Any:
        self.weights_grad += np.outer(upstream, self.x)
        return self.weights.T @ upstream


def test_a_layer_without_a_bias_is_checked() -> None:
    bare = Layer(weights=np.ones((2, 3)), weights_grad=np.zeros((2, 3)), bias=None)
    assert sv.check(bare) and sv.check(bare, sv.Dense(3, 2))
    assert "tanh of it is still missing" in str(sv.check(bare, sv.Dense(3, 2, "tanh")).wrong)


def test_outputs_of_a_layer_are_compared_with_a_function() -> None:
    assert sv.check(Layer(), lambda x: x)
    found = sv.check(Layer(), lambda x: [1.0, 2.0] * x)
    assert found.kind == "Layer" and "forward([0.5, -1.5])[1] is -1.5, expected -3" in repr(found)
    assert "(2,), expected (1,): the reference" in repr(sv.check(Layer(), lambda x: x[:1]))


def test_what_a_layer_keeps_beside_its_parameters_is_its_own() -> None:
    assert sv.check(Layer(seen=[np.zeros((2, 3)), np.zeros((2, 4))]))
    begun = perf_counter()
    assert sv.check(Layer(data=np.zeros(1_000_000)))
    assert perf_counter() - begun < 3.0


def test_a_layer_without_numbers_is_not_called_right() -> None:
    refused(InputError, "nan").by(sv.check, Layer(weights=np.full((2, 2), np.nan)))
    refused(InputError, "nan").by(sv.check, Layer(), x=[math.nan, 1.0])


def test_a_rate_may_be_an_argument_of_an_optimizer_and_an_optimizer_one_of_a_step() -> None:
    assert sv.check(lambda w, g, rate: w - rate * g, sv.SGD(0.25))
    assert sv.check(lambda w, g, rate=0.25: w - rate * g, sv.SGD(0.25))
    assert checked("weight", "self.value -= rate", "self.value -= rate.lr")
    assert sv.check(lambda w, g: w, sv.SGD(0.0))


def test_an_optimizer_keeps_its_state_when_it_is_checked() -> None:
    made = made_of(MOMENTUM)(0.1)
    assert sv.check(made, sv.Momentum(0.1)) and sv.check(made, sv.Momentum(0.1))
    assert made.velocity == 0.0


class Broken:
    """A learner's class with an error in its backward."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.grad = 0.0

    def forward(self, x: float) -> float:
        return self.value * x

    def backward(self, upstream: float) -> float:
        self.grad += upstream * self.x  # type: ignore[attr-defined]
        return 0.0


def test_an_error_is_reported_with_its_line() -> None:
    found = sv.check(Broken)
    line = Broken.backward.__code__.co_firstlineno + 1
    assert repr(found).startswith(f"Broken: line {line}, `self.grad += upstream * self.x")
    assert "raised AttributeError: 'Broken' object has no attribute 'x'" in repr(found)
    assert found.wrong is not None and found.wrong.expected is None


DOTS = "is not written yet: replace the dots ... with your code"


@pytest.mark.parametrize(
    ("which", "right", "wrong", "place"),
    [
        ("weight", "+= upstream *", "+= ... *", "line 11, `backward`, "),
        ("value", "other.data * out.grad", "... * out.grad", "line 18, `_backward`, "),
        ("tanh", "return self.y", "return ...", ""),
        ("layer", "return self.weights.T @ delta", "return ...", "backward([2.0, -3.0]) "),
        ("layer", "self.bias_grad += delta", "self.bias_grad = ...", ""),
    ],
)
def test_dots_are_what_is_still_to_be_written(
    which: str, right: str, wrong: str, place: str
) -> None:
    found = checked(which, right, wrong)
    assert not found and place in repr(found) and repr(found).endswith(DOTS)


class Open(Broken):
    """Dots for which numpy has another error, and none where an index has them."""

    def __init__(self) -> None:
        self.weights, self.weights_grad = np.ones((1, 2)), np.zeros((1, 2))

    def forward(self, x: Any) -> Any:
        return self.weights @ x

    def backward(self, upstream: Any) -> Any:
        self.weights_grad += ...  # type: ignore[call-overload]
        return upstream


class Indexed(Open):
    def backward(self, upstream: Any) -> Any:
        return upstream[..., 5]  # ... and a comment


def test_dots_are_found_in_the_line_of_an_error_and_not_in_an_index() -> None:
    assert "`self.weights_grad += ..." in repr(sv.check(Open()))
    assert repr(sv.check(Open())).endswith(DOTS)
    assert "IndexError" in repr(sv.check(Indexed()))


@pytest.mark.parametrize(
    ("which", "right", "wrong", "told"),
    [
        ("weight", "self.value, self.grad,", "self.w, self.grad,", "no attribute 'value'"),
        ("weight", "def forward(self, x)", "def forward(self)", "TypeError"),
        ("weight", "return self.value * x", "raise RuntimeError('x' * 9_999)", "RuntimeError"),
        ("weight", "return self.value * x", "return 'two'", "is two, expected 1"),
        ("weight", "return self.value * x", "return [self.value] * 2", "is [0.5, 0.5], expected 1"),
        ("weight", "return self.value * x", "return float('nan')", "is nan, expected 1"),
        ("weight", "return self.value * x", "return self.forward(x)", "RecursionError"),
        ("value", "def backward(self)", "def backward(self, seed)", "TypeError"),
        ("perceptron", "return self.y", "return 'two'", "ValueError"),
        ("layer", "self.weights @ x", "self.weights @ x[:1]", "ValueError"),
        ("sgd", "return w - 0.1 * g", "return w / 0", "ZeroDivisionError"),
        ("sgd", "return w - 0.1 * g", "return ...", "is ..., expected 1.3: sgd moves w by 0.8"),
    ],
)
def test_odd_code_is_answered_in_a_sentence(which: str, right: str, wrong: str, told: str) -> None:
    found = checked(which, right, wrong)
    assert not found and told in repr(found) and len(found.said) < 300


def test_what_cannot_be_checked_is_refused() -> None:
    class Empty:
        def backward(self) -> None: ...

    class Bare:
        def __init__(self, weights: Any, bias: Any) -> None:
            self.weights, self.bias = weights, bias

        def forward(self, x: Any) -> Any:
            return x

    refused(InputError, "3").by(sv.check, 3)
    refused(InputError, "Empty").by(sv.check, Empty)
    refused(InputError, "Bare").by(sv.check, Bare)
    refused(InputError, "Bare").by(sv.check, Bare([1.0], 0.0))
    refused(InputError, "None").by(sv.check, None, sv.SGD(0.1))
    refused(InputError, "Perceptron").by(sv.check, sv.Perceptron(2))
    mine = made_of(PERCEPTRON)
    wide = [1.0, 2.0, 3.0]
    refused(InputError, "Dense").by(sv.check, mine([1.0, 2.0], 0.0), sv.Dense(3, 2), x=wide)
    refused(InputError, "'tanh'").by(sv.check, Bare([1.0], 0.0), "tanh")
    refused(InputError, "2,007").by(sv.check, mine([0.001] * 1003, 0.25))
