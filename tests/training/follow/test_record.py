"""The record of a followed training: damaged, cut off, or written by an attacker."""

import copy
import json
import tracemalloc
import zlib
from contextlib import suppress
from dataclasses import asdict
from functools import reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError, OrderError, ScalarvizError
from scalarviz.training.follow import record, sources
from scalarviz.training.follow.followed import Head, RecordedStep
from scalarviz.training.follow.modules import FollowedModel
from scalarviz.training.follow.record import ENTRY, MAGIC, STEP, Recorder, checksum
from tests.proofs.mutants import ODD, leaves
from tests.training.follow.test_following import net, path, train
from tests.training.follow.witness import bits
from tests.wording import refused

__all__ = ["net", "path"]
pytestmark = pytest.mark.usefixtures("dense")


def numbers_in(path: Path) -> tuple[dict[tuple[str, int], Any], bytes]:
    """Read all there is, as a viewer does; return the bits by kind and step, and losses."""
    followed = sv.load(path)
    session = followed.session
    session.advance(2)
    session.back()
    with suppress(OrderError):  # it may have no statistics
        sv.diagnose(followed)
        assert " look" in repr(followed.health())
    assert (
        f"{followed!r} {followed.notes} {session.losses} {followed.gradients(session.step_index)}"
        f"{followed.parameters(session.step_index)} {followed.structure}"
    )
    for step in followed.probe_steps.tolist():
        with suppress(FileError):
            followed.probe(step)
    found = {
        (name, step): value
        for name, pairs in followed.scalars.items()
        for step, value in zip(*pairs, strict=True)
    }
    for step in followed.whole_steps.tolist():
        found["all", step] = bits(followed.parameters(step), "<f4")
    for step in followed.steps.tolist():
        with suppress(FileError):
            kept = followed.kept(step)
            found["chosen", step] = bits({**kept.parts, "rates": kept.rates}, "<f8")
    return found, followed.losses.tobytes()


def test_a_step_is_a_number_and_a_damaged_head_is_called_damaged(small: bytes, path: Path) -> None:
    followed = sv.load(path)
    for bad in ("a", None, [1], 0.5, True):
        for read in (followed.parameters, followed.gradients, followed.probe):
            refused(InputError, "step must be an integer of at least 0").by(read, bad)
    place = small.index(b"HEAD") + ENTRY.size
    path.write_bytes(small[:place] + b"?" + small[place + 1 :])
    for read in (repr, sv.diagnose):
        refused(FileError, f"from byte {place - ENTRY.size} on it is damaged").by(
            read, sv.load(path)
        )


