"""scikit-learn estimators: networks for pipelines and searches; needs the `sklearn` extra.

flowers = sv.sklearn.Classifier(hidden=(8,), random_state=0).fit(X, y)
flowers.predict(X)
sv.watch(flowers)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.training.sklearn.estimators import Classifier as Classifier
    from scalarviz.training.sklearn.estimators import Regressor as Regressor

__all__ = ["Classifier", "Regressor"]


def __getattr__(name: str) -> Any:
    """Import a class on first use, since that also imports scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"sv.sklearn has no {name!r}: it has {' and '.join(__all__)}")
    try:
        found = getattr(import_module("scalarviz.training.sklearn.estimators"), name)
    except ImportError as error:
        raise InputError(
            f"sv.sklearn needs scikit-learn 1.6 or newer: {pip_command('sklearn')}"
        ) from error
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
