"""Residual, Product and Concatenate: sums and branches, rows, nesting, errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OwnershipError
from tests.machine import output_of
from tests.sessions import reloaded
from tests.wording import refused

X = np.random.default_rng(0).normal(size=(3, 4))


def test_the_inputs_may_go_through_a_projection(tmp_path: Path) -> None:
    inner, skip = sv.Dense(4, 6, "tanh"), [sv.Dense(4, 5), sv.Dense(5, 6, bias=False)]
    layer = sv.Residual(inner, skip=skip)
    net = sv.Network([layer, sv.Dense(6, 2)], dtype="float64", seed=1)
    assert layer(X) == pytest.approx(inner(X) + skip[1](skip[0](X)))
    assert sv.gradcheck(net, X).error < 1e-7
    kinds = [operation.kind for operation in net.program.operations]
    assert kinds == ["branch", "affine", "activation", "affine", "affine", "sum", "affine"]
    again = reloaded(net, tmp_path)
    assert repr(again.layers) == repr(net.layers)
    assert (again(X) == net(X)).all()
    assert net.copy().layers[0].branches[1][1].outputs == 6
    assert repr(sv.Residual(sv.Dense(4, 4))).count("first") == 0
    both = sv.Residual(layers=[sv.Dense(4, 6), sv.Dense(4, 6)], first=1)
    assert [len(way) for way in both.branches] == [1, 1]


def test_its_program_shows_both_ways() -> None:
    net = sv.Network([sv.Dense(4, 4), sv.Residual(sv.Dense(4, 2, "relu"), sv.Dense(2, 4))])
    names = [operation.name for operation in net.program.operations]
    assert names == ["affine 0", "branch 1", "affine 1.0", "relu 1.0", "affine 1.1", "sum 1"]
    branch, total = net.program.operations[1], net.program.operations[-1]
    assert total.sources == (net.program.operations[-2].target, branch.source)
    assert len({buffer.name for buffer in net.program.buffers}) == len(net.program.buffers)


def test_what_nests_too_deep_to_be_kept_is_refused(tmp_path: Path) -> None:
    layer: sv.Layer = sv.Dense(1, 1)
    for _ in range(20):
        layer = sv.Residual(layer)
    assert reloaded(sv.Network([layer], seed=2), tmp_path).bank.value.any()
    refused(InputError, "20 deep").by(sv.Residual, layer)


SQUARE, DENSE = sv.Dense(4, 4), sv.Dense(4, 3)
PICTURES = sv.Conv2d((1, 2, 4), 1, padding=1), sv.Reshape((1, 2, 4), (1, 4, 2))


@pytest.mark.parametrize(
    ("kind", "parts", "options", "words"),
    [
        (sv.Residual, [sv.Dense(4, 6)], {"skip": sv.Dense(3, 6)}, "4 and 3"),
        (sv.Residual, [sv.Dense(4, 6)], {"skip": sv.Dense(4, 5)}, "gives 5"),
        (sv.Residual, [sv.Dense(4, 6)], {"skip": [sv.Dense(4, 5), 3]}, "made of layers"),
        (sv.Residual, [sv.Dense(4, 6)], {"skip": 3}, "made of layers"),
        (sv.Residual, [sv.Dense(4, 6)], {"skip": [sv.Dense(4, 5), sv.Dense(4, 6)]}, "takes 4"),
        (sv.Residual, [sv.Dense(4, 3)], {}, "3 numbers"),
        (sv.Residual, [], {}, "at least one"),
        (sv.Residual, [SQUARE, SQUARE], {}, "twice"),
        (sv.Residual, [], {"layers": [sv.Dense(4, 4)] * 2, "first": -1}, "first must be"),
        (sv.Residual, [], {"layers": [sv.Dense(4, 4)] * 2, "first": 1.0}, "first must be"),
        (sv.Residual, [], {"layers": 3}, "at least one"),
        (sv.Residual, PICTURES, {}, "(1, 4, 2)"),
        (sv.Product, [], {}, "Product"),
        (sv.Product, [DENSE], {}, "Product"),
        (sv.Product, [DENSE, []], {}, "Product"),
        (sv.Product, [DENSE, 3], {}, "Product"),
        (sv.Product, [DENSE, sv.Dense(4, 3), sv.Dense(4, 3)], {}, "Product"),
        (sv.Product, [], {"layers": [DENSE, sv.Dense(4, 3)], "first": "1"}, "Product"),
        (sv.Product, [DENSE, sv.Dense(4, 2)], {}, "3 and 2"),
        (sv.Concatenate, [], {"layers": [DENSE], "first": 1}, "Concatenate"),
        (sv.Concatenate, [DENSE, DENSE], {}, "twice"),
        (sv.Concatenate, [DENSE, sv.Dense(5, 3)], {}, "4 and 5"),
        (sv.Concatenate, [sv.Reshape(4, (1, 2, 2)), sv.Reshape(4, (1, 1, 4))], {}, "(1, 2, 2)"),
    ],
)
def test_layers_that_do_not_fit_are_refused(
    kind: type[sv.Layer], parts: Any, options: dict[str, Any], words: str
) -> None:
    refused(InputError, words).by(kind, *parts, **options)


def test_a_layer_that_was_used_is_refused() -> None:
    used = sv.Dense(4, 4)
    used(X)
    refused(OwnershipError).by(sv.Residual, used)


def test_a_layer_is_in_one_place() -> None:
    for make in (
        lambda d: [sv.Residual(d), sv.Residual(d)],
        lambda d: [d, sv.Residual(d)],
        lambda d: [sv.Residual(sv.Residual(d), d)],
    ):
        inner = sv.Dense(4, 4)
        with refused(InputError, "Dense(4 -> 4)"):
            sv.Network(make(inner))
        sv.Network([inner])  # nothing has happened to it


def test_one_whose_layer_was_used_meanwhile_is_refused_as_often_as_it_is_tried() -> None:
    inner = sv.Dense(4, 4)
    layer = sv.Residual(inner)
    inner(X)
    for _ in range(2):
        refused(OwnershipError).by(layer, X)


def test_its_weights_stand_on_its_bank_where_python_leaves_out_asserts() -> None:
    program = (
        "import scalarviz as sv; layer = sv.Residual(sv.Dense(4, 4), sv.Dense(4, 4));"
        "w = layer.weight(25); print(w.bank is layer.bank, w.index)"
    )
    assert output_of("-O", "-c", program) == "True 25\n"


def test_its_buffers_are_pictures() -> None:
    net = sv.Network([sv.Residual(sv.Conv2d((1, 4, 4), 1, padding=1)), sv.Dense(16, 2)])
    assert [buffer.shape for buffer in net.program.buffers] == [(1, 4, 4)] * 4 + [()]


def test_an_operation_reads_both_and_the_branches_read_one_buffer() -> None:
    net = sv.Network([sv.Dense(4, 4), sv.Product([sv.Dense(4, 2), sv.Dense(2, 3)], sv.Dense(4, 3))])
    names = [each.name for each in net.program.operations]
    assert names == ["affine 0", "branch 1", *[f"affine 1.{i}" for i in range(3)], "product 1"]
    start, *_, first, second, last = net.program.operations
    assert last.sources == (first.target, second.target)
    assert net.program.readers(start.target) == [net.program.operations[1], second]


def test_pictures_are_joined_by_channels() -> None:
    layer = sv.Concatenate(sv.Conv2d((2, 3, 3), 4, padding=1), sv.Activation((2, 3, 3), "relu"))
    assert layer.output_shape == (6, 3, 3)
    net = sv.Network([layer, sv.Conv2d((6, 3, 3), 1)])
    assert net.program.operations[3].target.shape == (6, 3, 3)


@pytest.mark.parametrize("kind", [sv.Product, sv.Concatenate])
def test_they_are_saved_loaded_and_named(kind: type[sv.Layer], tmp_path: Path) -> None:
    beside = sv.Residual(sv.Dense(4, 4, init="he_uniform"), sv.Residual(sv.BatchNorm(4)))
    layer = kind([sv.Dense(4, 3, "tanh"), sv.Dense(3, 4)], beside)  # type: ignore[call-arg]  # of both kinds
    net = sv.Network([layer], seed=3)
    net.forward(X)
    again = reloaded(net, tmp_path)
    assert repr(again.layers) == repr(net.layers)
    assert (again(X) == net(X)).all()
    assert [*net.state_dict()][:6:2] == ["0.0.weight", "0.1.weight", "0.2.0.weight"]
    assert layer.row_name(layer.size - 1) == "part 2, part 1, part 0, shift of feature 3"
