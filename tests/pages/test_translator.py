"""What scalarviz/pages/translator.py makes of Python does what Python does.

Random programs are of templates: FLOAT, INT, TEXT, BOOL and the lists of them stand for expressions
of that kind, which are drawn from the templates of the same construct and from the arguments.
"""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import texts
from scalarviz.pages import translated_expressions, translator
from scalarviz.pages.page import WEB
from scalarviz.pages.translator import TranslationError, translate
from tests.pages.node import run_script

SCRIPT = Path(__file__).with_name("translated.mjs")
EXPORTED = re.compile(r"^export (?:function\*?|class|const) (\w+)", re.MULTILINE)
HEAD = """
import math
import re
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
"""


def script(source: str) -> str:
    return translate({"story/given.js": ("story/given.py", source)})["story/given.js"]


# ---- what is refused -----------------------------------------------------------------------------


def test_the_run_time_has_what_is_called_and_no_more() -> None:
    has = set(EXPORTED.findall(text_beside(WEB, "python.js")))
    files = (Path(each.__file__) for each in (translator, translated_expressions))
    called = {
        each for file in files for each in re.findall(r"\bpy\.(\w+)", file.read_text("utf-8"))
    } | {name for _, _, name in translated_expressions.OPERATORS.values()}
    called |= translated_expressions.ERRORS | {"add_to", "or_else", "and_then"}
    assert called == has


# Bodies of a function `f(x: float, n: int, s: str, xs, *, sign)`, and why they are refused.
REFUSED = {
    "while n:\n        pass\n    else:\n        n = 1": "line 11: `while n: ... else` is not known",
    "for n in xs:\n        pass\n    else:\n        n = 1": "`for n in xs: ... else` is not known",
    "with open(s) as file:\n        pass": "`with open(s) as file:` is not known",
    "global n": "`global n` is not known",
    "del n": "`del n` is not known",
    "a = b = n": "`a = b = n` is not known",
    "xs[1:2] = []": "an assignment to `xs[1:2]` is not known",
    "xs[f()] += 1": "a call would be made twice: give it a name",
    "try:\n        n = 1\n    except:\n        pass": "an `except` names its errors",
    "yield n": "`(yield n)` is not known",
    "del xs[0]": "`del xs[0]` is not known",
    "raise": "`raise` is not known",
    "if (n := 1): return n": "`(n := 1)` is not known",
    "n, *xs = xs": "an assignment to `(n, *xs)` is not known",
    "return [b for a, *b in xs]": "only names are bound here",
    "return xs | xs": "the operator BitOr is not known",
    "class A:\n        pass": "`class A:` is not known",
    "return f'{x}'": "`x` is a float, and JavaScript writes 3.0 as 3: give it a format",
    "return str(x * n)": "`x * n` is a float, and JavaScript writes 3.0 as 3: give it a format",
    "return f'{s!r}'": "!r and !s are not known",
    "return s % n": "texts have no such operator here",
    "return n & 1": "the operator BitAnd is not known",
    "return ~n": "`~n` is not known",
    "return 1j": "`1j` is not known",
    "return 1 < g(n) < 3": "`g(n)` would be computed twice: name it",
    "return y": "the name y is not known",
    "return print(s)": "print is not known",
    "return max": "max is not known here",
    "return sum(xs, 1, 2)": "sum with 3 arguments is not known",
    "return os.name": "os.name is not known here",
    "return array": "array is of numpy, which pages do not have",
    "return Callable": "Callable is a type",
    "return isinstance(n, int)": "isinstance is not known",
    "return g(m=1, by=2)": "`g(m=1, by=2)` has unknown names",
    "return xs[0](m=1)": "`xs[0]` is not known, but has arguments by name",
    "return h": "h can only be called, since it has *args and names",
    "return h(*xs, by=1)": "arguments by name beside *arguments",
    "return s.encode()": "the method encode is unknown, or its object has an unknown type",
    "return s.upper": "`.upper` may be a method: call it, or annotate `s`",
    "return xs.largest()": "the method largest is unknown, or its object has an unknown type",
    "return xs.get(1)": "`.get` of an unknown type: annotate it",
    "return s.startswith(('a', 'b'))": "startswith of several texts is not known",
    "return any(a for b in xs for a in b)": "a generator of two loops: write a list",
    "return re.sub('a', 'b', s)": "re.sub is not known",
    "return re.compile(s)": "re.compile is not known",
    "return re.compile('a', re.I)": "re.ASCII is the only flag that is known",
    r"return re.compile(r'\w')": r"\w in '\\w' means other letters in JavaScript: add the flag",
    "return re.compile('a++')": "'a++' has parts that are not known",
    "return re.compile('(?i)a')": "'(?i)a' has parts that are not known",
    "return re.compile('a$')": "'a$' has parts that are not known",
}
BEFORE = """import os
import re
from collections.abc import Callable
from numpy import array
class A:
    def get(self, n): return n
    def largest(self): return 1
def g(m): return m
def h(m, *more, by): return m
def f(x: float, n: int, s: str, xs, *, sign="a"):
    """
