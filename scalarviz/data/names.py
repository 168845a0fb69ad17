"""Names: given names, letter by letter, for networks that predict the next letter.

names.txt has 2,000 given names of many languages, in the letters a to z.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, answered, as_floats, number, require, shorten
from scalarviz.base.limits import LONGEST_LINE, Budget
from scalarviz.core.formulas.randomness import check_seed, unit_pairs
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import DOUBLE, TableSet, divided
from scalarviz.data.samples import count_of
from scalarviz.data.table_files import called, readable, unreadable
from scalarviz.errors import InputError, NotFiniteError, ShapeError

END = "."  # the sign before the first letter and after the last one
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
NOTHING = -1  # index of a place after the name, as in sv.Embedding
PLACES = 16
MOST_PLACES = 256
MOST_WRITTEN = 10_000
MOST_LETTERS = 500
BUILT_IN = 2000
COLDEST, HOTTEST = 0.2, 2.0
STREAM_LETTERS = 19  # of the random generator


@final
class Names(TableSet):
    """Names, letter by letter: 2,000 given names of many languages, or the lines of a text file.

    The inputs of a name are the indices of its signs, one for each place: the sign "." of a
    beginning, then its letters; -1 is a place after the name. At each of these places the next sign
    is to be predicted, at last the sign "." of the end. Targets are one-hot, with one number for
    each sign and place: all places of the first sign, then of the second one. They are divided by
    the number of letters plus 1, so that the loss of a name is the mean over its places.

    Args:
        file: path of a text file in UTF-8 with one name per line; None (default) means the 2,000
            built-in names. Upper-case letters become lower case, and repeated names are left out
        held_out: fraction of names to hold out for testing, by default 0.1; a value of 1 or more
            is the number of names to hold out, taken from the end
        seed: seed of the choice of held-out names; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        places: number of places; by default 16, for names of up to 15 letters
        letters: the letters that occur in names; by default a to z
        names: a list of names, or a text with one name per line, instead of a file
        limit: maximum bytes of the file and of the samples; None (default) means 640 MB

    Attributes:
        letters: the signs by index: ".", then the letters
        places: number of places
        names: the names for training, in the order of `training`

    Raises InputError for invalid files and names.

    >>> names = Names()
    >>> names
    Names(): 16 -> 432, 1,800 samples, 200 held out
    >>> names.name_of(names.training[0][0]) == names.names[0]
    True
    >>> Names(names=["Ada", "Eva"], held_out=1, letters="adev", places=4).names
    ['ada']
    """

    things = "names"
    name = "names"
    writes = True

    def __init__(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        held_out: float = 0.1,
        seed: int = 0,
        order: str = "shuffled",
        places: int = PLACES,
        letters: str = ALPHABET,
        names: str | Iterable[str] | None = None,
        limit: int | None = None,
    ) -> None:
        kept, seed = number(held_out, "held_out", 0.0), check_seed(seed)
        self.places = count_of(places, "places", 2, MOST_PLACES)
        self.letters = END + as_letters(letters)
        require(file is None or names is None, "names come from a file or from names, not both")
        budget = Budget(limit)
        found = self._read(*lines_of(file, names, budget), budget)
        parts = [[found[row] for row in rows] for rows in divided(len(found), kept, seed, "names")]
        self.names, held = parts
        require(self.names, "no name is left to train on: hold out fewer")
        settings = {
            "held_out": kept,
            "seed": seed,
            "places": self.places,
            "letters": self.letters[1:],
            "names": "\n".join(found) if file is not None or names is not None else None,
        }
        super().__init__(
            self._table(self.names), settings, self._table(held) if held else None, order
        )

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        text, places = str(settings.get("names", "")), settings.get("places", PLACES)
        count = text.count("\n") + 1 if text else BUILT_IN
        signs = 1 + len(str(settings.get("letters", ALPHABET)))
        return DOUBLE * count * (1 + signs) * (places if isinstance(places, int) else PLACES)

    def encode(self, text: str) -> FloatArray:
        """Return the inputs for `text`, a name or its beginning, shape (places,); see `Names`.

        Raises InputError for a letter that is not in `letters`, or for more than `places` - 1.

        >>> Names().encode("mar")[:5].tolist()
        [0.0, 13.0, 1.0, 18.0, -1.0]
        """
        row = np.full(self.places, float(NOTHING))
        name = self._checked(text)
        row[: len(name) + 1] = [0, *map(self.letters.index, name)]
        return row

    def read(self, name: str) -> Pair:
        """Return the inputs and targets of a `name`, shapes (places,) and (signs * places,).

        They are a sample to train on, as in `session.add_samples(*names.read("mara"))`. Raises
        InputError as `encode` does.
        """
        inputs, targets = self._table([self._checked(name)])
        return inputs[0], targets[0]

    def name_of(self, sample: object) -> str:
        """Return the name, or the beginning of one, whose inputs are `sample`, as from `encode`.

        Raises InputError for other numbers.
        """
        row = as_floats(sample, "a sample").ravel()
        count = int((row != NOTHING).sum())
        signs = [int(x) for x in row[1:count] if x in range(1, len(self.letters))]
        name = "".join([self.letters[i] for i in signs])
        require(
            row.shape == (self.places,) and np.array_equal(self.encode(name), row),
            f"the inputs of a name are {self.places} indices of signs, as from encode('mar'), not "
            f"{shorten(sample)}",
        )
        return name

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        read = [self.read(self.name_of(row))[1] for row in inputs]
        require(
            np.allclose(read, targets, atol=1e-6),
            "the targets of a name to add must follow from its letters: add names.read('mara')",
        )

    @property
    def signs(self) -> Sequence[str]:  # type: ignore[override]  # it follows from the letters
        return ["·", *self.letters[1:]]

    @cached_property
    def pairs_loss(self) -> float:
        """The loss of counting pairs: each sign has the share with which it follows the last one.

        Pairs are counted in the names for training, with one half added to each count. The loss is
        the mean over the held-out names, or over those for training if none is held out.
        """
        signs = len(self.letters)
        counts = np.full((signs, signs), 0.5)
        for inputs, targets in (self.training, self.held_out or self.training):
            weights = targets.reshape(len(inputs), signs, self.places)
            names, places = np.nonzero(inputs != NOTHING)
            last, after = inputs[names, places].astype(int), weights[names, :, places]
            if inputs is self.training[0]:
                np.add.at(counts, last, after > 0.0)
        shares = counts / counts.sum(axis=1, keepdims=True)
        return float(-(after * np.log(shares[last])).sum() / len(inputs))

    def random_numbers(self, count: int, seed: int = 0) -> FloatArray:
        """Return the random numbers with which `write` draws `count` names for a `seed`.

        The shape is (count, places - 1).
        """
        draw = partial(unit_pairs, seed, STREAM_LETTERS)
        return np.stack([draw(place, 0, count)[0] for place in range(self.places - 1)], axis=1)

    @answered
    def write(
        self,
        network: Callable[[FloatArray], Any],
        count: int = 10,
        temperature: float = 0.7,
        seed: int = 0,
        *,
        start: str = "",
    ) -> list[str]:
        """Draw names from a network, letter by letter, and return them.

        The names depend on the outputs of the network, the seed and the temperature only. Each name
        has its own random numbers, so a larger `count` does not change the first names. A
        name ends at the sign ".", at the latest after `places` - 1 letters.

        Args:
            network: the network, or a function from inputs to outputs: a score for each sign and
                place, such as the logarithm of its probability
            count: number of names, by default 10
            temperature: number from 0.2 to 2 by which scores are divided, by default 0.7: lower
                ones make likely letters more likely
            seed: seed of the random numbers, by default 0
            start: letters with which each name begins, by default none

        Raises InputError for invalid arguments, ShapeError for other outputs, NotFiniteError for
        NaN.

        >>> from scalarviz import Embedding
        >>> after = Embedding(3, 3, places=5)  # scores of ".", "a", "b" after each of them
        >>> after.kernel = [[-9, 9, -9], [-9, -9, 9], [0, 9, -9]]
        >>> Names(names=["ab"], held_out=0, letters="ab", places=5).write(after, count=2)
        ['abab', 'abab']
        """
        count, seed = count_of(count, "count", 1, MOST_WRITTEN), check_seed(seed)
        heat = number(temperature, "temperature")
        require(
            COLDEST <= heat <= HOTTEST,
            f"temperature must be from {COLDEST:g} to {HOTTEST:g}, not {heat:g}",
        )
        rows = np.tile(self.encode(start), (count, 1))
        going, random = np.arange(count), self.random_numbers(count, seed)
        for place in range(len(start), self.places - 1):
            scores = self._scores(network(rows[going]), len(going))[:, :, place]
            signs = drawn(scores / heat, random[going, place])
            rows[going, place + 1] = np.where(signs > 0, signs, NOTHING)
            going = going[signs > 0]
            if not len(going):
                break
        return [self.name_of(row) for row in rows]

    def _scores(self, outputs: object, count: int) -> FloatArray:
        """Return the outputs of a network with an axis each for names, signs and places."""
        scores, signs = np.asarray(outputs, np.float64), len(self.letters)
        require(
            scores.shape == (count, signs * self.places),
            f"names are written by a network with {signs * self.places} outputs, {signs} signs at "
            f"{self.places} places, not by one whose outputs have the shape {scores.shape}",
            ShapeError,
        )
        require(
            not np.isnan(scores).any(),
            "the network answers NaN, so it cannot write names: train it again",
            NotFiniteError,
        )
        return scores.reshape(count, signs, self.places)

    def _checked(self, text: object, where: str = "") -> str:
        """Return a name; raise InputError if it is too long or has other letters."""
        if not isinstance(text, str):
            raise InputError(f"{where}a name is a string, not {shorten(text)}")
        other = next((letter for letter in text if letter not in self.letters[1:]), "")
        require(
            not other,
            f"{where}{shorten(text)} has {shorten(other)}, and the letters of these names are "
            f"{shorten(self.letters[1:])}: leave it out, or pass letters=",
        )
        most = self.places - 1
        require(
            len(text) <= most,
            f"{where}{shorten(text)} has {len(text):,} letters, more than {most}: shorten it, or "
            "pass places=",
        )
        return text

    def _read(self, lines: Iterable[object], where: str, budget: Budget) -> list[str]:
        """Return the different names of some lines; raise InputError if one is invalid."""
        found: dict[str, None] = {}
        width = DOUBLE * self.places * (1 + len(self.letters))
        for i, line in enumerate(lines, 1):
            name = line.strip().lower() if isinstance(line, str) else line
            if name != "":
                found[self._checked(name, f"{where}, line {i}: ")] = None
            if width * len(found) > budget.limit:
                budget.take(width * len(found), f"{where} up to line {i:,}")
        require(found, f"{where} has no names: add at least one, each on a line")
        return list(found)

    def _table(self, names: Sequence[str]) -> Pair:
        """Return the inputs and targets of names, one row per name."""
        inputs = np.array([self.encode(name) for name in names])
        targets = np.zeros((len(names), len(self.letters), self.places))
        following = np.pad(inputs[:, 1:], ((0, 0), (0, 1)), constant_values=NOTHING)
        following = np.where(following == NOTHING, 0, following).astype(int)  # the end
        rows, places = np.nonzero(inputs != NOTHING)
        counts = (inputs != NOTHING).sum(axis=1)
        targets[rows, following[rows, places], places] = 1.0 / counts[rows]
        return inputs, targets.reshape(len(names), -1)


def drawn(scores: FloatArray, random: FloatArray) -> Any:
    """Return the index of a sign for each row of `scores`, chosen by a number from 0 to 1.

    A sign has the probability that the softmax of its row gives.
    """
    shares = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
    return (shares < random[:, np.newaxis] * shares[:, -1:]).sum(axis=1)


def as_letters(letters: object) -> str:
    """Return the letters of names; raise InputError unless they are different and in lower case."""
    if (
        isinstance(letters, str)
        and 0 < len(letters) <= MOST_LETTERS
        and len({*letters, END}) == len(letters) + 1
        and letters == letters.lower()
    ):
        return letters
    raise InputError(
        f"letters are 1 to {MOST_LETTERS} different lower-case letters without {END!r}, such as "
        f"'abc', not {shorten(letters)}"
    )


def lines_of(file: Any, names: Any, budget: Budget) -> tuple[Iterable[object], str]:
    """Return the lines of a file, of `names` or of the built-in file, and where they are from."""
    if names is None:
        path = readable(Path(__file__).with_suffix(".txt") if file is None else file, budget)
        return lines_in(path), called(path)
    lines = names.splitlines() if isinstance(names, str) else names
    require(
        isinstance(lines, Iterable) and not isinstance(lines, bytes),
        f"names are a list of strings, or a text with one name per line, not {shorten(names)}",
    )
    return lines, "the list of names"


def lines_in(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, longer ones in pieces."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except UnicodeDecodeError as error:
        raise InputError(f"{called(path)} is not text in UTF-8: save it in UTF-8") from error
    except OSError as error:
        raise unreadable(path, error) from error
