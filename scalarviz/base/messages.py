"""Messages of the library, such as that kernels are being compiled: the logger "scalarviz".

They are shown on standard error unless an application sets up `logging`; then its handlers get
them. `logging.getLogger("scalarviz").setLevel("WARNING")` silences them.
"""

from __future__ import annotations

import logging
import sys
import warnings
from traceback import walk_stack

from scalarviz.base.visible_text import say

LOG = logging.getLogger("scalarviz")


class OnStandardError(logging.Handler):
    """Prints messages on standard error if no other handler is set up."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a `record` in one line, unless there is another handler."""
        others = [*LOG.handlers, *(logging.root.handlers if LOG.propagate else [])]
        if others != [self] or sys.stderr is None or getattr(record, "is_shown", False):
            return
        try:
            say(self.format(record), file=sys.stderr)
        except Exception:  # like the handlers of logging: a message must not stop the program
            self.handleError(record)


def inform(message: str, *, is_shown: bool = False) -> None:
    """Log a message of level INFO.

    is_shown  something else shows it on this screen: only handlers of an application get it
    """
    LOG.info("%s", message, extra={"is_shown": is_shown})


def caution(message: str) -> None:
    """Warn of what is surely a mistake, or other than before, at the line that called us."""
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    ours = [each.f_globals.get("__name__", "").startswith(f"{LOG.name}.") for each in frames]
    warnings.warn(message, stacklevel=2 + [*ours, False].index(False))


def is_informed() -> bool:
    """Return whether messages of level INFO are logged."""
    return LOG.isEnabledFor(logging.INFO)


LOG.addHandler(OnStandardError())
if LOG.level == logging.NOTSET:  # unless the application has set a level
    LOG.setLevel(logging.INFO)