# Statements that may not stand at the top of a module, and parts of classes.
REFUSED_AT_TOP = {
    "print(1)": "line 1: only imports, constants, functions and classes stand at the top",
    "@cache\ndef f(): pass": "a decorator of a function is not known",
    "class A(B):\n    n: int": "a class with a base is not known",
    "@total\nclass A:\n    n: int": "@['total'] is not known",
    "class A:\n    n = 1": "line 2: `n = 1` in a class is not known",
    "class A:\n    def __len__(self): return 1": "the method __len__ is not known",
    "class A:\n    @staticmethod\n    def f(): return 1": "the method f is not known",
    "@dataclass\nclass A:\n    n: int = field(repr=False)": "line 3: the name field is not known",
}


@pytest.mark.parametrize(
    ("source", "why"),
    [*((f"{BEFORE}{body}", why) for body, why in REFUSED.items()), *REFUSED_AT_TOP.items()],
)
def test_what_is_not_known_is_refused_with_its_line(source: str, why: str) -> None:
    with pytest.raises(TranslationError, match=r"given\.py, line ") as caught:
        script(source)
    assert why in str(caught.value)


def test_a_field_of_a_class_that_pages_make_by_hand_may_be_named_as_a_method() -> None:
    assert "return given.upper;" in script("def f(given: Given): return given.upper")


def test_what_has_arrays_is_left_to_a_page() -> None:
    made = script(
        "FAR: FloatArray = zeros(3)\n"
        "class A:\n"
        "    def far(self) -> FloatArray: return FAR\n"
        "    def near(self, by: float) -> float: return by\n"
    )
    assert "near(by)" in made and "far" not in made.lower()


def test_one_folder_is_named_to_which_modules_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    wrong = {"name one folder": [], "cannot be written": [str(tmp_path / "file")]}
    for words, arguments in wrong.items():
        line = [sys.executable, "-m", "scalarviz.pages.translator", *arguments]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and words in done.stderr
        assert done.stderr.count("\n") == 1 and done.stderr.rstrip().endswith(("look", "folder"))


# ---- random programs -----------------------------------------------------------------------------

