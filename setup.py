"""Additions to setup.cfg: folders that become part of the package, and links to the site."""

import json
import posixpath
import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# Scenes, lessons and the guide are at the top of the checkout for visibility; an installed package
# contains these folders.
FOLDERS = {
    "scenes": ("*.py", "*.onnx", "*.safetensors"),
    "notebooks": ("*.ipynb",),
    "docs/guide": ("*.md", "*.py"),
}
LINK = re.compile(r"(\]\()((?!https?:|#)[^)#]+)")  # Markdown link to a file

settings = ConfigParser()
settings.read("setup.cfg", encoding="utf-8")


class Build(build_py):
    """Also copies the folders, except for an editable install."""

    def run(self) -> None:
        super().run()
        for folder, patterns in {} if self.editable_mode else FOLDERS.items():
            place = Path(self.build_lib, "scalarviz", folder)
            place.mkdir(parents=True, exist_ok=True)
            place.with_suffix(".py").unlink(missing_ok=True)  # replaces the folder in a checkout
            for path in (found for each in patterns for found in Path(folder).glob(each)):
                change = CHANGES.get(path.suffix)
                content = path.read_bytes()
                (place / path.name).write_bytes(change(content) if change else content)


def without_stills(content: bytes) -> bytes:
    """Return a notebook without the pictures that its pages or a run redraw."""
    book = json.loads(content)
    for cell in book["cells"]:
        if "".join(cell["source"]).rpartition("\n")[2].startswith("sv.watch("):
            for output in cell["outputs"]:
                output.get("data", {}).pop("image/png", None)
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def guide(content: bytes) -> bytes:
    """Return a page of the guide with links to uninstalled files replaced by links to the site."""
    return with_addresses(content.decode(), "docs/guide", ("docs/guide/", "notebooks/")).encode()


def with_addresses(text: str, folder: str = "", installed: tuple[str, ...] = ()) -> str:
    """Return Markdown of a folder, with links outside some folders replaced by site links."""

    def address(link: Any) -> str:
        place = posixpath.normpath(posixpath.join(folder, link[2].strip()))
        if place.startswith(installed):
            return str(link[0])
        page = re.sub(r"\.(md|ipynb)$", ".html", place)
        return f"{link[1]}{settings['metadata']['url']}/{page}"

    return LINK.sub(address, text)


CHANGES = {".ipynb": without_stills, ".md": guide}

setup(
    packages=find_packages(include=["scalarviz*"]),
    # An editable install must be a folder of sys.path: otherwise a folder named scalarviz would
    # hide the package from a Python started above it.
    package_dir={"": "."},
    cmdclass={"build_py": Build},
    long_description=with_addresses(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
