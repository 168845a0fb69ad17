"""The page of a session: one HTML file that opens from disk in any browser and loads nothing.

sv.page(session, "rgb.html")

A page trains or plays a recording. The page of a session that runs in Python uses a link instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from math import isfinite, prod
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from scalarviz.base import __version__
from scalarviz.base.checks import answered, size, true_or_false
from scalarviz.base.messages import inform
from scalarviz.base.package_files import text_beside
from scalarviz.base.progress import Progress
from scalarviz.base.texts import text, texts
from scalarviz.core.formulas.formula import pick
from scalarviz.data.written_names import SHOWN
from scalarviz.errors import EngineError, FileError, InputError
from scalarviz.files.atomic import as_path, check_place, replace_file
from scalarviz.pages.bundle import (
    POLICY,
    as_json,
    bundle,
    html,
    lettered,
    markup_of,
    packed,
    packed_bytes,
    texts_of,
)
from scalarviz.pages.caption_data import caption_data, optimizer_data
from scalarviz.pages.engine_data import engine_data, training_of, why_not
from scalarviz.pages.exhibit_data import exhibit_data, measured_data, metric_data, probe_of
from scalarviz.pages.recording import Recording, compressed, engine_of, recording_of, spare_of
from scalarviz.pages.scene_data import scene_data
from scalarviz.pages.session_state import earlier_data
from scalarviz.pages.translator import translated
from scalarviz.scene.canvas.palette import (
    CLASSES_ON_DARK,
    CLASSES_ON_LIGHT,
    THEMES,
    ColorMap,
    Theme,
    to_bytes,
)
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import CurveView
from scalarviz.scene.past_images import shares_of
from scalarviz.stage.commands import (
    FIRST_CONTROLS,
    PAGE_BUTTONS,
    page_keys,
    page_look,
    page_ticks,
)
from scalarviz.stage.curves import earlier_losses, level_of, scalar_curves, scalar_numbers
from scalarviz.stage.health_rows import health_of
from scalarviz.stage.show import Show
from scalarviz.training.follow.followed_session import DRAWN, RecordedRun, is_at_end, rewind
from scalarviz.training.session.reading import came_from
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import FILM, PICTURE

WEB = str(Path(__file__).with_name("web") / "main.js")  # beside the modules of the page
LARGEST = 10_000_000  # maximum bytes of a page
LARGEST_OF_RECORD = 2_000_000  # of a followed run, whose page can be attached to an issue
STEPS = 500  # steps of a recording
PROBE_BYTES, MOST_PROBES = 100_000, 20  # for maps of a probe, before they are compressed
WATCHED = 30.0  # steps per second at which a small network can be watched
SMALL = 2000  # weights of a small network
PLAYED = 15.0  # minimum seconds that a recording lasts at its initial speed
SAY = "say_"  # prefix of names in page.html that represent texts
ENDINGS = (".html", ".htm")
GOOD_ON_LIGHT = "#00775e"  # text color; the first class color is too pale for text
# The cubes of the legend, with their numbers.
CUBES = "minus", "minus half", "zero", "plus half", "plus"
CUBE = """<span class="{}"><svg viewBox="0 0 43 41" aria-hidden="true"><path class="front" \
d="M0 7h34v34H0z"/><path class="above" d="M0 7l9-7h34l-9 7z"/><path class="side" \
d="M34 7l9-7v34l-9 7z"/></svg><b></b></span>"""
# The tables of caption functions by kind of operation, and their rows.
KINDS = re.compile(r"^export const (?:FOR|BACK)WARD_KINDS = .*$", re.MULTILINE)
KIND = re.compile(r'\["(\w+)", \w+\](?:, )?')
# What only pages with long rows of kernels draw, with layers of this name, or of followed models.
OPENED = re.compile(r"^import \{ (draw_opened_rows) \} .*", re.MULTILINE)
EVENED = "layer_norm"
# What only pages with images or squares of neurons draw: classes and functions.
PAINTED = re.compile(
    r"^export (class NeuronMaps \{).*?^\}|^export (function draw(?:Maps|Squares)\(.*?\{$).*?^\}",
    re.MULTILINE | re.DOTALL,
)
MARKED = re.compile(
    r".*\b(?:draw_(?:diagram|health|scalars|maps|large_map)|words_of_scalars|[mM]odelFrames"
    r"|withProbe|probe_facts"
    r"|scaleModelArrays)\b.*\n"
)
# Modules of networks that read a sequence, and what the functions of others call instead of theirs.
SEQUENCES = {
    *(f"story/sequence_{name}.js" for name in ("choice", "lines", "picture", "captions")),
    *("story/past_names.js", "written_by.js", "writing.js"),
}
DEFINED = re.compile(r"^export (?:async )?(?:class|function|const) ([\w$]+).*\n", re.MULTILINE)
FOR_SEQUENCES = re.compile(
    r"^( *)if \([^\n]*\breads_sequence\(facts\)\) \{\n.*?^\1\}\n", re.MULTILINE | re.DOTALL
)
# Texts about the samples beside the network, by what these are.
THINGS = re.compile(r"(?:held\.asked|things)\.(colours|dots|pictures|pixels|questions)")
NAME = re.compile(r"\w+")
ROW = re.compile(r"(^  (\w+): (\w+),\n)", re.MULTILINE)  # of exhibit_kinds.js
# Removable parts of a style: comments, and spaces beside group 1.
SPACED = re.compile(r"/\*.*?\*/\s*|\s*([{};])\s*", re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A page before it is written: its content, and the size of its engine in bytes."""

    text: bytes
    engine: int
    recording: Recording | None = None
    reason: str = ""  # reason for a recording that was not requested
    left_out: tuple[str, ...] = ()  # names of metrics that the page cannot measure

    def words(self, name: str) -> str:
        """Return a sentence with the size of the page, and whether it trains or has a recording."""
        large, made = size_words(len(self.text)), self.recording
        if made is None:
            words = text("page.size", name=name, size=large, engine=size_words(self.engine))
            if self.left_out:
                words += "\n" + text("page.metrics.left_out", names=", ".join(self.left_out))
        else:
            words = text(
                "page.recorded.size",
                name=name,
                size=large,
                steps=made.steps,
                parts=made.parts.values,
            )
            if made.parts.gradients < made.parts.values:
                words += text("page.recorded.gradients", parts=made.parts.gradients)
        return f"{text('page.recorded.why', reason=self.reason)}\n{words}" if self.reason else words