ARGUMENTS = {
    "i": "int", "j": "int", "x": "float", "y": "float", "s": "str", "t": "str", "b": "bool",
    "ns": "list[int]", "xs": "list[float]", "ws": "list[str]", "d": "dict[str, int]",
}  # fmt: skip
LEAVES = {
    "INT": "i j 0 1 2 3 7 10 -1 len(s) len(ns)".split(),
    "FLOAT": "x y 0.5 -0.0 2.5 1e-9 1e9 0.125 -1.5".split(),
    "TEXT": ["s", "t", "'a'", "''", "'größer, ×'", "'b c'"],
    "BOOL": "b True False".split(),
    "INTS": ["ns", "[i, j]", "(1, 2, 3)", "[]", "[*ns, i]"],
    "FLOATS": ["xs", "[x, y]", "(0.5, -0.0)"],
    "TEXTS": ["ws", "[s, t]", "('a', 'b')", "s.split(' ')"],
}
CONSTRUCTS = {
    "arithmetic": r"""
        INT: INT + INT; INT - INT; i * 3; -INT; INT // INT; INT % INT; abs(INT); INT ** 2;
            max(INT, INT); min(INT, INT, INT); INT + BOOL; divmod(INT, INT)[0];
            divmod(i, 7)[1]
        FLOAT: FLOAT + FLOAT; FLOAT - INT; FLOAT * FLOAT; FLOAT / FLOAT; INT / INT;
            FLOAT % FLOAT; FLOAT // FLOAT; -FLOAT; abs(FLOAT); max(FLOAT, FLOAT);
            min(FLOAT, FLOAT); 10.0 ** i; x - (y - FLOAT); x / (y * FLOAT)
    """,
    "truth": r"""
        BOOL: INT < INT; FLOAT <= FLOAT; INT < FLOAT <= INT; FLOAT == FLOAT; TEXT == TEXT;
            INT != INT; not INT; not FLOAT; not TEXT; not INTS; TEXT < TEXT; bool(FLOAT);
            bool(TEXTS); BOOL and BOOL; BOOL or not BOOL; BOOL == BOOL;
            any(n > INT for n in INTS); all(FLOATS); any(TEXTS);
            all(w for w in TEXTS if w != TEXT); x is None or FLOAT < x
        INT: INT or INT; INT and INT; INT if BOOL else INT
        FLOAT: FLOAT or FLOAT; FLOAT if INTS else FLOAT
        TEXT: TEXT or TEXT; TEXT and TEXT; TEXT if TEXT else TEXT
        INTS: INTS or INTS
        FLOATS: FLOATS and FLOATS
    """,
    "formats": r"""
        TEXT: f'{FLOAT:.2e}'; f'{FLOAT:.3f}'; f'{FLOAT:.3g}'; f'{FLOAT:g}'; f'{FLOAT:.0f}';
            f'{FLOAT:#.3g}'; f'{FLOAT:.0e}'; f'{FLOAT:+.1f}'; f'{FLOAT:,.2f}'; f'{INT:,}';
            f'{INT:d}'; f'{INT:+d}'; f'{FLOAT:.1%}'; f'{FLOAT:.{abs(i) % 17}e}';
            f'{FLOAT:.{abs(i) % 17}f}';
            f'{FLOAT:.{abs(j) % 17}g}'; f'{INT}'; str(INT); f'{TEXT}{BOOL}${{`x`}}';
            f'{TEXT}, {INT} {None}'; '{} {}'.format(TEXT, INT); '{1} × {0}'.format(INT, TEXT);
            '{a:.2f} {b}'.format(a=FLOAT, b=INT); str(BOOL);
            (lambda make: make(INT, TEXT))('{1}{{}} {0}'.format)
        FLOAT: float(f'{FLOAT:.3e}'); round(FLOAT, 2); float(INT); float(TEXT); FLOAT * 1.5;
            INT / 8; INT / 1000
        INT: int(f'{INT}'); round(FLOAT); int(FLOAT); int(TEXT)
    """,
    "texts": r"""
        TEXT: TEXT + TEXT; TEXT * 2; TEXT.upper(); TEXT.strip(); TEXT.lstrip(TEXT);
            TEXT.rstrip('e ,.'); TEXT.replace(TEXT, '$&'); TEXT.replace(' ', TEXT);
            TEXT.partition(' ')[2]; ', '.join(TEXTS); TEXT.lower();
            TEXT.join(w.upper() for w in TEXTS); TEXT[INT:]; TEXT[INT]; ''.join(reversed(TEXT));
            ''.join(sorted(TEXT)); TEXT * BOOL
        BOOL: TEXT.startswith(TEXT); TEXT.endswith(TEXT); TEXT in TEXT
        TEXTS: TEXT.split(' '); [c for c in TEXT if c not in 'aeiou']
        INT: len(TEXT); TEXT.index('e')
    """,
    "places": r"""
        INT: INTS[INT]; len(INTS); list(INTS).index(INT); INTS[-1]
        INTS: INTS[INT:]; INTS[:INT]; INTS[INT:INT]; INTS[::-1]; INTS[INT::2]; INTS[:INT:-1];
            [*INTS, *INTS]; list(INTS) * 2; list(INTS) + [INT]; list(reversed(INTS));
            list(range(INT, INT, 3)); list(range(INT)); [INT, *INTS[1:]]
        TEXT: TEXT[INT]; TEXT[INT:INT]; TEXT[::-2]; TEXTS[INT]
        FLOAT: FLOATS[-1]
    """,
    "comprehensions": r"""
        INTS: [n + INT for n in INTS]; [n for n in INTS if n > INT];
            [n * 2 for n in INTS if n % 2]; [m + n for m in INTS for n in INTS];
            [m for m in INTS if m for n in INTS if n > m]; [k for k, n in enumerate(INTS) if n];
            [k + n for k, n in zip(INTS, INTS)]; sorted({n % 3 for n in INTS});
            [n - k for k, n in pairwise(INTS)];
            list({n: n for n in INTS}); list({w: len(w) for w in TEXTS if w}.values());
            [*map(abs, INTS)];
            [k + 1 for k, (m, n) in enumerate(zip(INTS, INTS, strict=True)) if m <= n];
            [n for row in [INTS, INTS] for n in row]
        INT: sum(n for n in INTS); len({n for n in INTS});
            next((n for n in INTS if n > 1), INT); max((n for n in INTS), default=INT)
        FLOAT: max(FLOATS); min(v * v for v in FLOATS)
        FLOATS: [v / INT for v in FLOATS]
        TEXTS: [w for w in TEXTS if w in {s, t}]
    """,
    "dictionaries": r"""
        INT: d[TEXT]; d.get(TEXT, INT); len(d); {(INT, TEXT): INT, (1, s): 2}[INT, s];
            len({(n, 1) for n in INTS}); {None: 1, s: 2}.get(None, INT)
        BOOL: TEXT in d; (INT, s) in {(INT, s), (1, s)}; {s: INT} == {s: INT};
            {s, t} == {*TEXTS}
        INTS: list(d.values()); [n + len(w) for w, n in d.items()];
            [*{**d, 'a': INT}.values()];
            sorted(dict(zip(TEXTS, INTS)).values())
        TEXTS: list(d); [*d.keys()]; sorted(set(TEXTS)); list(dict.fromkeys(TEXTS))
    """,
    "order": r"""
        BOOL: (INT, FLOAT) == (INT, FLOAT); (INT, TEXT) < (INT, TEXT); [*INTS] == [*INTS];
            [*INTS] > [*INTS]; INTS != [INT]; INT in INTS; (INT, s) in [(0, t), (1, s)];
            TEXT not in TEXTS; [x, [i]] == [x, [INT]]; kind(i) == kind(INT)
        INTS: sorted(INTS); sorted(INTS, reverse=True); sorted(INTS, key=lambda n: (n % 3, -n))
        TEXTS: sorted(TEXTS, key=len); sorted(TEXTS, key=len, reverse=True)
        INT: max(INTS, key=lambda n: n % 4); min(INTS);
            sorted((n, k) for k, n in enumerate(INTS))[0][1]
        TEXT: min(TEXTS, key=len); max(TEXTS, default=TEXT); min((len(w), w) for w in TEXTS)[1]
    """,
    "functions": r"""
        INT: shifted(INT); shifted(INT, INT); shifted(INT, scale=INT); shifted(scale=2, n=INT);
            counted(INT); counted(INT, *INTS); counted(INT, 1, INT, start=INT);
            (lambda n, m=INT: n - m)(INT); deeper(INT)(INT); new(INT)
        TEXT: named(TEXT, a=INT, b=TEXT); named(TEXT, **d);
            marked(TEXT, *TEXTS, sign=TEXT, a=INT); marked(TEXT, *TEXTS)
        INTS: list(map(shifted, INTS)); shared(INT)
    """,
    "classes": r"""
        INT: Part(INT).size; Part(INT, TEXT).largest(INT); len(Part(1).rows);
            {Pair(INT, s): 1}[Pair(INT, s)]
        TEXT: replace(Part(INT, TEXT), name=TEXT).name; Part(INT, name=TEXT).title
        BOOL: Part(INT, s) == Part(INT, s); Part(INT) in [Part(1), Part(2)];
            isinstance(kind(INT), str)
    """,
    "expressions": r"""
        TEXT: DIGITS.sub('#', TEXT); NAMED.sub(r'<\1>', TEXT);
            NAMED.sub(before, TEXT);
            TEXT + 'x1 - 22.5 * y_2'; TEXT + '3, 4 e'; ws[0] + '7'
        TEXTS: DIGITS.findall(TEXT)
        BOOL: WHOLE.fullmatch(TEXT) is None
    """,
    "variables": r"""
        INT: within(INT, lambda: LEVEL.get() + INT); LEVEL.get();
            within(INT, lambda: within(INT, lambda: LEVEL.get()) - LEVEL.get());
            within(INT, lambda: INTS[INT])
    """,
    "numbers": r"""
        FLOAT: math.prod(FLOATS); math.sqrt(FLOAT); FLOAT + math.inf; FLOAT * math.nan;
            float('inf') * FLOAT
        INT: math.prod(INTS[:2]); math.floor(FLOAT); math.ceil(FLOAT); sum(INTS, INT)
        BOOL: math.isfinite(FLOAT); math.isnan(FLOAT)
        TEXT: f'{math.exp(FLOAT):.9g}'; f'{math.log10(FLOAT):.9g}';
            f'{math.hypot(FLOAT, FLOAT):.9g}'; f'{abs(FLOAT) ** 0.5:.9g}'; f'{FLOAT ** INT:.9g}';
            f'{FLOAT ** 2:.9g}'
    """,
}
# Programs of several lines.
BODIES: dict[str, list[str]] = {
    "comprehensions": [
        """
    found = [n + 1 for n in INTS if n > INT]
    last = found[-1:]
    if last:
        found.extend(last)
    return found""",
    ],
    "dictionaries": [
        """
    found = dict(d)
    found.setdefault(TEXT, 0)
    found[TEXT] += INT
    found.update({"b": 1})
    return found.pop(TEXT) + sum(found.values())""",
        """
    rows: dict[tuple[int, int], list[int]] = {}
    for n in INTS:
        rows.setdefault((n % 2, 0), []).append(n)
    return rows[0, 0][-1] + rows.pop((1, 0))[0] + len(rows)""",
    ],
    "loops": [
        """
    total, k = 0, INT
    while k < 9 and total < 50:
        k += 1
        if k % 3 == INT:
            continue
        if k > 7:
            break
        total += k
    return total""",
        """
    found = []
    for k, n in enumerate(INTS, 1):
        for m in range(k):
            if m == n:
                last = m
                break
        else_ = n
        found.append(else_)
        n = 3
        found += [n, k]
    for k, m in zip(INTS, found):
        pass
    return [*found, m] if found else found""",
        """
    (k, m), n = (INT, INT), INT
    k, m = m, k
    k -= len(INTS)
    return k * 2 + m - n""",
        """
    best = None
    for n in INTS:
        if best is None or n > best:
            best = n
    return INT if best is None else best""",
        """
    found = [0, 0, 0]
    found[INT] = INT
    found[1] -= 2
    found.extend(INTS)
    last = [*found]
    found.clear()
    return last + [last.pop(), last.pop(0), len(found)]""",
    ],
    "errors": [
        """
    try:
        return FLOAT / INT
    except ZeroDivisionError:
        return FLOAT""",
        """
    found = [INT]
    try:
        found.append(INTS[INT])
        found.append(d[TEXT])
    except (IndexError, ValueError) as error:
        found.append(-1)
    except LookupError:
        return -2
    finally:
        found.append(INT)
    return found[0] + found[1] + len(found)""",
        """
    if INT > 3:
        raise ValueError(f"{INT} is too large")
    assert INT < 2, "not so large"
    return INT""",
        """
    try:
        return math.exp(FLOAT) * 0.0 + math.sqrt(FLOAT)
    except (ArithmeticError, ValueError):
        return math.nan""",
        """
    try:
        found = int(TEXT)
        size = 1
    except ValueError:
        found, size = INT, 2
    return found * size""",
    ],
    "classes": [
        """
    part = Part(INT, TEXT)
    part.rows.append(INT)
    part.size += 2
    first = part.sum
    part.rows.append(INT)
    other = replace(part, size=INT)
    return first - part.sum + other.sum + other.size""",
        """
    counter = Counter(INT)
    return counter.count(2) + counter.count(INT) + counter.total""",
    ],
}
# What all programs can use.
KNOWN = r"""
DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
NAMED = re.compile(r"\b([a-z]\w*)\b(?= |,)", re.ASCII)
WHOLE = re.compile(r"(?:[^0-9 ]|ö)*")
LEVEL: ContextVar[int] = ContextVar("level", default=3)


@dataclass
class Part:
    size: int
    name: str = "part"
    rows: list[int] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.name} {self.size}"

    @cached_property
    def sum(self) -> int:
        total = self.size
        for n in self.rows:
            total += n
        return total

    def largest(self, least: int, *, by: int = 1) -> int:
        return max([*self.rows, least], default=0) + by

@dataclass(frozen=True)
class Pair:
    first: int
    second: str = ""


class Counter:
    def __init__(self, start: int) -> None:
        self.total = start

    def count(self, by: int) -> int:
        self.total += by
        return self.total


def kind(n: int) -> Pair | str | int:
    return Pair(n) if n > 2 else "few" if n > 0 else n


def shifted(n: int, by: int = 1, *, scale: int = 3) -> int:
    return n * scale + by


def counted(first: int, *more: int, start: int = 5) -> int:
    return first - start + len(more) + sum(more)


def named(words: str, **fields: object) -> str:
    return words + ", ".join(f"{name}" for name in fields) + str(len(fields))


def marked(words: str, *more: str, sign: str = "-", **fields: int) -> str:
    return sign.join([words, *more, *fields])


def deeper(n: int):
    def add(m: int) -> int:
        return n + m if m < 5 else add(m - 1)

    n += 1
    return add


def shared(n: int) -> list[int]:
    found: list[int] = []
    both = found
    both += [n]
    both.append(2)
    return found


def new(default: int) -> int:
    this = default
    for var in range(3):
        this += var
    return this


def before(found: re.Match[str]) -> str:
    return found[1] + found.string[: found.start()]


def within(level: int, make):
    token = LEVEL.set(level)
    try:
        return make()
    finally:
        LEVEL.reset(token)
"""
HOLE = re.compile(r"\b(?:INT|FLOAT|TEXT|BOOL|INTS|FLOATS|TEXTS)\b")
DEEP = 2  # templates in each other


