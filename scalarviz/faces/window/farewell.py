"""Farewell: asks what to do with exports in progress when a window is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from scalarviz.base.texts import plural, text
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.export import named
from scalarviz.faces.controller.group import Group
from scalarviz.faces.window.look import dress

Role = QDialogButtonBox.ButtonRole


@final
class Farewell(QDialog):
    """Asks what becomes of the files being written: they are finished without the window, or not.

    `leave` closes the window; it is called after the answer, and when they are written.
    """

    def __init__(
        self, parent: QWidget, controller: Controller | Group, leave: Callable[[], object]
    ) -> None:
        super().__init__(parent)
        self.group = Group.of(controller)
        self.leave = leave
        self._failures = 0
        self.setWindowTitle("scalarviz")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 18, 20, 16)
        layout.setSpacing(14)
        self.said = QLabel()
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.said.setWordWrap(True)
        self.said.setMinimumWidth(380)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(text("farewell.bar"))
        buttons = QDialogButtonBox()
        self.finish = QPushButton(text("farewell.finish"))
        self.discard = QPushButton(text("farewell.discard"))
        self.stay = QPushButton(text("farewell.stay"))
        buttons.addButton(self.finish, Role.AcceptRole)
        buttons.addButton(self.discard, Role.DestructiveRole)
        buttons.addButton(self.stay, Role.RejectRole)
        for part in (self.said, self.bar, buttons):
            layout.addWidget(part)
        self.finish.clicked.connect(self._finish)
        self.discard.clicked.connect(self._discard)
        self.stay.clicked.connect(self.reject)

    @property
    def needed(self) -> bool:
        """Whether files are being written."""
        return bool(self.group.lead.exports.going)

    def ask(self) -> None:
        """Open the dialog; the window stays open meanwhile."""
        names = self.group.lead.exports.going
        self.said.setText(plural("farewell.asking", len(names), names=named(names)))
        dress(self, self.group.stage.theme)
        self._failures = self.group.lead.exports.failures
        self._show_progress()
        self.finish.setDefault(True)
        self.finish.setFocus()
        self.adjustSize()
        self.open()

    def attend(self) -> None:
        """Close the window once all files are written; if one failed, only the dialog."""
        if not self.isVisible():
            return
        if self.needed:
            self._show_progress()
            return
        self.hide()
        if self.group.lead.exports.failures == self._failures:
            self.leave()

    def _show_progress(self) -> None:
        done, total = self.group.lead.exports.counts
        self.bar.setRange(0, total)  # 0: it only says that something goes on
        self.bar.setValue(done)

    def _finish(self) -> None:
        self.group.lead.exports.lasting = True
        self.hide()
        self.leave()

    def _discard(self) -> None:
        self.group.lead.cancel_exports()
        self.hide()
        self.leave()
