"""Makes the pages of the documentation: scenes that train in a browser, and a list of them.

    python -W error -m docs.build_demo_pages     into build/docs/docs/pages; open index.html there

The same code makes the same bytes on the same machine: another processor or another zlib may
differ in the last bits.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from scalarviz import picture
from scalarviz.faces.scene_file import about, find, load
from scalarviz.faces.scene_options import played
from scalarviz.pages.page import page_of, size_words
from scalarviz.pages.plain_pages import INDEX, Entry, Still, index_of, links_of
from scalarviz.stage.show import Show

FOLDER = Path(__file__).parent.parent / "build" / "docs" / "docs" / "pages"
LARGEST = 5_000_000  # bytes of a page
LARGEST_STILL = 60_000  # bytes of a picture in the list
SIZE = 960, 600  # of a picture, of which the network and what it has learned are kept
KEPT = 44, 412  # rows of pixels
QUALITIES = 85, 70, 55, 40  # of WebP


class Scene(NamedTuple):
    """What the list says of a scene, and after how many steps its picture is drawn."""

    title: str
    sees: str
    alt: str
    steps: int


SCENES = {
    "rgb": Scene(
        "Colours",
        "A colour runs in at the left; 59 cubes multiply it, and swatches at the right take on the"
        " opposite colours.",
        "Rows of orange and blue cubes before spheres, and rows of swatches",
        400,
    ),
    "xor": Scene(
        "Exclusive or",
        "Every number of the network stands on its cube or sphere, and the table turns right.",
        "Some cubes and spheres with their numbers, a table of four answers and a map",
        500,
    ),
    "circle": Scene(
        "Points of two classes",
        "The map of the plane bends around the inner points; a click on it asks the network.",
        "Rows of cubes before squares, and a map of points inside and outside of a ring",
        600,
    ),
    "texture": Scene(
        "A picture",
        "Each of 256 neurons is a square, and a picture of a sunset grows out of green mist.",
        "Blocks of squares, a picture of a sunset and the network's version of it",
        400,
    ),
    "digits": Scene(
        "Handwritten digits",
        "A digit runs through kernels and feature maps, and digits never seen before are sorted.",
        "Feature maps of a digit, kernels of cubes, and columns of handwritten digits",
        60,
    ),
}


def main(folder: Path) -> None:
    """Write the pages and their list into a folder; raise ValueError for one that is too large."""
    pages = {}
    entries = [
        Entry(name, about(find(name)), scene.title, scene.sees) for name, scene in SCENES.items()
    ]
    for k, (name, scene) in enumerate(SCENES.items()):
        path = find(name)
        text = page_of(played(load(path), {}), links=links_of(entries, name)).text
        if len(text) > LARGEST:
            raise ValueError(f"the page of {name} has {size_words(len(text))}, more than it may")
        entries[k] = entries[k]._replace(still=still_of(path, scene))
        pages[entries[k].file] = text
    pages[INDEX] = index_of(entries)
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in pages.items():
        (folder / file).write_bytes(content)
        print(f"{file}: {size_words(len(content))}")


def still_of(path: Path, scene: Scene) -> Still:
    """Return a small picture of a scene; raise ValueError if it is too large."""
    show = Show.of(played(load(path), {}))
    show.session.advance(scene.steps)
    low, high = KEPT
    drawn = Image.fromarray(picture(show, size=SIZE)[low:high])
    for quality in QUALITIES:
        file = io.BytesIO()
        drawn.save(file, "WEBP", quality=quality, method=6)
        if file.tell() <= LARGEST_STILL:
            return Still(file.getvalue(), drawn.size, scene.alt)
    raise ValueError(f"the picture of {path.stem} has {size_words(file.tell())}, more than it may")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or [FOLDER]))