class Draw(random.Random):
    """Programs of a construct, and values for their arguments."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        rows = re.split(r"\n +(?=[A-Z]+: )", CONSTRUCTS.get(construct, ""))[1:]
        pairs = [row.split(": ", 1) for row in rows]
        self.templates = {kind: re.split(r";\s+", made.strip()) for kind, made in pairs}
        self.bodies = BODIES.get(construct, [])

    def filled(self, template: str, depth: int) -> str:
        """Return a template with expressions in place of its kinds."""
        if "f'" in template:  # quotes in quotes are an error in Python 3.11
            return HOLE.sub(lambda found: self.choice(LEAVES[found[0]][:2]), template)
        return HOLE.sub(lambda found: self.expression(found[0], depth - 1), template)

    def expression(self, kind: str, depth: int) -> str:
        made = self.templates.get(kind)
        if depth < 1 or not made or self.random() < 0.4:
            return self.filled(self.choice(LEAVES[kind]), 0)
        return f"({self.filled(self.choice(made), depth)})"

    def program(self, name: str) -> str:
        """Return a function; some have types, which makes other JavaScript."""
        templates = [f"\n    return {each}" for made in self.templates.values() for each in made]
        body = self.filled(self.choice([*templates, *self.bodies * 5]), DEEP)
        typed = self.random() < 0.7
        arguments = ", ".join(f"{a}: {kind}" if typed else a for a, kind in ARGUMENTS.items())
        return f"def {name}({arguments}):{body}\n"

    def number(self) -> float:
        size = 10.0 ** self.randint(-9, 9)
        some = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, 2.0, self.uniform(-1, 1)]
        return self.choice(some) if self.random() < 0.3 else round(self.gauss(0.0, 1.0), 4) * size

    def words(self) -> str:
        return self.choice(WORDS) if self.random() < 0.7 else str(self.randint(-20, 200))

    def values(self) -> list[Any]:
        """Return arguments."""
        whole = [self.randint(-4, 12) for _ in range(self.randint(0, 5))]
        numbers = [self.number() for _ in range(self.randint(0, 4))]
        words = [self.words() for _ in range(self.randint(0, 4))]
        known = {self.choice(WORDS): self.randint(-4, 12) for _ in range(self.randint(0, 4))}
        few = self.randint(-4, 12), self.randint(-4, 12), self.number(), self.number()
        return [*few, self.words(), self.words(), self.random() < 0.5, whole, numbers, words, known]


WORDS = sorted({word for each in texts().values() for word in each.split("\n")[:1]})[::7]


def result(call: Callable[..., Any], given: list[Any]) -> Any:
    """Return what a call returns, or the name of its error, as JSON has it."""
    try:
        return plain(call(*given))
    except Exception as error:
        return type(error).__name__


def plain(value: Any) -> Any:
    """Return a value as `plain` of translated.mjs does."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]}
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(each)] for key, each in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(json.dumps(plain(each)) for each in value)}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {type(value).__name__: [plain(getattr(value, x.name)) for x in fields(value)]}
    return value


