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

from scalarviz.controller.controller import Controller
from scalarviz.texts import plural, text
from scalarviz.window.look import dress

Role = QDialogButtonBox.ButtonRole


@final
class Farewell(QDialog):
    """Asks whether to wait for the files being written.

    `leave` closes the window; it is called when they are written or discarded.
    """

    def __init__(
        self, parent: QWidget, controller: Controller, leave: Callable[[], object]
    ) -> None:
        super().__init__(parent)
        self.controller = controller
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
        self.bar.setRange(0, 0)  # indeterminate
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
        self.finish.clicked.connect(self._wait)
        self.discard.clicked.connect(self._discard)
        self.stay.clicked.connect(self.reject)

    @property
    def needed(self) -> bool:
        """Whether files are being written."""
        return bool(self.controller.exports.going)

    def ask(self) -> None:
        """Open the dialog; the window stays open meanwhile."""
        self._say("asking")
        dress(self, self.controller.state.theme)
        self._failures = self.controller.exports.failures
        self.bar.hide()
        self.finish.show()
        self.finish.setDefault(True)
        self.finish.setFocus()
        self.adjustSize()
        self.open()

    def attend(self) -> None:
        """Close the window once all files are written; if one failed, only the dialog."""
        if not self.isVisible() or self.needed:
            return
        self.hide()
        if self.controller.exports.failures == self._failures:
            self.leave()

    def _wait(self) -> None:
        self.controller.pause()  # training slows down the export
        self._say("finishing")
        self.finish.hide()
        self.bar.show()
        self.stay.setFocus()
        self.adjustSize()

    def _discard(self) -> None:
        self.controller.exports.stop()
        self.hide()
        self.leave()

    def _say(self, what: str) -> None:
        *others, last = self.controller.exports.going or [text("farewell.it")]
        names = text("farewell.and", most=", ".join(others), last=last) if others else last
        self.said.setText(plural(f"farewell.{what}", 1 + len(others), names=names))