@pytest.fixture
def small(torch: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A record with steps, some of them written over others, a note, and whole weights."""
    monkeypatch.setattr(sources, "MOST_WHOLE", 8)
    monkeypatch.setattr(sources, "CHOSEN", 4)
    net = torch.nn.Sequential(torch.nn.Linear(20, 2), torch.nn.Linear(2, 1))
    net.__dict__["1"].bias.numbers[:] = np.nan
    with sv.follow(net, path, show=None, size=22_000) as run:
        train(torch, net, 8, torch.optim.SGD(net.parameters(), 0.1), run=run)
    data = path.read_bytes()
    assert all(kind in data for kind in (b"MOVE", b"NOTE", b"FULL", b"DONE"))
    return data


def assert_reads_less(path: Path, data: bytes, known: tuple[Any, bytes]) -> bool:
    """What is read is known, or the error is one sentence; return whether it is less."""
    path.write_bytes(data)
    try:
        found, losses = numbers_in(path)
    except FileError as error:
        return str(error).isprintable()
    assert found.items() <= known[0].items() and known[1].startswith(losses)
    return (found, losses) != known


def test_of_a_damaged_file_nothing_wrong_is_read(small: bytes, path: Path) -> None:
    known, less = numbers_in(path), 0
    for place in range(0, len(small), 11):
        damaged = bytearray(small)
        damaged[place] ^= 1 << place % 8
        less += assert_reads_less(path, bytes(damaged), known)
    assert less > len(small) / 22


def test_what_a_killed_writer_has_left_can_be_read(small: bytes, path: Path) -> None:
    known = numbers_in(path)
    cuts = [*range(0, len(small), 197), *range(len(small) - 200, len(small))]
    less = [assert_reads_less(path, small[:end], known) for end in cuts]
    assert sum(less) > len(cuts) - 60 and not less[-1]  # the last entries have no numbers


def entry(kind: bytes, content: bytes) -> bytes:
    return ENTRY.pack(kind, checksum(kind, [content]), len(content)) + content


def header(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a record, and the entries after it."""
    length = ENTRY.unpack_from(data, len(MAGIC))[2]
    place = len(MAGIC) + ENTRY.size
    return json.loads(data[place : place + length]), data[place + length :]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["dtype"], "object"),
        (["dtype"], ["float32"]),
        (["parts"], ["value", "soul"]),
        (["parts"], []),
        (["parts"], ["gradient"]),
        (["parts"], ["value", "value"]),
        (["parts"], ["gradient", "value"]),
        (["arrays", 0, "pick"], [1]),
        (["arrays", 0, "pick"], [0, 1]),
        (["arrays"], {}),
        (["arrays"], []),
        (["probe"], {"shape": [1], "numbers": [10**400]}),
        (["modules"], []),
        (["modules"], 3),
        (["optimizers"], []),
        (["optimizers"], [{"kind": "SGD", "settings": {"momentum": "a"}}]),
        (["optimizers"], [{"kind": "Adam", "settings": 3}]),
        (["probe"], 3),
        (["probe"], {"shape": [10**12], "numbers": [0.0]}),
        (["probe"], {"shape": ["a"], "numbers": "b"}),
        (["modules", 0, "settings"], [1]),
        (["modules", 0, "kind"], "Softmax"),
        (["modules", 0, "kind"], "MaxPool2d"),
        (["arrays", 0, "shape"], [10**12, 10**12]),
        (["arrays", 0, "shape"], [10**15, 0]),
        (["arrays", 0, "shape"], [2, *[1] * 90, 3]),
        (["arrays", 0, "shape"], [3.0, 2]),
        (["arrays", 0, "shape"], [-3, -2]),
        (["arrays", 0, "shape"], 6),
        (["arrays", 0, "module"], None),
        (["arrays", 0, "name"], ["a"] * 1000),
        (["arrays", 1, "name"], "0.weight"),
    ],
)
@pytest.mark.parametrize("is_chain", [False, True])
def test_a_hostile_header_costs_a_sentence(
    place: list[Any], value: Any, is_chain: bool, torch: Any, path: Path
) -> None:
    net, probe = torch.nn.Sequential(torch.nn.Linear(3, 2)), np.ones(3)
    with sv.follow(net, path, show=None, probe=probe) as run:
        train(torch, net, 3, torch.optim.Adam(net.parameters()), run=run)
    head, rest = header(path.read_bytes())
    head["chain"] = is_chain
    reduce(getitem, place[:-1], head)[place[-1]] = value
    path.write_bytes(MAGIC + entry(b"HEAD", json.dumps(head).encode()) + rest)
    assert_small(path)


def test_statistics_of_a_chain_that_is_not_drawn_are_left_out() -> None:
    shapes = {"0.weight": (2, 3), "0.bias": (2,), "lost": (2,)}
    shapes |= dict.fromkeys(("1.weight", "1.bias", "1.running_mean", "1.running_var"), (2,))
    arrays = [
        sources.Array(name, shape, name.rpartition(".")[0], is_buffer="running" in name)
        for name, shape in shapes.items()
    ]
    norm = {"affine": True, "eps": 1e-5, "momentum": 0.1, "num_features": 2}
    given = {
        "title": "", "dtype": "float32", "parts": ["value"], "arrays": [*map(asdict, arrays)],
        "modules": [{"name": "0", "kind": "Linear", "settings": {}},
                    {"name": "1", "kind": "BatchNorm1d", "settings": norm}],
        "chain": True, "optimizers": [], "probe": None,
    }  # fmt: skip
    head = Head(json.loads(json.dumps(given)))
    kept = RecordedStep(1, head, {"value": np.ones(head.count)}, np.ones((2, 7)), np.ones((7, 3)))
    model = FollowedModel(head)  # one array is in no module of the chain
    model.write(kept, "value", model.network.bank)
    assert not model.computes and (model.network.bank.value == 1.0).all()