def by_node(made: str, asked: list[Any], folder: Path) -> Any:
    """Return what functions of a module return in Node."""
    file = folder / "given.mjs"
    file.write_text(made.replace("../python.js", Path(WEB).with_name("python.js").as_uri()))
    found = json.dumps(run_script(SCRIPT, file.as_uri(), given=json.dumps(asked)))
    return json.loads(found, parse_int=lambda word: int(word) if len(word) < 16 else float(word))


@pytest.mark.parametrize("construct", [*dict.fromkeys([*CONSTRUCTS, *BODIES])])
@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_programs_return_what_they_return_in_python(
    construct: str, count: int, tmp_path: Path
) -> None:
    draw = Draw(construct)
    programs = [draw.program(f"f{i}") for i in range(count)]
    source = "\n\n".join([HEAD, KNOWN, *programs])
    known: dict[str, Any] = {"__name__": "given"}
    exec(compile(source, "given", "exec", dont_inherit=True), known)
    given = [draw.values() for _ in range(count)]
    asked = [
        [f"f{i}", [each if isinstance(each, dict) else plain(each) for each in values]]
        for i, values in enumerate(given)
    ]
    for i, answer in enumerate(by_node(script(source), asked, tmp_path)):
        wanted = result(known[f"f{i}"], given[i])
        assert answer == wanted, f"{programs[i]}{dict(zip(ARGUMENTS, given[i], strict=True))}"


