"""Names for the files of one run: `{arm}` in a command is replaced by a name that no other run has.

All names have the same length: the length of a program's arguments and environment moves its stack, which
changes its speed.
"""

import hashlib

import msgspec

from reap.experiment.records import Cell
from reap.launch.records import Launch

ARM = "{arm}"
"""What is replaced in arguments, in values of variables, and in --prepare and --cleanup."""

ALONE = "a000-00000000"
"""The name of a run that belongs to no round, as the one that is recorded."""


TWICE = ("t000-00000000", "t001-00000000")
"""The names of two runs at the same time that belong to no round."""


def name(cell: Cell, kind: str = "r") -> str:
    """The name of a cell's run: its round, and a digest of what it is.

    `kind` is a letter: `w` for the warm-up, `r` for a run of a round. Those under strace have others.
    """
    digest = hashlib.blake2b(cell.key().encode(), digest_size=4).hexdigest()
    return f"{kind}{cell.repeat:03d}-{digest}"


def filled(launch: Launch, own: str) -> Launch:
    """Returns the launch with `own`, its name, in place of each `{arm}`."""
    return msgspec.structs.replace(
        launch,
        argv=[word.replace(ARM, own) for word in launch.argv],
        environment={variable: value.replace(ARM, own) for variable, value in launch.environment.items()},
    )
