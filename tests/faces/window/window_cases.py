"""Cases in a real window on a screen of its own; test_window.py runs them and reads the results.

    python -m tests.faces.window.window_cases CASE ...

prints a line of JSON for each case: its name, and what went wrong, or nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QPalette, QScreen, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QColorDialog,
    QComboBox,
    QFileDialog,
    QLabel,
    QSpinBox,
    QToolTip,
    QWidget,
)

import scalarviz as sv
from scalarviz import data
from scalarviz.base.interrupt import Stop
from scalarviz.base.texts import text
from scalarviz.faces.controller import changes, face
from scalarviz.faces.controller import guide as tour
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Face, Opening, WatchOptions
from scalarviz.faces.controller.files_and_links import open_scene
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.train import Autosave
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.window import window as door
from scalarviz.faces.window.application import application
from scalarviz.faces.window.main_window import LOOKS, MainWindow
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.loss_chart import Chart
from scalarviz.scene.visuals.opengl import Smooth
from scalarviz.stage.background import quick_turns
from scalarviz.stage.commands import COMMANDS, FIRST_CONTROLS
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from tests import sessions
from tests.additions import test_new_controls
from tests.faces.controller.fake_stage import FakeStage
from tests.machine import until

Key, Shift, Left = Qt.Key, Qt.KeyboardModifier.ShiftModifier, Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


def colours() -> Show:
    """A training of 64 colours that does not end by itself."""
    return Show(sessions.colours(), title="colours", steps=1_000_000)


class Bench:
    """An open window over a stage that draws a plain colour, and hands to use it."""

    def __init__(
        self,
        show: Show | None = None,
        recipe: Recipe | None = None,
        stage: Any = None,
        face: Face | None = None,
    ) -> None:
        if face is None:
            show = show or (recipe.make({}) if recipe else colours())
            face = Face(Stages([stage or FakeStage(show)]), [recipe])
        self.face, self.controller, self.stop = face, face.lead, Stop()
        self.stage: Any = face.lead.stage
        self.window = MainWindow(face, self.stop)
        self.window.show()
        self.window.activateWindow()
        assert QTest.qWaitForWindowActive(self.window), "no window was shown"
        self.bar, self.picture = self.window.controls, self.window.view.widget
        self.made = self.bar.made
        self.until(lambda: self.window.view.drawn)

    @property
    def session(self) -> Any:
        return self.controller.session

    def wait(self, seconds: float = 0.12) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            QApplication.processEvents()
            time.sleep(0.002)

    def settle(self) -> None:
        """Until the controls have been looked at anew; a busy machine takes its time for that."""
        count = self.window._count
        self.wait()
        self.until(lambda: self.window._count > count + LOOKS or not self.window.isVisible())

    def until(self, happened: Callable[[], object], seconds: float = 60.0) -> None:
        until(happened, lambda: self.wait(0.01), seconds)

    def press(self, *keys: Any, by: Qt.KeyboardModifier = NONE, on: QWidget | None = None) -> None:
        """Keys or texts, where the focus is or somewhere else."""
        if on is not None:
            on.setFocus()
        for key in keys:
            for each in key if isinstance(key, str) else [key]:
                QTest.keyClick(self.window.windowHandle(), each, by)
        self.settle()

    def click(self, widget: QWidget, x: float | None = None, y: float | None = None) -> None:
        at = widget.rect().center() if x is None else QPoint(round(x), round(y or 0))
        QTest.mouseClick(widget, Left, NONE, at)
        self.settle()

    def choose(self, box: QComboBox, name: str) -> None:
        """Choose from a list as a keyboard does."""
        box.setFocus()
        place = box.findText(name)
        assert place >= 0, name
        while box.currentIndex() != place:
            QTest.keyClick(box, Key.Key_Down if box.currentIndex() < place else Key.Key_Up)
        self.picture.setFocus()
        self.settle()

    def open_panel(self, whole: bool = True) -> None:
        """The panel of the controls that are not in the bar, all of them or the first ones."""
        if not self.bar.panel.isVisible():
            self.click(self.bar.more)
        self.bar.panel.show_rest(whole)
        self.settle()
        assert self.bar.panel.isVisible() and self.bar.more.isChecked()

    def pixel(self) -> tuple[int, int, int]:
        """The colour in the middle of the picture."""
        widget: Any = self.picture
        image = widget.grabFramebuffer()
        color = image.pixelColor(image.width() // 2, image.height() // 2)
        return color.red(), color.green(), color.blue()

    def close(self) -> None:
        self.window.close()
        self.wait(0.02)


# The cases.


def case_space_plays_and_pauses(bench: Bench) -> None:
    bench.press(Key.Key_Space)
    assert bench.session.playing and bench.made["play"].accessibleName() == "Pause"
    bench.until(lambda: bench.session.step_index > 3)
    bench.press(Key.Key_Space)
    assert not bench.session.playing and bench.made["play"].accessibleName() == "Play"
    bench.click(bench.made["play"])
    assert bench.session.playing
    bench.press(Key.Key_Space)
    assert not bench.session.playing
    bench.click(bench.made["advance"])
    bench.press(Key.Key_Space)  # it is not the button's now
    assert bench.session.playing
    bench.open_panel()
    colors = bench.made["color"]
    before = colors.currentIndex()
    bench.press(Key.Key_Down, on=colors)
    assert colors.currentIndex() == before + 1, "after Tab arrows are those of the control"


def case_the_picture_shows_the_step_that_stands_below_it() -> None:
    seen: list[tuple[str, str]] = []  # the step below the picture, and in it

    class Reader(FakeStage):
        read_for_it: Any = None

        def read(self) -> Any:
            self.read_for_it = super().read()
            return self.read_for_it

        def draw(self, width: int, height: int, ratio: float) -> None:
            here, self.read_for_it = self.read_for_it, None
            if here is not None:
                below = bench.made["where"].text().split(" ")[0]
                seen.append((below, f"{here.clock.step:,}"))
            super().draw(width, height, ratio)

    show = colours()
    bench = Bench(show, stage=Reader(show))
    bench.press(Key.Key_Space)
    bench.until(lambda: len(seen) > 10)
    bench.press(Key.Key_Space)
    assert all(below == step for below, step in seen), seen
    assert len(set(seen)) > 3, seen


def case_arrows_go_by_the_unit(bench: Bench) -> None:
    far = {"operation": (0, 1), "phase": (0, 1), "step": (1, 0), "epoch": (8, 0)}
    units = [bench.made["unit"].itemText(i) for i in range(bench.made["unit"].count())]
    assert units == ["neuron", "operation", "phase", "step", "epoch"], units
    for unit, place in far.items():
        bench.choose(bench.made["unit"], unit)
        assert bench.controller.time.unit == unit
        bench.press(Key.Key_Right)
        assert bench.session.clock.place == place, unit
        assert bench.made["advance"].toolTip() == f"Forward by one {unit} (→)"
        bench.press(Key.Key_Left)
        assert bench.session.clock.place == (0, 0), unit


def case_samples_are_a_unit_where_a_step_has_one() -> None:
    bench = Bench(recipe=Recipe(load(find("xor")), {"engine": "python", "as_posted": True}))
    bench.choose(bench.made["unit"], "sample")
    bench.press(Key.Key_Right, Key.Key_Right)
    assert bench.session.step_index == 2
    assert not bench.made["before"].isEnabled()


def case_the_rate_is_typed_and_slid(bench: Bench) -> None:
    bench.click(bench.made["learning rate in numbers"])
    bench.press("0.125", Key.Key_Return)
    assert bench.session.learning_rate == 0.125
    assert bench.window.focusWidget() is bench.picture, "keys belong to the picture again"
    bench.click(bench.made["learning rate"], bench.made["learning rate"].width() - 1, 10)
    assert bench.session.learning_rate == 100.0
    bench.click(bench.made["speed"], bench.made["speed"].width() - 1, 10)
    assert bench.controller.face.state.speed is None and bench.made["pace"].text() == "full speed"
    bench.click(bench.made["speed"], 1, 10)
    assert bench.controller.face.state.pace == "an operation in 4 s"
    assert bench.made["pace"].text() == "an operation in 4 s"


def case_the_timeline_seeks_and_an_edit_in_the_past_begins_a_branch(bench: Bench) -> None:
    bench.press(Key.Key_Right, by=Shift)
    line = bench.made["seek"]
    assert (line.maximum(), line.value()) == (10, 10)
    bench.click(line, line.place(4), 10)
    assert bench.session.step_index == 4 and line.value() == 4
    bench.stage.pinned = 3
    bench.settle()
    bench.press("e", "0.75", Key.Key_Return)
    assert bench.session.network.bank.value[3] == 0.75
    assert bench.stage.notices == ["New branch from step 4; the old steps are kept"]
    assert list(line.marks) == [4] and "branch 1" in bench.made["where"].text()
    bench.stage.then()
    bench.settle()
    assert bench.session.current_branch.number == 0 and line.maximum() == 10
    bench.press("b")
    assert bench.session.current_branch.number == 1


def case_the_timeline_is_drawn_with_its_marks(bench: Bench) -> None:
    bench.press(Key.Key_Right, by=Shift)
    line = bench.made["seek"]
    above = QPoint(round(line.place(4)), round(line.height() / 2 - 8))
    plain = line.grab().toImage().pixelColor(above)
    bench.controller.time.seek(4)
    bench.controller.edit(3, 0.75)
    bench.controller.time.step(+1, 8)
    bench.wait()
    assert list(line.marks) == [4]
    mark = QPoint(round(line.place(4)), round(line.height() / 2 - 8))
    assert line.grab().toImage().pixelColor(mark).lightness() > plain.lightness() + 80


def case_a_pinned_weight_is_typed_dragged_frozen_and_all_is_undone(bench: Bench) -> None:
    bench.open_panel()
    made, bank = bench.made, bench.session.network.bank
    assert not made["edit"].isEnabled() and not made["undo"].isEnabled()
    bench.click(bench.picture)
    assert bench.stage.pinned == 3 and made["edit"].isEnabled()
    before = float(bank.value[3])
    assert abs(float(made["edit"].text()) - before) < 1e-5
    assert "perceptron 1" in made["edit"].toolTip()
    bench.press("e")
    bench.press("0.5 r", Key.Key_Backspace, Key.Key_Backspace)
    assert made["edit"].text() == "0.5" and bank.value[3] == before, "nothing happens while typing"
    bench.press(Key.Key_Return)
    assert bank.value[3] == 0.5
    bench.press("e")
    bench.press("7", Key.Key_Escape)
    assert bank.value[3] == 0.5 and made["edit"].text() == "0.5"
    made["edit"].show()
    drag(bench, made["edit"], +40)
    assert 0.65 < bank.value[3] < 0.75 and bench.session.current_branch.number == 0
    bench.click(made["freeze"])
    assert bank.frozen[3] and made["freeze"].isChecked()
    bench.press(Key.Key_Right)
    for _ in range(3):
        bench.click(made["undo"])
    assert not bank.frozen[3] and bank.value[3] == before
    assert not made["undo"].isEnabled()
    bench.press("e")
    bench.press("nonsense", Key.Key_Return)
    assert "A number is wanted" in bench.stage.notices[-1]


def case_a_condition_is_typed_completed_and_stops_it(bench: Bench) -> None:
    bench.press("u")
    field = bench.made["stop when"]
    assert bench.bar.panel.isVisible() and field.hasFocus()
    bench.press("not f")
    assert field.completer().currentCompletion() == "not finite"
    bench.press(Key.Key_Escape, Key.Key_Escape)  # the list, then the field
    assert not field.hasFocus() and field.text() == ""
    bench.press("u")
    bench.press("loss < 100", Key.Key_Return)
    assert bench.session.stop_conditions == ["loss < 100"] and not field.hasFocus()
    assert field.text() == "loss < 100"
    bench.controller.time.play()
    bench.until(lambda: bench.session.stopped)
    bench.settle()
    assert bench.session.step_index == 1 and "Stopped at step 1" in bench.stage.notices[-1]
    bench.press("i")
    assert bench.made["first time"].hasFocus()
    bench.press("loss < 100", Key.Key_Return)
    bench.until(lambda: "First at step 1" in bench.stage.notices[-1])
    bench.press("u", Key.Key_Delete, Key.Key_Return)
    assert bench.session.stop_conditions == []


def drag(bench: Bench, widget: QWidget, dx: int, button: Qt.MouseButton = Left) -> None:
    start = widget.rect().center()
    QTest.mousePress(widget, button, NONE, start)
    for part in (0.25, 0.5, 0.75, 1.0):
        QTest.mouseMove(widget, start + QPoint(round(dx * part), 0))
        bench.wait(0.02)
    QTest.mouseRelease(widget, button, NONE, start + QPoint(dx, 0))
    bench.wait()


def case_keys_work_wherever_the_focus_is(bench: Bench) -> None:
    for widget in (
        bench.made["color"],
        bench.made["seek"],
        bench.made["undo"],
        bench.picture,
    ):
        widget.setFocus()
        bench.press(".", on=widget)
    assert bench.session.clock.operation == 4
    bench.made["seek"].setFocus()  # as after a Tab: its own keys are its own
    bench.controller.time.seek(0)
    bench.controller.time.step(+1, 10)
    bench.settle()
    bench.press(Key.Key_Left, on=bench.made["seek"])
    assert bench.session.step_index == 9
    bench.press(Key.Key_Escape, on=bench.made["seek"])
    assert bench.window.focusWidget() is bench.picture
    bench.press("?")
    assert bench.stage.common.help
    bench.press("d")
    assert bench.stage.look.theme == "light"
    focus = bench.session.focus  # the sample that is explained
    bench.press("<")
    assert bench.session.focus == (focus - 1) % 8
    assert bench.made["sample"].text() == f"{bench.session.focus} of 0 to 7"
    bench.click(bench.made["after"])
    assert bench.session.focus == focus


def case_the_list_of_keys_is_not_behind_the_panel_and_is_closed_first(bench: Bench) -> None:
    bench.open_panel()
    bench.press("?")
    assert bench.stage.common.help and not bench.bar.panel.isVisible()
    assert not bench.bar.more.isChecked() and bench.stage.common.panel == 0.0
    bench.open_panel()
    bench.stage.common.help = True
    bench.press(Key.Key_Escape)
    assert not bench.stage.common.help and bench.bar.panel.isVisible()
    bench.press(Key.Key_Escape)
    assert not bench.bar.panel.isVisible()


def case_everything_is_reached_by_tab_and_has_a_name(bench: Bench) -> None:
    bench.stage.has_plane = True
    bench.stage.pinned = 3
    bench.session.edit(3, 0.5)
    bench.session.edit(3, 0.25)
    bench.session.undo()
    bench.settle()
    bench.open_panel()
    seen: list[QWidget] = []
    for _ in range(60):
        QTest.keyClick(bench.window.focusWidget(), Key.Key_Tab)
        widget = bench.window.focusWidget()
        if widget in seen:
            break
        seen.append(widget)
    rows = [each.row for each in bench.bar.controls]
    rows = [row for row in rows if row.kind != "text" and not row.on_cube]
    shown = [bench.made[row.name] for row in rows]
    wanted = [*(each for each in shown if each.isEnabled()), bench.bar.more, bench.picture]
    assert set(wanted) <= set(seen), [each.accessibleName() for each in wanted if each not in seen]
    assert all(each.accessibleName() or getattr(each, "text", str)() for each in wanted)


def case_options_are_chosen_in_their_panel() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python"}))
    bench.open_panel()
    panel = bench.bar.panel
    fields = {each.accessibleName(): each for each in panel.findChildren(QWidget)}
    assert {"engine", "map", "hidden", "depth", "batch", "seed", "loss", "bias"} <= set(fields)
    assert bench.window.centralWidget().rect().contains(panel.geometry())
    colour_map, hidden = fields["map"], fields["hidden"]
    assert isinstance(colour_map, QComboBox) and isinstance(hidden, QSpinBox)
    bench.choose(colour_map, "sepia")
    assert bench.session.data.settings()["map"] == "sepia"
    fields["l2"].setFocus()
    QTest.keyClicks(fields["l2"], "1")  # in front of the 0
    bench.picture.setFocus()  # without Return
    bench.wait()
    assert bench.session.optimizer.l2 == 10.0
    bench.press("z")
    hidden.setFocus()
    hidden.selectAll()
    QTest.keyClicks(hidden, "4")
    QTest.keyClick(hidden, Key.Key_Return)
    bench.wait()
    assert len(bench.session.network.bank) == 31 and bench.stage.show is bench.controller.show
    assert bench.window.windowTitle().startswith("A network learns colours: sepia")
    bench.picture.setFocus()
    bench.press(Key.Key_Escape)
    assert not panel.isVisible() and not bench.bar.more.isChecked()
    assert ("restore",) not in bench.stage.asked
    bench.press(Key.Key_Escape)
    assert ("restore",) in bench.stage.asked
    bench.press(Key.Key_Right)
    assert bench.session.step_index == 1


def case_the_panel_fits_into_the_smallest_window_and_can_be_scrolled() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python"}))
    bench.window.resize(640, 420)
    bench.open_panel(whole=False)
    panel, body = bench.bar.panel, bench.window.centralWidget()
    for size in ((640, 420), (1280, 800), (640, 420)):
        bench.window.resize(*size)
        bench.settle()
        assert body.rect().contains(panel.geometry())
        assert panel.geometry().bottom() < bench.bar.geometry().top()
        assert panel.viewport().width() >= panel.widget().minimumSizeHint().width()
        assert (panel.verticalScrollBar().maximum() > 0) == (size[1] < 500)


def case_the_panel_takes_its_room_from_the_stage_alone() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python"}))
    panel, picture = bench.bar.panel, bench.window.view.widget
    bench.open_panel()
    for size in ((1280, 800), (800, 500), (640, 420)):
        bench.window.resize(*size)
        bench.settle()
        parts = Division.of(picture.width(), picture.height(), exhibit=250.0, panel=panel.width())
        assert picture.width() == size[0] and bench.stage.common.panel == panel.width()
        assert panel.geometry().right() == picture.geometry().right()
        assert panel.y() == parts.scene.y and panel.height() > 0.4 * parts.scene.height
        assert panel.geometry().bottom() < parts.exhibit.y, "OUT and goal are below it"
    bench.picture.setFocus()
    bench.press(Key.Key_Escape)
    assert not panel.isVisible() and bench.stage.common.panel == 0.0


def case_twelve_controls_in_three_groups_stand_behind_the_button_at_first() -> None:
    bench = Bench(recipe=Recipe(load(find("circle")), {"engine": "python"}))
    panel = bench.bar.panel
    bench.click(bench.bar.more)
    shown = [
        each for each in panel.findChildren(QWidget) if each.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    names = {name for name, each in bench.made.items() if each in shown and each.isVisible()}
    assert names == {name for name in CONTROLS if COMMANDS[name].group}
    assert len(names) < len([each for each in shown if each.isVisible()]) <= 12
    labels = [each for each in panel.findChildren(QLabel) if each.isVisible()]
    titles = [re.sub("<.*?>", "", each.text()) for each in labels]
    assert [each for each in titles if each in FIRST_CONTROLS] == ["Look", "Change", "Go wrong"]
    bench.click(panel.rest)
    inside = [each.name for each in bench.bar.controls if each.row.place == "panel"]
    assert all(bench.made[name].isVisible() for name in inside)
    bench.click(panel.rest)
    assert not bench.made["size"].isVisible()


def drawn(scene: str, size: tuple[int, int]) -> Bench:
    """A window of a size, in which a scene is really drawn."""
    recipe = Recipe(load(find(scene)), {"engine": "python"})
    show = recipe.make({})
    bench = Bench(show, recipe, Stage(show, reduced_motion=True))
    bench.window.resize(*size)
    bench.settle()
    return bench


def network_box(bench: Bench) -> Any:
    """Width and height of the box around all cubes, in pixels."""
    bench.window.view.refresh()
    bench.wait(0.4)
    count = len(bench.session.network.bank)
    places = [bench.stage.place_of(row) for row in range(0, count, max(1, count // 400))]
    return np.ptp([each for each in places if each is not None], axis=0)


def with_panel(scene: str) -> None:
    for size in ((1280, 800), (1366, 700)):
        bench = drawn(scene, size)
        alone = network_box(bench)
        bench.open_panel()
        share = network_box(bench) / alone
        assert (share >= 0.75).all(), (scene, size, share)
        axis = bench.stage.chart.plot.x - 40.0  # where ".0008" begins
        assert bench.made["play"].geometry().right() < axis, "Play is beside the scale"
        exhibit = bench.stage.frame_data().division(*bench.stage._extent).exhibit
        assert exhibit.width > 200.0 and exhibit.y > bench.bar.panel.geometry().bottom()
        bench.close()


def case_beside_the_panel_every_scene_has_three_quarters_of_its_size() -> None:
    # texture has squares in place of cubes; a GPT has no room for its scores beside a panel.
    for scene in {*scenes()} - {"texture", "names", "adder"}:
        with_panel(scene)


def case_e_opens_a_field_on_the_pinned_cube() -> None:
    bench = drawn("rgb", (1280, 800))
    field = bench.made["edit"]
    for row in (0, 30, 31, 58):
        bench.stage.pin(row)
        bench.wait(0.4)
        bench.press("e")
        bench.until(lambda: field.hasFocus())
        assert not bench.bar.panel.isVisible()
        middle = QPointF(field.geometry().center())
        assert np.hypot(*(bench.stage.place_of(row) - (middle.x(), middle.y()))) <= 100.0
        bench.press("0.5", Key.Key_Return)
        bench.until(lambda row=row: bench.session.network.bank.value[row] == 0.5)
        bench.until(lambda: not field.isVisible())
    field.show()
    drag(bench, field, +40)
    bench.until(lambda: bench.session.network.bank.value[58] != 0.5)
    bench.click(field)
    bench.until(lambda: field.hasFocus())  # a click after a drag begins to type


def case_edges_are_smooth_when_the_picture_stands_still_or_a_graphics_card_draws(
    bench: Bench,
) -> None:
    drawn: list[int] = []  # along a pixel

    def draw(width: int, height: int, ratio: float) -> None:
        drawn.append(round(ratio / bench.window.view.canvas.pixel_scale))
        FakeStage.draw(bench.stage, width, height, ratio)

    bench.stage.draw = draw
    bench.window.view.refresh()
    bench.until(lambda: 2 in drawn)
    assert drawn[-2:] == [1, 2]
    shown = bench.pixel()
    bench.until(lambda: drawn[-1] == 2)
    bench.wait(0.4)
    assert drawn[-1] == 2 and shown == bench.pixel(), "it stands as it was"
    drawn.clear()
    bench.press(Key.Key_Space)  # no frame while it plays takes four times as long
    bench.until(lambda: len(drawn) > 20)
    playing = drawn.copy()
    assert bench.session.playing and 5 * playing.count(2) < len(playing), playing
    bench.press(Key.Key_Space)
    bench.until(lambda: drawn[-1] == 2)
    bench.window.view.coarse = True
    drawn.clear()
    bench.window.view.refresh()
    bench.wait(0.5)
    assert drawn and 2 not in drawn, "not where that takes too long"
    drawn.clear()
    with patch.object(Smooth, "is_quick", lambda self: True):
        bench.window.view.refresh()
        bench.until(lambda: drawn)
        assert set(drawn) == {2}


def case_scenes_and_files_have_menus_at_the_end_of_the_title(bench: Bench) -> None:
    title = bench.window.title
    assert [each.text() for each in title.actions()] == ["&Scenes", "&File"]
    for size in ((1280, 800), (640, 420), (1366, 700)):
        bench.window.resize(*size)
        bench.settle()
        head = Division.of(bench.picture.width(), bench.picture.height()).head
        assert title.isVisible() and title.geometry().bottom() < head.bottom
        assert bench.stage.common.menus > title.width()


def case_the_wheel_scrolls_the_panel_and_changes_no_choice(bench: Bench) -> None:
    bench.window.resize(640, 420)
    bench.open_panel()
    made, panel = bench.made["color"], bench.bar.panel
    down, none = QPoint(0, -120), Qt.MouseButton.NoButton
    at = QPointF(made.mapTo(bench.window, made.rect().center()))
    around = QPointF(made.mapToGlobal(made.rect().center()))
    event = QWheelEvent(at, around, down, down, none, NONE, Qt.ScrollPhase.NoScrollPhase, False)
    QApplication.sendEvent(bench.window.windowHandle(), event)
    bench.settle()
    assert bench.stage.look.color == made.currentText() == "value"
    assert panel.verticalScrollBar().value() > 0


def case_options_follow_the_training_while_the_panel_is_open() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python"}))
    bench.open_panel()
    fields = {each.accessibleName(): each for each in bench.bar.panel.findChildren(QWidget)}
    bench.choose(fields["map"], "sepia")
    assert bench.session.data.settings()["map"] == "sepia"
    bench.press("z")
    bench.until(lambda: bench.session.data.settings()["map"] == "grey")  # passed by a key
    bench.until(lambda: fields["map"].currentText() == "grey")
    bench.session.data = data.Rgb("hue")
    bench.until(lambda: fields["map"].currentText() == "hue")
    hidden = fields["hidden"]
    hidden.setFocus()
    hidden.selectAll()
    QTest.keyClicks(hidden, "99")
    bench.session.learning_rate = 0.25  # what is being typed stays
    bench.settle()
    assert hidden.lineEdit().text() == "99"


def case_f11_fills_the_screen_and_escape_leaves_it_first(bench: Bench) -> None:
    bench.open_panel()
    bench.press(Key.Key_F11)
    bench.until(bench.window.isFullScreen)
    bench.press(Key.Key_Escape)
    bench.until(lambda: not bench.window.isFullScreen())
    assert bench.bar.panel.isVisible() and ("restore",) not in bench.stage.asked
    bench.press(Key.Key_F11, Key.Key_F11)
    bench.until(lambda: not bench.window.isFullScreen())


def case_menus_dialogs_and_tool_tips_have_the_colours_of_the_theme(bench: Bench) -> None:
    for theme in ("light", "dark"):
        bench.controller.face.take("theme", theme)
        bench.settle()
        look = THEMES[theme].controls
        menu, roles = bench.window.menus.menus["View"], QPalette.ColorRole
        for widget in (menu, bench.bar.panel, bench.made["color"].view()):
            widget.ensurePolished()
            assert widget.palette().color(roles.Window).name() == look.panel
            assert widget.palette().color(roles.WindowText).name() == look.ink
        assert QToolTip.palette().color(roles.ToolTipBase).name() == look.raised
        assert QApplication.palette().color(roles.Base).name() == look.raised


def case_a_mouse_turns_moves_zooms_and_chooses(bench: Bench) -> None:
    drag(bench, bench.picture, +40)
    drag(bench, bench.picture, +40, Qt.MouseButton.RightButton)
    orbits = [each for each in bench.stage.asked if each[0] == "orbit"]
    moves = [each for each in bench.stage.asked if each[0] == "move"]
    assert sum(each[1] for each in orbits) == sum(each[1] for each in moves) == 40.0
    assert not [each for each in bench.stage.asked if each[0] == "click"]
    turn = QPoint(0, 240)
    wheel = QWheelEvent(
        QPointF(30, 40),
        QPointF(bench.picture.mapToGlobal(QPoint(30, 40))),
        QPoint(),
        turn,
        Qt.MouseButton.NoButton,
        NONE,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(bench.picture, wheel)
    QTest.mouseMove(bench.picture, QPoint(50, 60))
    bench.click(bench.picture, 70, 80)
    zooms = [each for each in bench.stage.asked if each[0] == "zoom"]
    assert zooms[0][1] > 1.2 and zooms[0][2:] == (30.0, 40.0)
    assert ("hover_at", 50.0, 60.0) in bench.stage.asked
    assert ("click", 70.0, 80.0) in bench.stage.asked


def case_a_drag_with_shift_moves_the_loss_curve_and_a_double_click_shows_all(bench: Bench) -> None:
    box = Box(20.0, 20.0, 200.0, 100.0)
    bench.stage.chart = Chart(box, Box(20.0, 20.0, 0.0, 0.0), box, box, 40.0, 60.0, 100.0)
    start, end = QPoint(100, 50), QPoint(50, 50)
    left, shift = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
    QTest.mousePress(bench.picture, left, shift, start)
    QTest.mouseMove(bench.picture, end)
    QTest.mouseRelease(bench.picture, left, shift, end)
    view = bench.stage.common.curve_view
    assert (view.first, view.last) == (45.0, 65.0) and bench.session.step_index == 0
    QTest.mouseDClick(bench.picture, left, NONE, start)
    assert not view.is_zoomed and bench.session.step_index == 0


def buttons_of(bench: Bench) -> list[QWidget]:
    return [bench.made["play"], bench.made["back"], bench.made["advance"], bench.bar.more]


def contrast(widget: QWidget) -> float:
    """How far apart its lightest and its darkest pixel in the bar are, as WCAG counts it."""
    image = widget.parentWidget().grab(widget.geometry()).toImage()
    places = [(x, y) for x in range(8, image.width() - 8) for y in range(6, image.height() - 6)]
    found = np.array([image.pixelColor(x, y).getRgbF()[:3] for x, y in places])
    linear = np.where(found <= 0.04045, found / 12.92, ((found + 0.055) / 1.055) ** 2.4)
    light = linear @ [0.2126, 0.7152, 0.0722]
    return float((light.max() + 0.05) / (light.min() + 0.05))


def case_the_picture_is_drawn_in_the_theme(bench: Bench) -> None:
    assert bench.pixel() == (64, 128, 64)
    assert min(map(contrast, buttons_of(bench))) > 3.0
    dark = bench.bar.grab().toImage().pixelColor(2, 20)
    bench.press("d")
    assert min(map(contrast, buttons_of(bench))) > 3.0
    assert bench.pixel() == (191, 255, 191)
    light = bench.bar.grab().toImage().pixelColor(2, 20)
    assert dark.lightness() < 60 and light.lightness() > 200


def case_nothing_is_drawn_while_nothing_changes(bench: Bench) -> None:
    bench.wait(0.3)
    before = len(bench.stage.drawn)
    bench.wait(0.5)
    assert len(bench.stage.drawn) <= before + 1
    bench.controller.time.step(+1)
    bench.wait(0.2)
    assert len(bench.stage.drawn) > before


def case_what_is_found_in_the_background_is_drawn_though_nothing_else_changes() -> None:
    recipe = Recipe(load(find("xor")), {"engine": "cpu"})
    show = recipe.make({})
    show.session.advance(60)
    stage = Stage(show)
    stage.patience = 0.05
    bench = Bench(show, recipe, stage)
    bench.press("l")
    stage.common.curve_view.compared = 10, 30
    bench.until(lambda: any("10 to 30" in each for each in stage.picture().words))
    bench.press(Key.Key_Escape)
    bench.until(lambda: not any("10 to 30" in each for each in stage.picture().words))
    bench.press(Key.Key_Escape)
    bench.choose(bench.made["unit"], "neuron")
    said = []
    for _ in range(4):
        bench.press(".")
        sums = [each for each in stage.picture().words if each.startswith("numbers: ")]
        said.append(sums[0] if sums else "")
    assert len({*said}) == len(said) == 4, said  # the sums of three neurons


def case_the_controls_leave_the_room_to_the_picture(bench: Bench) -> None:
    for width, height in ((1280, 800), (800, 500), (640, 420)):
        bench.window.resize(width, height)
        bench.wait(0.3)
        assert (bench.window.width(), bench.window.height()) == (width, height)
        assert bench.picture.height() == height - 40
        shown = [child for child in bench.bar.findChildren(QWidget) if child.isVisible()]
        for i, child in enumerate(shown):
            assert bench.bar.rect().contains(child.geometry()), child.accessibleName()
            assert child.width() >= child.minimumSizeHint().width(), child.accessibleName()
            assert not any(child.geometry().intersects(other.geometry()) for other in shown[:i])
        assert bench.made["seek"].width() > 60


def case_it_can_become_as_small_as_nothing_and_come_back(bench: Bench) -> None:
    bench.picture.resize(1, 1)
    bench.wait()
    bench.window.setMinimumSize(1, 1)
    bench.window.resize(1, 1)
    bench.wait(0.3)
    bench.window.resize(1000, 700)
    bench.wait(0.3)
    width, height, ratio = bench.stage.drawn[-1]  # a picture with smooth edges has more pixels
    size = bench.picture.width(), bench.picture.height()
    assert (width / ratio, height / ratio) == size
    assert (1, 1, 1.0) in bench.stage.drawn
    assert bench.pixel() == (64, 128, 64) and bench.window.error is None


def drop(bench: Bench, path: Path) -> None:
    carried = QMimeData()
    carried.setUrls([QUrl.fromLocalFile(str(path))])
    at, copy = bench.window.rect().center(), Qt.DropAction.CopyAction
    enter = QDragEnterEvent(at, copy, carried, Left, NONE)
    QApplication.sendEvent(bench.window, enter)
    assert bench.window.acceptDrops() and enter.isAccepted()
    QApplication.sendEvent(bench.window, QDropEvent(QPointF(at), copy, carried, Left, NONE))
    bench.wait()


def case_a_picture_is_dropped() -> None:
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "red.png"
        Image.new("RGB", (4, 2), "red").save(path)
        small = {"engine": "python", "hidden": 4, "depth": 1, "batch": 16, "size": 32}
        bench = Bench(recipe=Recipe(load(find("texture")), small))
        drop(bench, path)
        assert bench.session.data.settings()["picture"].shape == (2, 4, 3)
        bench.close()


def case_what_is_seen_is_exported() -> None:
    from PIL import Image

    bench = Bench()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seen.png"
        assert bench.window.photograph(str(path)) == f"Exported to {path}"
        assert Image.open(path).convert("RGB").getpixel((5, 5)) == (64, 128, 64)
        assert "cannot be written" in bench.window.photograph(f"{folder}/none/seen.png")


def case_the_menu_file_asks_for_a_path_and_writes_or_opens_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench, place = Bench(), Path(folder)
        first = bench.session
        bench.press(Key.Key_Right)
        entries = {each.text(): each for each in bench.window.menus.menus["File"].actions()}

        def proposed(*given: Any) -> tuple[str, str]:
            return str(place / given[2]), ""

        with patch.object(QFileDialog, "getSaveFileName", proposed):
            for what in ("save", "network", "picture"):
                entries[text(f"menus.{what}")].trigger()
                bench.until(lambda: not bench.controller.hand.busy)
        assert sv.Session.load(place / "run.safetensors").clock == first.clock
        assert len(sv.load(place / "network.safetensors").bank) == len(first.network.bank)
        assert (place / "network.png").read_bytes().startswith(b"\x89PNG")
        run = str(place / "run.safetensors"), ""
        with patch.object(QFileDialog, "getOpenFileName", lambda *given: run):
            for what in ("open", "learn"):
                shown = bench.session
                entries[text(f"menus.{what}")].trigger()
                bench.until(lambda shown=shown: bench.session is not shown)
        bench.close()


def case_a_link_is_copied_and_leads_back_here() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python", "hidden": 4}))
    bench.press(*[Key.Key_Right] * 3)
    bench.press(".", ".")
    bench.stage.pinned = 5
    QApplication.clipboard().clear()
    bench.press("k")
    copied = QApplication.clipboard().text()
    assert re.fullmatch(r"rgb\?hidden=4&engine=python#step=3&op=2&pin=5&sample=\d", copied), copied
    assert copied in bench.stage.notices[-1]


def case_a_scene_is_chosen_from_its_menu_and_a_message_leads_back() -> None:
    bench = Bench(recipe=Recipe(load(find("rgb")), {"engine": "python"}))
    first = bench.session
    bench.press(Key.Key_Right)
    menu, bar = bench.window.menus.menus["Scenes"], bench.window.title
    bench.click(bar, *at_middle(bar.actionGeometry(menu.menuAction())))
    bench.until(menu.isVisible)
    actions = {action.text().partition(":")[0]: action for action in menu.actions()}
    assert list(actions) == [name.capitalize() for name in scenes()]
    assert actions["Rgb"].isChecked() and "XOR" in actions["Xor"].text()
    bench.click(menu, *at_middle(menu.actionGeometry(actions["Xor"])))
    bench.until(lambda: bench.session is not first)
    bench.settle()
    assert "XOR" in bench.window.windowTitle() and bench.session.playing
    assert bench.stage.notices[-1].endswith("The previous training run is unchanged")
    bench.press(Key.Key_Space)
    bench.press("z")  # it undoes changes of one session
    assert bench.session is not first
    bench.stage.press(text("notices.earlier"))
    bench.settle()
    assert bench.session is first
    assert bench.session.step_index == 1 and "colour" in bench.window.windowTitle()


def at_middle(box: Any) -> tuple[int, int]:
    return box.center().x(), box.center().y()


def case_another_scene_does_not_take_the_place_of_what_is_kept() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"

        def look() -> None:
            controller = opened().face.lead
            first = controller.session
            controller.time.step(+1, 2)
            open_scene(controller, "xor")
            while controller.session is first:
                QApplication.processEvents()
            opened().close()

        with contextlib.redirect_stdout(io.StringIO()) as said:
            with_fake_stage(look, keep=Autosave(path), play=False)
        kept = sv.Session.load(path)
        assert (kept.data.name, kept.step_index) == ("rgb", 2)
        assert "not the one shown last" in said.getvalue()


def case_a_branch_is_named_by_mouse_and_by_keys(bench: Bench) -> None:
    bench.session.advance(6)
    bench.controller.time.seek(2)
    bench.controller.edit(3, 0.5)
    bench.until(lambda: len(bench.session.branches) == 2)
    branch, field = bench.session.branches[1], bench.made["branch name"]
    bench.press(Key.Key_F2)
    bench.until(field.hasFocus)
    bench.until(lambda: field.selectedText() == "from step 2: weight 3 = 0.5")
    assert bench.bar.panel.isVisible()
    QTest.keyClicks(field, "by hand")
    QTest.keyClick(field, Key.Key_Return)
    bench.until(lambda: branch.name == "by hand")
    bench.until(lambda: bench.made["branches"].currentText() == "1: by hand, to step 2")
    bench.picture.setFocus()
    bench.press("z")
    bench.until(lambda: branch.given_name == "")
    bench.until(lambda: field.text() == "from step 2: weight 3 = 0.5")
    bench.choose(bench.made["branches"], "0: from the start, to step 6")
    bench.until(lambda: field.text() == "from the start")
    QTest.mouseClick(field, Left, NONE, QPoint(20, 8))
    field.selectAll()
    QTest.keyClicks(field, "x" * 61)
    QTest.keyClick(field, Key.Key_Return)
    bench.settle()
    assert "60 characters" in bench.stage.notices[-1]
    assert bench.session.branches[0].name == "from the start"


def case_rows_for_controls_are_in_the_bar() -> None:
    rows = test_new_controls.rows()
    with test_new_controls.added():
        bench = Bench()
        made, session = bench.made, bench.session
        bench.open_panel()
        bench.press("v", "v")
        below = [name for name in rows if name != "side"]
        assert all(made[name].isVisible() for name in below)
        assert all(made[name].toolTip().startswith(rows[name][0].about) for name in below)
        assert made["again"].parent() is made["one on"].parent() is not bench.bar
        assert made["step in words"].text() == "step 2"
        bench.choose(made["painted"], "light")
        bench.click(made["per layer"], 9)
        bench.click(made["sample in numbers"])
        bench.press("3", Key.Key_Return)
        assert (bench.stage.look.theme, bench.stage.look.per_layer, session.focus) == (
            "light",
            True,
            3,
        )
        assert made["sample in numbers"].text() == "3" and made["per layer"].isChecked()
        slid, small, time = made["sample slid"], made["small rate"], made["time again"]
        assert (slid.value(), slid.maximum()) == (3, 7)
        bench.click(slid, slid.place(5), 10)
        bench.click(small, small.place(test_new_controls.SMALL.place(0.1)), 10)
        assert session.focus == 5 and 0.05 < session.learning_rate < 0.2
        assert list(time.marks) == [1] and time.width() > 2 * slid.width()
        bench.click(time, time.place(1), 10)
        assert session.step_index == 1
        extras = bench.window.menus.menus["Extras"].actions()
        assert [each.text() for each in extras] == ["On\tV", "Left", "Right"]
        extras[0].trigger()
        extras[2].trigger()
        assert session.step_index == 2 and bench.stage.notices[-1] == "right"
        made["again"].click()
        bench.settle()
        assert session.step_index == 0 and not made["again"].isEnabled()
        bench.close()


def case_closing_ends_every_thread() -> None:
    before = set(threading.enumerate())
    bench = Bench()
    bench.press(Key.Key_Space)
    bench.until(lambda: bench.session.step_index > 2)
    assert set(threading.enumerate()) > before
    bench.press("q")
    assert not bench.window.isVisible() and not bench.session.playing
    assert set(threading.enumerate()) == before


def case_the_tour_has_a_button_that_skips_it_and_a_menu_entry() -> None:
    show = colours()
    stage = Stage(show)
    stage.drawn = True
    bench = Bench(show, stage=stage)
    bench.until(lambda: stage._picture is not None)
    bench.window.opening = Opening(bench.controller.face, True)
    bench.until(lambda: bench.session.clock.operation > 1)

    def buttons() -> list[Any]:
        return [box for box, name in stage.on_top.buttons if name == "Skip the tour"]

    bench.until(buttons)  # a busy machine draws some pictures later
    (box,) = buttons()
    middle = box.x + box.width / 2.0, box.y + box.height / 2.0
    bench.click(bench.picture, *middle)
    bench.until(lambda: bench.session.step_index > 0 and bench.session.playing)
    assert not stage.part_of_tour and not stage.frame_data().offers
    bench.press(Key.Key_Space)
    there = bench.session.step_index
    bench.window.menus.entries["tour"].trigger()
    bench.until(lambda: bench.session.clock.operation > 1)
    assert bench.session.step_index == there and stage.part_of_tour == "forward"
    bench.press("a", Key.Key_Escape)
    bench.press(".")
    assert stage.part_of_tour == "" and len(bench.session.branches) == 1


def with_fake_stage(hand: Callable[[], None], **given: Any) -> int:
    """What `watch` gives back when somebody does something soon after it has opened."""
    QTimer.singleShot(600, hand)
    tour.was_seen = lambda: True
    made = face.stages_of
    face.stages_of = lambda show, look, **_: Stages([FakeStage(show, look)])  # type: ignore[assignment]  # in its place
    try:
        return door.watch(colours(), WatchOptions(**given))
    finally:
        face.stages_of = made


def opened() -> MainWindow:
    return next(
        each
        for each in QApplication.topLevelWidgets()
        if isinstance(each, MainWindow) and each.isVisible()
    )


def case_watch_opens_trains_and_closes() -> None:
    sys.setswitchinterval(0.005)
    seen: dict[str, Any] = {}

    def close() -> None:
        seen.update(playing=opened().face.lead.session.playing, interval=sys.getswitchinterval())
        opened().close()

    assert with_fake_stage(close) == 0
    assert seen["playing"] and 0.0 < seen["interval"] < 0.001
    assert sys.getswitchinterval() == 0.005
    assert threading.active_count() == 1


def case_ctrl_c_closes_with_130() -> None:
    assert with_fake_stage(lambda: os.kill(os.getpid(), signal.SIGINT)) == 130
    assert threading.active_count() == 1


def case_a_second_ctrl_c_ends_it_at_once() -> None:
    def insist() -> None:
        for _ in range(5):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        with_fake_stage(insist)
    assert threading.active_count() == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def case_ctrl_c_closes_a_dialog_too() -> None:
    def ask_and_stop() -> None:
        QTimer.singleShot(300, lambda: os.kill(os.getpid(), signal.SIGTERM))
        QFileDialog.getSaveFileName(opened(), "Save", "it")

    assert with_fake_stage(ask_and_stop) == 143


def case_an_error_in_drawing_is_raised_where_it_was_opened() -> None:
    def break_it() -> None:
        stage: Any = opened().face.lead.stage
        stage.broken = ZeroDivisionError("while drawing")

    with pytest.raises(ZeroDivisionError, match="while drawing"):
        with_fake_stage(break_it)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "run.safetensors"
        with pytest.raises(ZeroDivisionError, match="while drawing"):
            with_fake_stage(break_it, keep=Autosave(kept))
        assert sv.Session.load(kept).step_index > 0


def case_a_window_has_the_size_that_is_asked_for() -> None:
    sizes = []

    def look() -> None:
        sizes.append((opened().width(), opened().height()))
        opened().close()

    with_fake_stage(look, size=(900, 600))
    with_fake_stage(look)
    with patch.object(QScreen, "availableSize", return_value=QSize(1024, 600)):  # a small laptop
        with_fake_stage(look)
    assert sizes == [(900, 600), (1280, 800), (1024, 560)]


def case_a_colour_is_put_in_while_it_is_picked_and_taken_back_by_cancel(bench: Bench) -> None:
    first, drawn = np.array([0.2, 0.4, 0.6]), []
    changes.put_in(bench.controller, first)
    bench.settle()
    for end in ("reject", "accept"):
        changes.pick_color(bench.controller)
        dialog = bench.window.findChild(QColorDialog)
        assert dialog is not None
        drawn.append(len(bench.stage.drawn))
        dialog.setCurrentColor(QColor("#ff0000"))
        assert bench.stage.own.tolist() == [1.0, 0.0, 0.0]
        bench.until(lambda: len(bench.stage.drawn) > drawn[-1])
        getattr(dialog, end)()
        bench.settle()
        assert bench.stage.own.tolist() == (first.tolist() if end == "reject" else [1.0, 0.0, 0.0])


CASES = {name: case for name, case in globals().items() if name.startswith("case_")}


def main(names: list[str], cases: Mapping[str, Callable[..., None]] = CASES) -> None:
    """Do some cases, and print how each went."""
    application()
    with quick_turns():
        go(names or list(cases), cases)


def go(names: list[str], cases: Mapping[str, Callable[..., None]]) -> None:
    """Do cases; one that takes a bench gets an open window of its own."""
    for name in names:
        began = time.perf_counter()
        try:
            cases[name](*(Bench() for _ in signature(cases[name]).parameters))
            wrong = ""
        except BaseException:
            wrong = traceback.format_exc()
        for widget in QApplication.topLevelWidgets():
            widget.close()
        QTest.qWait(20)
        wrong = wrong or str([each.name for each in threading.enumerate()][1:]).replace("[]", "")
        seconds = time.perf_counter() - began
        print(json.dumps([name, wrong, round(seconds, 2)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
