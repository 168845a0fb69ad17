"""Bundle a page into one HTML file: markup, style, JavaScript modules, and data.

The modules are joined to one script in import order, without unused definitions. The script and
the data are compressed; a loader unpacks them in the browser.
"""

from __future__ import annotations

import base64
import gzip
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape, unescape
from itertools import pairwise
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.package_files import fingerprint, text_beside

Read = Callable[[str], str]  # returns the source of a module by file name

IMPORT = re.compile(
    r'^import (?:\{([^}]*)\}|\* as (\w+)) from "(\.{1,2}/[\w./-]+\.js)";?\n', re.MULTILINE
)
EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b)", re.MULTILINE)
TOP = re.compile(r"^(export )?(?:(?:async )?function\*?|class|const|let|var) (.*)", re.MULTILINE)
OTHER = re.compile(r"^(?:import|export)\b.*|^(?:const|let|var) [\[{].*", re.MULTILINE)
SPACED = re.compile(r"\n\s+")  # indents and empty lines
CONTINUED = re.compile(r"(?<=[,(\[])\n\s*")  # ends of lines within an expression
# A trailing comment has no quotes except around a single word, so it is in no string.
COMMENT = re.compile(
    r"^[ \t]*(?:/\*\*(?:(?!\*/)[\s\S])*\*/|//.*)[ \t]*\n"
    r"|(?<=[;{},(\[)])[ \t]+// (?:[^\"'`$\n]|([\"`])\w+\1)*$",
    re.MULTILINE,
)
# Anything but the definition of a single name: a statement, or a multi-line `const`.
STATEMENT = re.compile(
    r"^(?!(?:(?:async )?function|class|const|let|var)\b|[\])}])\S"
    r"|^(?:const|let|var)\b(?:.|\n(?!\S))*,\n  [\w$]+ = ",
    re.MULTILINE,
)
# A constant whose initializer may have side effects.
CALLED = re.compile(
    r"(?:const|let|var) \w+ =\s+(?!new (?:Weak)?(?:Map|Set)\b|Object\.|(?:new )?\$)"
    r"(?:new )?[\w.]+\("
)
# Spaces around operators, in lines of code without patterns, comments and texts but for "these".
CODE = re.compile(r"^[^\n'`/#\\]*[;{},)]$", re.MULTILINE)
TEXT = re.compile(r'("[^"]*")')
AROUND = re.compile(
    r"(?<=[\w)\]}]) (=>?|===|!==|&&|\|\||[?:<>+*]|<=|>=) (?=[\w(\[{!.$])|(?<=,) |(?<=\)) (?=\{)"
    r"|(?<=\bif) (?=\()|(?<=\bfor) (?=\()|(?<=\{) (?=\w)|(?<=\w) (?=\})"
)
START = r"(?:(?<=\.{3})|(?<![.\w$]))"  # start of a name that is not a property
WORD = re.compile(rf"{START}[\w$]+")
LITERAL = re.compile(r'"([\w.]+)"|' + r"'([\w.]+)'|" + r"`((?:[\w.]|\$\{[^`{}]*\})+)`")
STATED = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
COMPUTED = re.compile(r"\\\$\\\{.*?\\\}")

# The directives of the policy. Network addresses are never allowed.
POLICY = {
    "default-src": "'none'",  # everything not listed below: fonts, frames, requests
    # The page script and the loader, by their hashes; and compiling WebAssembly from bytes in the
    # page.
    "script-src": "{loader} {script} 'wasm-unsafe-eval'",
    "worker-src": "blob:",  # the worker is created from text in the page
    "style-src": "{style} {rules}",  # style of the head and the packed style, by their hashes
    "img-src": "data:",  # the icon, which is empty: some browsers would request one
    "base-uri": "'none'",
    "form-action": "'none'",
}


@dataclass(frozen=True, eq=False)  # compared by identity, see `module_of`
class ScriptModule:
    """A JavaScript module: its source without imports, exports and comments.

    Attributes:
        imports: for each imported module, the imported names and their local names
        names: for each top-level name, whether it is exported
    """

    name: str
    imports: Mapping[str, dict[str, str]]
    text: str
    names: Mapping[str, bool]

    @property
    def only_defines(self) -> bool:
        return not STATEMENT.search(self.text)

    @property
    def foreign_words(self) -> set[str]:
        """Words of the module that other modules must not define: local names, browser globals."""
        pairs = [pair for names in self.imports.values() for pair in names.items()]
        known = {*self.names, *(here for _, here in pairs)}
        return {*WORD.findall(self.text)} - known | {name for name, here in pairs if name != here}


def variable(module: str) -> str:
    """Return a unique variable name for the exports of a module."""
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


