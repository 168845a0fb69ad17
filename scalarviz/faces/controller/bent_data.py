"""needs_hidden_layers: whether a network learns what one layer cannot."""

from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.core.layers import Dense
from scalarviz.data.data_set import TableSet
from scalarviz.training.session.session import Session

SAMPLED = 500  # samples by which it is decided
BENT = 0.25  # share of them that one weighted sum gets wrong, from which on this is seen
IS_BENT: WeakKeyDictionary[TableSet, bool] = WeakKeyDictionary()


def needs_hidden_layers(session: Session) -> bool:
    """Return whether Dense layers learn what one weighted sum of the inputs gets wrong."""
    data, layers = session.data, session.network.layers
    dense = len(layers) > 1 and all(isinstance(each, Dense) for each in layers)
    if not dense or data.outputs != 1 or not isinstance(data, TableSet):
        return False
    if data not in IS_BENT:
        x, y = (np.asarray(part[:SAMPLED], np.float64) for part in data.training)
        x = np.column_stack([x, np.ones(len(x))])
        above = x @ np.linalg.lstsq(x, y)[0] > y.mean()
        IS_BENT[data] = bool((above != (y > y.mean())).mean() >= BENT)
    return IS_BENT[data]
