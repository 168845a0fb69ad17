"""Numbers of a bank that are on a device: when they are fetched."""

from threading import Thread

from scalarviz.core.device_arrays import Away
from scalarviz.engines.kernel_threads import Guard


class Keeper:
    """Counts how often its numbers are fetched."""

    count = 0

    def fetch(self) -> None:
        self.count += 1


def test_they_are_not_fetched_within_a_portion_of_another_thread() -> None:
    away, keeper, guard = Away(), Keeper(), Guard()
    away.leave(keeper)
    with guard:  # as a portion of background play holds it
        reader = Thread(target=away.fetch, args=(guard,))
        reader.start()
        reader.join()
        assert keeper.count == 0 and away.keeper is keeper
        away.fetch(guard)
        assert keeper.count == 1 and away.keeper is None
    away.leave(keeper)
    away.fetch(guard)
    assert keeper.count == 2
