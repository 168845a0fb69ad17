"""Counts the parts of a model in its bytes, before a parser makes an object of each.

A Protocol Buffers message is a sequence of fields: a key (field number and wire type), then the
content, which may be a message again.
"""

from __future__ import annotations

from typing import Any

from scalarviz.base.limits import PART, Budget
from scalarviz.errors import InputError
from scalarviz.files.onnx.package import the_package

NUMBER, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5  # wire types

Fields = dict[int, Any]  # message type of a field, or None


def weigh(data: bytes, limit: int) -> None:
    """Raise InputError if a parser would make too many objects of a model."""
    known: dict[str, Fields] = {}
    most, parts = limit // PART, 0
    waiting = [(0, len(data), the_package().ModelProto.DESCRIPTOR)]
    while waiting:
        place, end, message = waiting.pop()
        fields = known.setdefault(message.full_name, fields_of(message))
        while place < end:
            key, place = number_at(data, place, end)
            how = key & 7
            if how == LENGTH:
                length, place = number_at(data, place, end)
                inner = fields.get(key >> 3)
                if inner is not None and length:
                    waiting.append((place, place + length, inner))
                place += length
                parts += 1
            elif how == NUMBER:
                _, place = number_at(data, place, end)
                parts += 1
            elif how in (FOUR_BYTES, EIGHT_BYTES):  # limited by the size of the file
                place += 4 if how == FOUR_BYTES else 8
            else:
                raise broken()
            if parts > most:
                Budget(limit).allow(parts, "parts or more", PART)
        if place != end:
            raise broken()


def fields_of(message: Any) -> Fields:
    return {field.number: field.message_type for field in message.fields}


def number_at(data: bytes, place: int, end: int) -> tuple[int, int]:
    """Return a varint, and the position behind it."""
    number = shift = 0
    while place < end:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            break
    raise broken()


def broken() -> InputError:
    return InputError("it is damaged, or no ONNX file")
