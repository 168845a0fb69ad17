"""CSV files in a page, compared with `from_csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.data import from_csv
from scalarviz.errors import InputError
from scalarviz.faces.cli.watch_scene import opened
from scalarviz.faces.links import read_link
from tests.pages.node import floats, in_web
from tests.wording import refused

SCRIPT = """
setTexts(data.texts);
return Promise.all(data.cases.map(async ([bytes, leavesOut]) => {
  const file = new File([Uint8Array.from(bytes)], "a.csv");
  const { settings, notes } = await tableOfFile(file, leavesOut).catch((error) => ({
    settings: [error.message, error.bad],
  }));
  const { names, classes, table } = settings;
  return notes ? [names, classes, table.lines, notes] : settings;
}));
"""
READ = {
    "names": "a,b,kind\n1,2,yes\n3,4,no\n5,6,yes\n",
    "semicolons, quotes, UTF-8": '\ufeff"länge; cm";kind\r\n1;"a ""b"""\r\n\r\n2;"c\nd"\r\n',
    "tabs without names": "1\t2\tx,y\n\n3\t4\tz\n5\t6\tx,y",
    "numbers": "a,b\n1,.5\n+2.,1e-3\n 3 ,-4E2\n",
    "numbers without names": "1,2\n3,4\n5,6.5\r",
    "an index of pandas": ",a,b\n0,1,2.5\n1,3,4\n",
    "labels": "a,b\n" + "".join(f"{i},{i % 3 + 1}\n" for i in range(40)),
    "many numbers": "a,b\n" + "".join(f"{i},{i % 9}\n" for i in range(40)),
    "two numbers": "0,0,0\n0,1,1\n1,0,1\n1,1,0\n",
    "order of classes": "a,b\n1,zebra\n2,Ähre\n3,apple\n4,Zoo\n",
    "a quote inside": 'a,b\n1,5" disk\n2,3" disk\n',
    "blank cells at the end of the file": "a,b\n1,x\n2,y\n,\n",
}
BAD = {
    "": "is empty",
    "\n \n": "is empty",
    "a,b\n": "no samples",
    "a\n1\n2\n": "single column",
    "a,b\n1,2\n3,\n5,6\n": "column 2: the cell is empty. Correct it, or leave out this line.",
    "a,b\n1,2\n5,6\nabc,4\nx,4\n": "line 4, column 1: 'abc' is not a number. Correct it, or",
    "a,b\n1,2\n3,?\n": "line 3, column 2: '?' means a missing value",
    "a;b\n1;2\n1,5;4\n": "line 3, column 1: '1,5' has a comma",
    "a,b\n1,x\n2,7\n": "line 3, column 2: '7' is not the name of a class",
    "a,b\n1,2\n1,2,3\n": "line 3: 3 cells, and the first line has 2",
    'a,b\n1,"2\n3,4\n': "line 2: a quotation mark is not closed",
    'a,b\n1,"2"3\n': "line 2: a quotation mark is not closed",
    "a,b\n1,inf\n2,1\n": "'inf' is not a number",
    "a,b\n1_000,1\n2,2\n": "'1_000' is not a number",
    "a,b\n1," + 3 * "long " * 99 + ",5\n": "3 cells",
    "a,b\n1,x\n" + "y" * 5000 + ",x\n": "'yyyyyyyyyyyyyyyyyyyyyyyy…' is not a number",
}
REFUSED = {  # by a page
    b"\x89PNG\r\n\x1a\n\0\0": "is not a table",
    "a,b\n1,ä\n2,x\n".encode("latin1"): "is not a table",
    b"a,b\n1,x\n": "single line",
    b"a,b\n1,2\n3,\n": "column 2: the cell is empty.",  # nothing would be left
    b"a,b\n1,x\n2,x\n": "All 2 lines are 'x': there is nothing to distinguish.",
    b"a,b\n1,5\n2,5\n": "All 2 lines are '5': there is nothing to distinguish.",
    b"a,b\n" + b"".join(b"1,c%c\n" % (97 + i) for i in range(11)): "has 11 classes",
}


def in_pages(cases: list[tuple[bytes, bool]]) -> Any:
    given = [[[*text], leaves] for text, leaves in cases]
    return in_web("csv texts", SCRIPT, cases=given, texts=texts())


