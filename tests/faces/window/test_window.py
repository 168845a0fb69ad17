"""Windows on a screen of their own: each case of the *_cases.py files, in processes of its own."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
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


QUICK = (
    "case_space_plays_and_pauses",
    "case_the_timeline_seeks_and_an_edit_in_the_past_begins_a_branch",
    "case_twelve_controls_in_three_groups_stand_behind_the_button_at_first",
    "case_closing_ends_every_thread",
    "case_an_error_in_drawing_is_raised_where_it_was_opened",
)
LONG = "case_all_is_compiled_and_then_kernels_do_the_work"
# Cases that share a process, and their module: the core of the window, the rest of it, that it
# never freezes, that the kernels do the work in the end, and several sessions in one window.
GROUPS = {
    "core": ("window_cases", [*QUICK]),
    "rest": ("window_cases", [each for each in cases_of("window_cases") if each not in QUICK]),
    "kernels": ("kernel_cases", [each for each in cases_of("kernel_cases") if each != LONG]),
    "compiled": ("kernel_cases", [LONG]),
    "several": ("several_cases", cases_of("several_cases")),
}


@pytest.fixture(scope="module")
def wrong_in(
    screen: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, str]]:
    """What went wrong in each case of a group; nothing was ever compiled for those of kernels."""
    folder = str(tmp_path_factory.mktemp("cache"))
    bare = {"SCALARVIZ_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}

    @cache
    def wrong(group: str) -> dict[str, str]:
        module, cases = GROUPS[group]
        command = [sys.executable, "-m", f"tests.faces.window.{module}", *cases]
        known = {**screen, **(bare if module == "kernel_cases" else {})}
        done = subprocess.run(command, env=known, cwd=ROOT, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
        assert len(lines) == len(cases), f"it broke off after {len(lines)} cases:\n{done.stderr}"
        return {name: error for name, error, _ in map(json.loads, lines)}

    return wrong


@pytest.mark.parametrize(
    ("group", "case"),
    [
        pytest.param(group, case, marks=() if group == "core" else pytest.mark.slow)
        for group, (_, cases) in GROUPS.items()
        for case in cases
    ],
)
def test_a_window(group: str, case: str, wrong_in: Callable[[str], dict[str, str]]) -> None:
    assert not wrong_in(group)[case], wrong_in(group)[case]


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
