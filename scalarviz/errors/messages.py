"""Messages of the library, such as that it compiles: they go to the logger "scalarviz".

They are shown on standard error as long as nobody takes them: an application that sets up `logging`
has them in its own handlers. `logging.getLogger("scalarviz").setLevel("WARNING")` silences them.
"""

from __future__ import annotations

import logging
import sys

from scalarviz.errors.visible_text import say

LOG = logging.getLogger("scalarviz")


class OnStandardError(logging.Handler):
    """Shows messages that no other handler takes, every letter visible."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a `record`, one line, unless another handler has it."""
        others = [*LOG.handlers, *(logging.root.handlers if LOG.propagate else [])]
        if others != [self] or sys.stderr is None:
            return
        try:
            say(self.format(record), file=sys.stderr)
        except Exception:  # as the handlers of logging do: a message must stop nothing
            self.handleError(record)


def inform(message: str) -> None:
    """Log a message of level INFO."""
    LOG.info("%s", message)


LOG.addHandler(OnStandardError())
if LOG.level == logging.NOTSET:  # nobody has chosen yet
    LOG.setLevel(logging.INFO)
