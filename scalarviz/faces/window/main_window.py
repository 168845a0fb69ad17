"""MainWindow: the window with the picture, controls and menus; handles keys, timer and closing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any, final

import numpy as np
import shiboken6
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QEventLoop,
    QKeyCombination,
    QObject,
    QSize,
    Qt,
    QTimer,
)
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QCloseEvent,
    QColor,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QColorDialog,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QMainWindow,
    QMenu,
    QMenuBar,
    QMessageBox,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from scalarviz.base.checks import FloatArray
from scalarviz.base.interrupt import Stop
from scalarviz.base.texts import text
from scalarviz.faces.controller.control import Control, ControlState, FaceState, state_of
from scalarviz.faces.controller.face import Face, Opening
from scalarviz.faces.controller.files_and_links import (
    drop,
    open_run,
    save,
    save_network,
)
from scalarviz.faces.controller.keys import controls_for, keys_of, written_key
from scalarviz.faces.controller.train import Autosave
from scalarviz.faces.window.application import dress, spaced
from scalarviz.faces.window.control_bar import STYLE, WIDTH, ControlBar, edit
from scalarviz.faces.window.picture_widget import View
from scalarviz.scene.layout.division import Division
from scalarviz.stage.commands import COMMANDS
from scalarviz.training.session.timeline import Position

TITLE_BAR = 40  # maximum height of a window title in pixels
SIZE = 1280, 800  # preferred and minimum size of a window
SMALLEST = 640, 420
FRAME = 33  # milliseconds between updates
REST = 5.0  # pause after a picture while training at full speed, relative to its duration
LONGEST_REST = 1000.0  # milliseconds: the first picture of a scene is slow
LOOKS = 2  # frames between updates of the controls when paused
MENUS_MARGIN = 12  # pixels between the menus of the title and the right end
PLAY, PLAY_LEFT = 44.0, 24.0  # size of Play left of the loss curve, and its distance in pixels
BELOW = 22  # pixels from the center of a cube to the field of its value

NAMES = {
    Qt.Key.Key_Space: "space",
    Qt.Key.Key_Return: "enter",
    Qt.Key.Key_Enter: "enter",
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Escape: "escape",
    Qt.Key.Key_F2: "f2",
    Qt.Key.Key_F11: "f11",
}
OTHERS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
WITH_CTRL = {  # as in other programs
    QKeyCombination(CTRL | SHIFT if letter.isupper() else CTRL, Qt.Key(ord(letter.upper()))): key
    for letter, key in ((letter, row.key) for row in COMMANDS.values() for letter in row.ctrl)
}
FIELDS = (QLineEdit, QAbstractSpinBox)  # text input
MOVED_BY_KEYS = (QAbstractButton, QComboBox, QSlider)  # focused only by Tab


@final
class MainWindow(QMainWindow):
    """The main window of a user interface; an error in drawing or training closes it."""

    def __init__(self, face: Face, stop: Stop, keep: Autosave | None = None) -> None:
        super().__init__()
        self.stop = stop
        self.error: Exception | None = None
        self.loop = QEventLoop()
        self.setMinimumSize(*SMALLEST)
        room = self.screen().availableSize() - QSize(0, TITLE_BAR)
        self.resize(QSize(*SIZE).boundedTo(room))
        self.face = face
        self.keep = keep or Autosave()
        self._state: FaceState | None = None
        self._play: object = None
        self._count = 0
        self.opening: Opening | None = None
        self.view = View(face, self.fail)
        self.controls = ControlBar(face)
        self.title = QMenuBar(nativeMenuBar=False)
        self.title.setStyleSheet(STYLE)
        self.menus = Menus(self, (self.title, self.controls.panel.bar))
        face.start_editing = self._start_editing
        face.fill_screen = lambda: self.setWindowState(
            self.windowState() ^ Qt.WindowState.WindowFullScreen
        )
        face.ask_color = self._ask_color
        face.copy_text = QApplication.clipboard().setText
        face.leave = self.close
        self.setCentralWidget(self._make_body())
        self.setAcceptDrops(True)
        self.view.widget.setFocus()
        self._show_state()
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._tick)
        self._timer.start(0)

    def fail(self, error: Exception) -> None:
        """Close the window after an error; the function that opened it raises the first error."""
        if self.error is None:
            self.error = error
            QTimer.singleShot(0, self.close)

    def _make_body(self) -> QWidget:
        body = QWidget()
        layout = spaced(QVBoxLayout(body), spacing=0)
        self._beside = QHBoxLayout()
        self._beside.addWidget(self.view.widget)
        layout.addLayout(self._beside, 1)
        layout.addWidget(self.controls)
        panel = self.controls.panel
        for over in (panel, self.controls.made["edit"]):
            over.setParent(body)
            over.hide()
        self.controls.made["edit"].editingFinished.connect(self.controls.made["edit"].hide)
        panel.takes = self._leave_room
        self._body = body
        return body

    def _leave_room(self, width: int) -> None:
        """Make room for the panel: inside the picture of a single session, or else next to it."""
        if self.face.several:
            self._beside.setContentsMargins(0, 0, width, 0)
        else:
            self.face.stage.common.panel = float(width)
            self.view.stale = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Update the positions of the widgets that are drawn over the picture."""
        super().resizeEvent(event)
        self._place_menus()
        self._place_play()
        self._place_value()
        self.controls.panel.place()

    def _place_menus(self) -> None:
        """Place the menus at the end of the title, or in the panel if there is no title."""
        body, panel, title = self._body, self.controls.panel, self.title
        stage, several = self.face.stage, self.face.several
        high = body.height() - self.controls.height()
        parts = Division.of(body.width(), high, exhibit=WIDTH, panel=WIDTH)
        low = parts.exhibit.y - parts.margin if parts.exhibit.width else parts.strip.y
        ends = (0, high) if several else (int(parts.scene.y), int(low))  # the exhibit stays visible
        panel.free = ends[0], body.height() - ends[1]
        size, stage.common.menus = title.sizeHint(), 0.0
        if several or not parts.head.height:
            return panel.head.addWidget(title)
        stage.common.menus = float(size.width() + MENUS_MARGIN)
        title.setParent(body)
        title.move(
            round(body.width() - stage.common.menus), round((parts.head.height - size.height()) / 2)
        )
        title.resize(size)
        return title.show()

    def _place_play(self) -> None:
        """Place the play button left of the loss curve, or in the control bar without a curve."""
        body, stage, play = self._body, self.face.lead.stage, self.controls.made["play"]
        high, large = float(body.height() - self.controls.height()), stage.common.curve_view.large
        parts = Division.of(body.width(), high, chart=large)
        is_beside = bool(parts.band.height) and not self.face.several
        if (parts, is_beside) == self._play:
            return
        self._play = parts, is_beside
        if not is_beside:
            play.setFixedSize(64, 28)
            self.controls.bar.insertWidget(0, play)
        else:
            band, side = parts.band, min(PLAY * parts.scale, parts.band.height - 2.0)
            left = min(PLAY_LEFT * parts.scale, 0.75 * (parts.curve_left - side))
            play.setParent(body)
            play.setFixedSize(round(side), round(side))
            play.move(round(left), round(band.y + 0.5 * (band.height - side)))
        play.show()

    def _place_value(self) -> None:
        """Place the input field for the value of the pinned weight below its cube."""
        field, stage, whole = self.controls.made["edit"], self.face.stage, self.view.widget
        pinned = self.face.lead.stage.pinned
        at = None if pinned is None else stage.place_of(pinned)
        if at is not None:
            field.resize(field.width(), field.sizeHint().height())
            ends = whole.width() - field.width(), whole.height() - field.height()
            place = np.clip(at + np.array((-field.width() / 2.0, BELOW)), 0.0, ends)
            field.move(*map(round, place.tolist()))

    def _start_editing(self, name: str) -> None:
        """Open the field of a control in the panel; the field for a weight opens at its cube."""
        field, panel = self.controls.made[name], self.controls.panel
        if COMMANDS[name].on_cube:
            self._place_value()
            field.show()
            field.raise_()
        else:
            panel.show_rest()
            if not panel.isVisible():
                panel.turn()
        edit(field)

    def _leave_what_is_open(self) -> bool:
        """Leave full screen, or otherwise close the panel; return False if there is neither."""
        if self.face.stage.common.help:  # covers both
            return False
        if self.isFullScreen():
            self.showNormal()
        elif self.controls.panel.isVisible():
            self.controls.panel.close_now()
        else:
            return False
        return True

    def run(self, opening: Opening | None = None) -> None:
        """Show the window until it is closed; `opening` starts after the first picture.

        Raises:
            KeyboardInterrupt: after a second Ctrl-C.
        """
        self.opening = opening
        self.show()
        self.stop.at_once = self.loop.quit
        self.loop.exec()
        self.stop.at_once = None
        if self.stop.hurried:
            raise KeyboardInterrupt

    def release(self) -> None:
        """Free the memory of the closed window, which cannot be used afterwards."""
        self.view.release()
        shiboken6.delete(self)

    # The timer.

    def _tick(self) -> None:
        """Update everything that has changed; most of the time is left for training."""
        if self.stop.asked:
            self._timer.start(FRAME)  # until it is closed: a dialog may be opening
            while (dialog := QApplication.activeModalWidget()) is not None and dialog.close():
                pass  # modal dialogs would keep the window from closing
            self.close()
            return
        began = perf_counter()
        try:
            if self.opening is not None and self.view.drawn:
                self.opening.attend()
            self.face.attend()
            if self.keep.due and not self.face.time.held:
                self.face.lead.do(partial(self.keep.now, self.face.lead.own_session), name="keep")
            self.face.time.undisturbed(self._refresh)
        finally:
            spent = 1000.0 * (perf_counter() - began)
            rest = min(REST * spent, LONGEST_REST) if self.face.time.flat_out else 1.0
            self._timer.start(round(max(FRAME - spent, rest)))

    def _refresh(self) -> None:
        self._count += 1
        moves = self.face.stage.tick(perf_counter())
        if self.face.time.is_playing:  # controls show the same moment as the picture
            self._show_state(self.face.stage.read())
        elif self._count % LOOKS == 0:
            self._show_state()
        if moves or self.view.stale or self.face.time.is_playing:
            self._place_value()
            self.view.refresh()
            self.view.stale = moves  # moved items are drawn once more at their final position
        # Paint now, instead of when Qt is idle.
        QCoreApplication.sendPostedEvents(self, QEvent.Type.UpdateRequest)

    def _show_state(self, here: Position | None = None) -> None:
        state = state_of(self.face.lead, here)
        if state == self._state and self.controls.shows_all:
            return
        if self._state is None or state.look.theme != self._state.look.theme:
            dress(self, state.look.theme)
        self._state, self.view.stale = state, True
        self.setWindowTitle(f"{state.title} - scalarviz")
        self.menus.show(self.controls.show_state(state))
        self._place_play()

    # Events.

    def showEvent(self, event: QShowEvent) -> None:
        """Install an event filter, so that the window gets keys before the focused widget does."""
        self.windowHandle().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle keys, except those that the focused control needs itself."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._press(event, self.focusWidget())
        return False

    def _press(self, event: QKeyEvent, focus: QWidget | None) -> bool:
        key = Qt.Key(event.key())
        name = NAMES.get(key, event.text().lower())
        if isinstance(focus, FIELDS):
            if key in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter):
                QTimer.singleShot(0, self.view.widget.setFocus)  # after the field has handled it
            return False
        if letter := WITH_CTRL.get(event.keyCombination()):
            return self.face.press(letter)
        if event.modifiers() & OTHERS or not name:
            return False
        if isinstance(focus, MOVED_BY_KEYS) and key in NAMES:
            if name == "escape":
                self.view.widget.setFocus()
            return name == "escape"
        if event.isAutoRepeat() and name == "space":
            return True
        if name == "escape" and self._leave_what_is_open():
            return True
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        is_taken = self.face.press(name, shift)
        if self.face.stage.common.help:  # the list of keys fills the window
            self.controls.panel.close_now()
        return is_taken

    def _ask_color(self, first: FloatArray, picked: Callable[[FloatArray], None]) -> None:
        """Open a color dialog and call `picked` with each choice, or on Cancel with `first`."""
        dialog = QColorDialog(
            QColor.fromRgbF(*first.tolist()),
            self,
            options=QColorDialog.ColorDialogOption.DontUseNativeDialog,
        )
        dialog.setWindowTitle(text("own.pick"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.currentColorChanged.connect(
            lambda color: picked(np.array([color.redF(), color.greenF(), color.blueF()]))
        )
        dialog.rejected.connect(partial(picked, first))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            drop(self.face.lead, files[0])

    def photograph(self, path: str) -> str:
        """Save the picture to a file; return a message about the result."""
        name = path if Path(path).suffix else f"{path}.png"
        widget: Any = self.view.widget
        if widget.grabFramebuffer().save(name):
            return text("notices.exported", path=name)
        return text("notices.not_written", path=name)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop everything, and close the window."""
        self.loop.quit()
        self._timer.stop()
        self.face.quit()
        self.view.close()
        event.accept()


# Menus: at the end of the title, and in the panel of the window.

Act = Callable[[], object]
AT_TITLE = "Scenes", "File"


@final
class Menus:
    """The menus in the two menu bars, at the title and in the panel; entries show their keys."""

    def __init__(
        self,
        window: MainWindow,
        bars: tuple[QMenuBar, QMenuBar],
    ) -> None:
        self.window = window
        face = self.face = window.face
        self.entries: dict[str, QAction] = {}  # by name of the row
        self._controls = [each for each in controls_for(face.state) if each.row.menu]
        others = (each.row.menu for each in self._controls)
        self.menus = {
            name: bars[name not in AT_TITLE].addMenu("&" + name)
            for name in dict.fromkeys((*AT_TITLE, "Time", "View", *others, "Help"))
        }
        self._make_file(self.menus["File"])
        self._make_rows(face.state)
        about = partial(QMessageBox.about, window, "scalarviz", text("menus.about.text"))
        self._add(self.menus["Help"], text("menus.about"), about)

    def _make_file(self, menu: QMenu) -> None:
        of_file = self._of_file
        for what, kind, act, name in (
            ("open", "runs", of_file(open_run), ""),
            ("save", "runs", self._save, "run.safetensors"),
            ("network", "networks", of_file(save_network), "network.safetensors"),
            ("learn", "photos", of_file(drop), ""),
            ("picture", "images", self._export, "network.png"),
        ):
            self._add(menu, text(f"menus.{what}"), partial(self._ask, what, kind, act, name))
        menu.insertSeparator(menu.actions()[4])
        menu.addSeparator()

    def _of_file(self, act: Callable[..., object]) -> Callable[[str], object]:
        """Return a function of a path that applies `act` to the session that is then selected."""
        return lambda path: act(self.face.lead, path)

    def _make_rows(self, state: FaceState) -> None:
        """Add menu entries for controls: one for each control, or one for each name of a choice."""
        for control in self._controls:
            row, names = control.row, tuple(control.names(state))
            menu = self.menus[row.menu]
            if row.kind != "choice":
                self.entries[row.name] = self._add(menu, row.name, partial(self._press, control))
                self.entries[row.name].setCheckable(row.kind == "tick")
            elif row.name == row.menu.lower():
                menu.aboutToShow.connect(partial(self._fill, control, menu))
                self.entries[row.name] = menu.menuAction()
            else:
                for name, key in zip_longest(names, keys_of(row, names), fillvalue=""):
                    act = partial(self.face.act, control, name)
                    self._add(menu, with_key(name.capitalize(), key), act)

    def show(self, changed: Mapping[str, ControlState]) -> None:
        """Update the texts, check marks and enabled states of entries that have changed."""
        for name in self.entries.keys() & changed.keys():
            action, shown, row = self.entries[name], changed[name], COMMANDS[name]
            action.setEnabled(shown.enabled)
            if row.kind != "choice":
                action.setText(with_key(shown.text or shown.about, row.key))
                action.setChecked(bool(shown.value))

    def _press(self, control: Control) -> None:
        """Press the button, or toggle the checkbox, that a menu entry represents."""
        is_button = control.row.kind == "button"
        self.face.act(control, 1 if is_button else not control.get(self.face.state))

    def _fill(self, control: Control, menu: QMenu) -> None:
        """Fill the menu of a choice with its names; the current name is checked."""
        menu.clear()
        group, shown = QActionGroup(menu), control.shown(self.face.state)
        for name in shown.names:
            title = name[:1].upper() + name[1:]
            action = self._add(menu, title, partial(self.face.act, control, name))
            action.setCheckable(True)
            action.setChecked(name == shown.value)
            group.addAction(action)

    def _add(self, menu: QMenu, title: str, act: Act) -> QAction:
        action = menu.addAction(title)
        action.triggered.connect(lambda: act())
        return action

    def _ask(self, what: str, kind: str, act: Callable[[str], object], name: str) -> None:
        """Ask for a file to open, or to save if `name` is given, and call `act` with its path."""
        ask = QFileDialog.getSaveFileName if name else QFileDialog.getOpenFileName
        title, kinds = text(f"dialogs.{what}"), text(f"dialogs.kind.{kind}")
        path, _ = ask(self.window, title, name, kinds)
        if path:
            act(path)

    def _save(self, path: str) -> None:
        save(self.face.lead, Path(path).with_suffix(".safetensors"))

    def _export(self, path: str) -> None:
        self.face.tell(self.window.photograph(path))


def with_key(title: str, key: str) -> str:
    """Return the text of a menu entry with its key at the right."""
    return f"{title}\t{written_key(key).capitalize()}" if key else title
