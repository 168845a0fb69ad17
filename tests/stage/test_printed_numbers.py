"""Numbers printed in one picture agree with each other, in all scenes and operations of a step.

- A number of a weight or neuron is its value, rounded at its own digits.
- A measure, such as the error of the shown sample, is printed alike wherever it is printed.
- What is computed from printed numbers (a product, a sum, an error, a mean, a lead) follows from
  them as printed, to its last digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pytest

from scalarviz.base.texts.decimals import typeset
from scalarviz.core.trace_program import TraceProgram
from scalarviz.faces.scene_file import scenes
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import at_each_operation, flat_of, played, projection, stage_of
from tests.story.caption_reader import unit_of
from tests.studio import Written

SIZE = 1280, 800
N = r"-?[\d,]*\.?\d+(?:e-?\d+)?"
NUMBER = re.compile(N)
EQUATION = re.compile(
    rf"(?<![×÷] )(?<![\d.-])((?:- )?(?:{N})(?: [-+×÷] {N})+) = ({N})(?![\d ]*[×÷])"
)
# Words within arithmetic: what a number is, and how many terms it counts.
ASIDE = re.compile(
    r" \(b\)| \(from the square\)| \(steepness here\)| off\b| outputs\b|(?<=- )rate "
)
OTHERS = re.compile(r"\d+ others (?:with b )?(?=-?[\d.])")
STEPS = {"retrain": 40, "rgb": 60}


def read(number: str) -> float:
    return float(number.replace(",", ""))


def follows(value: float, printed: str) -> bool:
    """Whether a number rounds to what is printed."""
    return abs(value - read(printed)) <= 0.5001 * unit_of(printed)


@dataclass
class Screen:
    """The texts of a picture."""

    stage: Stage
    at: str

    @cached_property
    def texts(self) -> list[Written]:
        found = [each for each in flat_of(self.stage).written if not each.hidden]
        for each in found:
            words = typeset(each.words).replace("−", "-").replace("–", "-")
            each.words = ASIDE.sub("", OTHERS.sub("", words)).replace("+ -", "- ")
        return found

    @cached_property
    def lines(self) -> list[list[Written]]:
        """Texts side by side, from top to bottom."""
        rows: list[tuple[float, list[Written]]] = []
        for each in sorted(self.texts, key=lambda each: each.box.bottom):
            middle = each.box.y + 0.5 * each.box.height
            row = next((row for at, row in rows if abs(at - middle) < 4.0), None)
            if row is None:
                rows.append((middle, row := []))
            row.append(each)
        return [sorted(row, key=lambda each: each.box.x) for _, row in rows]

    def all(self, pattern: str) -> list[str]:
        """What a pattern finds in single texts."""
        found = [re.findall(pattern, each.words) for each in self.texts]
        return [each for some in found for each in some]

    @cached_property
    def balls(self) -> dict[tuple[str, int], tuple[str, float]]:
        """Numbers in and below spheres and squares: as printed, and their values."""
        data, see = self.stage.frame_data(), projection(self.stage)
        numbers = [each for each in self.texts if NUMBER.fullmatch(each.words)]
        found: dict[tuple[str, int], tuple[str, float]] = {}
        for line in data.layout.neurons:
            known = data.buffers.values.get(line.values or line.sums)
            if known is None or line.shape or line.square or line.scores:
                continue
            seen = see(line.points)
            for place, ((x, y), unit) in enumerate(zip(seen.xy, seen.unit, strict=True)):
                radius = line.radius * unit
                for each in numbers:
                    middle = each.box.x + 0.5 * each.box.width, each.box.y + 0.5 * each.box.height
                    if np.hypot(middle[0] - x, middle[1] - y) < 0.4 * radius and place < len(known):
                        found[line.values or line.sums, place] = each.words, float(known[place])
        return found


def screens(show: Show) -> Iterator[Screen]:
    """The picture at rest, and after each operation of the next step."""
    yield Screen(stage_of(show, SIZE), "at rest")
    for name, stage in zip(show.session.operations, at_each_operation(show, SIZE), strict=False):
        yield Screen(stage, name)


def faults_of(screen: Screen) -> list[str]:
    """All disagreements of a picture."""
    found: list[str] = []
    for name, (words, value) in screen.balls.items():
        if not follows(value, words):
            found.append(f"{name} is {value}, printed {words}")
    for check in (equations, bars, columns, leads, errors, effects, losses, formulas):
        found += check(screen)
    return [f"{screen.at}: {each}" for each in found]


def equations(screen: Screen) -> list[str]:
    """Arithmetic in one text, which no letter interrupts."""
    found: list[str] = []
    for text in screen.texts:
        for left, right in EQUATION.findall(text.words):
            arithmetic = NUMBER.sub(lambda n: repr(read(n[0])), left)
            arithmetic = arithmetic.replace("×", "*").replace("÷", "/")
            if not follows(float(eval(arithmetic)), right):
                found.append(f"{left} = {right} in {text.words!r}")
    return found


def bars(screen: Screen) -> list[str]:
    """The products of a panel of bars, and their sum."""
    found: list[str] = []
    added = 0.0
    for line in screen.lines:
        words = [each.words for each in line]
        for name, number in pairwise(words):
            product = re.fullmatch(rf"(?:\w: )?({N}) × ({N})", name)
            if not NUMBER.fullmatch(number):
                continue
            if product:
                if not follows(read(product[1]) * read(product[2]), number):
                    found.append(f"{name} = {number}")
                added += read(number)
            elif name == "bias" or re.fullmatch(r"\d+ more", name):
                added += read(number)
            elif name == "sum" and added:
                if abs(added - read(number)) > 1e-9:
                    found.append(f"the bars give {added:.5f}, printed {number}")
                added = 0.0
    return found


def columns(screen: Screen) -> list[str]:
    """The products of a column, "x ×", "w", "= product", and their sum."""
    found: list[str] = []
    products: list[str] = []
    total = screen.all(rf"^added up: ({N})$")
    for line in screen.lines:
        words = " ".join([each.words for each in line])
        product = re.findall(rf"({N}) × ({N}) = ({N})", words)
        alone = [each.words[2:] for each in line if re.fullmatch(rf"= {N}", each.words)]
        products += alone
        for x, w, p in product if alone else []:
            if not follows(read(x) * read(w), p):
                found.append(f"{x} × {w} = {p}")
    if total and products and abs(sum(map(read, products)) - read(total[0])) > 1e-9:
        found.append(f"{' + '.join(products)} = {total[0]}")
    return found


def leads(screen: Screen) -> list[str]:
    """By how much the largest score wins."""
    lead = screen.all(rf"leads the \w+ by ({N})") + screen.all(rf"(?:wins|leads the next) by ({N})")
    data, see = screen.stage.frame_data(), projection(screen.stage)
    scores: list[str] = []
    for line in [each for each in data.layout.neurons if each.scores]:
        levels = see(line.points).xy
        for x, y in levels:
            scores += [
                each.words
                for each in screen.texts
                if NUMBER.fullmatch(each.words)
                and abs(each.box.y + 0.5 * each.box.height - y) < 4.0
                and each.box.x > x
                and "." in each.words
            ][:1]
    first = sorted(map(read, scores))[-2:]
    if lead and len(first) == 2 and not follows(first[1] - first[0], lead[0]):
        return [f"scores {first}, printed lead {lead[0]}"]
    return [f"leads {lead}"] if len({*lead}) > 1 else []


def errors(screen: Screen) -> list[str]:
    """The errors of the outputs, and the error of the sample, which is their mean."""
    found: list[str] = []
    goals, outs, gaps = (screen.all(rf"^{name} ({N})$") for name in ("goal", "out", "off by"))
    heads = [line[0].words for line in screen.lines for each in line if each.words[:6] == "off by"]
    own = screen.all(rf"^Off by ({N})|Off by ({N})\.$")
    if screen.at == "loss" and goals and len(goals) == len(outs):
        each = [
            line[-1].words[7:]
            for line in screen.lines
            if len(line) > 1 and re.fullmatch(rf"off by {N}", line[-1].words)
        ]
        for goal, out, gap in zip(goals, outs, each, strict=False):
            if not follows(abs(read(out) - read(goal)), gap):
                found.append(f"goal {goal}, out {out}, off by {gap} {heads}")
    measured = screen.all(rf"^off by ({N})$") if screen.at != "loss" else []
    if screen.all(r"^the same at the start$"):
        measured = measured[:1]  # without the one at the start
    if screen.all(r"mean of all pixels"):
        measured = []  # of the whole picture
    title = [number for each in own for number in each if number]
    closer = screen.all(rf"^(?:Closer: |Farther: )?off by ({N}) → {N}$")
    after = screen.all(rf"^this one: off by {N} → ({N})$")
    own_error = title + measured + (after if screen.at == "step" else closer)
    if screen.at == "loss" and title:
        mean = screen.all(rf"^mean ({N})$")
        own_error += [] if len(outs) < 2 else mean[:1]
        if (
            len(outs) > 1
            and gaps
            and not follows(
                float(np.mean([abs(read(a) - read(b)) for a, b in zip(outs, goals, strict=True)])),
                title[0],
            )
        ):
            found.append(f"outs {outs}, goals {goals}, off by {title[0]}")
    if len({*own_error}) > 1:
        found.append(f"the sample is off by {own_error}")
    return found


def effects(screen: Screen) -> list[str]:
    """The error of the sample before and after a step, from the outputs that are listed."""
    off = screen.all(rf"^this one: off by ({N}) → ({N})$")
    rows = screen.all(rf"^({N}) → $") if screen.at == "step" else []
    if not off or not rows:
        return []
    goals = [read(each) for each in screen.all(rf"^goal ({N})$")]
    pairs: list[tuple[float, float]] = []
    for line in screen.lines:
        words = [each.words for each in line]
        for one, other in pairwise(words):
            if re.fullmatch(rf"{N} → ", one):
                pairs.append((read(one[:-3]), read(other)))
    if len(pairs) != len(goals):
        return []
    found: list[str] = []
    for place, printed in enumerate(off[0]):
        mean = np.mean([abs(pair[place] - goal) for pair, goal in zip(pairs, goals, strict=True)])
        if not follows(float(mean), printed):
            found.append(f"{pairs}, goals {goals}: off by {mean:.5f}, printed {printed}")
    return found


def losses(screen: Screen) -> list[str]:
    """The loss of the step."""
    now = screen.all(rf"^loss now ({N})$") + screen.all(rf": loss ({N})\.$")
    if screen.at == "loss":
        now += screen.all(rf"^mean ({N})$")[-1:] if screen.all(r"^this one: ") else []
    pairs = [f"{a} {b}" for a, b in screen.all(rf"loss(?: of \d+)?:? ({N}) → ({N})")]
    return [f"loss {each}" for each in ({*now}, {*pairs}) if len(each) > 1]


def formulas(screen: Screen) -> list[str]:
    """The parts of a formula, from the numbers that are printed in it."""
    program = screen.stage.session.network.program
    data = screen.stage.frame_data()
    if not isinstance(program, TraceProgram) or not data.layout.written:
        return []
    trace, see = program.trace, projection(screen.stage)
    numbers = [each for each in screen.texts if NUMBER.fullmatch(each.words)]
    known: dict[int, str] = {}
    for (name, _), (words, _) in screen.balls.items():
        if name in program.place_of:
            known[program.place_of[name]] = words
    for plate in data.layout.plates:
        (x, y), *_ = see(plate.middle(np.array([0.0]), np.array([0.0]))).xy
        near = min(numbers, key=lambda each: np.hypot(each.box.x - x, each.box.y - y))
        where = trace.first_parameter + program.rows.tolist().index(plate.first)
        known[where] = near.words
    found: list[str] = []
    for i, (row, taken) in enumerate(zip(trace.formulas, trace.taken, strict=True)):
        place = trace.first_made + i
        if place in known and all(each in known for each in taken):
            value = float(row.value(*[read(known[each]) for each in taken]))
            if not follows(value, known[place]):
                given = ", ".join(known[each] for each in taken)
                found.append(f"{row.name}({given}) = {known[place]}, not {value:.4f}")
    return found


QUICK = "circle", "expression", "rgb", "xor"  # some seconds; networks of images take a minute


@pytest.mark.parametrize(
    "name",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in scenes()],
)
def test_all_numbers_of_a_picture_agree(name: str) -> None:
    frames = screens(played(name, STEPS.get(name, 20)))
    faults = [fault for screen in frames for fault in faults_of(screen)]
    assert not faults, "\n".join(faults)
