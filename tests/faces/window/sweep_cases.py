"""What the window of a sweep does; test_window.py runs each case in a process of its own."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import scalarviz as sv
from scalarviz.base.interrupt import Stop
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.window import sweep_window, window
from scalarviz.faces.window.application import application
from scalarviz.faces.window.sweep_window import SweepWindow, watch_sweep
from scalarviz.scene.sweep_panels import SweepPanels
from scalarviz.stage.sweep_look import SweepLook
from tests.machine import until as until_it_is
from tests.sessions import advanced
from tests.sweeps.making import diverging, raising, xor

until = partial(until_it_is, meanwhile=QApplication.processEvents)


def opened(runs: object, steps: int = 400) -> SweepWindow:
    application()
    made = SweepWindow(runs, "dark", steps, Stop())  # type: ignore[arg-type]  # a Sweep
    made.show()
    return made


def case_it_trains_and_every_network_can_be_pointed_at() -> None:
    runs = sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(20))
    made = opened(runs)
    QTest.mouseClick(made.button, Qt.MouseButton.LeftButton)
    until(lambda: runs.progressed.done == 40)
    until(lambda: not made.button.isEnabled())
    until(lambda: len(made.stage.networks) == 40)
    assert "40 of 40" in made.label.text()
    for run, box in made.stage.networks.items():
        assert made.stage.point(box.x + box.width / 2, box.y + box.height / 2) == run
    assert {*made.stage.networks} == {(number, seed) for number in (0, 1) for seed in range(20)}
    pixels = made.picture.grab().toImage()
    colors = {pixels.pixelColor(x, y).name() for x in range(0, 1200, 7) for y in range(0, 600, 7)}
    assert len(colors) > 30
    QTest.keyClick(made.picture, Qt.Key.Key_Q)
    assert not made.isVisible()
    made.release()


def case_a_click_opens_a_network_with_its_past() -> None:
    runs = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(6)), 100)
    shown: list[tuple[str, int, bytes]] = []

    def watch(show: sv.Show, options: WatchOptions) -> int:
        session = show.session
        shown.append((show.title, session.step_index, session.network.bank.value.tobytes()))
        return 0

    window.watch = watch
    clicked = []

    def act(self: SweepWindow) -> object:
        self.show()
        if clicked:  # it is back
            return None
        until(lambda: bool(self.stage.networks))
        box = [each for run, each in self.stage.networks.items() if run[0] == 1][2]
        at = QPointF(box.x + 3, box.y + 3).toPoint()
        QTest.mouseMove(self.picture, at)
        QTest.mouseClick(self.picture, Qt.MouseButton.LeftButton, pos=at)
        clicked.append(self.opened)
        return self.opened

    sweep_window.SweepWindow.run = act  # type: ignore[assignment]  # in place of its loop
    assert watch_sweep(runs, 100, "dark", None) == 0
    ((title, step, values),) = shown
    number, seed = clicked[0]
    assert number == 1 and title == f"hidden 3, seed {seed}" and step == 100
    row = runs.outcome(1).row_of(seed)
    assert values == runs.outcome(1).values[row].tobytes()


def case_what_is_trained_is_looked_at_and_not_trained_again() -> None:
    runs = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(3)), 50)
    kept = runs._outcomes[0][0]
    seen: list[tuple[bool, int]] = []

    sweep_window.SweepWindow.run = lambda _: seen.append((runs.playing, runs.progressed.done))  # type: ignore[method-assign,assignment]  # in place of its loop
    assert sv.watch(runs) == 0
    assert seen == [(False, 6)] and runs._outcomes[0][0] is kept
    fresh = runs = sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(3))
    assert sv.watch(fresh, 100_000) == 0
    assert seen[1][0] and not fresh.playing  # trained while the window opened, until it closed
    assert sv.watch(fresh, 100_000, play=False) == 0
    assert not seen[2][0]


def case_keys_choose_and_pause() -> None:
    runs = sv.sweep(xor, {"hidden": [2]}, seeds=range(8))
    made = opened(runs, 200_000)
    QTest.keyClick(made.picture, Qt.Key.Key_Space)
    until(lambda: runs.playing and bool(made.stage.networks))
    QTest.keyClick(made.picture, Qt.Key.Key_Space)
    assert not runs.playing
    step = runs.progressed.step
    assert 0 < step < 200_000
    until(lambda: runs.progressed.step == step)
    QTest.keyClick(made.picture, Qt.Key.Key_Right)
    first = made.stage.chosen
    QTest.keyClick(made.picture, Qt.Key.Key_Right)
    assert first is not None and made.stage.chosen not in (None, first)
    losses = runs.outcome(0).scores()
    assert losses[runs.outcome(0).row_of(first[1])] == losses.min()
    QTest.keyClick(made.picture, Qt.Key.Key_Space)  # goes on from there
    until(lambda: runs.progressed.step > step)
    runs.stop()
    made.release()


def case_boxes_choose_how_it_is_drawn() -> None:
    runs = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(8)), 100)
    made = opened(runs, 100)
    made.resize(640, 420)
    until(lambda: bool(made.stage.networks))
    assert [box.accessibleName() != "" and box.height() >= 44 for box in made.choices] == [True] * 4
    assert all(box.visibleRegion().boundingRect() == box.rect() for box in made.choices)
    networks, order, group, against = made.choices
    chosen = ((networks, "Maps"), (order, "By seed"), (group, "Groups of hidden"))
    for box, words in (*chosen, (against, "Against hidden 2")):
        box.setFocus()
        while box.currentText() != words:
            QTest.keyClick(box, Qt.Key.Key_Down)
    assert made.stage.look == SweepLook("maps", "seed", "hidden", 0)

    def shown() -> SweepPanels:
        return made.stage.shown

    until(lambda: shown().kind == "maps" and len(shown().groups) == 2)
    assert list(shown().panels[0].seeds) == list(range(8))
    made.release()


def case_page_keys_show_the_other_settings() -> None:
    runs = advanced(sv.sweep(xor, {"lr": [0.1 * i for i in range(1, 21)]}, seeds=range(2)), 10)
    made = opened(runs, 10)
    made.resize(640, 420)
    until(lambda: made.stage.has_pages)
    first = made.stage.first

    def shown() -> list[int]:
        return list(dict.fromkeys(number for number, _ in made.stage.networks))

    seen = set(shown())
    while len(seen) < 20:
        QTest.keyClick(made.picture, Qt.Key.Key_PageDown)
        until(lambda: shown()[0] == made.stage.first)
        assert shown()[0] not in seen
        first = made.stage.first
        seen |= set(shown())
    QTest.keyClick(made.picture, Qt.Key.Key_PageDown)
    assert made.stage.first == made.stage.shown.before == first > 0  # the last page
    for _ in range(20):
        QTest.keyClick(made.picture, Qt.Key.Key_PageUp)
    assert made.stage.first == 0
    made.release()


def case_an_error_of_a_setting_is_written_and_failures_are_counted() -> None:
    runs = sv.sweep(raising, {"hidden": [4, 5]}, seeds=range(3))
    made = opened(runs, 20)
    made.turn()
    until(lambda: runs.progressed.done == 6)
    until(lambda: "3 failed" in made.label.text())
    made.release()
    lost = advanced(sv.sweep(diverging, {"lr": [10.0]}, seeds=range(3)), 60)
    made = opened(lost)
    until(lambda: bool(made.stage.networks))
    frame = np.array([0xFF, 0x5D, 0x5D])
    pixels = made.picture.grab().toImage()
    red = 0
    for x in range(600, 1279):
        for y in range(60, 700, 5):
            color = pixels.pixelColor(x, y)
            red += int(abs(np.array([color.red(), color.green(), color.blue()]) - frame).max() < 40)
    assert red > 20
    made.release()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
