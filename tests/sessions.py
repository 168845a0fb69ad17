"""Sessions at the moment at which a test begins."""

from typing import Any, TypeVar

Trained = TypeVar("Trained", bound=Any)


def advanced(session: Trained, *count: Any, **options: Any) -> Trained:
    """The session after `session.advance(*count, **options)`; sweeps and clocks have it too."""
    session.advance(*count, **options)
    return session
