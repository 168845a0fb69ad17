"""Questions of lessons and records of answers: which are right, what is said, kept and sent."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.texts import text, texts
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.cli.class_pages import Collecting
from scalarviz.pages.addresses import listening
from scalarviz.pages.bundle import as_json, bundle, texts_of
from scalarviz.pages.lessons.answers import (
    FILES,
    FORMAT,
    MIME,
    VERSION,
    Given,
    LessonRecord,
    record_of,
    records_in,
)
from scalarviz.pages.lessons.questions import (
    Question,
    lesson_names,
    question,
    questions_in,
    questions_of,
)
from scalarviz.pages.page import module_text
from scalarviz.pages.web_server import PageServer
from scalarviz.story.judging import answer_words, line_value
from tests.pages.browser import chromium
from tests.pages.node import in_web
from tests.wording import refused

LESSON = "01-one-weight"


def given(*guesses: str, right: bool = True, **more: Any) -> dict[str, Any]:
    """What a learner has given to a question."""
    return {"guesses": [*guesses], "right": right, **more}


def record(name: str = "", lesson: str = LESSON, **answers: Any) -> dict[str, Any]:
    """A record as a page writes it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "lesson": lesson,
        "name": name,
        "answers": answers or {"gradient": given("8", "-8")},
        "guessed": {"right": 7, "asked": 10},
    }


def link(found: object) -> str:
    """A link that has JSON."""
    data = base64.urlsafe_b64encode(json.dumps(found).encode()).decode()
    return f"https://a.example/01.html#answers={data.rstrip('=')}"


def notebook(*answers: Any) -> str:
    """A saved notebook whose cells have these answers."""
    cells: list[Any] = [{"cell_type": "markdown", "source": "no outputs"}]
    for each in answers:
        outputs = [{"output_type": "display_data", "data": {"text/plain": "a", MIME: each}}]
        cells.append({"cell_type": "code", "outputs": outputs})
    return json.dumps({"cells": cells, "nbformat": 4})


ASKED = """
[gradient]
ask = 'What is $dL/dw$?'
answer = -8
hint = "Multiply."
[gradient.replies]
"8" = "The sign."
"-1/3" = "A third."
"""


def test_a_typical_wrong_guess_has_a_reply_of_its_own_and_others_have_the_hint() -> None:
    asked = questions_in(ASKED)["gradient"]
    assert asked.is_right("-8") and not asked.is_right("8")
    assert asked.reply(8) == asked.reply("8.0") == "The sign."
    assert asked.reply("-0.333") == "A third."
    assert asked.reply("5") == asked.reply("a word") == "Multiply."


def test_a_number_may_have_a_comma_before_its_decimals() -> None:
    asked = Question("?", 0.125)
    assert all(map(asked.is_right, ("0,125", ",125", "+0,1250", "0,5/4")))
    assert not asked.is_right("1,25")
    for typed in ("1,000", "12,345", "1,2,3", "1,2.3"):
        refused(InputError).by(asked.is_right, typed)


@pytest.mark.parametrize("typed", ["–8", "- 8", "−8,0", "-2*4", "2 · −4", "-16/2", "-1/2*16"])
def test_a_number_is_read_as_people_write_it(typed: str) -> None:
    assert Question("?", -8).is_right(typed)


def test_a_line_is_compared_by_its_values() -> None:
    asked = Question("?", "b * g", names=("a", "b", "g"), replies={"a * g": "The other one."})
    assert asked.is_right("g*b") and asked.is_right("(b + b) * g / 2")
    assert not asked.is_right("b + g")
    assert asked.reply("g · a") == "The other one."
    assert asked.reply("-12") == text("predict.letters")
    for typed in ("b *", "", "b if a else g", "[b][0]", "b.real", "'b'", "a=b", "b" * 300, "((((("):
        refused(InputError).by(asked.is_right, typed)
    refused(InputError, "a, b, g").by(asked.is_right, "b * x")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a = 1", "'a'"),
        ("[a]\nask = 'x'", "answer"),
        ("[a]\nanswer = 1", "ask"),
        ("[a]\nask = 'x'\nanswer = 1\nreplies = { '2' = 3 }", "replies"),
        ("[a]\nask = 'x'\nanswer = true", "answer"),
        ("[a]\nask = 'x'\nanswer = 1\nat = [1]", "at"),
        ("[a]\nask = 'x'\nanswer = 'a'\nnames = ['a']\nat = [[nan]]", "at"),
        ("[a]\nask = 'x'\nanswer = 'a / sqrt(b)'\nnames = ['a', 'b']", "'a / sqrt(b)'"),
        ("[a]\nask = 'x'\nanswer = 1\nreplies = { 'two' = '3' }", "'two'"),
        ("[a", "TOML"),
    ],
)
def test_what_is_no_question_is_refused(content: str, name: str) -> None:
    refused(InputError, name).by(questions_in, content)


