"""Makes the pages that README links to: scenes that train in a browser, and a list of them.

    python -W error -m docs.build_demo_pages     into docs/pages; open docs/pages/index.html

The same code makes the same bytes on the same machine: another processor or another zlib may
differ in the last bits.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scalarviz.pages.index_page import INDEX, Entry, index_of
from scalarviz.pages.page import page_of, size_words
from scalarviz.scenefiles.find import about, find, load
from scalarviz.scenefiles.making import played

FOLDER = Path(__file__).with_name("pages")
SCENES = ("rgb", "xor", "circle", "texture", "digits")
LARGEST = 5_000_000  # bytes of a page that is kept in the repository


def main(folder: Path) -> None:
    """Write the pages and their list into a folder; raise ValueError for one that is too large."""
    pages, entries = {}, []
    for name in SCENES:
        path = find(name)
        text = page_of(played(load(path), {})).text
        if len(text) > LARGEST:
            raise ValueError(f"the page of {name} has {size_words(len(text))}, more than is kept")
        entries.append(Entry(name, about(path)))
        pages[entries[-1].file] = text
    pages[INDEX] = index_of(entries)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    for file, content in pages.items():
        (folder / file).write_bytes(content)
        print(f"{file}: {size_words(len(content))}")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or [FOLDER]))
