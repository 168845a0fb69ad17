"""A lesson: texts, questions and pictures in order, from a notebook or from Markdown."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from scalarviz.base.checks import require, shorten
from scalarviz.base.package_files import top_folder
from scalarviz.base.shell_commands import pip_command
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.pages.lessons.questions import Question, made, question

LARGEST = 5_000_000  # bytes of a file
LEFT_OUT = {"check", "notebook"}  # tags of cells that pages omit
IMAGE = re.compile(r'<img src="(data:image/[\w+]+;base64,[A-Za-z0-9+/=]+)"')
HANDOUTS = ("glossary", "questions-before", "questions-after")
# A link to a lesson or a handout in any folder; their pages are in the same folder.
LINK = re.compile(rf'href="(?:[^":?#]*/)?(\d\d\w?-[\w-]+|{"|".join(HANDOUTS)})\.(?:ipynb|md)"')
# Collapsed under a separate heading.
SOLUTIONS = re.compile(r"<h2>([^<]*)</h2>\s*(<details>.*</details>)", re.DOTALL)
FENCE = re.compile(r"^`{3,}(.*)$", re.MULTILINE)  # begins or ends a block
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
FROM_FILE = re.compile(r'<img src="((?!data:)[^"]*)"')  # blocked by the policy of pages


@dataclass(frozen=True)
class Text:
    """A part of a lesson as HTML: a text, or code with its output."""

    html: str


@dataclass(frozen=True)
class LessonPicture:
    """A part of a lesson: a picture that trains.

    Attributes:
        scene: name of a scene, or path of a saved run; "" if a notebook cell shows the picture
        cell: index of the notebook cell that shows the picture
        moment: the initial view, as parts of a URL fragment
        image: PNG as base64 that is shown if a page cannot train the picture, or ""
    """

    scene: str = ""
    cell: int = 0
    moment: Mapping[str, Any] = field(default_factory=dict)
    image: str = ""


@dataclass(frozen=True)
class End:
    """A part of a lesson: the table of guesses and its buttons."""


END = End()
Part = Text | Question | LessonPicture | End


@dataclass(frozen=True)
class Lesson:
    """A lesson: its title and its parts.

    Attributes:
        name: name of the page and of the collected answers
        title: heading of the lesson
        parts: texts, questions and pictures, in order
        code: sources of the notebook cells that create the pictures
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    code: tuple[str, ...] = ()


def lessons() -> dict[str, Path]:
    """Return the notebook files of the lessons, by number."""
    found = sorted(top_folder("notebooks").glob("[0-9][0-9]*-*.ipynb"))
    return {path.stem.partition("-")[0]: path for path in found}


def handouts() -> dict[str, Path]:
    """Return the files of the handouts, by name."""
    return {name: top_folder("docs/guide") / f"{name}.md" for name in HANDOUTS}


def without_solutions(lesson: Lesson) -> Lesson:
    """Return a copy of a lesson without its solutions."""
    parts = [
        Text(SOLUTIONS.sub("", each.html)) if isinstance(each, Text) else each
        for each in lesson.parts
    ]
    return replace(lesson, parts=tuple(parts))


def solutions_of(lessons: Iterable[Lesson]) -> Lesson:
    """Return a lesson that contains the solutions of other lessons, under their titles."""
    title = text("lesson.solutions")
    words = [f"<h1>{title}</h1>"]
    for lesson in lessons:
        pages = [each.html for each in lesson.parts if isinstance(each, Text)]
        found = [folded for page in pages for _, folded in SOLUTIONS.findall(page)]
        words += [f"<h2>{escape(lesson.title)}</h2>", *found] if found else []
    return Lesson("solutions", title, (Text("\n".join(words)),))


def lesson_of(path: Path) -> Lesson:
    """Read a lesson from an .ipynb or .md file; raise InputError if it is invalid."""
    read = {".ipynb": of_notebook, ".md": of_markdown}.get(path.suffix)
    if read is None:
        raise InputError(f"a lesson is an .md or .ipynb file, not {shorten(path.name)}: rename it")
    try:
        require(
            path.stat().st_size <= LARGEST,
            f"{path.name} has more than {LARGEST} bytes, the limit of a lesson",
        )
        content = path.read_text(encoding="utf-8-sig")  # Notepad may write a byte order mark
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror}: pass the file of a lesson") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not text: save it as UTF-8") from error
    return read(content, path)


