"""Product and Concatenate: two branches, whose outputs one operation joins."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, ShapeError
from tests.sessions import reloaded
from tests.wording import refused

X = np.random.default_rng(0).normal(size=(3, 4))


def test_a_product_multiplies_what_its_branches_make() -> None:
    a, b, c = sv.Dense(4, 3, "tanh"), sv.Dense(4, 5), sv.Dense(5, 3)
    layer = sv.Product(a, [b, c])
    assert layer(X) == pytest.approx(a(X) * c(b(X)))
    layer.forward(X)
    by_inputs = layer.backward()
    y_a, y_b = a.forward(X), c.forward(b.forward(X))
    assert by_inputs == pytest.approx(a.backward(y_b) + b.backward(c.backward(y_a)))


def test_an_operation_reads_both_and_the_branches_read_one_buffer() -> None:
    net = sv.Network([sv.Dense(4, 4), sv.Product([sv.Dense(4, 2), sv.Dense(2, 3)], sv.Dense(4, 3))])
    names = [each.name for each in net.program.operations]
    assert names == ["affine 0", "branch 1", *[f"affine 1.{i}" for i in range(3)], "product 1"]
    start, *_, first, second, last = net.program.operations
    assert last.sources == (first.target, second.target)
    assert net.program.readers(start.target) == [net.program.operations[1], second]


def test_pictures_are_joined_by_channels() -> None:
    conv = sv.Conv2d((2, 3, 3), 4, padding=1)
    layer = sv.Concatenate(conv, sv.Activation((2, 3, 3), "relu"))
    assert layer.output_shape == (6, 3, 3)
    net = sv.Network([layer, sv.Conv2d((6, 3, 3), 1)])
    assert net.program.operations[3].target.shape == (6, 3, 3)


@pytest.mark.parametrize("kind", [sv.Product, sv.Concatenate])
def test_they_are_saved_loaded_and_named(kind: type[sv.Layer], tmp_path: Path) -> None:
    layer = kind([sv.Dense(4, 3, "tanh"), sv.Dense(3, 4)], sv.Residual(sv.Dense(4, 4)))  # type: ignore[call-arg]  # of both kinds
    net = sv.Network([layer], seed=3)
    again = reloaded(net, tmp_path)
    assert repr(again.layers) == repr(net.layers)
    assert (again(X) == net(X)).all()
    assert [*net.state_dict()][::2] == ["0.0.weight", "0.1.weight", "0.2.0.weight"]
    assert layer.row_name(layer.size - 1) == "part 2, part 0, perceptron 3, bias"


def test_unsuitable_branches_are_refused() -> None:
    dense = sv.Dense(4, 3)
    for wrong in ((), (dense,), (dense, []), (dense, 3), (dense, sv.Dense(4, 3), sv.Dense(4, 3))):
        with refused(InputError, "Product"):
            sv.Product(*wrong)  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "Product"):
        sv.Product(layers=[dense, sv.Dense(4, 3)], first="1")  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "Concatenate"):
        sv.Concatenate(layers=[dense], first=1)
    with refused(InputError, "twice"):
        sv.Concatenate(dense, dense)
    with refused(ShapeError, "4 and 5"):
        sv.Concatenate(dense, sv.Dense(5, 3))
    with refused(ShapeError, "3 and 2"):
        sv.Product(dense, sv.Dense(4, 2))
    with refused(ShapeError, "(1, 2, 2)"):
        sv.Concatenate(sv.Reshape(4, (1, 2, 2)), sv.Reshape(4, (1, 1, 4)))
