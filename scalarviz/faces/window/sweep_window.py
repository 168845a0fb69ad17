"""SweepWindow: trains and shows a sweep; a click opens one of its networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from scalarviz.base.interrupt import Stop
from scalarviz.base.texts import text
from scalarviz.faces.window.application import (
    LoopWindow,
    application,
    dress,
    ending_without_display,
    having,
    spaced,
    theme_of,
)
from scalarviz.faces.window.picture_widget import drawing_on, make_canvas
from scalarviz.scene.offscreen import is_of_opengl, lost
from scalarviz.stage.background import quick_turns
from scalarviz.stage.show import Show
from scalarviz.stage.sweep_look import SweepLook
from scalarviz.stage.sweep_stage import Run, SweepStage, choices_of
from scalarviz.sweeps.sweep import Sweep

FRAME = 100  # milliseconds between two pictures during training
TALL = 44  # height of the buttons in pixels
LETTERS, WIDEST = 8, 260  # minimum letters in a choice, and its maximum pixels


@final
class SweepWindow(LoopWindow):
    """The window that shows a sweep.

    Attributes:
        opened: setting and seed of the network that the user wants to open, or None
        keys: action of each key
    """

    def __init__(
        self, sweep: Sweep, theme: str, steps: int, stop: Stop, look: SweepLook | None = None
    ) -> None:
        super().__init__(stop)
        self.sweep, self.steps = sweep, steps
        self.stage = SweepStage(sweep, theme, look)
        self.opened: Run | None = None
        self.canvas, self.picture = make_canvas(self._draw, text("sweep.window.picture"), self)
        self.button = having(QPushButton(), minimumWidth=2 * TALL, minimumHeight=TALL)
        self.button.clicked.connect(self.turn)
        self.choices = [self._box(*choice) for choice in choices_of(self.stage).items()]
        self.keys: dict[Qt.Key, Callable[[], object]] = {
            Qt.Key.Key_Space: self.turn,
            Qt.Key.Key_Left: partial(self.stage.move, -1, 0),
            Qt.Key.Key_Right: partial(self.stage.move, 1, 0),
            Qt.Key.Key_Up: partial(self.stage.move, 0, -1),
            Qt.Key.Key_Down: partial(self.stage.move, 0, 1),
            Qt.Key.Key_PageUp: partial(self.stage.page, -1),
            Qt.Key.Key_PageDown: partial(self.stage.page, 1),
            Qt.Key.Key_Return: self.open,
            Qt.Key.Key_Enter: self.open,
            Qt.Key.Key_Escape: self.close,
            Qt.Key.Key_Q: self.close,
        }
        self.label = QLabel()
        self.label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCentralWidget(self._body())
        self.setWindowTitle(text("sweep.window.title"))
        dress(self, theme)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._timer.start(FRAME)
        self.picture.setFocus()
        self._tell()

    def _body(self) -> QWidget:
        body = QWidget()
        layout = spaced(QVBoxLayout(body))
        layout.addWidget(self.picture, 1)
        self.label.setContentsMargins(14, 4, 14, 4)
        layout.addWidget(self.label)
        row = spaced(QHBoxLayout(), (12, 0, 12, 8))
        row.addWidget(self.button)
        for box in self.choices:
            row.addWidget(box, 1)
        layout.addLayout(row)
        return body

    def _box(self, field: str, words: Mapping[Any, str]) -> QComboBox:
        """Return a combo box for a field of SweepLook; `words` are the displayed texts by value."""
        box = QComboBox(
            minimumContentsLength=LETTERS,
            sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon,
        )
        about = text(f"sweep.choose.{field}")
        values, now = [*words], getattr(self.stage.look, field)
        box.addItems([*words.values()])
        box.setCurrentIndex(values.index(now) if now in values else 0)
        box.activated.connect(partial(self._choose, field, values))
        looks = {"accessibleName": about, "toolTip": about}
        return having(box, minimumHeight=TALL, maximumWidth=WIDEST, **looks)

    def _choose(self, field: str, values: list[Any], place: int) -> None:
        self.stage.change(replace(self.stage.look, **{field: values[place]}))
        self.canvas.update()

    def turn(self) -> None:
        """Pause or continue training."""
        try:
            if self.sweep.playing:
                self.sweep.pause()
            elif not self.sweep.done:
                self.sweep.play(self.steps)
        except Exception as error:  # of training: `watch` raises it
            self.fail(error)
        self._tell()

    def _tick(self) -> None:
        if self.stop.asked:
            self.close()
            return
        if not self.sweep.playing:
            try:
                self.sweep.pause()  # raises an error that has ended training
            except Exception as error:  # of any class: scenes are user code
                self.fail(error)
        self._tell()
        self.canvas.update()

    def _tell(self) -> None:
        """Show the progress of the sweep, and what a click would do."""
        now = self.sweep.progressed
        playing = self.sweep.playing
        self.button.setText(text("sweep.window.pause" if playing else "sweep.window.play"))
        self.button.setEnabled(playing or not self.sweep.done)
        words = [text("sweep.window.far", step=now.step, done=now.done, total=now.total)]
        if now.failed:
            words.append(text("sweep.window.failed", failed=now.failed))
        if self.stage.has_pages:
            words.append(text("sweep.window.pages"))
        with_hint = "   ".join([*words, text("sweep.window.hint")])
        room = self.label.contentsRect().width()
        fits = self.label.fontMetrics().horizontalAdvance(with_hint) <= room
        self.label.setText(with_hint if fits else "   ".join(words))

    def _draw(self, event: object) -> None:
        if self.error is not None:
            return
        try:
            with drawing_on(self.canvas) as size:
                self.stage.draw(*size)
        except Exception as error:  # Qt would swallow it
            self.fail(lost(error) if is_of_opengl(error) else error)

    def open(self) -> None:
        """End the event loop, so that the selected network is opened."""
        if self.stage.chosen is not None:
            self.sweep.pause()
            self.opened = self.stage.chosen
            self.loop.quit()

    # Mouse and keyboard.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the mouse: hover to select a network, click to open it, wheel to turn pages."""
        if event.type() == QEvent.Type.Leave:
            self.stage.chosen = None
        elif isinstance(event, QMouseEvent):
            at = event.position()
            self.stage.point(at.x(), at.y())
            if event.type() == QEvent.Type.MouseButtonRelease:
                self.open()
        elif isinstance(event, QWheelEvent) and event.angleDelta().y():
            self.stage.page(-1 if event.angleDelta().y() > 0 else 1)
        else:
            return False
        self.canvas.update()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space pauses, arrows select, Enter opens, Page keys turn pages, Esc and Q close."""
        act = self.keys.get(Qt.Key(event.key()))
        if act is None:
            super().keyPressEvent(event)
        else:
            act()
            self.canvas.update()

    def closeEvent(self, event: QCloseEvent) -> None:
        """End the event loop."""
        self._timer.stop()
        self.loop.quit()
        event.accept()

    def run(self) -> Run | None:
        """Show the window until it is closed or the user opens a network; return this network."""
        self.opened = None
        self.show()
        self.loop.exec()
        return self.opened

    def release(self) -> None:
        """Stop drawing and training; the window cannot be used afterwards."""
        self.picture.removeEventFilter(self)
        self.canvas.events.draw.disconnect(self._draw)
        with drawing_on(self.canvas):
            self.stage.release()


def watch_sweep(
    sweep: Sweep,
    steps: int,
    theme: str,
    size: tuple[int, int] | None,
    look: SweepLook | None = None,
) -> int:
    """Show a sweep in a window until it is closed; return the exit code.

    A click on a network opens it in a separate window; closing that window returns to the sweep.

    Args:
        sweep: the sweep
        steps: number of training steps of each run
        theme: name of a theme, or "auto"
        size: width and height of the window in pixels, or None
        look: initial display options, or None
    """
    application()
    theme = theme_of(theme)
    with quick_turns(), Stop() as stop, ending_without_display():
        window = SweepWindow(sweep, theme, steps, stop, look)
        if size is not None:
            window.resize(*size)
        try:
            while (run := window.run()) is not None:
                from scalarviz.faces.controller.face import WatchOptions
                from scalarviz.faces.window.window import watch
                from scalarviz.stage.render_options import RenderOptions

                window.hide()
                one = Show(sweep[run], title=sweep.name_of(*run))
                watch(one, WatchOptions(look=RenderOptions(theme=theme), play=False))
        finally:
            window.release()
    if window.error is not None:
        raise window.error
    return stop.code
