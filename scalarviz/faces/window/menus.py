"""Menus: those at the end of the title, and those in the panel of the window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import final

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QFileDialog, QMainWindow, QMenu, QMenuBar, QMessageBox

from scalarviz.base.texts import row_text, text
from scalarviz.faces.controller.control import Control, Shown
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.files import (
    drop,
    export_to,
    export_video,
    open_run,
    save,
    save_network,
)
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.keys import keys_of, rows_for, written
from scalarviz.faces.controller.state import State

Act = Callable[[], object]
AT_TITLE = "Scenes", "File"


@final
class Menus:
    """The menus of two bars, that at the end of the title first; each entry shows its key."""

    def __init__(
        self,
        window: QMainWindow,
        bars: tuple[QMenuBar, QMenuBar],
        controller: Controller | Group,
        photograph: Callable[[str], str],
    ) -> None:
        self.window = window
        self.group = group = Group.of(controller)
        self.photograph = photograph
        self.entries: dict[str, QAction] = {}  # by name of the row
        self._shown: dict[str, Shown] = {}
        self._rows = {row.name: row for row in rows_for(group.state()) if row.menu}
        others = (row.menu for row in self._rows.values())
        self.menus = {
            name: bars[name not in AT_TITLE].addMenu(
                "&" + row_text(f"rows.menus.{name}.title", name)
            )
            for name in dict.fromkeys((*AT_TITLE, "Time", "View", *others, "Help"))
        }
        self._make_file(self.menus["File"])
        self._make_rows(group.state())
        self._add(self.menus["Help"], text("menus.about"), self._about)

    def _make_file(self, menu: QMenu) -> None:
        group, of_file = self.group, self._of_file
        for what, kind, act, name in (
            ("open", "runs", of_file(open_run), ""),
            ("save", "runs", self._save, "run.safetensors"),
            ("network", "networks", of_file(save_network), "network.safetensors"),
            ("learn", "photos", of_file(drop), ""),
            ("picture", "images", self._export, "network.png"),
            ("video", "videos", partial(export_video, group), "network.mp4"),
            ("page", "pages", of_file(export_to, what="step"), "step.html"),
            ("trains", "pages", of_file(export_to, what="page"), "network.html"),
        ):
            self._add(menu, text(f"menus.{what}"), partial(self._ask, what, kind, act, name))
        menu.insertSeparator(menu.actions()[4])
        menu.addSeparator()

    def _of_file(self, act: Callable[..., object], **named: str) -> Callable[[str], object]:
        """Return a function of a path that does something with the session chosen then."""
        return lambda path: act(self.group.lead, path, **named)

    def _make_rows(self, state: State) -> None:
        """Add an entry per row, of a choice one per name; one called like its menu is that menu."""
        for row in self._rows.values():
            menu, names = self.menus[row.menu], tuple(row.names(state))
            if row.kind != "choice":
                self.entries[row.name] = self._add(menu, row.name, partial(self._press, row))
                self.entries[row.name].setCheckable(row.kind == "tick")
            elif row.name == row.menu.lower():
                menu.aboutToShow.connect(partial(self._fill, row, menu))
                self.entries[row.name] = menu.menuAction()
            else:
                for name, key in zip_longest(names, keys_of(row, names), fillvalue=""):
                    self._add(menu, with_key(name.capitalize(), key), partial(self._set, row, name))

    def show_state(self, state: State) -> None:
        """Update texts, check marks and enabled states."""
        for name, action in self.entries.items():
            row = self._rows[name]
            shown = row.shown(state)
            if self._shown.get(name) == shown:
                continue
            self._shown[name] = shown
            action.setEnabled(shown.enabled)
            if row.kind != "choice":
                action.setText(with_key(shown.text or shown.about, row.key))
                action.setChecked(bool(shown.value))

    def _press(self, row: Control) -> None:
        """Press the button or toggle the tick of a row."""
        self._set(row, 1 if row.kind == "button" else not row.get(self.group.state()))

    def _set(self, row: Control, value: object) -> None:
        self.group.act(row, value)

    def _fill(self, row: Control, menu: QMenu) -> None:
        """Fill the submenu of a choice; the current name is checked."""
        menu.clear()
        group, shown = QActionGroup(menu), row.shown(self.group.state())
        for name in shown.names:
            title = name[:1].upper() + name[1:]
            action = self._add(menu, title, partial(self._set, row, name))
            action.setCheckable(True)
            action.setChecked(name == shown.value)
            group.addAction(action)

    def _add(self, menu: QMenu, title: str, act: Act) -> QAction:
        action = QAction(title, menu)
        action.triggered.connect(lambda: act())
        menu.addAction(action)
        return action

    def _ask(self, what: str, kind: str, act: Callable[[str], object], name: str) -> None:
        """Ask for a file to open, or to save if there is a `name` to propose, and pass its path."""
        ask = QFileDialog.getSaveFileName if name else QFileDialog.getOpenFileName
        title, kinds = text(f"dialogs.{what}"), text(f"dialogs.kind.{kind}")
        path, _ = ask(self.window, title, name, kinds)
        if path:
            act(path)

    def _save(self, path: str) -> None:
        save(self.group.lead, Path(path).with_suffix(".safetensors"))

    def _export(self, path: str) -> None:
        self.group.tell(self.photograph(path))

    def _about(self) -> None:
        QMessageBox.about(self.window, "scalarviz", text("menus.about.text"))


def with_key(title: str, key: str) -> str:
    """Return the text of a menu entry with its key on the right."""
    return f"{title}\t{written(key).capitalize()}" if key else title