def test_unknown_places_name_the_nearest() -> None:
    refused(UnknownNameError, "'gradeint'", "'gradient'").by(question, "01/gradeint")
    refused(UnknownNameError, "'99'", varies="one of .*").by(question, "99/gradient")
    refused(UnknownNameError, "'anser'").by(questions_in, "[a]\nask = 'x'\nanser = 1\nanswer = 1")


def test_each_reply_of_the_lessons_is_to_a_wrong_guess() -> None:
    for lesson in lesson_names().values():
        for asked in questions_of(lesson).values():
            assert asked.why, asked.key
            for wrong in asked.replies:
                assert not asked.is_right(wrong), (lesson, asked.key, wrong)


def test_a_question_of_the_lessons_is_asked_by_its_place() -> None:
    import scalarviz as sv

    guess: Any = sv.predict("01/gradient")
    assert not guess.check("8")
    assert "sign" in guess.said
    assert guess.check("-8") and guess.asked.why in guess.said
    assert guess.question in repr(sv.predictions())


@pytest.mark.parametrize(
    ("answer", "words"), [(12544, "12544"), (-3.0, "-3"), (0.12345, "0.1235"), (1e20, "1e+20")]
)
def test_a_whole_number_is_said_with_all_its_digits(answer: float, words: str) -> None:
    assert answer_words(answer) == words


NAMES = {"a": 2.0, "b": 3.0}
# Lines with their values for those names: infinity and NaN are None.
LINES = {
    "a * b": 6, "b·a": 6, "-a**2": -4, "2**-a": 0.25, "2 ** 3 ** 2": 512, "-2 ** 2": -4,
    "(a - b) / (a + b)": -0.2, "1e-3 * a": 0.002, ".5a": 1, "a b": 6, "2(a)": 4, "3a²": 12,
    "2(a - b)b(1 - a)": 6, "(a)(b)": 6, "exp(a)b": 3 * math.exp(2), "a – b": -1, "a - b - a": -3,
    "a / b / b": 2 / 9, "max(a, b)": 3, "min(a, b)": 2,
    "exp(a) - log(b)": math.exp(2) - math.log(3),
    "relu(-a) + abs(-b) + sqrt(b) + tanh(a)": 3 + math.sqrt(3) + math.tanh(2), "a / 0": None,
    "--a": 2, "+a": 2, "a^2 - b²": -5, "−a × b ÷ 2": -3, "sqrt(-a)": None, "1E3": 1000, "01": 1,
    "a\u00a0* b": 6, "1 / exp(1000)": 0, "tanh(1 / 0)": 1, "max(1 / 0, b)": None, "(-a)**.5": None,
    "(-a)**b": -8, "0 ** -1": None, "log(0)": None, "2*a - 1": 3, "−a²": -4, "a^3": 8,
    "exp(0) + relu(-a) + max(a, 1)": 3, "2 × a ÷ 4": 1, "2(a - 1)a": 4, "1 / (a - 2)": None,
    "exp(1000 * a)": None, "9 ** 9 ** 9": None,
}  # fmt: skip
NO_LINES = [
    "2 3", "a2", "a +", "(a", "a)", "max(a)", "min(a, b, a)", "c", "a;b", "a,b", "", "constructor",
    "a['b']", "__proto__", "a" * 201, "a % b", "a // b", "~a", "a @ b", "not a", "True", "1_0",
    "0x1", "1j", "a # b", "sqrt(-a) * c", "exp(a, b)", "exp a", "exp()", "*(a, b)", "nan",
    "inf", "a .5", "__import__('os')", "exp(a, a)", "open('x')", "a.__class__", "lambda: 1",
]  # fmt: skip
GUESSES = [
    "8", "-8", " −8 ", "0", "1/3", "0.5", "1e1", "ten", "1/0", "up", "UP ", "a * b", "x * upstream",
    "-0.0001", "7.9", "8.16", "8.17", "1_000", "inf", "nan", "1e400", "٣", "1.5/2", "1/-3",
    " 1 / 3 ", "−1e−5", "1/2/3", "1" * 400 + "/1", "strasse", "STRAßE",
    "–8", "- 8", "-2*4", "−2 · 4", "2 × −0,4e1", "1/2", "2**3", "2²", "2*", "*2", "- - 8",
    "1,000*2", "1/3*3", "8\u00a0/ 1", "(8)", "8 8",
    "0,5", "-8,0", "1,000", "+12,345", "1,5/3", ",5", "1,2,3", "0,125", "1,0000", "1,5.2",
]  # fmt: skip


