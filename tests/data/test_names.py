"""Names, letter by letter: the list, files, samples, and names that a network writes."""

import string
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.data.names import drawn
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.data.test_files import written as written
from tests.sessions import advanced, session_on
from tests.wording import refused

NAMES = data.Names()
FEW = ["mara", "tarn", "ida", "bo"]


def everyone(names: data.Names) -> list[str]:
    """All names, also those held out, as read from their inputs."""
    tables = [names.training[0], *([] if names.held_out is None else [names.held_out[0]])]
    return [names.name_of(row) for table in tables for row in table]


def test_the_list_has_2000_names_of_2_to_15_letters() -> None:
    found = everyone(NAMES)
    assert len({*found}) == len(found) == 2000 and found[:1800] == NAMES.names
    assert all({*name} <= {*string.ascii_lowercase} and 2 <= len(name) <= 15 for name in found)
    assert {"emma", "yusuf", "sakura", "aarav", "modou", "ululani"} <= {*found}
    first = Counter(name[0] for name in found)
    assert len(first) == 26 and max(first.values()) < 300
    size = Path(data.__file__).with_name("names.txt").stat().st_size
    assert size < 16_000


def test_a_tenth_is_held_out_and_the_seed_decides_which() -> None:
    assert NAMES.held_out is not None and len(NAMES.held_out[0]) == 200
    other = data.Names(seed=1)
    assert {*other.names} != {*NAMES.names} and {*everyone(other)} == {*everyone(NAMES)}
    assert data.Names(held_out=5).samples == 1995 and data.Names(held_out=0).held_out is None


def test_a_sample_has_the_next_sign_at_each_place() -> None:
    inputs, targets = NAMES.read("mar")
    assert inputs.tolist() == [0.0, 13.0, 1.0, 18.0] + [-1.0] * 12
    table = targets.reshape(27, 16)
    rows, places = np.nonzero(table)
    assert sorted(zip(places.tolist(), rows.tolist(), strict=True)) == [
        *[(0, 13), (1, 1), (2, 18), (3, 0)]
    ]
    assert (table[rows, places] == 0.25).all()
    for length in range(1, 16):
        x, t = NAMES.read("a" * length)
        assert (x != -1).sum() == length + 1 and t.sum() == pytest.approx(1.0, abs=1e-12)
        assert NAMES.name_of(x) == "a" * length and np.array_equal(NAMES.encode("a" * length), x)
    assert NAMES.name_of(NAMES.encode("")) == ""


def test_names_of_a_file_are_in_lower_case_once(written: Any) -> None:
    names = data.Names(written("\ufeffMara\n\n tarn \r\nIda\nmara\nBo", "names.txt"), held_out=0)
    assert names.names and sorted(names.names) == sorted(FEW)
    assert repr(names) == "Names(held_out=0, names='mara\\ntarn\\nida\\nbo'): 16 -> 432, 4 samples"
    again = data.remake("names", names.settings())
    assert again.training[0].tolist() == names.training[0].tolist()  # type: ignore[attr-defined]


def test_other_letters_and_more_places_can_be_chosen() -> None:
    names = data.Names(names=["zoë", "anne-marie"], held_out=0, letters="aeimnorzë-", places=11)
    assert names.letters == ".aeimnorzë-" and (names.inputs, names.outputs) == (11, 121)
    assert sorted(everyone(names)) == ["anne-marie", "zoë"]


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("", "names.txt has no names"),
        ("\n \n", "names.txt has no names"),
        ("mara\nanné", "names.txt, line 2: 'anné' has 'é'"),
        ("mara\nanna-lena", "'-'"),
        ("mara\n" + "a" * 16, "line 2: 'aaaaaaaaaaaaaaaa' has 16 letters, more than 15"),
        ("a" * 5000, "more than 15"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"PK\x03\x04\x00", r"'pk\x03\x04\x00' has '\x03'"),
    ],
)
def test_a_file_without_names_is_refused(written: Any, content: str | bytes, value: str) -> None:
    refused(InputError, value).by(data.Names, written(content, "names.txt"))


def test_a_file_that_is_too_large_is_refused(written: Any, tmp_path: Path) -> None:
    names = written(
        "".join(f"{a}{b}\n" for a in string.ascii_lowercase for b in "aeiou"), "names.txt"
    )
    needed = 8 * 130 * 16 * 28
    assert data.Names(names, limit=needed).samples == 117
    refused(InputError, f"limit={needed}").by(data.Names, names, limit=needed - 1)
    refused(InputError, "limit=390").by(data.Names, names, limit=10)
    refused(InputError, "folder").by(data.Names, tmp_path)
    refused(InputError, "not found").by(data.Names, tmp_path / "other.txt")


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"names": 3}, "3"),
        ({"names": [3]}, "3"),
        ({"names": b"mara"}, "b'mara'"),
        ({"names": []}, "no names"),
        ({"names": FEW, "held_out": 4}, "not 4"),
        ({"names": FEW, "held_out": 0.9}, "left to train on"),
        ({"held_out": -1}, "-1"),
        ({"seed": -1}, "-1"),
        ({"places": 1}, "not 1"),
        ({"places": 8}, "more than 7"),
        ({"letters": "aab"}, "'aab'"),
        ({"letters": "aB"}, "'aB'"),
        ({"letters": ".a"}, "'.a'"),
        ({"letters": ""}, "''"),
        ({"letters": 3}, "3"),
        ({"file": "names.txt", "names": FEW}, "not both"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], value: str) -> None:
    refused(InputError, value).by(data.Names, **settings)


