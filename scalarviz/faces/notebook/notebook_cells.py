"""Notebook cells: detection, the running cell, and its output."""

from __future__ import annotations

import asyncio
import sys
from html import escape
from typing import Any

from scalarviz.base.checks import not_copied
from scalarviz.base.messages import say
from scalarviz.base.package_files import text_beside
from scalarviz.base.processes import shell
from scalarviz.base.texts import text
from scalarviz.errors import InputError

SIZE = 800, 560  # pixels of a session's page below its cell


def run_of(found: Any) -> tuple[str, int]:
    """Return the id of the running cell, or "", and the execution count."""
    try:
        return str(found.kernel.get_parent("shell")["metadata"]["cellId"]), found.execution_count
    except (AttributeError, KeyError, TypeError):
        return "", 0


def in_notebook() -> bool:
    """Return whether the program runs in a notebook."""
    return shell() is not None


def in_marimo() -> bool:
    """Return whether the program runs in a marimo notebook, which is not IPython."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and marimo.running_in_notebook()


def loop_of_cells() -> asyncio.AbstractEventLoop:
    """Return the event loop of the thread that runs cells; raise InputError in another thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise InputError(
            "a training run is shown by a cell: call sv.watch there, not in another thread"
        ) from None


class CellOutput:
    """An output that its cell shows immediately, and not again if it is the last value of the cell.

    `bundle` returns its representations by mime type, which are shown without a kernel. `live`
    returns a widget, which requires a kernel, or None. The widget is a separate output, because
    notebook viewers show only one representation of an output and prefer widgets. A style sheet
    hides one of the two outputs.
    """

    _cell: int | None = None

    __reduce_ex__ = not_copied(
        "what shows a training in a page",
        "copy the session with s.copy(), or keep it with s.save(path)",
    )

    def bundle(self) -> dict[str, Any]:
        raise NotImplementedError

    def live(self) -> Any:
        return None

    def _publish(self, **more: bool) -> None:
        """Store the representations in the notebook; with update=True, replace the stored ones."""
        mark = {"display_id": f"scalarviz-{id(self)}"}
        if (found := shell()) is not None:
            found.display_pub.publish(self.bundle(), transient=mark, **more)

    def renew(self) -> None:
        """Update the output in the cell that shows it."""
        if self._cell is not None:
            self._publish(update=True)

    def show(self) -> None:
        """Show the output in the running cell; no-op outside a notebook."""
        found = shell()
        if found is not None:
            self._cell = found.execution_count
            self._publish()
            if (widget := self.live()) is not None:
                words, style = text("notebook.again"), text_beside(__file__, "again.css")
                again = f'<p class="scalarviz-again">{escape(words)}</p><style>{style}</style>'
                found.display_pub.publish({"text/plain": words, "text/html": again})
                self._publish_live(widget)

    def _publish_live(self, widget: Any, **more: bool) -> None:
        """Show a widget as a separate output; with update=True, in place of an earlier one."""
        made = widget._repr_mimebundle_()
        # anywidget adds metadata by which Colab finds the script of a widget.
        data, about = made if isinstance(made, tuple) else (made, {})
        mark = {"display_id": f"scalarviz-{id(self)}-live"}
        shell().display_pub.publish(
            {**data, "text/plain": ""}, metadata=about, transient=mark, **more
        )

    def _ipython_display_(self) -> None:
        found = shell()
        if found is None:
            say(*repr(self).splitlines())
        elif found.execution_count != self._cell:
            self.show()