def ours(question: Question, guess: str) -> Any:
    """Whether a guess is right and what is said to it; None if it is no guess."""
    try:
        return question.is_right(guess), question.reply(guess)
    except InputError:
        return None


@pytest.mark.parametrize(("line", "wanted"), LINES.items())
def test_lines_have_values(line: str, wanted: float | None) -> None:
    found = line_value(line, NAMES)
    assert (found if math.isfinite(found) else None) == (wanted and pytest.approx(wanted))


@pytest.mark.parametrize("line", NO_LINES)
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expression of a, b"):
        line_value(line, NAMES)


def test_every_question_is_judged_as_by_python() -> None:
    questions = [each for name in lesson_names().values() for each in questions_of(name).values()]
    questions.append(Question("Which way?", "Straße"))
    told = [dataclasses.asdict(each) for each in questions]
    guesses = [[*GUESSES, *each.replies, str(each.answer)] for each in questions]
    found = in_web(
        "story/judging texts",
        """setTexts(data.texts);
        return data.questions.map((question, i) => data.guesses[i].map((guess) => {
          try { return [agrees(question, guess, question.answer), reply_to(question, guess)]; }
          catch (error) { return null; }
        }));""",
        questions=told,
        texts=texts(),
        guesses=guesses,
    )
    assert len(found) == len(questions) > 0
    for each, tried, theirs in zip(questions, guesses, found, strict=True):
        for guess, said in zip(tried, theirs, strict=True):
            wanted = ours(each, guess)
            assert said == (None if wanted is None else list(wanted)), (each.ask, guess)
        assert theirs[-1][0]


KEPT: dict[str, Any] = {"guesses": ["8"], "right": False, "shown": True}
OTHERS: list[Any] = [
    None, 1, [], {"name": 1}, {"name": None}, {"answers": {"01": None}},
    {"id": 5}, {"answers": {"01": {}}}, {"answers": {"01": KEPT | {"guesses": "8"}}},
    {"answers": {"01": KEPT | {"guesses": [8]}}}, {"answers": {"01": KEPT | {"right": "no"}}},
    {"guessed": {}}, {"guessed": {"right": "<b>", "asked": 1}}, {"answers": None},
]  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("other", [{}, {"id": "of this page"}, *OTHERS], ids=str)
def test_answers_are_taken_up_only_in_the_form_in_which_they_are_kept(other: Any) -> None:
    kept: dict[str, Any] = {
        "name": "Ada",
        "answers": {"01": KEPT},
        "guessed": {"right": 1, "asked": 2},
    }
    is_whole = other in ({}, {"id": "of this page"})
    found = in_web(
        "lesson_answers",
        """globalThis.localStorage = { getItem: () => data.kept };
        const { name, answers, guessed, id } = new LessonAnswers("01", "", "");
        return { name, answers, guessed, id };""",
        kept=json.dumps({**kept, "lesson": "01", **other} if isinstance(other, dict) else other),
    )
    mark = found.pop("id")
    assert found == (
        kept if is_whole else {"name": "", "answers": {}, "guessed": {"right": 0, "asked": 0}}
    )
    assert len(mark) > 5 and (mark == "of this page") == (other == {"id": "of this page"})


def read(folder: Path, name: str, content: str | bytes) -> tuple[list[LessonRecord], list[str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return records_in(path)


def test_a_record_is_read_and_written_the_same() -> None:
    made = record("Anna", gradient=given("8", "-8"), tanh=given(right=False, shown=True))
    found = record_of(made)
    answers = {"gradient": Given(("8", "-8"), True), "tanh": Given((), False, True)}
    assert found == LessonRecord(LESSON, "Anna", answers, (7, 10))
    assert record_of(json.loads(found.line())) == found
    assert found.line().endswith(b"}\n") and found.line().count(b"\n") == 1


def test_what_a_record_has_beside_its_parts_is_not_kept() -> None:
    found = record_of(record("Anna") | {"address": "10.0.0.7", "born": 2011})
    assert json.loads(found.line()).keys() == record().keys()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (given("-8"), "right"),
        (given("8", "4", "-8"), "right after 3"),
        (given("8", "4", right=False), "wrong: 4"),
        (given("8", right=False, shown=True), "shown"),
        (given("8", "-8", shown=True), "shown"),
        (given(), "right"),
        (given(right=False), "not yet"),
    ],
)
def test_a_cell_says_how_it_went(made: Any, words: str) -> None:
    assert record_of(record(q=made)).answers["q"].words == words


