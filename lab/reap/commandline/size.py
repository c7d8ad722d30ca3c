"""Sizes, shares and times as words of a command line."""

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


class Newest(click.ParamType[tuple[float, int]]):
    """Amount of the newest that is kept: a time (5min, 2h), or a size (512M, 2GB). One of both is 0."""

    name = "newest"

    def convert(
        self, value: str | tuple[float, int], parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[float, int]:
        """Seconds and bytes. Fails with a message that says what is expected."""
        if not isinstance(value, str):
            return value
        seconds = amounts.parse(value, "time") or 0.0
        # Without a unit, or with m, it could be either.
        clear = not value.strip().endswith("m") and value.strip()[-1:].isalpha()
        size = int(amounts.parse(value, "bytes") or 0) if clear else 0
        if not seconds and not size:
            forms = "a time in s, min, h or d (5min), or a size with its unit (512M)"
            self.fail(f"{value!r} is neither a time nor a size: give {forms}", parameter, context)
        return seconds, size


NEWEST = Newest()
"""The type of an option that takes how much is kept."""
SIZE = Size()
"""The type of an option that takes a size."""
PERCENT = Percent()
"""The type of an option that takes a share."""
SECONDS = click.FloatRange(min=0, min_open=True)
"""The type of an option that takes a time in seconds."""
