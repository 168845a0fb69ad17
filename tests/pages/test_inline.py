"""One HTML file of many parts: modules in order, data that is no HTML, and a strict policy."""

import gzip
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from scalarviz.pages.bundle import (
    POLICY,
    as_json,
    bundle,
    declared_in,
    html,
    packed_bytes,
    texts_of,
)
from tests.pages.pages import unpacked

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028"


def bundled(**modules: str) -> str:
    """The script of modules by their names, beginning with `main`."""
    return bundle("main.js", lambda name: modules[name.removesuffix(".js")])


def test_a_module_stands_after_all_that_it_imports_and_once() -> None:
    script = bundled(
        main='import { a } from "./a.js";\nimport {\n  b,\n  c,\n} from "./b.js"\na(b, c);\n',
        a='import { b } from "./b.js";\nexport function a() { return b; }\n',
        b="export const b = 1;\nexport class c {}\n",
    )
    assert script.endswith("\n//# sourceURL=scalarviz/main.js\n")
    assert [line for line in script.splitlines() if line and line[0] != "/"] == [
        "const b = 1;", "class c {}", "function a() { return b; }", "a(b, c);",
    ]  # fmt: skip


def test_comments_of_whole_lines_are_left_out() -> None:
    code = 'const a = "http://a"; // b\n/** c */ function d() {\n  return a; /* e */\n}\n'
    script = bundled(main=f"// f\n/** g\n *\n * h\n */\n{code}  // i\n  /** j */\nd();\n")
    assert script.partition("\n//# ")[0] == f"\n// main.js\n\n{code}d();\n"


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({"main": 'import a from "./a.js";\n'}, "import a from"),
        ({"main": 'import * as a from "./a.js";\n'}, "import * as a"),
        ({"main": 'import { a as b } from "./a.js";\n', "a": "export const a = 1;"}, "a, as, b"),
        ({"main": 'import { a } from "https://a.org/a.js";\n'}, "import { a } from"),
        ({"main": "export default 1;\n"}, "export default 1;"),
        ({"main": "export { a };\n"}, "export { a };"),
        ({"main": "const { a } = b;\n"}, "const { a } = b;"),
        ({"main": 'import { a } from "./a.js";\n', "a": "const a = 1;"}, "imports a,"),
        ({"main": 'import { b } from "./a.js";\n', "a": "export const a = 1;"}, "imports b,"),
        ({"main": 'import { a } from "./a.js";\nlet c;', "a": "export const a = 1, c = 2"}, "c is"),
        ({"main": 'import { a } from "./a.js";', "a": 'import { b } from "./main.js";'}, "import"),
        ({"main": 'import { a } from "./a.js";\n', "a": 'import { b } from "./main.js";\n'}, "->"),
        ({"main": "const a = '</script>';\n"}, "</script"),
        ({"main": "const a = '<!-- b';\n"}, "<!--"),
    ],
)
def test_what_cannot_be_one_script_is_an_error(modules: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        bundled(**modules)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a = f(b, c), d = 1;", ["a", "d"]),
        ("run(a, b = 2) {", ["run"]),
        ("a = { b: 1, c },", ["a"]),
        ('a = "x, y = 2", b = [1, 2]', ["a", "b"]),
        ("a = (b, c) => ({ d: b, e: c });", ["a"]),
        ("TABLE = [", ["TABLE"]),
        ("Motion extends Other {", ["Motion"]),
    ],
)
def test_names_that_a_line_declares(line: str, names: list[str]) -> None:
    assert declared_in(line) == names


def test_the_page_carries_the_texts_that_its_script_names() -> None:
    table = {
        "a.b": "1", "a.c": "2", "a.x.y": "3", "a.x.z": "4", "p.one": "5", "p.many": "6", "q": "7",
        "rows.x.y": "8", "a.xx.y": "9",
    }  # fmt: skip
    script = "text('a.b'); text(`a.x.${part}`); plural(\"p\", 3); text(`${other}.y`); text('q.r')"
    assert texts_of(script, table) == {
        "a.b": "1", "a.x.y": "3", "a.x.z": "4", "p.many": "6", "p.one": "5",
    }  # fmt: skip


def test_data_in_the_page_is_no_html() -> None:
    data = {"title": NASTY, "numbers": [1, 0.5], "none": None}
    written = as_json(data)
    assert json.loads(written) == data
    assert "<" not in written and "\u2028" not in written
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"loss": float("nan")})


def test_bytes_are_unpacked_by_any_gzip_and_packed_alike() -> None:
    bytes_ = bytes(range(256)) * 50
    assert gzip.decompress(b64decode(packed_bytes(bytes_))) == bytes_
    assert packed_bytes(bytes_) == packed_bytes(bytes(bytes_))


class Elements(HTMLParser):
    """The elements of a page, and the text in each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags:
            self.inside.setdefault(self.tags[-1][0], []).append(data)


MARKUP = (
    '<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="$policy"><title>$title'
    "</title><style>$style</style><p title='$say_a'>$say_a</p>"
    '<script type="application/json">$data</script><script type="a/b">$script</script>'
    '<script type="module">$loader</script>'
)


def test_words_in_the_page_are_escaped_and_the_policy_names_its_scripts_and_style() -> None:
    script, loader, style = "\nconst a = 1 < 2 && '$b';\n", "\nload('$b');\n", "p { color: red }"
    words = {"title": NASTY, "say_a": NASTY + "'\""}
    made = html(MARKUP, words, style, script, loader, {"a": NASTY}, {"part": "H4s="}, {"links": ""})
    page = Elements(made)
    assert [tag for tag, _ in page.tags] == ["meta", "title", "style", "p", *["script"] * 3]
    assert "".join(page.inside["title"]) == NASTY
    assert page.tags[3][1]["title"] == NASTY + "'\""
    data, packed, plain = page.inside["script"]
    assert unpacked(packed).decode() == script and plain == loader
    assert json.loads(data).keys() == {"plain", "part"} and json.loads(data)["part"] == "H4s="
    assert json.loads(unpacked(json.loads(data)["plain"])) == {"a": NASTY}
    policy = page.tags[0][1]["content"] or ""
    digests = [b64encode(sha256(code.encode()).digest()).decode() for code in (loader, script)]
    assert "script-src " + " ".join(f"'sha256-{each}'" for each in digests) in policy
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert (
        html(MARKUP, words, style, script, loader, {"a": NASTY}, {"part": "H4s="}, {"links": ""})
        == made
    )


def test_the_policy_allows_no_network_and_no_code_but_its_own() -> None:
    assert POLICY["default-src"] == "'none'"
    allowed = " ".join(POLICY.values()).split()
    ours = {"{loader}", "{script}", "{style}"}
    assert {*allowed} == ours | {"'none'", "'wasm-unsafe-eval'", "blob:", "data:"}
    assert not {"connect-src", "frame-src", "font-src", "object-src"} & POLICY.keys()