def test_texts_are_kept_visible_and_in_one_line() -> None:
    found = record_of(record(" An\n na\x1b[31m\u202e\ud800 ", **{"a\tb": given("1\x00")}))
    assert found.name == r"An na\x1b[31m\u202e\ud800"
    assert found.answers == {"a b": Given((r"1\x00",), True)}
    assert record_of(json.loads(found.line())) == found


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"format": "other"}, "scalarviz"),
        ({"version": 2}, 2),
        ({"version": None}, None),
        ({"lesson": None}, None),
        ({"lesson": 5}, 5),
        ({"name": "a" * 10_000}, 10_000),
        ({"name": ["Anna"]}, ["Anna"]),
        ({"answers": []}, []),
        ({"answers": {f"q{i}": given() for i in range(201)}}, 201),
        ({"answers": {"k" * 201: given()}}, 201),
        ({"answers": {"q": None}}, None),
        ({"answers": {"q": {"guesses": "-8", "right": True}}}, "-8"),
        ({"answers": {"q": given(*["1"] * 1001)}}, 1001),
        ({"answers": {"q": given("1" * 1001)}}, 1001),
        ({"answers": {"q": {"guesses": [1], "right": True}}}, 1),
        ({"answers": {"q": given(right=1)}}, 1),  # type: ignore[arg-type]
        ({"answers": {"q": given(shown="no")}}, "no"),
        ({"guessed": 7}, None),
        ({"guessed": {"right": True, "asked": 3}}, True),
        ({"guessed": {"right": -1, "asked": 3}}, -1),
        ({"guessed": {"right": 1, "asked": 10**9}}, 10**9),
        ({"guessed": {"right": 1, "asked": 1e300}}, 1e300),
    ],
)
def test_a_record_of_another_form_is_refused(change: dict[str, Any], value: object) -> None:
    refused(InputError, value).by(record_of, record() | change)


@pytest.mark.parametrize("found", [None, 5, "text", [], {}, [[[]]]])
def test_what_is_no_record_is_refused(found: object) -> None:
    refused(InputError).by(record_of, found)


def test_a_notebook_has_a_record_of_each_lesson_with_its_checks(tmp_path: Path) -> None:
    text = notebook(
        {"lesson": "", "key": "check Value.__mul__", **given()},
        {"lesson": LESSON, "key": "gradient", **given("8", right=False)},
        {"lesson": LESSON, "key": "gradient", **given("8", "-8")},
        {"lesson": "02-layers", "key": "w", **given("3")},
    )
    first, second = read(tmp_path, "a.ipynb", text)[0]
    assert first == LessonRecord(
        LESSON, "", {"check Value.__mul__": Given((), True), "gradient": Given(("8", "-8"), True)}
    )
    assert (second.lesson, second.answers) == ("02-layers", {"w": Given(("3",), True)})


def test_links_are_found_in_any_text_and_lines_in_a_file_of_lines(tmp_path: Path) -> None:
    text = f"Hello,\r\n{link(record('Anna'))}\n<{link(record('Bo'))}&step=3> and {link(5)}"
    found, faults = read(tmp_path, "a.TXT", text)
    assert [each.name for each in found] == ["Anna", "Bo"] and len(faults) == 1
    lines = [json.dumps(record(name)) for name in ("Anna", "Bo")]
    found, faults = read(tmp_path, "a.jsonl", "\n\n".join([*lines, '{"format']))
    assert [each.name for each in found] == ["Anna", "Bo"] and len(faults) == 1


def test_files_of_windows_are_read(tmp_path: Path) -> None:
    text = json.dumps(record("Anna"), indent=2)
    for code in ("utf-8-sig", "utf-16"):
        assert read(tmp_path, "a.json", text.encode(code))[0][0].name == "Anna"


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\0\xff\xfe",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1" * 60_000,
        b'{"cells": 5}',
        b'{"cells": [[], 5, {"outputs": 5}, {"outputs": [5, {"data": []}]}]}',
        b"#answers=",
        b"#answers=A",
        b"#answers=_-_-_",
        json.dumps(record("a" * 10_000)).encode(),
        json.dumps(record(q=given(*["1"] * 1_000_000))).encode(),
        notebook({"lesson": 5}).encode(),
        notebook({"lesson": LESSON, "key": "q", "guesses": {}, "right": True}).encode(),
        notebook(*[{"lesson": LESSON, "key": f"q{i}", **given()} for i in range(300)]).encode(),
        b" " * 8_000_001,
    ],
    ids=lambda content: str(content[:12]) if isinstance(content, bytes) else "",
)
def test_a_damaged_or_hostile_file_has_a_reason_and_no_records(
    tmp_path: Path, kind: str, content: bytes
) -> None:
    found, faults = read(tmp_path, f"a{kind}", content)
    assert not found and len(faults) == 1 and len(faults[0]) < 200 and faults[0].isprintable()


