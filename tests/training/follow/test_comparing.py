"""Where two records part: models, optimizers, weights, losses, scalars and faults."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError
from scalarviz.faces.cli.commands import main
from tests.wording import refused


def record(
    path: Path, *, part: int = 99, size: int = 3, count: int = 20, dense: str = "a", **log: float
) -> Any:
    """A record that differs from others at and after step `part`."""
    with sv.follow(None, path, show=None) as run:
        run._share = 1e9
        for step in range(1, count + 1):
            run._next = 0.0
            more = 0.1 * (step >= part)
            kernel, bias = np.full((4, size), 1.0 + 0.01 * step + more), np.ones(2)
            run.step({dense: kernel, "bias": bias}, 1.0 / step + more, {dense: kernel})
            run.log(accuracy=step + more, **log)
    return sv.load(path)


def test_equal_records_are_equal(tmp_path: Path) -> None:
    one, two = record(tmp_path / "one.sv"), record(tmp_path / "two.sv")
    assert one.compare(two).splitlines() == [
        "Same model: 14 weights.",
        "The weights are equal up to step 20.",
        "Equal: loss (20 steps in both), accuracy (20 steps in both).",
        "Health: the same in both.",
    ]


def test_the_first_step_at_which_two_records_differ_is_told(tmp_path: Path) -> None:
    one, two = record(tmp_path / "one.sv"), record(tmp_path / "two.sv", part=7, lr=0.5)
    assert one.compare(two).splitlines() == [
        "Same model: 14 weights.",
        "The weights are equal up to step 6 and differ at step 7, most in a by 9.35 % of its size.",
        "loss: equal up to step 6, 0.143 and 0.243 at step 7; the means of the last tenths are "
        "0.0513 and 0.151.",
        "accuracy: equal up to step 6, 7 and 7.1 at step 7; the means of the last tenths are 19.5 "
        "and 19.6.",
        "Not in both: lr is only in two.sv.",
        "Health: the same in both.",
    ]


def test_other_shapes_and_names_are_told(tmp_path: Path) -> None:
    one = record(tmp_path / "one.sv")
    lines = one.compare(record(tmp_path / "two.sv", size=5, count=9)).splitlines()
    assert lines[:2] == [
        "The models differ: a is (4, 3) and (4, 5).",
        "The weights are equal up to step 9.",  # where shapes are equal
    ]
    (tmp_path / "other").mkdir()
    other = record(tmp_path / "other" / "one.sv", dense="b")  # a record of the same name
    differ = one.compare(other).splitlines()[0]
    assert differ == f"The models differ: a is only in {one.path}, b is only in {other.path}."


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_optimizers_and_faults_are_compared(kind: str, tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")

    def trained(name: str, make: Any, lost: int) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 1)
        optimizer = make(model.parameters())
        with sv.follow(model, tmp_path / name, show=None) as run:
            run._share = 1e9
            for step in range(20):
                run._next = 0.0
                optimizer.zero_grad()
                (model(torch.ones(1, 2)) * (torch.nan if step == lost else 1.0)).sum().backward()
                optimizer.step()
        return sv.load(tmp_path / name)

    one = trained("one.sv", lambda given: torch.optim.SGD(given, 0.01, momentum=0.9), 99)
    other = {"SGD": {"momentum": 0.5}, "AdamW": {}}[kind]
    two = trained("two.sv", lambda given: getattr(torch.optim, kind)(given, 0.01, **other), 15)
    words = one.compare(two)
    wanted = {"SGD": "SGD.momentum is 0.9 and 0.5", "AdamW": "SGD.momentum is only in one.sv"}
    assert f"The optimizers differ: {wanted[kind]}" in words
    assert "Only two.sv: step 16" in words and "not finite" in words


def test_an_incomplete_record_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    one, cut = record(tmp_path / "one.sv"), tmp_path / "cut.sv"
    content = Path(one.path).read_bytes()
    cut.write_bytes(content[:-200])
    assert one.compare(sv.load(cut)).startswith("cut.sv: it was not closed, so it has only its")
    cut.write_bytes(content.replace(b"LOSS", b"LOST"))
    assert one.compare(sv.load(cut)).startswith("cut.sv: from byte ")


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    one = record(tmp_path / "one.sv")
    refused(InputError, "pass another record").by(one.compare, 3)
    cut = tmp_path / "cut.sv"
    cut.write_bytes(Path(one.path).read_bytes()[:30])
    refused(FileError, "ends before the first step").by(one.compare, sv.load(cut))


def test_the_command_line_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = record(tmp_path / "one.sv"), record(tmp_path / "two.sv", part=7)
    with pytest.raises(SystemExit) as ended:
        main(["compare", one.path, two.path])
    assert (ended.value.code, capsys.readouterr().out) == (0, one.compare(two) + "\n")
    with pytest.raises(SystemExit) as ended:
        main(["compare", one.path, __file__])
    said = capsys.readouterr().err
    assert ended.value.code == 1 and said.count("\n") == 1 and "is not the record of" in said
