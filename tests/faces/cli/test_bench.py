"""The short benchmark."""

import pytest

from scalarviz.engines.registry import ENGINES
from scalarviz.faces.cli import kernel_commands
from scalarviz.faces.cli.kernel_commands import measure, words_for
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show


def test_a_row_a_scene_and_a_column_an_engine_that_runs_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel_commands, "SECONDS", 0.03)
    monkeypatch.setattr(kernel_commands, "ENGINES", {"python": ENGINES["python"]})
    monkeypatch.setattr(kernel_commands, "LARGEST", 1000)
    monkeypatch.setenv("COLUMNS", "100")
    measure()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    table = {row[0]: row[1:] for row in rows}
    assert table["scene"] == ["weights", "batch", "python"]
    assert table["rgb"][:2] == ["59", "8"] and float(table["rgb"][2].replace(",", "")) > 10
    assert table["texture"] == ["13,507", "1,024", "too", "slow"]


def test_a_rate_is_that_of_steps_without_what_a_scene_measures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_commands, "SECONDS", 0.2)
    session = Show.of(load(find("circle"))(engine="cpu")).session
    assert kernel_commands.steps_a_second(session) > 0.0 and session.step_index > 250
    assert not any(len(steps) for steps, _ in session.metrics.values())


@pytest.mark.parametrize(
    ("rate", "text"), [(123456.0, "123,456"), (12.34, "12.3"), (0.04021, "0.0402")]
)
def test_a_rate_has_three_digits_that_count(rate: float, text: str) -> None:
    assert words_for(rate) == text
