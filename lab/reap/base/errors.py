"""The one error that a user may see: what happened, to what, and what to do next."""

import enum


class ExitCode(enum.IntEnum):
    """Codes with which `reap` exits, where it is not with the measured program's own.

    The values follow env(1), timeout(1) and the shell, so that scripts which know those know these.
    """

    OK = 0
    FAILED = 1
    """The work was done and the answer is bad: a check failed, a program behaved differently."""
    USAGE = 2
    """The command line cannot be understood."""
    NOT_MEASURED = 3
    """No answer: what was to be judged was not measured, or not all of it."""
    TIMED_OUT = 124
    INTERNAL = 125
    """Reap itself failed: a file it cannot read or write, a part it cannot find."""
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    SIGNALLED = 128
    """128 + n: the program was ended by signal n."""


class ReapError(Exception):
    """Something the user can act on.

    `what` says what happened and to what, in one sentence; `hint` says what to do next, best as a
    command that can be pasted. `code` is what the command exits with.
    """

    def __init__(self, what: str, hint: str = "", code: int = ExitCode.INTERNAL) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.code = int(code)

    def __str__(self) -> str:
        return f"{self.what}\n  {self.hint}" if self.hint else self.what