@answered
def page(
    session: object,
    path: object,
    *,
    title: str = "",
    theme: str | None = None,
    engine: bool | None = None,
    steps: int = STEPS,
    every: int = 1,
    progress: bool = True,
) -> int:
    """Write a session as a web page that trains, plays back and explains; return its size in bytes.

    The page contains the kernels of the cpu engine as WebAssembly and continues from the current
    step. It is a single file that needs no server and no network. The session is unchanged. The
    file size is reported before the file is written.

    Args:
        session: a Session, a Show or a fitted estimator; its network must have layers
        path: output file, .html
        title: title of the page; by default the title of the Show
        theme: "dark" or "light"; None (default) means the theme of the reader's system
        engine: if True, the page trains; if False, it contains a recording, computed by a copy of
            the session, which can be played forward and backward but not changed; None (default)
            means that the page trains if possible, and otherwise contains a recording
        steps: number of steps of a recording; by default 500
        every: number of steps between two recorded steps; by default 1
        progress: if True (default), show a progress bar in a terminal or a notebook while kernels
            are compiled, once per kind of network, or while steps are recorded

    Raises:
        EngineError: if a page can neither train nor show the session.
        InputError: if the page would be larger than 10 MB or the theme is unknown.
        GradientError: if the gradients or the update of the first recorded step are not finite.
        FileError: if the file cannot be written.
    """
    place = as_path(path)
    check_name(place.name)
    check_place(place)
    with nullcontext() if true_or_false(progress, "progress") else Progress(0, wanted=False):
        made = page_of(session, title=title, theme=theme, engine=engine, steps=steps, every=every)
        for line in made.words(place.name).splitlines():
            inform(line)
        replace_file(place, made.text)
    return len(made.text)


