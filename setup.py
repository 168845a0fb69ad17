"""What setup.cfg cannot say: folders that become part of the package, and links to the site."""

import json
import posixpath
import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# Scenes, lessons and the guide stay at the top of the checkout, where people find them; an
# installed package has these folders in it.
FOLDERS = {
    "scenes": ("*.py", "*.onnx", "*.safetensors"),
    "notebooks": ("*.ipynb",),
    "docs/guide": ("*.md", "*.py"),
}
LINK = re.compile(r"(\]\()((?!https?:|#)[^)#]+)")  # of Markdown, to a file

settings = ConfigParser()
settings.read("setup.cfg", encoding="utf-8")


class Build(build_py):
    """Copies the folders, too; in a checkout that is installed they stay where they are."""

    def run(self) -> None:
        super().run()
        for folder, patterns in {} if self.editable_mode else FOLDERS.items():
            place = Path(self.build_lib, "scalarviz", folder)
            place.mkdir(parents=True, exist_ok=True)
            place.with_suffix(".py").unlink(missing_ok=True)  # stands for the folder in a checkout
            for path in (found for each in patterns for found in Path(folder).glob(each)):
                change = CHANGES.get(path.suffix)
                content = path.read_bytes()
                (place / path.name).write_bytes(change(content) if change else content)


def without_stills(content: bytes) -> bytes:
    """Return a notebook without the pictures that its pages, or a run of it, draw anew."""
    book = json.loads(content)
    for cell in book["cells"]:
        if "".join(cell["source"]).rpartition("\n")[2].startswith("sv.watch("):
            for output in cell["outputs"]:
                output.get("data", {}).pop("image/png", None)
    return (json.dumps(book, indent=1, ensure_ascii=False) + "\n").encode()


def guide(content: bytes) -> bytes:
    """Return a page of the guide whose links to what is not installed lead to the site."""
    return with_addresses(content.decode(), "docs/guide", ("docs/guide/", "notebooks/")).encode()


def with_addresses(text: str, folder: str = "", installed: tuple[str, ...] = ()) -> str:
    """Return Markdown of a folder with addresses of the site for links outside some folders."""

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
    # So that an installed checkout is a folder of sys.path: by another way a folder that is named
    # scalarviz would hide the package from a Python that is started above it.
    package_dir={"": "."},
    cmdclass={"build_py": Build},
    long_description=with_addresses(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