ON_ARRAYS = """
def f(a: FloatArray, b: FloatArray, line: FloatArray, n: float):
    small: FloatArray = abs(a - b) * 2.0 < n
    return [
        (a - line) ** 2 / 4.0, n + line, a.transpose() == a.max(1), a.argmax(1), small,
        small.sum(0), small.sum(1), a.max(), small.any(), small.all(), (a != b).any(),
        a is None, b is not None,
    ]
"""


def test_operators_and_methods_of_arrays_are_those_of_numpy(tmp_path: Path) -> None:
    known: dict[str, Any] = {}
    exec(
        compile(f"from scalarviz.base.checks import FloatArray{ON_ARRAYS}", "given", "exec"), known
    )
    random = np.random.default_rng(1)
    given = random.integers(0, 4, (5, 3)), random.integers(0, 4, (5, 3)), np.arange(3.0), 3.0
    asked = [["f", [np.asarray(each).tolist() for each in given]]]
    (found,) = by_node(script(HEAD + ON_ARRAYS), asked, tmp_path)
    assert found == [np.asarray(each).tolist() for each in known["f"](*given)]


WITHIN = """
def f(canvas: Canvas2D):
    with canvas.clip(0.0, 1.0, 2.0, 3.0):
        canvas.measure("")
"""


def test_a_with_block_ends_what_its_call_began() -> None:
    lines = [line.strip() for line in script(WITHIN).partition("function f")[2].splitlines()]
    assert lines[1:6] == [
        "py.within.push(canvas.clip(0, 1, 2, 3));",
        "try {",
        'canvas.measure("");',
        "} finally {",
        "py.within.pop()();",
    ]