def of_notebook(content: str, path: Path) -> Lesson:
    """Return the lesson that a notebook contains; no cell is run."""
    try:
        cells = json.loads(content)["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        parts = [*notebook_parts(cells, sources)]
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path.name} is not a notebook: save it again from JupyterLab") from error
    code = tuple(
        source if cell["cell_type"] == "code" and not is_left_out(cell) else ""
        for cell, source in zip(cells, sources, strict=True)
    )
    return Lesson(path.stem, title_of("".join(sources[:1]), path), tuple(parts), code)


def notebook_parts(cells: Any, sources: list[str]) -> Iterator[Part]:
    """Yield the parts of a lesson for notebook cells."""
    for number, (cell, source) in enumerate(zip(cells, sources, strict=True)):
        if is_left_out(cell):
            continue
        if cell["cell_type"] == "markdown":
            yield Text(linked(source))
            continue
        outputs, call = cell["outputs"], last_call(source)
        called = "" if call is None else ast.unparse(call.func)
        if call and called == "sv.predict":
            yield question(ast.literal_eval(call.args[0]))
        elif call and called == "sv.watch":
            code = "" if source.startswith("sv.watch(") else listing(source)
            yield Text(code + "".join(map(printed, outputs)))
            images = [data["image/png"] for data in map(data_of, outputs) if "image/png" in data]
            moment = {each.arg: "yes" for each in call.keywords if each.arg == "numbers"}
            yield LessonPicture(cell=number, moment=moment, image="".join(images[-1:]))
        elif called == "sv.predictions":
            yield END
        else:
            yield Text(listing(source) + "".join(map(shown, outputs)))


def linked(words: str) -> str:
    """Convert Markdown to HTML; links to lessons become links to their pages."""
    return LINK.sub(r'href="\1.html"', html_of(words))


def is_left_out(cell: Any) -> bool:
    return not LEFT_OUT.isdisjoint(cell["metadata"].get("tags", []))


def last_call(source: str) -> ast.Call | None:
    """Return the function call in the last statement of a cell, or None."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a line of IPython
        return None
    match body[-1:]:
        case [ast.Expr(value=ast.Call() as call)]:
            return call
    return None


def listing(source: str) -> str:
    return f"<pre><code>{escape(source)}</code></pre>"


def data_of(output: Any) -> dict[str, str]:
    """Return the representations of a cell output, by mime type."""
    return {kind: "".join(data) for kind, data in output.get("data", {}).items() if "+" not in kind}


def printed(output: Any) -> str:
    """Return the text that a cell has printed, as HTML."""
    words = "".join(output.get("text", ""))
    return f'<pre class="printed">{escape(words)}</pre>' if words else ""


def shown(output: Any) -> str:
    """Return a cell output as HTML: its image, or its text if there is no image."""
    data = data_of(output)
    words = escape(data.get("text/plain", ""))
    found = IMAGE.search(data.get("text/html", ""))
    source = found[1] if found else ""
    if "image/png" in data:
        source = f"data:image/png;base64,{escape(''.join(data['image/png'].split()))}"
    if source:
        return f'<img src="{source}" alt="{words}">'
    return printed(output) or (f'<pre class="printed">{words}</pre>' if words else "")


def title_of(words: str, path: Path) -> str:
    """Return the heading of a text; raise InputError if it is missing."""
    found = TITLE.search(words)
    if found is None:
        raise InputError(f"{path.name} has no title: begin it with a line such as # My lesson")
    return found[1].strip()


def of_markdown(content: str, path: Path) -> Lesson:
    """Return the lesson that a Markdown text contains; question and picture blocks contain TOML."""
    parts: list[Part] = []
    count = 0
    for kind, words in parted(content, path):
        count += kind == "question"
        parts.append(block(kind, words, path, f"{count:02d}") if kind else prose(words, path))
    return Lesson(path.stem, title_of(content, path), tuple(parts))


def parted(content: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the content of each block; the kind of a text between blocks is ""."""
    before, fences = 0, FENCE.finditer(content)
    for begun in fences:
        ended = next((each for each in fences if not each[1].strip()), None)
        kind = "".join(begun[1].split()[:1])
        if kind in ("question", "picture"):
            if ended is None:
                raise InputError(f"the last {kind} in {path.name} has no end: add a line of ```")
            yield "", content[before : begun.start()]
            yield kind, content[begun.end() + 1 : ended.start()]
            before = ended.end()
    yield "", content[before:]


def prose(words: str, path: Path) -> Text:
    """Return a text between blocks as HTML; raise InputError if it contains an image file."""
    html = linked(words)
    found = FROM_FILE.search(html)
    if found:
        raise InputError(
            f"{path.name} shows {shorten(found[1])}, and a page cannot show picture files: leave "
            "it out, or write it as data:image/png;base64,..."
        )
    return Text(html)


