"""A snapshot can be awaited: a loop of asyncio goes on until it is there."""

import asyncio
import threading

import numpy as np

import scalarviz as sv


def session() -> sv.Session:
    return sv.Session(sv.Network([3, 4, 3], seed=0), sv.data.Rgb(), engine="python")


def test_a_snapshot_is_awaited() -> None:
    s = session()

    async def look() -> list[float]:
        before = await s.snapshot()
        s.advance(3)
        after = await s.snapshot()
        assert not np.array_equal(before.value, after.value)
        found: list[float] = after.value.tolist()
        return found

    assert asyncio.run(look()) == s.network.bank.value.tolist()


def test_other_tasks_go_on_while_a_busy_session_is_awaited() -> None:
    s = session()
    busy, free, seen = threading.Event(), threading.Event(), []

    def hold() -> None:
        with s.doing():
            busy.set()
            free.wait(30.0)

    async def other() -> None:
        for i in range(3):
            seen.append(i)
            await asyncio.sleep(0.002)
        free.set()

    async def look() -> None:
        shot = s.snapshot()
        shot.request()
        assert not shot.ready
        found, _ = await asyncio.gather(shot, other())
        assert found.value.tolist() == s.network.bank.value.tolist()

    thread = threading.Thread(target=hold)
    thread.start()
    busy.wait(30.0)
    asyncio.run(look())
    thread.join()
    assert seen == [0, 1, 2]
