"""Program: a network as a table of operations, run by numpy, agrees with its objects."""

import pytest

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.errors import UnknownNameError
from tests.wording import refused


def test_it_prints_as_a_table() -> None:
    assert repr(sv.Network([3, 8, 3], "tanh").program).splitlines() == [
        "Program: 3 operations, 3 -> 3, workspace of 22 numbers a sample",
        "   operation  reads     writes    shape   parameters",
        "0  affine 0   inputs    affine 0  3 -> 8  0 to 31",
        "1  tanh 0     affine 0  tanh 0    8 -> 8  -",
        "2  affine 1   tanh 0    affine 1  8 -> 3  32 to 58",
    ]


@pytest.mark.parametrize(
    ("kind", "formula", "value"),
    [
        ("activation", "tahn", "'tahn'"),
        ("row", "layernorm", "'layernorm'"),
        ("afine", "", "'afine'"),
    ],
)
def test_an_operation_that_no_engine_knows_is_refused_by_name(
    kind: str, formula: str, value: str
) -> None:
    refused(UnknownNameError, value).by(Program(3).add, kind, formula, size=3)