def test_of_a_file_that_is_too_large_only_so_much_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 10**12)
    assert records_in(path) == ([], ["it has more than 65,536 bytes"])


def test_a_file_that_cannot_be_read_has_the_reason_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    assert records_in(tmp_path / "a.json") == ([], ["Is a directory"])


FAKE = """
  const made = [];
  globalThis.location = data.location;
  globalThis.WebSocket = class {
    constructor(address) {
      made.push(this);
      this.address = address;
      this.sent = [];
      setTimeout(() => data.lost ? this.onclose() : this.onopen());
    }
    send(words) {
      this.sent.push(JSON.parse(words));
      this.onmessage({ data: JSON.stringify(data.told) });
      this.onclose();
    }
    close() { this.isClosed = true; }
  };
  setTexts(data.texts);
  let error = null;
  try { await sendAnswers({ lesson: "01" }); } catch (each) { error = each.message; }
  const [{ address, sent, isClosed } = {}] = made;
  return { address, sent, isClosed, error };
"""
HERE = {"origin": "http://10.0.0.7:8000", "search": "?token=ABC234", "hash": "#step=3"}
LOST = "page.sending.lost"


def sent(told: Any = None, **more: Any) -> Any:
    given = {"location": HERE, "told": told, "texts": {LOST: text(LOST)}} | more
    return in_web("lesson_answers texts", FAKE, **given)


def test_a_record_is_sent_to_the_origin_of_the_page_with_its_token() -> None:
    assert sent({"ok": True}) == {
        "address": "ws://10.0.0.7:8000/socket",
        "sent": [{"token": "ABC234", "record": {"lesson": "01"}}],
        "isClosed": True,
        "error": None,
    }


def test_over_https_the_socket_is_encrypted_too() -> None:
    found = sent({"ok": True}, location={**HERE, "origin": "https://a.example", "search": ""})
    assert found["address"] == "wss://a.example/socket" and found["sent"][0]["token"] == ""


def test_a_refusal_is_an_error_with_the_sentence_of_the_server() -> None:
    assert sent({"error": "A sentence."})["error"] == "A sentence."


def test_a_lost_connection_and_a_page_of_a_file_are_told() -> None:
    assert sent(lost=True)["error"] == text(LOST)
    assert sent(location={"origin": "null", "search": "", "hash": ""}) == {"error": text(LOST)}


def page_of(found: object) -> bytes:
    """A page that sends a record when it is loaded, and has what came of it as its title."""
    table = as_json(texts_of(bundle("lesson_answers.js", module_text), texts()))
    sending = (
        'import { sendAnswers } from "./lesson_answers.js";\n'
        'import { setTexts } from "./texts.js";\n'
        f"setTexts({table}); sendAnswers({as_json(found)}).then(() => 'kept', String)"
        ".then((words) => (document.title = words));"
    )
    script = bundle("main.js", lambda name: sending if name == "main.js" else module_text(name))
    code = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{code}'; connect-src 'self'; img-src data:"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f'<!DOCTYPE html>{meta}<link rel="icon" href="data:,"><script>{script}</script>'.encode()


@pytest.mark.slow
def test_a_page_sends_its_record_and_reads_why_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "class.jsonl"
    made = Collecting(str(path), is_open=True)
    pages = {"01.html": page_of(record("Anna")), "02.html": page_of({"format": "other"})}
    with (
        PageServer(listening("127.0.0.1", 0), gate=made.gate, visit=made.visit) as server,
        chromium() as browser,
    ):
        server.start(pages)
        page, complaints = browser.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))

        def title(name: str) -> str:
            page.goto(f"http://127.0.0.1:{server.port}/{name}")
            page.wait_for_function("document.title")
            return page.title()

        assert title(f"01.html{made.query}") == "kept"
        assert "no answers of scalarviz" in title(f"02.html{made.query}")
        assert title("01.html") == f"Error: {text('class.token.elsewhere')}"
        made._left["127.0.0.1"] = 0.0, made._now()
        assert "again in 10 s" in title(f"01.html{made.query}")
        assert not complaints
    assert [json.loads(line)["name"] for line in path.read_text().splitlines()] == ["Anna"]
