"""Sizes as words of a command line."""

import re

import click

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


class Size(click.ParamType[int]):
    """A number of bytes, perhaps with a unit: 65536, 64k, 1.5G, 2GiB; powers of 1024."""

    name = "size"

    def convert(
        self, value: str | int, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """The bytes, at least 1. Fails with a message that says what is expected."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", value.strip().lower())
        size = int(float(found[1]) * (1 << _UNITS[found[2]])) if found else 0
        if size < 1:
            self.fail(f"{value!r} is no size: give a number with or without K, M, G or T", parameter, context)
        return size


SIZE = Size()
"""The type of an option that takes a size."""
