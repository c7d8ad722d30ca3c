"""Sizes and shares as words of a command line."""

import click

from reap.base import amounts


class Size(click.ParamType[int]):
    """A number of bytes, perhaps with a unit: 65536, 64K, 1.5G, 2GiB, 200MB."""

    name = "size"

    def convert(
        self, value: str | int, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """The bytes, at least 1. Fails with a message that says what is expected."""
        if isinstance(value, int):
            return value
        size = int(amounts.parse(value, "bytes") or 0)
        if size < 1:
            self.fail(f"{value!r} is not a size: give {amounts.FORMS['bytes']}", parameter, context)
        return size


class Percent(click.ParamType[float]):
    """A share above 0 and up to 100 %, with the sign: 2%, 0.5%."""

    name = "percent"

    def convert(
        self, value: str | float, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        """The share, 0 to 1. Fails with a message that says what is expected."""
        if not isinstance(value, str):
            return value
        share = amounts.parse(value, "percent")
        if share is None or not 0 < share <= 1:
            self.fail(f"{value!r} is no share: give {amounts.FORMS['percent']}, as 2%", parameter, context)
        return share


SIZE = Size()
"""The type of an option that takes a size."""
PERCENT = Percent()
"""The type of an option that takes a share."""
