"""Origin: the session that another one was made from, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session


@final
@dataclass(frozen=True, eq=False)
class Origin:
    """Where a session came from that has a neuron or a layer more or less than another one.

    did        what was done, such as "1 neuron added to layer 0"
    step       steps that the earlier session had done
    operation  operations that it had done of the step after them
    session    the earlier Session, which stays as it is; None in a session from a file
    rows       int64: for each row of this bank the row of the earlier one, or -1 for a new weight;
               None in a session from a file
    """

    did: str
    step: int = 0
    operation: int = 0
    session: Session | None = None
    rows: npt.NDArray[np.int64] | None = None

    def __str__(self) -> str:
        within = f", operation {self.operation}" if self.operation else ""
        return f"from step {self.step:,}{within}: {self.did}"

    def __repr__(self) -> str:
        return f"Origin({self})"