@cache
def module_of(name: str, source: str) -> ScriptModule:
    """Parse a JavaScript module; raise ValueError if a form of import or export is unsupported."""
    imports: dict[str, dict[str, str]] = {}
    text = COMMENT.sub("", EXPORT.sub("", IMPORT.sub("", source)))
    for names, whole, path in IMPORT.findall(source):
        other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        taken = imports.setdefault(other, {})
        for each in filter(None, map(str.strip, names.split(","))):
            taken[each.partition(" as ")[0]] = each.rpartition(" as ")[2]
        if whole:
            text = re.sub(rf"{START}{whole}\.", f"{variable(other)}.", text)
    unknown = OTHER.search(text)
    if unknown:
        raise ValueError(
            f"{name}: {unknown[0]!r} cannot be put into one script: write "
            '`import { a } from "./b.js"` and `export function`, `class` or `const`'
        )
    lines = TOP.findall(source)
    found = {each: bool(exported) for exported, line in lines for each in declared_in(line)}
    return ScriptModule(name, imports, text, found)


def declared_in(line: str) -> list[str]:
    """Return the names that a line declares: `a = f(b, c), d = 1` declares a and d."""
    outside = re.sub(r'"[^"]*"', "", line)
    while (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", outside)) != outside:
        outside = inner
    outside = re.split(r"[(\[{]", outside)[0]  # a bracket closed on a later line
    found = (re.match(r"\s*([\w$]+)", each) for each in outside.split(","))
    return [each[1] for each in found if each]


def in_order(start: str, read: Read) -> list[ScriptModule]:
    """Return a module and all its imports, imports first; raise ValueError for a cycle."""
    found: dict[str, ScriptModule] = {}

    def visit(name: str, way: tuple[str, ...]) -> None:
        if name in way:
            raise ValueError(f"a circle of imports: {' -> '.join([*way, name])}")
        if name not in found:
            module = module_of(name, read(name))
            for other in module.imports:
                visit(other, (*way, name))
            found[name] = module

    visit(start, ())
    return [*found.values()]


def bundle(start: str, read: Read) -> str:
    """Return one script with a module and all its imports, without comments.

    The last line sets the name of the script in error messages. Raises ValueError if an imported
    name is not exported, or if the script contains text that would end its HTML element.
    """
    return script_of(start, tuple(in_order(start, read)))


@cache  # pages of one program share modules; building is the slowest part
def script_of(start: str, modules: Sequence[ScriptModule]) -> str:
    """Return one script with modules that are sorted so that imports come first."""
    homes = {module.name: module for module in modules}
    for module in modules:
        for other, names in module.imports.items():
            for name in names:
                if not homes[other].names.get(name):
                    raise ValueError(f"{module.name} imports {name}, which {other} does not export")
    wanted: dict[str, set[str]] = {module.name: set() for module in modules}
    needed: list[ScriptModule] = []
    for module in reversed(modules):
        is_whole = module.name == start or not module.only_defines
        needed.insert(0, module if is_whole else without_unused(module, wanted[module.name]))
        for other, taken in needed[0].imports.items():
            fields = re.findall(re.escape(variable(other)) + r"\.(\w+)", needed[0].text)
            wanted[other] |= {*taken, *fields}
    parts = "".join(f"{part}\n" for part in parts_of(needed, wanted))
    parts = CODE.sub(lambda line: closer(line[0]), parts)
    if re.search(r"</script|<!--", parts, re.IGNORECASE):
        raise ValueError("a script that is to stand in HTML must not contain </script or <!--")
    return f"\n(() => {{\n{parts}}})();\n//# sourceURL=scalarviz/{start}\n"


def closer(line: str) -> str:
    """Return a line of code without the spaces around operators, texts excepted."""
    parts = TEXT.split(line)
    return "".join(part if i % 2 else AROUND.sub(r"\1", part) for i, part in enumerate(parts))


def without_unused(module: ScriptModule, wanted: Collection[str]) -> ScriptModule:
    """Return a module with only the definitions that the names in `wanted` need."""
    used = {*wanted}
    starts = [*(found.start() for found in TOP.finditer(module.text)), len(module.text)]
    unused = {module.text[first:last] for first, last in pairwise(starts)}
    taken: list[str] = []
    while found := [
        each
        for each in unused
        if CALLED.match(each) or used & {*declared_in(TOP.findall(each)[0][1])}
    ]:
        unused -= {*found}
        taken += found
        used |= {word for each in found for word in WORD.findall(each)}
    imports = {
        other: {name: here for name, here in names.items() if here in used}
        for other, names in module.imports.items()
    }
    return replace(module, imports=imports, text="".join(sorted(taken, key=module.text.index)))


def parts_of(
    modules: Sequence[ScriptModule], wanted: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield modules as parts of one script with shared top-level names.

    A word that a module neither defines nor imports may be a local name or a browser global. No
    other module may define such a word at top level. If names conflict, a module is wrapped in a
    function that returns its wanted names.
    """
    foreign = {word for module in modules for word in module.foreign_words}
    counts = Counter(word for module in modules for word in {*WORD.findall(module.text)})
    homes: dict[str, str] = {}
    for module in modules:
        variable_here = variable(module.name)
        asked = [name for name in module.names if name in wanted[module.name]]
        is_object = any(f"{variable_here}." in each.text for each in modules)
        shared = [name for name in asked if name not in {*foreign, *homes} and not is_object]
        homes |= dict.fromkeys(shared, module.name)
        taken = {
            other: [
                name if name == here else f"{name}: {here}"
                for name, here in names.items()
                if homes.get(name) != other
            ]
            for other, names in module.imports.items()
        }
        lines = [
            f"const {{ {', '.join(names)} }} = {variable(other)};"
            for other, names in taken.items()
            if names
        ]
        is_closed = lines or asked != shared or not module.only_defines
        is_closed = is_closed or any(counts[name] > 1 for name in module.names.keys() - shared)
        lines.append(SPACED.sub("\n", CONTINUED.sub("", module.text.strip())))
        if is_closed:
            returned = [f"return {{ {', '.join(asked)} }};"] if asked else []
            lines = [f"const {variable_here} = (() => {{", *lines, *returned, "})();"]
            lines += [f"const {{ {', '.join(shared)} }} = {variable_here};"] if shared else []
        yield "\n".join(lines)


def texts_of(script: str, table: Mapping[str, str]) -> dict[str, str]:
    """Return the texts whose keys occur in a script; `a.${b}.c` matches all such keys."""
    patterns = {"".join(found) for found in LITERAL.findall(script)}
    known = {key for key in patterns if key in table}
    for pattern in patterns:
        if "${" in pattern and "." in pattern.split("${")[0]:
            like = re.compile(COMPUTED.sub(r"[\\w. ]+", re.escape(pattern)))
            known |= {key for key in table if like.fullmatch(key)}
    known |= {f"{key}.{end}" for key in patterns for end in ("one", "many")} & table.keys()
    return {key: table[key] for key in sorted(known)}


def as_json(data: object) -> str:
    """Return data as JSON that is safe in an HTML element; raise ValueError for NaN or infinity."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


SAFE = str.maketrans("<&", ",.")  # for base85 letters with a meaning in HTML


def packed_bytes(data: bytes) -> str:
    """Compress bytes with gzip, and return them as text; the result is deterministic."""
    return lettered(gzip.compress(data, 9, mtime=0))


def lettered(data: bytes) -> str:
    """Encode bytes as text that is safe in HTML; four bytes become five letters."""
    return base64.b85encode(data).decode().translate(SAFE)


def packed_text(text: str) -> str:
    return packed_bytes(text.encode("utf-8", "replace"))  # an unpaired surrogate is replaced


def html(
    markup: str,
    words: Mapping[str, str],
    style: str,
    script: str,
    loader: str,
    data: Mapping[str, object],
    parts: Mapping[str, str],
    raw: Mapping[str, str],
    policy: Mapping[str, str] = POLICY,
    rules: str = "",
) -> str:
    """Return the HTML document of a page.

    Args:
        markup: page.html, a template with $names
        words: texts by name, which are escaped
        style: style sheet in the head of the document
        script: the result of `bundle`
        loader: script that unpacks `script` and runs it
        data: data for the script, which are packed as one JSON text
        parts: packed data by name, which the script reads separately
        raw: HTML by name, which is not escaped
        policy: the content security policy
        rules: style rules that the loader unpacks; "" if the markup does not use them
    """
    style = re.sub("\n +", "\n", style)  # remove indents
    codes = {"style": style, "script": script, "loader": loader, "rules": rules}
    sources = {name: fingerprint(code) for name, code in codes.items()}
    stated = "; ".join(f"{name} {allowed}" for name, allowed in policy.items())
    return Template(markup).substitute(
        {name: escape(text) for name, text in words.items()},
        policy=stated.format(**sources),
        style=style,
        script=packed_text(script),
        rules=packed_text(rules),
        loader=loader,
        data=as_json({"plain": packed_text(as_json(data)), **parts}),
        **raw,
    )


def markup_of(name: str) -> str:
    """Return the markup of a kind of page; all kinds have the same head."""
    head = text_beside(__file__, "head.html").rstrip("\n")
    return text_beside(__file__, name).replace("$head", head)


def stated_policy(page: str) -> str:
    """Return the content security policy that a page contains, or ""."""
    found = STATED.search(page)
    return unescape(found[1]) if found else ""


# Arrays as JSON, read by web/arrays.js.


def packed(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return an array for JSON, as {"dtype", "shape", "data"} with little-endian bytes in base64.

    Args:
        array: array of float32, float64, or integers of 8, 16 or 32 bits
    """
    plain = np.ascontiguousarray(array)
    ordered = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    return {
        "dtype": plain.dtype.name,
        "shape": [*plain.shape],
        "data": base64.b64encode(ordered.tobytes()).decode("ascii"),
    }