def test_letters_that_are_unknown_or_too_many_are_refused() -> None:
    refused(InputError, "'Mar' has 'M'").by(NAMES.encode, "Mar")
    refused(InputError, "17 letters").by(NAMES.read, "a" * 17)
    refused(InputError, "None").by(NAMES.encode, None)
    for row in ([1.0] * 16, [0.0] * 15, [0.5] * 16, [0.0, -1.0, 3.0] + [-1.0] * 13, [0, 27] * 8):
        refused(InputError, "16 indices").by(NAMES.name_of, row)
    refused(InputError, "x").by(NAMES.name_of, "x")


def test_a_name_can_be_added_while_a_network_trains() -> None:
    session = session_on(NAMES, small(), loss="negative_log_likelihood", batch=1)
    session.advance(1)
    session.add_samples(*NAMES.read("quasimodo"))
    assert isinstance(session.data, data.Names) and session.data.samples == 1801
    x, t = NAMES.read("mara")
    with refused(InputError, "must follow from its letters"):
        session.add_samples(x, t[::-1])
    with refused(InputError, "16 indices"):
        session.add_samples(x + 1.0, t)
    assert advanced(session, 3).step_index == 4


def test_a_run_with_names_is_saved_and_a_path_in_it_is_not_opened(tmp_path: Path) -> None:
    session = session_on(data.Names(names=FEW), small(), loss="negative_log_likelihood")
    advanced(session, 2).save(tmp_path / "run")
    assert everyone(sv.Session.load(tmp_path / "run").data) == everyone(session.data)
    refused(InputError, "not a path").by(data.remake, "names", {"file": "/etc/hostname"})


# ---- names that a network writes ----------------------------------------------------------------


def small() -> list[Any]:
    return [sv.Embedding(27, 27, places=16), sv.LogSoftmax((27, 16))]


def scores(table: Any) -> Any:
    """A network whose scores of the next sign depend on the last one only, by a table 27 x 27."""
    return lambda rows: (
        np.asarray(table)[rows.astype(int)].transpose(0, 2, 1).reshape(len(rows), -1)
    )


RANDOM = np.random.default_rng(3).normal(size=(27, 27))


def test_names_depend_on_weights_seed_and_temperature_alone() -> None:
    ten = NAMES.write(scores(RANDOM))
    assert ten == NAMES.write(scores(RANDOM)) == NAMES.write(scores(RANDOM), 10, 0.7, 0)
    assert ten[:3] == NAMES.write(scores(RANDOM), 3)
    assert ten == data.Names(names=FEW, held_out=0).write(scores(RANDOM))
    assert ten == NAMES.write(scores(RANDOM + 5.0))  # softmax
    assert ten != NAMES.write(scores(RANDOM), seed=1)
    assert ten != NAMES.write(scores(RANDOM), temperature=0.2)
    assert ten != NAMES.write(scores(RANDOM[::-1]))
    assert all(len(name) <= 15 and {*name} <= {*string.ascii_lowercase} for name in ten)


def test_a_name_that_does_not_end_has_15_letters_and_one_may_be_empty() -> None:
    never, at_once = np.zeros((27, 27)), np.zeros((27, 27))
    never[:, 0], at_once[:, 0] = -100.0, 100.0
    assert {len(name) for name in NAMES.write(scores(never))} == {15}
    assert NAMES.write(scores(at_once), 3) == ["", "", ""]
    assert NAMES.write(scores(at_once), 1, start="mar") == ["mar"]
    assert all(name.startswith("mar") for name in NAMES.write(scores(never), start="mar"))


def test_a_sign_is_drawn_as_often_as_its_share_says() -> None:
    shares = np.array([[0.5, 0.25, 0.0, 0.25]])
    with np.errstate(divide="ignore"):
        table = np.log(np.repeat(shares, 4000, axis=0))
    found = np.bincount(drawn(table, (np.arange(4000) + 0.5) / 4000), minlength=4)
    assert found.tolist() == [2000, 1000, 0, 1000]
    first = Counter(name[:1] for name in NAMES.write(scores(RANDOM), 4000, 1.0))
    wanted = np.exp(RANDOM[0]) / np.exp(RANDOM[0]).sum()
    for sign, share in zip(["", *string.ascii_lowercase], wanted, strict=True):
        assert first[sign] / 4000 == pytest.approx(share, abs=0.03)


def test_a_lower_temperature_chooses_likely_letters() -> None:
    def likely(temperature: float) -> float:
        names = NAMES.write(scores(RANDOM), 500, temperature)
        best = RANDOM[0].argmax()
        return sum(name[:1] == NAMES.letters[best].strip(".") for name in names) / 500

    assert likely(0.2) > likely(0.7) + 0.1 > likely(2.0) + 0.2


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"count": 0}, "not 0"),
        ({"count": 10**6}, "1,000,000"),
        ({"temperature": 0.1}, "0.1"),
        ({"temperature": 2.1}, "2.1"),
        ({"temperature": float("nan")}, "nan"),
        ({"seed": -1}, "-1"),
        ({"start": "é"}, "'é'"),
        ({"start": "a" * 16}, "16 letters"),
    ],
)
def test_what_cannot_be_written_is_refused(settings: dict[str, Any], value: str) -> None:
    refused(InputError, value).by(NAMES.write, scores(RANDOM), **settings)


def test_a_network_that_cannot_write_is_refused() -> None:
    refused(ShapeError, "(10, 27)").by(NAMES.write, lambda rows: rows[:, :1] + np.zeros(27))
    refused(NotFiniteError, "NaN").by(NAMES.write, scores(np.full((27, 27), np.nan)))
    refused(ShapeError, "16").by(NAMES.write, sv.Network([3, 2], seed=0))