def block(kind: str, content: str, path: Path, key: str) -> Question | LessonPicture:
    """Return the question or the picture of a block; raise InputError if it is invalid."""
    try:
        table = tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the {kind} {shorten(content.strip())} in {path.name} is not TOML: {error}"
            + ("; 'single quotes' around a text keep its backslashes" if "\\" in content else "")
        ) from error
    if kind == "question":
        return made(table, path.stem, key)
    scene = table.pop("scene", "")
    if not isinstance(scene, str) or not scene:
        raise InputError(f'a picture in {path.name} has no scene: write scene = "rgb"')
    return LessonPicture(scene, moment=table)


# Texts of lessons as HTML: Markdown, with formulas between dollar signs as MathML.

# Allowed HTML in texts: collapsible sections and line breaks. Everything else is escaped.
FOLDING = re.compile(r"</?(details|summary|br|sub|sup)>")
TAG = re.compile(r"<[^<>]*>|[^<]+|<")
# Allowed attributes of formulas; TeX could also add links, classes and styles.
MATH = frozenset(
    "accent columnalign columnlines columnspacing depth display displaystyle fence form height "
    "largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize "
    "minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy "
    "voffset width xmlns".split()
)
ATTRIBUTE = re.compile(r' ([^\s="]+)="[^"]*"')
ELEMENT = re.compile(rf"<m[a-z]+({ATTRIBUTE.pattern})+")
LONGEST = 2000  # maximum letters of a formula; conversion time is quadratic
# A unary minus, as in (-4) and = -2.
MINUS = re.compile(r"(?<!&#x000(?:29|5D|7C|7D);</mo>)(?<=</mo>)<mo>(?=&#x02212;</mo>)")
# The name of a function, or log with its base, directly before its argument, as in \ln 2.
NAMED = re.compile(
    r"((?<!<ms..>)<mi>[a-z]{2,}</mi>|<msub><mi>log</mi>(?:(?!</msub>).)*</msub>)(?=<m(?!o|space))"
)
SPACE = '<mspace width="0.167em" />'
# A formula and the following sign, which browsers could separate at the end of a line.
SIGNED = re.compile(r'(<span class="math inline">(?:(?!</span>).)*</span>[.,;:!?)]+)')


def html_of(words: str) -> str:
    """Convert Markdown to HTML."""
    return SIGNED.sub(r'<span class="tied">\1</span>', parser().render(words))


def inline_of(words: str) -> str:
    """Convert one paragraph of Markdown to inline HTML."""
    return SIGNED.sub(r'<span class="tied">\1</span>', parser().renderInline(words))


@cache
def parser() -> Any:
    """Return the Markdown parser; raise InputError if a package for it is not installed."""
    try:
        import latex2mathml.converter  # noqa: F401  # which formulas need
        from markdown_it import MarkdownIt
        from mdit_py_plugins.dollarmath import dollarmath_plugin
    except ImportError as error:
        raise InputError(
            "pages of lessons need markdown-it-py, mdit-py-plugins and latex2mathml: "
            f"{pip_command('serve')}"
        ) from error
    made = MarkdownIt("commonmark").enable("table")
    # Without labels, which would become ids and could collide with ids of the page.
    dollarmath_plugin(
        made, allow_space=False, allow_labels=False, double_inline=True, renderer=formula
    )
    for kind in ("html_block", "html_inline"):
        made.add_render_rule(kind, folding)
    return made


def formula(tex: str, options: dict[str, bool]) -> str:
    """Convert a TeX formula to MathML; an invalid formula is shown as code."""
    from latex2mathml.converter import convert

    try:
        if len(tex) > LONGEST:
            raise ValueError
        plain = tex.replace("<", "< ")  # texts in it are not escaped: no element must begin
        display = "block" if options["display_mode"] else "inline"
        made = ELEMENT.sub(needed, convert(plain, display=display))
        made = MINUS.sub('<mo form="prefix">', made)
        return NAMED.sub(rf"\1{SPACE}", made)
    except Exception:  # its parser raises errors of many kinds
        return f"<code>{escape(tex)}</code>"


def needed(element: re.Match[str]) -> str:
    """Return the start tag of an element without attributes that are not in MATH."""
    return ATTRIBUTE.sub(lambda each: each[0] if each[1] in MATH else "", element[0])


def folding(_: object, tokens: Any, index: int, *rest: object) -> str:
    """Return HTML with all tags escaped that are not in FOLDING."""
    parts = TAG.findall(tokens[index].content)
    return "".join(each if FOLDING.fullmatch(each) else escape(each, quote=False) for each in parts)