def assert_small(path: Path) -> None:
    """All is read within little memory, or it costs a sentence."""
    tracemalloc.start()
    with suppress(ScalarvizError):
        numbers_in(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2e7


HUGE = b"PAGE" + bytes(4) + b"\xff" * 7 + b"\x0f"


@pytest.mark.parametrize(
    "entries",
    [
        entry(b"HEAD", b"[" * 100_000),
        entry(b"HEAD", b"[]"),
        entry(b"HEAD", b"\xff"),
        entry(b"NOTE", b"3") + entry(b"NOTE", b'{"text": ["\\u001b[2J"]}'),
        entry(b"NOTE", b"{}"),
        entry(b"NOTE", b'{"kind": "nan", "step": "x", "text": ""}'),
        entry(b"NOTE", b'{"kind": "nan", "step": 1, "where": ["a"], "text": ""}'),
        entry(b"NOTE", b'{"kind": "nan", "step": 1.5, "where": "", "text": ""}'),
        entry(b"NOTE", HUGE) + entry(b"MOVE", STEP.pack(len(MAGIC))),
        entry(b"STAT", HUGE) + entry(b"MOVE", STEP.pack(len(MAGIC) + ENTRY.size)),
        entry(b"MOVE", STEP.pack(2**64 - 1)),
        entry(b"MOVE", b""),
        entry(b"LOSS", STEP.pack(2**62) + STEP.pack(1) + bytes(8)),
        entry(b"LOSS", STEP.pack(0) + STEP.pack(1) + bytes(7)),
        entry(b"LOSS", STEP.pack(0) + STEP.pack(2**60) + bytes(8)),
        entry(b"LOSS", STEP.pack(0) + STEP.pack(0) + bytes(8)),
        entry(b"LOSS", STEP.pack(0) + STEP.pack(2**64 - 1)),
        entry(b"LOSS", STEP.pack(0) + STEP.pack(2**22) + bytes(8)),
        entry(b"STAT", STEP.pack(0) + bytes(7)),
        entry(b"PAGE", b""),
        entry(b"PAGE", STEP.pack(2**63) + STEP.pack(2**63)),
        entry(b"PAGE", STEP.pack(2**63) + STEP.pack(0)),
        entry(b"FULL", STEP.pack(7) + STEP.pack(0)),
        entry(b"FORM", b"") + entry(b"LOOK", STEP.pack(1) + STEP.pack(0) + bytes(9)),
        entry(b"LOOK", STEP.pack(1) + STEP.pack(0)),
        HUGE,
        b"SOUL" + bytes(12),
        entry(b"TREE", b"") + entry(b"TREE", b"text") + entry(b"TREE", zlib.compress(b"{}")[:-1]),
        entry(b"TREE", zlib.compress(bytes(10**8))),
        entry(b"TREE", zlib.compress(b"[" * 100_000)),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_hostile_entries_cost_a_sentence(
    entries: bytes, is_first: bool, small: bytes, path: Path
) -> None:
    place = len(MAGIC)
    path.write_bytes(small[:place] + entries + small[place:])
    if not is_first:
        path.write_bytes(small[: small.rindex(b"DONE")] + entries)
    assert_small(path)


STRUCTURE = {
    "version": 1, "lack": "", "cost_ms": 1.5,
    "frames": [
        {"path": "a", "kind": "A", "parent": -1, "first": 0, "times": 1, "within": []},
        {"path": "a.b", "kind": "B", "parent": 0, "first": 1, "times": 2, "within": ["encode"]},
    ],
    "nodes": [
        {"id": 0, "kind": "input", "name": "x", "path": "", "frame": -1, "times": 1, "out": False,
         "arrays": [], "sizes": [], "shared": [], "settings": {}, "shape": [2, 3], "ways": [],
         "within": []},
        {"id": 1, "kind": "module", "name": "Linear", "path": "a.b", "frame": 1, "times": 2,
         "out": True, "arrays": ["a.b.weight"], "sizes": [[4, 3]], "shared": ["c.weight"],
         "settings": {"by": 0.5, "stride": [2, 1], "causal": True, "mode": "same"},
         "shape": [2, 4], "ways": [["view", [2, 2, 2]]], "within": ["encode"]},
    ],
    "edges": [[0, 1, [2, 3]]],
}  # fmt: skip


def structure_in(path: Path, small: bytes, content: bytes) -> dict[str, Any]:
    """Return the structure that is read of a record with an entry TREE."""
    path.write_bytes(small[: small.rindex(b"DONE")] + entry(b"TREE", content))
    followed = sv.load(path)
    assert followed.record.lack == "" and len(followed.steps) > 1
    return followed.structure


def packed(structure: Any) -> bytes:
    return zlib.compress(json.dumps(structure).encode())


def test_the_last_structure_is_read(small: bytes, path: Path) -> None:
    found = structure_in(path, small, packed(STRUCTURE))
    written = json.loads(json.dumps(found))
    assert written == {name: STRUCTURE[name] for name in ("lack", "frames", "nodes", "edges")}
    assert found["nodes"][1]["shape"] == (2, 4) and found["edges"] == [(0, 1, (2, 3))]
    newer = structure_in(path, small, packed({**STRUCTURE, "version": 2}))
    assert newer["lack"].endswith("it was written by another version of scalarviz")
    frames = [{**STRUCTURE["frames"][0], "parent": number - 1} for number in range(2000)]
    deep = structure_in(path, small, packed({**STRUCTURE, "frames": frames}))
    assert deep["lack"].endswith("its frames are nested too deeply")


@pytest.mark.parametrize("place", range(len(leaves(STRUCTURE))))
def test_a_hostile_structure_costs_a_sentence(place: int, small: bytes, path: Path) -> None:
    for odd in [*ODD, 10**400, 1e400, 2, -2, ["x"], [10**9] * 40, "SGD"]:
        changed = copy.deepcopy(STRUCTURE)
        holder, key = leaves(changed)[place]
        holder[key] = odd
        found = structure_in(path, small, packed(changed))
        assert {*found} == {"lack", "frames", "nodes", "edges"} and found["lack"].isprintable()
        assert not (found["lack"] and found["nodes"]) or holder is changed
        assert all(-1 <= each["parent"] < i for i, each in enumerate(found["frames"]))
        assert all(-1 <= each["frame"] < len(found["frames"]) for each in found["nodes"])
        assert {end for *ends, _ in found["edges"] for end in ends} <= {*range(len(found["nodes"]))}


@pytest.mark.parametrize("end", [1, 20, -1])
def test_a_cut_structure_costs_a_sentence(end: int, small: bytes, path: Path) -> None:
    found = structure_in(path, small, packed(STRUCTURE)[:end])
    assert found["lack"].startswith("the recorded structure is damaged: ") and not found["nodes"]


def test_a_page_is_read_once_however_often_it_was_written_over(
    small: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, summed = small.index(b"FULL"), []
    monkeypatch.setattr(
        record, "checksum", lambda *given: summed.append(len(given[1][0])) or checksum(*given)
    )
    path.write_bytes(small[: small.rindex(b"DONE")] + 3000 * entry(b"MOVE", STEP.pack(place)))
    assert sv.load(path).steps.size and sum(summed) < 2 * len(path.read_bytes())


def entries_of(data: bytes) -> list[tuple[bytes, bytes]]:
    found, place = [], len(MAGIC)
    while place < len(data):
        kind, _, length = ENTRY.unpack_from(data, place)
        place += ENTRY.size + length
        found.append((kind, data[place - length : place]))
    return found


def other(kind: bytes, content: bytes, chance: Random) -> bytes:
    """Return the content of an entry with some fields of another kind or size."""
    if kind in (b"HEAD", b"NOTE"):
        found = json.loads(content)
        for holder, key in chance.choices(leaves(found), k=chance.choice([1, 1, 2])):
            holder[key] = chance.choice([*ODD, [], {}, [0], [10**9], 10**12, 1e400, None, "SGD"])
        return json.dumps(found).encode()
    damaged = bytearray(content or bytes(8))
    place = chance.randrange(0, len(damaged), 8)
    damaged[place : place + 8] = STEP.pack(chance.choice([0, 1, 2**26, 2**63, 2**64 - 1]))
    return bytes(damaged[: chance.choice([len(damaged), place])])


@pytest.mark.some(8)
@pytest.mark.parametrize("seed", range(400))
def test_sealed_entries_with_other_fields_cost_a_sentence(
    seed: int, small: bytes, path: Path
) -> None:
    chance, found = Random(seed), entries_of(small)
    for _ in range(20):
        changed, place = [*found], chance.randrange(len(found))
        place = chance.choice([place, 0, [kind for kind, _ in found].index(b"NOTE")])
        changed[place] = found[place][0], other(*found[place], chance)
        path.write_bytes(MAGIC + b"".join(entry(*each) for each in changed))
        assert_small(path)


def test_a_reader_follows_a_writer(path: Path) -> None:
    """Also while pages are dropped that it knows of."""
    recorder = Recorder(str(path), 40_000)
    recorder.begin({"arrays": [], "step": 0}, 8, 0)
    reader = sv.load(path).record
    for step in range(400):
        recorder.append(b"LOSS", STEP.pack(step) + STEP.pack(1), np.zeros(1))
        recorder.keep(b"PAGE", step, np.float64(step))
        if step % 7 == 0:
            assert reader.refresh() and step in reader.pages
        for each in reader.steps[:]:
            numbers = reader.numbers(each)
            assert numbers is None or numbers.view("<f8") == each
    recorder.close()
    assert not reader.lack and 50 < len(reader.steps) <= recorder.pages[b"PAGE"].most < 400
