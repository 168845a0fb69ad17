"""The page of a lesson: texts, questions, and pictures that train, in one file."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlencode

from scalarviz.base import __version__
from scalarviz.base.checks import require
from scalarviz.base.package_files import text_beside
from scalarviz.base.shell_commands import pip_command
from scalarviz.base.texts import text, texts
from scalarviz.errors import EngineError, InputError
from scalarviz.pages.bundle import (
    POLICY,
    bundle,
    html,
    markup_of,
    packed_bytes,
    stated_policy,
    texts_of,
)
from scalarviz.pages.lessons.lesson import END, End, Lesson, LessonPicture, Part, Text, inline_of
from scalarviz.pages.lessons.questions import Question
from scalarviz.pages.page import colors_of_page, loader, module_text, page_of, said_in, size_words

LARGEST = 1_500_000  # bytes
PAGES = str(Path(__file__).parent)  # the templates are in the parent folder
FINGERPRINT = re.compile(r"'sha256-[^']+'")


def lesson_page(lesson: Lesson, scene: Callable[[str], Any]) -> bytes:
    """Return the page of a lesson; raise InputError if it would be too large.

    Args:
        lesson: the lesson
        scene: function that returns the Session or Show for the name of a scene
    """
    pictures = [each for each in lesson.parts if isinstance(each, LessonPicture)]
    pages = {id(each): page_in(lesson, each, scene) for each in pictures}
    given = lesson.parts if END in lesson.parts else (*lesson.parts, END)
    parts = [part_html(each, pages) for each in given]
    pages = {key: page for key, page in pages.items() if page}
    content = filled(lesson, parts, pages)
    require(
        len(content) <= LARGEST,
        f"the page of {lesson.name} would have {size_words(len(content))}, and "
        f"{size_words(LARGEST)} is the limit: use fewer or smaller pictures",
    )
    return content


def page_in(lesson: Lesson, picture: LessonPicture, scene: Callable[[str], Any]) -> str:
    """Return the page for a picture of a lesson; "" if a page cannot train it.

    Raises:
        InputError: if a package that the picture needs is not installed.
    """
    if picture.scene:
        return page_of(scene(picture.scene)).text.decode()
    try:
        with suppress(EngineError, InputError):
            return page_of(shown_by(lesson.code, picture.cell)).text.decode()
    except ModuleNotFoundError as error:
        raise InputError(
            f"pictures of {lesson.name} need {error.name}: {pip_command('lessons')}"
        ) from error
    return ""


def part_html(part: Part, pages: Mapping[int, str]) -> str:
    """Return a part of a lesson as HTML."""
    if isinstance(part, Text):
        return f'<section class="part">{part.html}</section>'
    if isinstance(part, Question):
        ask = inline_of(part.ask)
        words = f"<p>{text('predict.html', question=ask)}</p>"
        goes_on = f'<p class="goes-on">{text("predict.goes_on")}</p>'
        mark = escape(f"question-{part.key}")
        return f'<section class="question" id="{mark}">{words}{goes_on}</section>'
    if isinstance(part, End):
        markup = text_beside(PAGES, "lesson_end.html")
        return Template(markup).substitute(said_in(markup))
    if pages[id(part)]:
        number = [key for key, page in pages.items() if page].index(id(part))
        return f'<section class="picture" data-number="{number}"></section>'
    image = f'<img src="data:image/png;base64,{escape(part.image)}" alt="">' if part.image else ""
    return f'<section class="picture">{image}</section>'


def filled(lesson: Lesson, parts: Iterable[str], pages: Mapping[int, str]) -> bytes:
    """Fill the template of a lesson page with its parts and data, and return the page."""
    script = bundle("lesson.js", module_text)
    shown = {id(each): each for each in lesson.parts if isinstance(each, LessonPicture)}
    data = {
        "lesson": lesson.name,
        "questions": [told(each) for each in lesson.parts if isinstance(each, Question)],
        "pictures": [urlencode({"tour": "no", **shown[key].moment}) for key in pages],
        "texts": texts_of(script, texts()),
    }
    packed = {f"picture{i}": packed_bytes(page.encode()) for i, page in enumerate(pages.values())}
    markup = markup_of("lesson.html")
    words = {"title": lesson.title, "version": __version__}
    style = colors_of_page() + text_beside(PAGES, "lesson.css")
    named = f'<a href="glossary.html" target="_blank">{text("lesson.glossary")}</a>'
    raw = {"parts": "\n".join(parts), "glossary": named if lesson.code else ""}
    policy = policy_for(pages.values())
    words |= said_in(markup)
    page = html(markup, words, style, script, loader(), data, packed, raw, policy)
    return page.encode("utf-8", "replace")


def told(question: Question) -> dict[str, Any]:
    """Return the data of a question for the script of the page, with texts as HTML."""
    found = {each: getattr(question, each) for each in ("key", "answer", "near", "see")}
    found |= {each: list(getattr(question, each)) for each in ("choices", "names", "at")}
    found |= {each: inline_of(getattr(question, each)) for each in ("ask", "hint", "why")}
    replies = {wrong: inline_of(words) for wrong, words in question.replies.items()}
    return {**found, "line": question.line, "replies": replies}


def policy_for(pages: Iterable[str]) -> dict[str, str]:
    """Return the content security policy of a lesson page, which also covers embedded pages."""
    rules = [rule for page in pages for rule in stated_policy(page).split("; ")]
    more = {}
    for name in ("script-src", "style-src"):
        found = FINGERPRINT.findall(" ".join(x for x in rules if x.startswith(f"{name} ")))
        more[name] = " ".join([POLICY[name], *sorted({*found})])
    return {**POLICY, **more, "frame-src": "blob:"}


# The session shown by a notebook cell: only the required cells are run.

PACKAGES = {"sv", "plt"}  # calls of these change nothing that a later cell needs
Statements = list[ast.stmt]


def shown_by(code: Sequence[str], cell: int) -> Any:
    """Run the code that a notebook cell depends on; return the object that its last line shows."""
    parsed = [ast.parse(source).body for source in code[: cell + 1]]
    call: Any = parsed[-1].pop()
    wanted = names_read([call])
    needed: list[tuple[str, Statements]] = []
    for source, cell_body in zip(reversed(code[: cell + 1]), reversed(parsed), strict=True):
        statements = [each for each in cell_body if not is_shown(each)]
        if names_changed(statements) & wanted:
            needed.insert(0, (source, statements))
            wanted |= names_read(statements)
    space: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for source, statements in needed:
            name = f"<lesson {hash(source)}>"  # kernels use the source of formulas in it
            linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
            exec(compile(ast.Module(statements, []), name, "exec"), space)
    return eval(compile(ast.Expression(call.value.args[0]), "<lesson>", "eval"), space)


def is_shown(statement: ast.stmt) -> bool:
    """Return whether a statement only shows something, such as sv.watch(session)."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in PACKAGES
    return False


def names_read(statements: Sequence[ast.AST]) -> set[str]:
    """Return all names that occur in statements."""
    return {node.id for each in statements for node in ast.walk(each) if isinstance(node, ast.Name)}


def names_changed(statements: Statements) -> set[str]:
    """Return the names that statements bind or change, by calling methods or setting items."""
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case (
                    ast.Name(id=name, ctx=ast.Store())
                    | ast.FunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.Attribute(value=ast.Name(id=name), ctx=ast.Store())
                ):
                    found.add(name)
                case ast.alias(name=name, asname=other):
                    found.add(other or name)
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                found.add(name)
            case ast.Assign(targets=[ast.Subscript() as target]):
                found |= names_read([target])
    return found
