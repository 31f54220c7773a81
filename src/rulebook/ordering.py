"""Orders that people expect."""

from __future__ import annotations


def natural_key(name: str) -> tuple[tuple[int, int, str, str], ...]:
    """A sort key by which ``AFD-I2`` stands before ``AFD-I10``.

    Runs of ASCII digits compare as numbers and stand before text.
    """
    parts: list[tuple[int, int, str, str]] = []
    digits = text = ""
    for char in [*name, ""]:
        if char.isascii() and char.isdigit():
            if text:
                parts.append((1, 0, text, ""))
                text = ""
            digits += char
        else:
            if digits:
                # Longer numbers are larger; int() refuses more than 4,300 digits.
                number = digits.lstrip("0")
                parts.append((0, len(number), number, digits))
                digits = ""
            text += char
    if text:
        parts.append((1, 0, text, ""))
    return tuple(parts)
