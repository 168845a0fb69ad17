"""The table that a session learns from."""

import scalarviz as sv
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import TableSet


def training_of(session: sv.Session) -> Pair:
    """Its inputs and targets, one row a sample."""
    assert isinstance(session.data, TableSet)
    return session.data.training