def check_name(name: str) -> None:
    """Raise InputError if a file name does not end in .html."""
    if not name.lower().endswith(ENDINGS):
        raise InputError(f"a page is saved as .html, not as {name!r}: rename it")


def trains(session: Session, engine: bool | None = None) -> bool:
    """Return whether the page of a session trains; otherwise it contains a recording.

    Args:
        session: the session
        engine: see `page`

    Raises:
        EngineError: if the page can neither train nor contain a recording, or if `engine` is True
            but the page cannot train.
    """
    if engine is not None:
        engine = true_or_false(engine, "engine")
    reason = why_not(session)
    if reason and (engine or not session.network.layers):
        raise EngineError(reason)
    return not reason if engine is None else engine


def first_speed(show: Show) -> float | None:
    """Return the initial speed of a page in steps per second; None means as fast as possible."""
    return show.speed or (WATCHED if len(show.session.network.bank) < SMALL else None)


def page_of(
    session: object,
    *,
    title: str = "",
    theme: str | None = None,
    engine: bool | None = None,
    steps: int = STEPS,
    every: int = 1,
    links: str = "",
) -> Page:
    """Return the page of a session; raise InputError if it is too large.

    Args:
        session: the session, and other arguments as for `page`
        links: links to other pages, as returned by `links_of`
    """
    if theme is not None:
        pick(THEMES, theme, "theme")
    steps, every = size(steps, "steps"), size(every, "every")
    show = Show.of(session)
    if title != "":
        show = replace(show, title=title)  # raises InputError unless the title is a text
    with show.session.doing():  # all data of a page belong to one moment
        return made_page(show, theme, engine, steps, every, links)


def made_page(
    show: Show,
    theme: str | None,
    engine: bool | None,
    steps: int,
    every: int,
    links: str,
    *,
    maps: bool = True,
) -> Page:
    """Return the page of a session that is paused; for the arguments, see `page_of`.

    Args:
        maps: whether it may have the maps of a probe; they are left out if space is short
    """
    does_train = trains(show.session, engine)
    limit, whole_show = LARGEST, show
    if opens := is_at_end(show.session):
        show = replace(show, session=show.session.copy())
        rewind(show.session)
    if isinstance(show.session.trainer.run, RecordedRun):  # the whole record
        steps = show.session.current_branch.end.step - show.session.step_index
        limit = LARGEST_OF_RECORD
    probe, made, measured = probe_of(show.session), None, None
    exhibit = exhibit_data(show.session)
    data: dict[str, Any] = {}
    parts: dict[str, str] = {}
    scene = scene_data(show, maps=maps)
    kinds = {each.kind for each in show.session.network.program.operations}
    spec = spec_of(show, theme or "", scene, exhibit)
    if not maps:
        spec["page"]["probe"] = None
    has = parts_of(spec)
    script = bundle("main.js", partial(module_for, exhibit, parts=has, kinds=kinds))
    if does_train:
        module, image, spec["engine"] = engine_data(show.session, probe, check_image)
        first = show.session.data.first_shown
        spec["engine"]["shown"] = first and [each.tolist() for each in first]
        data["worker"] = bundle("worker.js", partial(module_for, None, parts=has))
        parts |= {"module": packed_bytes(module), "image": packed_bytes(image)}
        names: Any = show.session.data
        if names.writes:
            random = names.random_numbers(SHOWN).tolist()
            spec["page"]["names"] = {"signs": names.letters, "random": random}
        measured = metric_data(show.session, spec["facts"]["loss"])
        if measured is not None and measured.engine["names"]:
            spec["engine"]["metrics"] = measured.engine
            spec["page"]["measured"] = measured.shown
            parts["held"] = packed_bytes(measured.held)
        optimizers = training_of(show.session.trainer, 0).optimizers
        mixed = show.session.network.precision.mixed
        spec["facts"]["optimizers"] = [optimizer_data(each, mixed=mixed) for each in optimizers]
        data["spare"] = spare_of(show.session, probe)
    data |= {"spec": spec, "texts": texts_beside(script, exhibit, spec)}

    def whole() -> bytes:
        written = filled(show, script, data, parts, links)
        return written.encode("utf-8", "replace")  # an unpaired surrogate is replaced

    content = whole()
    if does_train and len(content) > LARGEST:
        data["spare"] = None
        content = whole()
    if not does_train:
        try:
            made = recording_of(show.session, probe, steps, every, limit - len(content))
        except InputError:
            if not maps or spec["page"]["probe"] is None:
                raise
            return made_page(whole_show, theme, engine, steps, every, links, maps=False)
        spec |= {"engine": made.engine, "recording": made.spec | {"at_end": opens}}
        spec["page"]["about"] = " ".join(filter(None, (show.about, made.left_out)))
        speed = spec["page"]["speed"] or made.steps
        spec["page"]["speed"] = min(speed, max(1.0, made.steps / PLAYED))
        if made.measured is not None:
            spec["page"]["measured"] = made.measured
        parts["recording"] = lettered(made.data)
        content = whole()
    if len(content) > LARGEST:
        raise too_large(len(content))
    is_recorded = show.session.trainer.recorded is not None
    reason = "" if does_train or engine is False or is_recorded else why_not(show.session)
    left_out = measured.left_out if measured is not None else ()
    return Page(content, len(parts.get("module", "")), made, reason, left_out)


