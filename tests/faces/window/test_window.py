"""Windows on a screen of their own: each case of the *_cases.py files, in processes of its own."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from scalarviz.errors import DisplayError
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.window.display_check import connects
from scalarviz.faces.window.window import watch
from tests.machine import ROOT, output_of
from tests.wording import refused


def cases_of(module: str) -> list[str]:
    """The names of the cases in a module beside this one."""
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    return re.findall(r"^def (case_\w+)", source, re.MULTILINE)


CASES = cases_of("window_cases")
QUICK = (
    "case_space_plays_and_pauses",
    "case_the_timeline_seeks_and_an_edit_in_the_past_begins_a_branch",
    "case_twelve_controls_in_three_groups_stand_behind_the_button_at_first",
    "case_closing_ends_every_thread",
    "case_an_error_in_drawing_is_raised_where_it_was_opened",
)


def run(
    cases: list[str], screen: Mapping[str, str], module: str = "window_cases"
) -> dict[str, str]:
    """What went wrong in each case of a module beside this one."""
    command = [sys.executable, "-m", f"tests.faces.window.{module}", *cases]
    done = subprocess.run(command, env=screen, cwd=ROOT, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if len(lines) < len(cases):
        raise AssertionError(f"it broke off after {len(lines)} cases:\n{done.stderr}")
    told = [json.loads(line) for line in lines]
    return {name: wrong for name, wrong, _ in told}


@pytest.fixture(scope="module")
def quickly(screen: Mapping[str, str]) -> dict[str, str]:
    return run(list(QUICK), screen)


@pytest.fixture(scope="module")
def thoroughly(screen: Mapping[str, str]) -> dict[str, str]:
    return run([case for case in CASES if case not in QUICK], screen)


@pytest.mark.parametrize("case", QUICK)
def test_the_core_of_the_window(case: str, quickly: Mapping[str, str]) -> None:
    assert not quickly[case], quickly[case]


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in QUICK])
def test_the_rest_of_the_window(case: str, thoroughly: Mapping[str, str]) -> None:
    assert not thoroughly[case], thoroughly[case]


# Where no window can be opened.


def test_without_a_screen_it_is_refused(monkeypatch: pytest.MonkeyPatch, show: object) -> None:
    pytest.importorskip("PySide6", reason="a window takes PySide6")
    monkeypatch.setattr("scalarviz.faces.window.display_check.has_display", lambda: False)
    refused(DisplayError).by(watch, show, WatchOptions())


def test_without_pyside_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, show: object
) -> None:
    monkeypatch.setattr("scalarviz.faces.window.display_check.find_spec", lambda name: None)
    refused(DisplayError, "PySide6").by(watch, show, WatchOptions())


def test_a_screen_that_does_not_answer_is_refused(screen: Mapping[str, str]) -> None:
    program = (
        "from scalarviz.faces.window.display_check import check_window\n"
        "from scalarviz.errors import DisplayError\n"
        "try:\n    check_window()\nexcept DisplayError as error:\n    print(error)"
    )
    told = output_of("-c", program, env={**screen, "DISPLAY": ":59999"})
    assert told.strip().startswith("the screen ':59999' does not answer")


def test_a_screen_that_refuses_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([1, 1, 0])  # xcb_connection_has_error: a server that starts anew, then answers
    xcb = SimpleNamespace(
        xcb_connect=Mock(return_value=1),
        xcb_connection_has_error=lambda connection: next(answers),
        xcb_disconnect=Mock(),
    )
    monkeypatch.setattr("scalarviz.faces.window.display_check.ctypes.CDLL", lambda name: xcb)
    monkeypatch.setattr("scalarviz.faces.window.display_check.BETWEEN_TRIES", 0.0)
    assert connects(":4242")
    assert xcb.xcb_disconnect.call_count == 2  # the connection that succeeded stays
    connects.cache_clear()


KERNEL_CASES = cases_of("kernel_cases")
QUICK_KERNEL_CASE = "case_the_keys_of_a_first_start"
LONG = "case_all_is_compiled_and_then_kernels_do_the_work"


@pytest.fixture(scope="module")
def bare(screen: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a program for which nothing was ever compiled."""
    folder = str(tmp_path_factory.mktemp("cache"))
    return {**screen, "SCALARVIZ_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}


@pytest.mark.slow
def test_a_first_start_does_not_freeze(bare: Mapping[str, str]) -> None:
    wrong = run([QUICK_KERNEL_CASE], bare, "kernel_cases")[QUICK_KERNEL_CASE]
    assert not wrong, wrong


@pytest.fixture(scope="module")
def thoroughly_with_kernels(bare: Mapping[str, str]) -> dict[str, str]:
    return run(
        [case for case in KERNEL_CASES if case not in (QUICK_KERNEL_CASE, LONG)],
        bare,
        "kernel_cases",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in KERNEL_CASES if case not in (QUICK_KERNEL_CASE, LONG)]
)
def test_it_never_freezes(case: str, thoroughly_with_kernels: Mapping[str, str]) -> None:
    assert not thoroughly_with_kernels[case], thoroughly_with_kernels[case]


@pytest.mark.slow
def test_in_the_end_the_kernels_do_the_work(bare: Mapping[str, str]) -> None:
    wrong = run([LONG], bare, "kernel_cases")[LONG]
    assert not wrong, wrong


CASES_OF_SEVERAL = cases_of("several_cases")


@pytest.fixture(scope="module")
def with_several(screen: Mapping[str, str]) -> dict[str, str]:
    return run(CASES_OF_SEVERAL, screen, "several_cases")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES_OF_SEVERAL)
def test_several_sessions_in_one_window(case: str, with_several: Mapping[str, str]) -> None:
    assert not with_several[case], with_several[case]


@pytest.mark.some(1)
@pytest.mark.parametrize("case", cases_of("sweep_cases"))
def test_the_window_of_a_sweep(case: str, screen: Mapping[str, str]) -> None:
    output_of("-m", "tests.faces.window.sweep_cases", case, env=screen)