def test_a_page_reads_the_table_that_python_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text, page in zip(
        READ.values(), in_pages([(t.encode(), False) for t in READ.values()]), strict=True
    ):
        path.write_bytes(text.encode())
        names, classes, lines, notes = page
        ours, found = from_csv(path), floats(lines)
        x, y = ours.training
        np.testing.assert_array_equal(found[:, :-1], x.astype(np.float32))
        labels = np.unique(y, return_inverse=True)[1].ravel()
        np.testing.assert_array_equal(
            found[:, -1], labels if classes else y.ravel().astype(np.float32)
        )
        wanted = [*ours.input_names] or [f"x{i + 1}" for i in range(x.shape[1])]
        assert names[:-1] == [each.replace(",", " ") for each in wanted] and not notes
        if ours.output_names:
            assert [each.split() for each in classes] == [
                each.replace(",", " ").split() for each in ours.output_names
            ]


def test_what_is_no_table_is_one_sentence_on_the_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for (text, words), page in zip(
        BAD.items(), in_pages([(t.encode(), False) for t in BAD]), strict=True
    ):
        path.write_bytes(text.encode())
        refused(InputError).by(from_csv, path)
        assert page[0].startswith("a.csv") and words in page[0] and len(page[0]) < 200
    for words, page in zip(REFUSED.values(), in_pages([(t, False) for t in REFUSED]), strict=True):
        assert words in page[0] and "leave out" not in page[0]


def test_lines_are_left_out_on_demand_and_large_tables_are_cut(tmp_path: Path) -> None:
    missing, wrong = "a,b\n1,x\n,y\n2,\n3,z\n", "a,b\n1,x\n?,y\n2,z,3\nc,z\n3,z\n"
    large = "".join(f"{i}," * 31 + f"{i % 2}\n" for i in range(2100))
    twice = "a,a,b\n1,2,x\n3,4,y\n"
    cases = [(missing, True), (wrong, True), (large, False), (twice, False)]
    found = in_pages([(text.encode(), leaves) for text, leaves in cases])
    path = tmp_path / "a.csv"
    path.write_text(missing)
    ours = from_csv(path, missing="drop").training[0].tolist()
    assert [line[:-1] for line in found[0][2]] == ours == [[1.0], [3.0]]
    assert [line[0] for line in found[1][2]] == [1, 3]
    assert len(found[2][2]) == 2000 and len(found[2][0]) == 21
    assert found[2][3] == [
        "The first 2,000 of 2,100 lines are taken.",
        "The first 20 of 31 inputs are taken.",
    ]
    assert found[3][3] == ["Two columns are named a."]


PROGRAMS = """
setTexts(data.texts);
return Promise.all(data.cases.map(async ([bytes, leavesOut]) => {
  const { settings } = await tableOfFile(new File([Uint8Array.from(bytes)], "a.csv"), leavesOut);
  const all = { ...(await readBuild("share=0.7")).settings, ...settings };
  return [pythonOf(all, Float32Array.of(7)), await writeBuild(all)];
}));
"""


@pytest.mark.usefixtures("in_tmp_path")
def test_a_program_reads_the_file_and_makes_the_samples_of_the_page(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    rows = [f"{x:.3f},{y:.3f},{{}}\n" for x, y in rng.normal(5, 2, (40, 2))]
    kinds: list[list[object]] = [
        [*"bca" * 14], ["no", "yes"] * 20, [i * i + 0.5 for i in range(40)], [1, 3, 2, 2] * 10,
    ]  # fmt: skip
    files = ["x,y,k\n" + "".join(map(str.format, rows, each)) for each in kinds]
    files += [files[0] + "1,?,a\n", files[1] + "1,2,yes,no\n"]  # Python leaves out the former
    given = [[[*text.encode()], True] for text in files]
    made = in_web("csv take_to_python packed_link texts", PROGRAMS, cases=given, texts=texts())
    for text, (program, link) in zip(files, made, strict=True):
        Path("a.csv").write_text(text)
        assert ("from_csv" in program) == ("yes,no" not in text)
        names: dict[str, Any] = {}
        exec(program.partition("network = ")[0], names)
        page = show_of_link(link).session.data
        ours = names["points"]
        for mine, other in zip(
            ours.training + ours.held_out, page.training + page.held_out, strict=True
        ):
            np.testing.assert_allclose(mine, other, atol=1e-5)
        assert ours.input_names == page.input_names == ["x", "y"]
        assert [*ours.output_names] == [*page.output_names]


def show_of_link(link: str) -> Any:
    return opened(read_link(f"play?{link[1:]}"), {})[0]
