"""Moments at which a recording starts or stops, as words of a command line."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reap.recording.part import Moment


class MomentType(click.ParamType["Moment"]):
    """phase:NAME, or signal:USR1 or signal:USR2."""

    name = "moment"

    def convert(
        self, value: "str | Moment", parameter: click.Parameter | None, context: click.Context | None
    ) -> "Moment":
        """The moment. Fails with a message that says what is expected."""
        from reap.recording import part

        if isinstance(value, part.Moment):
            return value
        found = part.moment(value)
        if found is None:
            forms = f"phase:NAME of at most {part.LONGEST_PHASE} bytes, signal:USR1 or signal:USR2"
            self.fail(f"{value!r} is no moment: give {forms}", parameter, context)
        return found


MOMENT = MomentType()
"""The type of an option that takes a moment."""
