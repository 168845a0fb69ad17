"""The window's menus: files, the past, and how the network is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import final

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QFileDialog, QMainWindow, QMenu, QMessageBox

from scalarviz.controller.controller import Controller
from scalarviz.controller.keys import camera_keys
from scalarviz.controller.state import State
from scalarviz.draw2d.theme import THEMES
from scalarviz.view.scene.camera import CAMERAS
from scalarviz.view.scene.layout import LAYOUTS

RUNS = "Trainings (*.safetensors)"
IMAGES = "Pictures (*.png *.jpg)"
VIDEOS = "Videos (*.mp4 *.gif)"
PAGES = "Pages (*.html)"
PHOTOS = "Pictures (*.png *.jpg *.jpeg)"
Act = Callable[[], object]


@final
class Menus:
    """What there is besides the controls; each entry says its key."""

    def __init__(
        self, window: QMainWindow, controller: Controller, photograph: Callable[[str], str]
    ) -> None:
        self.window = window
        self.controller = controller
        self.photograph = photograph
        self._make_file()
        self._make_time()
        self._make_view()
        self._make_help()

    def _make_file(self) -> None:
        menu = self._menu("&File")
        self._add(menu, "Open a training…", self._open)
        self._add(menu, "Save this training…", self._save)
        self.photo = self._add(menu, "Learn another picture…", self._learn)
        menu.addSeparator()
        self._add(menu, "Export what is seen…", self._photograph)
        self._add(menu, "Export a video of it so far…", self._record)
        self._add(menu, "Export the next step as a page…", self._tell)
        menu.addSeparator()
        self._add(menu, "Quit\tQ", lambda: self.controller.leave())

    def _make_time(self) -> None:
        menu = self._menu("&Time")
        self._add(menu, "Play or pause\tSpace", self.controller.toggle_play)
        self._add(menu, "One operation on\t.", lambda: self.controller.operation(+1))
        self._add(menu, "One operation back\t,", lambda: self.controller.operation(-1))
        self._add(menu, "Start again\tR", self.controller.reset)
        self.undo = self._add(menu, "Undo the last edit or freeze\tZ", self.controller.undo)
        menu.addSeparator()
        self.branches = menu.addMenu("Branches")
        self.branches.aboutToShow.connect(self._fill_branches)

    def _make_view(self) -> None:
        menu, stage = self._menu("&View"), self.controller.stage
        keys_of_cameras = {name: key for key, name in camera_keys().items()}
        for name, key in {**dict.fromkeys(CAMERAS, ""), **keys_of_cameras}.items():
            text = f"{name.capitalize()}\t{key}" if key else name.capitalize()
            self._add(menu, text, partial(stage.look, name))
        self._add(menu, "The pinned weight closely\tF", stage.frame_pinned)
        self._add(menu, "Everything\tEsc", stage.frame_all)
        menu.addSeparator()
        self.layouts = self._choices(menu, "Layers\tL", LAYOUTS, partial(setattr, stage, "layout"))
        self.themes = self._choices(menu, "Theme\tD", THEMES, partial(setattr, stage, "theme"))
        self.per_layer = self._add(menu, "Colours of each layer by themselves", self._per_layer)
        self._add(menu, "Fit the colours to the numbers", stage.rescale)
        self.per_layer.setCheckable(True)

    def _make_help(self) -> None:
        menu = self._menu("&Help")
        self._add(menu, "Keys\t?", lambda: self.controller.press("?"))
        self._add(menu, "About", self._about)

    def show_state(self, state: State) -> None:
        """Marks where something is on."""
        self.layouts[state.layout].setChecked(True)
        self.themes[state.theme].setChecked(True)
        self.per_layer.setChecked(state.per_layer)
        self.undo.setEnabled(state.edits > 0)

    def _menu(self, name: str) -> QMenu:
        return self.window.menuBar().addMenu(name)

    def _add(self, menu: QMenu, text: str, act: Act) -> QAction:
        action = QAction(text, menu)
        action.triggered.connect(lambda: act())
        menu.addAction(action)
        return action

    def _choices(
        self, menu: QMenu, text: str, names: Iterable[str], choose: Callable[[str], None]
    ) -> dict[str, QAction]:
        """A menu of which one entry is marked."""
        inner = menu.addMenu(text)
        group, found = QActionGroup(inner), {}
        for name in names:
            found[name] = self._add(inner, name.capitalize(), partial(choose, name))
            found[name].setCheckable(True)
            group.addAction(found[name])
        return found

    def _fill_branches(self) -> None:
        self.branches.clear()
        group, state = QActionGroup(self.branches), self.controller.state
        for fork in state.branches:
            start = "the start" if fork.parent < 0 else f"step {fork.start:,}"
            text = f"{fork.number}: from {start} to step {fork.end:,}"
            action = self._add(self.branches, text, partial(self.controller.switch, fork.number))
            action.setCheckable(True)
            action.setChecked(fork.number == state.branch)
            group.addAction(action)

    def _per_layer(self) -> None:
        self.controller.stage.per_layer = not self.controller.stage.per_layer

    def _open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.window, "Open a training", "", RUNS)
        if path:
            self.controller.load(path)

    def _save(self) -> None:
        name = "run.safetensors"
        path, _ = QFileDialog.getSaveFileName(self.window, "Save this training", name, RUNS)
        if path:
            self.controller.save(Path(path).with_suffix(".safetensors"))

    def _learn(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.window, "Learn another picture", "", PHOTOS)
        if path:
            self.controller.drop(path)

    def _photograph(self) -> None:
        name = "network.png"
        path, _ = QFileDialog.getSaveFileName(self.window, "Export what is seen", name, IMAGES)
        if path:
            self.controller.tell(self.photograph(path))

    def _record(self) -> None:
        name = "network.mp4"
        path, _ = QFileDialog.getSaveFileName(self.window, "Export a video", name, VIDEOS)
        if path:
            self.controller.export(path)

    def _tell(self) -> None:
        name = "step.html"
        path, _ = QFileDialog.getSaveFileName(self.window, "Export the next step", name, PAGES)
        if path:
            self.controller.export(path)

    def _about(self) -> None:
        text = "Every cube is a weight.\nDrag to turn, right-drag to move, the wheel zooms."
        QMessageBox.about(self.window, "scalarviz", text)
