"""Two hundred readers of a served training: all get its newest state, it goes on, memory is flat.

    PROOFS_SHARE=30 python -m pytest -m "" tests/proofs/test_readers.py

takes half an hour instead of a minute.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.faces.browser.test_served_in_browser import serving
from tests.proofs.report import Proof

READERS = 200
SLOW = 20  # of them stop reading for a while
SECONDS = 60
RATE = 400.0  # steps a second, while the memory is looked at
FASTEST = 6.0  # seconds in which it goes as fast as it can
LEAST = 0.1  # of the steps without readers that there are with them
SOON = 15.0  # seconds until each reader has a state of now
PARTS = 5  # of the time: what memory is in the last one is compared with the second
GROWTH = 24 * 2**20  # bytes
STATE = re.compile(rb'"n":(\d+)')
STEP = re.compile(rb'"step":(\d+)')

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]


class Reader:
    """A page that takes each state, unless it rests."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.reads = asyncio.Event()
        self.reads.set()
        self.step, self.states = -1, 0
        self.numbers = count(1)
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            await self.reads.wait()
            frame = await self.connection.recv(decode=False)
            head = frame[4 : 4 + int.from_bytes(frame[:4], "little")]
            if found := STATE.findall(head):
                self.step, self.states = int(STEP.findall(head)[0]), self.states + 1
                await self.connection.send(json.dumps({"taken": int(found[-1])}))

    async def ask(self, name: str, **args: Any) -> None:
        words = {"id": next(self.numbers), "name": name, "args": args}
        await self.connection.send(json.dumps(words))


class Readers:
    """Readers of one server."""

    def __init__(self, port: int, token: str, process: int, stack: AsyncExitStack) -> None:
        self._port, self._token, self._process, self._stack = port, token, process, stack
        self.all: list[Reader] = []
        self.memory: list[int] = []
        self.newest = 0  # a step that has been taken

    async def join(self) -> Reader:
        address = f"ws://127.0.0.1:{self._port}/socket"
        connection = await self._stack.enter_async_context(
            connect(address, proxy=None, max_queue=1, ping_interval=None, close_timeout=1)
        )
        await connection.send(json.dumps({"token": self._token}))
        reader = Reader(connection)
        await reader.ask("open", version=1)
        self.all.append(reader)
        self._stack.callback(reader.task.cancel)
        return reader

    def check(self) -> None:
        """No reader has lost its connection."""
        for reader in self.all:
            assert not reader.task.done(), reader.task

    async def are_current(self) -> float:
        """Seconds until each reader that reads has a state that is not older than now."""
        began = time.monotonic()
        while (late := time.monotonic() - began) < SOON:
            if all(each.step >= self.newest for each in self.all if each.reads.is_set()):
                return late
            await asyncio.sleep(0.01)
        steps = sorted(each.step for each in self.all if each.reads.is_set())
        raise AssertionError(f"after {SOON:g} s of {self.newest} readers have {steps}")

    async def speed(self, seconds: float) -> float:
        """Steps a second."""
        first, began = self.all[0], time.monotonic()
        step = first.step
        await asyncio.sleep(seconds)
        self.check()
        return (first.step - step) / (time.monotonic() - began)

    def look(self) -> None:
        pages = int(Path(f"/proc/{self._process}/statm").read_text().split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))


async def read_by_many(readers: Readers, seconds: float) -> dict[str, Any]:
    first = await readers.join()
    for _ in range(2):  # from the end of what is played at first it goes on without one
        await first.ask("play", rate=None)
        await asyncio.sleep(2.0)
    alone = await readers.speed(FASTEST)
    for _ in range(READERS - SLOW - 1):
        await readers.join()
    await asyncio.sleep(2.0)
    with_many = await readers.speed(FASTEST)
    await first.ask("reset")
    began = time.monotonic()
    while first.step:
        assert time.monotonic() - began < SOON, first.step
        await asyncio.sleep(0.01)
    await first.ask("play", rate=RATE)
    await asyncio.sleep(2.0)
    late = [await readers.join() for _ in range(SLOW)]
    readers.newest = first.step
    joined = await readers.are_current()
    for each in late:
        each.reads.clear()
    states, began = sum(each.states for each in readers.all), time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(1.0)
        readers.check()
        readers.look()
    states = sum(each.states for each in readers.all) - states
    for each in late:
        each.reads.set()
    readers.newest = first.step
    return {
        "alone": alone,
        "with many": with_many,
        "joined": joined,
        "woken": await readers.are_current(),
        "states": states / (READERS - SLOW) / seconds,
    }


def test_two_hundred_readers_of_a_training(proof: Proof) -> None:
    seconds = proof.count(SECONDS)
    with serving("--port", "0") as served:

        async def all_of_it() -> tuple[dict[str, Any], list[int]]:
            async with AsyncExitStack() as stack:
                readers = Readers(served.port, served.token, served.process.pid, stack)
                return await read_by_many(readers, seconds), readers.memory

        found, memory = asyncio.run(all_of_it())
    part = len(memory) // PARTS
    means = [sum(memory[i * part :][:part]) / part / 2**20 for i in range(PARTS)]
    proof.tried = [
        f"{READERS} readers over loopback for {seconds} s, {SLOW} of which come late and then do "
        "not read"
    ]
    proof.found = [
        f"{found['alone']:,.0f} steps a second with one reader, {found['with many']:,.0f} with "
        f"{READERS - SLOW}",
        f"{found['states']:.1f} states a second for each",
        f"those who came late had the newest state in {found['joined']:.1f} s, those who read "
        f"again in {found['woken']:.1f} s",
        f"memory held {', '.join(f'{each:.0f}' for each in means)} MiB in each fifth",
    ]
    assert found["with many"] > LEAST * found["alone"], found
    assert (means[-1] - means[1]) * 2**20 < GROWTH, means
