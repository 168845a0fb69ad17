"""CaptionPointer: the mouse over the caption."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.session.caption import Piece

if TYPE_CHECKING:
    from scalarviz.view.picture import Picture


@final
class CaptionPointer:
    """What the mouse does with the caption on the last picture.

    pointed  the piece under it, or None
    opened   whether all terms are shown in a panel, which a click on "... 5 more" opens
    """

    def __init__(self) -> None:
        self.pointed: Piece | None = None
        self.opened = False

    def hover(self, picture: Picture | None, x: float, y: float) -> bool:
        """Point at the piece at a pixel; return whether it is on the caption or its panel."""
        over = piece_at(picture, x, y)
        self.pointed = over if over is not None and over.words else None
        return over is not None

    def click(self, picture: Picture | None, x: float, y: float) -> bool:
        """Open the panel for a click on what opens it, close it for any; return whether it did."""
        over = piece_at(picture, x, y)
        if self.opened or (over is not None and over.opens):
            self.opened = not self.opened
            return True
        return False

    def close(self) -> bool:
        """Close the panel; return whether it was open."""
        was, self.opened = self.opened, False
        return was


def piece_at(picture: Picture | None, x: float, y: float) -> Piece | None:
    """Return the piece at a pixel, one without words for the panel; None if there is none."""
    told = [] if picture is None else picture.told
    return next((piece for box, piece in told if box.has(x, y)), None)