def spec_of(
    show: Show, theme: str, scene: Mapping[str, Any], exhibit: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the data of a page about a paused session, except for its engine."""
    step = show.session.step_index
    return {
        "fixed": show.session.trainer.recorded is not None,
        "engine": {},
        "scene": scene,
        "facts": caption_data(show.session),
        "page": {
            "title": show.title,
            "about": show.about,
            "came": came_from(show.session),
            "theme": theme,
            "look": page_look(Look()),
            "speed": first_speed(show),
            "film": show.film and step == 0,
            "clock": {
                "steps": [*(n for n in FILM if n < show.steps), show.steps],
                "seconds": PICTURE,
            },
            "tint": show.session.data.input_tint,
            "exhibit": exhibit,
            "level": level if isfinite(level := level_of(show.session.data)) else None,
            "first": [*FIRST_CONTROLS.items()],
            **page_keys(recorded=show.session.trainer.recorded is not None),
            "measured": measured_data({}),
            **page_of_followed(show.session),
            "probe": page_probe(show.session),
            "earlier": earlier_data(show.session.losses[:step], step),
        },
    }


def page_of_followed(session: Session) -> dict[str, Any]:
    """Return the health and the scalars of a followed model for a page; None for other sessions."""
    run = session.trainer.run
    rows = health_of(run)
    health = None if rows is None else vars(rows) | {"shades": [*map(packed, rows.shades)]}
    scalars = {} if run.followed is None else run.followed.scalars
    return {"health": health, "scalars": scalar_numbers(scalar_curves(scalars, CurveView()))}


def page_probe(session: Session) -> list[Any] | None:
    """Return [step, rows by module] of some probes, which have PROBE_BYTES; None without a probe.

    Maps are results of `shares_of` as bytes, 127 for 1; large ones of the last modules are omitted.
    """
    run, found = session.trainer.run, list[Any]()
    probed = (run.structure or {}).get("probed", {})
    if not isinstance(run, RecordedRun) or not probed:
        return None
    ends = np.cumsum([sum(map(prod, parts.values())) for parts in probed.values()])
    some = {path for path, end in zip(probed, ends, strict=True) if end <= PROBE_BYTES}
    steps = run.followed.probe_steps
    most = min(len(steps), MOST_PROBES, PROBE_BYTES // int(ends[: len(some)].max(initial=1)))
    for at in sorted({round(x) for x in np.linspace(len(steps) - 1, 0, most).tolist()}):
        with suppress(FileError):  # it was dropped
            rows = run.followed.probe(int(steps[at])).items()
            found.append([int(steps[at]), {x: probe_row(row, x in some) for x, row in rows}])
    return found


def probe_row(row: Mapping[str, Any], has_maps: bool) -> dict[str, Any]:
    """Return the finite numbers of a module, and its maps as bytes, -128 for NaN."""
    made = {name: x for name, x in row.items() if name not in DRAWN and isfinite(x)}
    for part in DRAWN if has_maps else ():
        if part in row:
            shares = np.clip(shares_of(row[part], part), -1.0, 1.0)
            made[part] = packed(np.rint(np.nan_to_num(127.0 * shares, nan=-128.0)).astype(np.int8))
    return made


def filled(
    show: Show,
    script: str,
    data: Mapping[str, object],
    parts: Mapping[str, str] | None = None,
    links: str = "",
    policy: Mapping[str, str] = POLICY,
) -> str:
    """Fill the template page.html with the texts of a Show, a script and its data."""
    markup = markup_of_page()
    words = said_in(markup)
    if show.session.trainer.recorded is not None:
        words[f"{SAY}keys"] = text("page.keys.recorded")
    words |= {"minus": text("legend.minus"), "plus": text("legend.plus")}
    words |= {"title": show.title, "task": show.task, "about": show.about, "version": __version__}
    first, raw = first_style(), {"links": links}
    parts, rules = parts or {}, rules_of_page()
    return html(markup, words, first, script, loader(), data, parts, raw, policy, rules)


def check_image(image: bytes) -> None:
    """Raise InputError if the memory image alone makes a page too large.

    The image is compressed as in the page, but only until it exceeds the limit.
    """
    room = LARGEST * 4 // 5  # before encoding as text
    if len(image) > room and compressed(image, room) is None:
        raise too_large()


def too_large(size: int | None = None) -> InputError:
    """Return the error for a page that is too large; `size` is None if not known."""
    most = size_words(LARGEST)
    if size is None:
        return InputError(
            f"the page of this session would have more than {most}: take fewer samples or a "
            "smaller network"
        )
    return InputError(
        f"the page of this session would have {size_words(size)}, and {most} is the limit: use "
        "fewer samples or a smaller network"
    )


@cache
def loader() -> str:
    """Return the script that unpacks the main script of a page and runs it."""
    return bundle("loader.js", module_text)


def module_text(name: str) -> str:
    """Return the source of a JavaScript module by name."""
    return translated().get(name) or text_beside(WEB, name)


def module_for(
    exhibit: Mapping[str, Any] | None,
    name: str,
    *,
    parts: Collection[str] = ("opens", "marked", "painted", "sequences"),
    kinds: Collection[str] | None = None,
) -> str:
    """Return the source of a module without the parts that a page does not need.

    Args:
        exhibit: data of the result plot, or None; other kinds of plots are left out
        name: name of the module
        parts: what the picture has, as `parts_of`; the code for other parts is left out
        kinds: kinds of operations that captions describe; None (default) means all
    """
    content, shown = module_text(name), exhibit and exhibit["kind"]
    if name == "story/long_rows.js" and "opens" not in parts:
        content = OPENED.sub(r"const \1 = () => [];", content)
    if name == "neuron_images.js" and "painted" not in parts:
        content = PAINTED.sub(lambda found: f"export {found[1] or found[2]}}}", content)
    if "marked" not in parts:
        content = MARKED.sub("", content)
    if name == "story/names.js" and "sequences" not in parts:
        content = FOR_SEQUENCES.sub("", content)
    if name in SEQUENCES and "sequences" not in parts:
        known = DEFINED.findall(content)
        lines = DEFINED.finditer(module_text("nothing.js"))
        content = "".join(line[0] for line in lines if line[1] in known)
    if kinds is not None:
        content = KINDS.sub(lambda line: without(line[0], kinds), content)
    for row, kind, module in ROW.findall(content) if name == "exhibit_kinds.js" else ():
        if kind != shown:
            content = re.sub(rf"import {{ {module} }} from .*\n", "", content.replace(row, ""))
    return content


def texts_beside(
    script: str, exhibit: Mapping[str, Any] | None, spec: Mapping[str, Any]
) -> dict[str, str]:
    """Return the texts of a script, without those about samples or operations of other kinds."""
    own = (exhibit or {}).get("things", "")
    found, known = texts_of(script, texts()), {*NAME.findall(script), *NAME.findall(as_json(spec))}
    known -= set() if "sequences" in parts_of(spec) else {"sequence"}
    return {
        key: said
        for key, said in found.items()
        if THINGS.sub(r"\1", key) in (key, own)
        and (not key.startswith("captions.") or known.issuperset(key.split(".")))
    }


def without(table: str, kinds: Collection[str]) -> str:
    """Return the source of a table of functions, reduced to these kinds of operations."""
    return KIND.sub(lambda row: row[0] if row[1] in kinds else "", table)


def parts_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the parts of a picture that few have.

    They are "opens", rows of kernels or of a LayerNorm that can be opened, "marked", the marks and
    the health of a followed model, "painted", neurons as images or as squares, and "sequences",
    networks that read a sequence.
    """
    layouts = spec["scene"]["layouts"]
    lines = [line for each in layouts for line in each["neurons"]]
    is_evened = any(line["curve"] == EVENED for line in lines)
    has = {
        "opens": is_evened
        or any(fan["form"] == "open" for each in layouts for fan in each["fans"]),
        "marked": spec["page"]["health"] is not None or any("marks" in each for each in layouts),
        "painted": bool(spec["scene"]["maps"]["places"])
        or any(line["square"] or line["shape"] for line in lines),
        "sequences": any("sequence" in each for each in layouts),
    }
    return [name for name in has if has[name]]


def markup_of_page() -> str:
    """Return page.html with the buttons of its menu and the cubes of its legend."""
    button = '<button type="button" id="{}" data-row="{}">{}</button>'.format
    rows = [button(id, row, "$" + SAY + id.replace("-", "_")) for id, row in PAGE_BUTTONS.items()]
    for field, row in page_ticks().items():
        rows.append(button(field.replace("_", "-"), row.name, escape(row.text)))
    cubes = "".join(map(CUBE.format, CUBES))
    markup = markup_of("page.html").replace("$cubes", cubes)
    return markup.replace("$buttons", "\n".join(rows))


def said_in(markup: str) -> dict[str, str]:
    """Return the texts for the names in a markup that begin with SAY."""
    said = [name for name in Template(markup).get_identifiers() if name.startswith(SAY)]
    return {name: text(f"page.html.{name.removeprefix(SAY)}") for name in said}


def first_style() -> str:
    """Return the style sheet of the head; it defines the theme colors as custom properties."""
    return colors_of_page() + rules_in("first.css")


def rules_of_page() -> str:
    """Return the style rules that the loader of a page unpacks."""
    return rules_in("page.css", "exhibits.css", "inputs.css")


def rules_in(*names: str) -> str:
    """Return the style rules of some files, without comments and spaces."""
    return SPACED.sub(r"\1", "".join(text_beside(__file__, name) for name in names))


def colors_of_page() -> str:
    """Return style rules that define the colors of the themes as custom properties."""
    dark, light = (properties(THEMES[name]) for name in ("dark", "light"))
    return (
        f"\n:root {{ {dark} }}\n"
        f"@media (prefers-color-scheme: light) {{ :root {{ {light} }} }}\n"
        f':root[data-theme="dark"] {{ {dark} }}\n:root[data-theme="light"] {{ {light} }}\n'
    )


def properties(theme: Theme) -> str:
    """Return the declarations of a theme's colors as custom properties."""
    own, map = theme.controls, theme.map
    colors = {
        "ground": theme.ground,
        "panel": theme.panel[:7],
        "raised": own.raised if theme.is_dark else theme.rim,
        "rim": theme.rim,
        "faint": own.edge,
        "ink": theme.ink,
        "quiet": theme.quiet,
        "accent": theme.accent,
        "on-accent": own.on_accent,
        "lit": theme.light,
        "push": theme.push,
        "metric": theme.metric,
        "ghost": theme.ghost,
        "loss": theme.loss,
        "chosen": theme.lit,
        "good": CLASSES_ON_DARK[0] if theme.is_dark else GOOD_ON_LIGHT,
        "negative": map.negative,
        "zero": map.zero,
        "positive": map.positive,
        "negative-half": between(map, -0.5),
        "positive-half": between(map, 0.5),
        "answers": " ".join(f"{place:g}{c}" for place, c in zip(*theme.answers.table, strict=True)),
        "sides": " ".join(theme.sides),
        "soft": theme.soft,
        "former": theme.former,
        "worse": theme.worse,
        **{f"channel-{i}": color for i, color in enumerate(theme.channels)},
        "classes": " ".join(CLASSES_ON_DARK if theme.is_dark else CLASSES_ON_LIGHT),
    }
    scheme = "dark" if theme.is_dark else "light"
    return f"color-scheme: {scheme}; " + " ".join(f"--{name}: {c};" for name, c in colors.items())


def between(map: ColorMap, number: float) -> str:
    """Return the color of a number from -1 to 1 in a color map, such as "#ffffff"."""
    return "#" + to_bytes(map(number)).tobytes().hex()


def size_words(size: int) -> str:
    """Return a size in bytes as text with two or three digits, such as 640 kB or 1.2 MB."""
    if size < 999_500:
        return text("page.kilobytes", count=max(1, round(size / 1000)))
    return text("page.megabytes", count=size / 1e6)


# The page of a session in Python: it draws and explains, and requests numbers by a link.

START = "linked.js"
# Numbers come by the link; an engine would be a worker with WebAssembly.
ALLOWED = {
    **{name: allowed for name, allowed in POLICY.items() if name != "worker-src"},
    "script-src": "{loader} {script}",
    "connect-src": "'self'",
}


def description(
    show: Show, theme: str = "", *, tour: bool = False, opened: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return the data that a linked page needs before its first state: "spec" and "texts".

    For `opened`, see `scene_data`.
    """
    session = show.session
    with session.doing():
        exhibit, run = exhibit_data(session), session.trainer.run
        is_done = isinstance(run, RecordedRun) and run.followed.record.is_done
        probe = page_probe(session) if is_done else None  # later ones are not sent
        spec = {
            "linked": True,
            "fixed": session.trainer.recorded is not None,
            "engine": engine_of(session, 0),
            "scene": scene_data(show, opened=opened or {}, maps=probe is not None),
            "facts": caption_data(session),
            "page": {
                "title": show.title,
                "about": show.about,
                "came": came_from(session),
                "theme": theme,
                "speed": first_speed(show),
                "tint": session.data.input_tint,
                "exhibit": exhibit,
                "first": [*FIRST_CONTROLS.items()],
                **page_keys(recorded=session.trainer.recorded is not None),
                "tour": tour,
                "earlier": earlier_data(earlier_losses(session)),
                **page_of_followed(session),
                "probe": probe,
            },
        }
        spec["facts"]["optimizers"] = [spec["facts"]["optimizer"]]
    script = bundle(START, partial(module_for, exhibit, parts=parts_of(spec)))
    return {"spec": spec, "texts": texts_of(script, texts())}


def linked_page(
    show: Show, link: dict[str, Any], described: dict[str, Any], first: Any = None
) -> str:
    """Return the HTML of a page that is linked to a session in Python.

    Args:
        show: the Show of the session
        link: how the page reaches the session, see web/linked.js
        described: the result of `description`
        first: state to show until Python answers; None (default) means no state
    """
    script = bundle(START, module_text)  # another scene may have another exhibit
    data = {**described, "texts": texts_of(script, texts()), "link": link, "first": first}
    return filled(show, script, data, policy=ALLOWED)
