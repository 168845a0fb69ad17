"""Model: what a Network and a compiled Expression have in common, and nobody asks which it is."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.errors import EngineError
from scalarviz.story.traced_weight import first_row
from scalarviz.training.network.expression import Expression
from scalarviz.training.network.model import Model
from scalarviz.training.network.model_queries import check_engine

PACKAGE = Path(sv.__file__).parent


def line(engine: str = "python") -> Expression:
    slope, shift = sv.Value(2.0, label="slope"), sv.Value(0.5)
    return sv.compile(lambda x: (slope * x + shift).tanh(), inputs=1, engine=engine)


MODELS: dict[str, Callable[[], Model]] = {
    "network": lambda: sv.Network([1, 2, 1], "tanh", seed=0, dtype="float64"),
    "expression": line,
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_model
def test_the_verbs_and_the_engine_are_those_of_a_model(make: Callable[[], Model]) -> None:
    model = make()
    before = model.bank.value.copy()
    assert model.forward([[0.5], [1.0]]).shape == (2, 1)
    assert model.backward([[1.0], [1.0]]).shape == (2, 1)
    model.freeze()
    model.step(sv.SGD(0.1))
    assert model.frozen and (model.bank.value == before).all()
    model.unfreeze()
    model.step(sv.SGD(0.1))
    assert (model.bank.value != before).any()
    assert model.to("cpu") is model and model.engine == "cpu"
    assert check_engine(model, "python") == ("python", sv.Precision())
    assert model.snapshot().read().value.tolist() == model.bank.value.tolist()
    for engine in ("python", "cpu"):
        with pytest.raises(EngineError):
            model.to(engine, "mixed")


def test_parameters_on_a_shared_bank_keep_their_names() -> None:
    a, b = sv.Value(2.0, label="a"), sv.Value(3.0, label="b")
    sv.compile(lambda x: a * x + b, inputs=1, engine="python")
    turned = sv.compile(lambda x: b * x + a, inputs=1, engine="python")
    assert [p.label for p in turned.parameters] == ["b", "a"]
    assert turned.bank.value[turned.rows].tolist() == [2.0, 3.0]
    assert [turned.name_of(i) for i in row_numbers(turned)] == ["a", "b"]
    part = sv.compile(lambda x: b * x, inputs=1, engine="python")
    assert [part.name_of(i) for i in row_numbers(part)] == ["b"] and first_row(part) == 1


def test_the_program_of_a_function_has_its_operations() -> None:
    f = line()
    program = f.program
    assert [each.name for each in program.operations] == ["multiply 0", "add 1", "tanh 2"]
    assert [each.name for each in program.operations[0].sources] == ["slope", "x0"]
    assert [each.target.size for each in program.operations] == [1, 1, 1]
    assert not any(each.parameters or each.about.learning for each in program.operations)
    assert program.products == 3 and program.workspace == 1 + 2 + 3
    assert program.operations == program.operations
    assert [moment.name for moment in program.moments] == [
        *("zero_grad", "multiply 0", "add 1", "tanh 2", "loss"),
        *("tanh gradient 2", "add gradient 1", "multiply gradient 0", "step"),
    ]
    assert "2  tanh 2" in repr(program)


def test_a_long_program_is_not_printed_to_its_end() -> None:
    weights = [sv.Value(float(i)) for i in range(250)]  # equal nodes would be one
    f = sv.compile(lambda x: sum((w * x).tanh() for w in weights) * x, 1, engine="python")
    count = len(f.program.operations)
    assert len(repr(f.program).splitlines()) == 203
    assert f"and {count - 200} more" in repr(f.program)


def test_nobody_asks_which_of_the_two_a_model_is() -> None:
    asking = re.compile(r"isinstance\([^\n]*\b(Network|Expression)\b|(has|get)attr\([\w.]*network,")
    files = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = {name for name, path in files.items() if asking.search(path.read_text("utf-8"))}
    # What users pass to sv.onnx.save and sv.shader.
    assert found == {"files/onnx/writing.py", "stage/network_shader.py"}
