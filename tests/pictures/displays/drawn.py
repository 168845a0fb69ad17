"""Reads back from its HTML what a display shows."""

import base64
import re
from html import unescape
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]  # left, top, right, bottom


class Drawn:
    """The drawing of a display: its only image."""

    def __init__(self, html: str) -> None:
        (source,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', html)
        (words,) = re.findall(r'alt="([^"]*)"', html)
        self.svg = base64.b64decode(source).decode()
        self.root = ElementTree.fromstring(self.svg)
        self.words = unescape(words)
        self.width, self.height = (
            float(self.root.attrib["width"]),
            float(self.root.attrib["height"]),
        )

    def all(self, name: str, kind: str | None = None) -> list[ElementTree.Element]:
        """The elements of a name, and of a class if one is given."""
        found = self.root.iter(NAMESPACE + name)
        return [each for each in found if kind is None or each.attrib.get("class") == kind]

    @property
    def texts(self) -> list[str]:
        return ["".join(each.itertext()) for each in self.all("text")]

    def boxes(self, kind: str) -> list[Box]:
        return [box_of(each) for each in self.all("rect", kind)]

    def sizes(self) -> list[float]:
        return [float(each.attrib["font-size"]) for each in self.all("text")]


def box_of(rect: ElementTree.Element) -> Box:
    x, y, width, height = [float(rect.attrib[key]) for key in ("x", "y", "width", "height")]
    return x, y, x + width, y + height


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cells_of(html: str) -> list[list[str]]:
    """The texts of a table, line by line."""
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)]
        for line in re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    ]
