"""Memory that was never freed, without what is known and without what the runtime libraries keep."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from reap.base.records import Estimate, exactly
from reap.check.records import Suppressed
from reap.diff.analyse.joined import Stacks
from reap.recording.analyse.frames import Frame

_LIBRARY = re.compile(r"/(ld-linux[-.\w]*|lib(c|m|pthread|dl|stdc\+\+|gcc_s|c\+\+|c\+\+abi))\.so[.\d]*$")
RUNTIME = (
    ("buffers of standard streams", re.compile(r"_IO_file_doallocate$")),
    ("locales and translations", re.compile(r"(setlocale|textdomain|gettext)$")),
    ("conversions between encodings", re.compile(r"^__(gconv|wcsmbs)\w*$|^(\w*mb\w*to?wc\w*|\w*btowc)$")),
    ("time zones", re.compile(r"^(__tz\w*|tzset\w*|(local|mk|c|gm)time(_r)?|timelocal)$")),
    ("storage of threads", re.compile(r"_dl_allocate_tls$|^__cxa_(thread_atexit_impl|get_globals)$")),
    ("tables of users, groups and hosts", re.compile(r"^(_*nss_\w+|get(pw|gr)(uid|gid|nam))$")),
    ("functions for the end of the program", re.compile(r"^(__cxa_atexit|__new_exitfn|atexit|on_exit)$")),
)
"""What glibc allocates once and keeps, by functions that it exports: no debug information is needed."""
LOADING = "loading and initialising libraries"


class Live:
    """Stacks whose blocks do not count as live at exit."""

    def __init__(self, stacks: Stacks, suppress: Sequence[str]) -> None:
        self._stacks = stacks
        found: dict[tuple[str, bool], float] = dict.fromkeys(((pattern, False) for pattern in suppress), 0.0)
        hidden = []
        for node, value in enumerate(stacks.tree.own["live-at-exit"]):
            if value <= 0:
                continue
            frames = [stacks.frames[each] for each in stacks.tree.path(node) if not stacks.processes[each]]
            if why := _why(frames, suppress):
                hidden.append(node)
                found[why] = found.get(why, 0.0) + value
        self.hidden = frozenset(hidden)
        """The nodes of these stacks."""
        self.suppressed = [
            Suppressed(pattern=pattern, bytes=size, runtime=runtime)
            for (pattern, runtime), size in found.items()
        ]

    def estimate(self, whole: Estimate) -> Estimate:
        """Bytes that are live at exit; `whole` is the estimate that includes what is suppressed."""
        own = self._stacks.tree.own["live-at-exit"]
        left = max(whole.value - sum(own[node] for node in self.hidden), 0.0)
        if whole.exact:
            return exactly(left)
        variance = self._stacks.variance["bytes"]
        return self._stacks.estimate(
            left, sum(variance) - sum(variance[node] for node in self.hidden), "bytes"
        )


def _why(frames: list[Frame], suppress: Sequence[str]) -> tuple[str, bool] | None:
    for pattern in suppress:
        if any(_matches(frame[2], pattern) for frame in frames):
            return pattern, False
    inner = frames[::-1]
    own = next((at for at, frame in enumerate(inner) if not _LIBRARY.search(frame[0])), len(inner))
    if frames and own == len(inner):
        return LOADING, True
    # Only what a runtime library does for the program: a function of the program may have any name.
    for frame in inner[:own]:
        for what, known in RUNTIME:
            if known.search(frame[2]):
                return what, True
    return None


def _matches(function: str, pattern: str) -> bool:
    """Whether a glob is the name of a function, with its parameters or without."""
    return bool(function) and (
        fnmatchcase(function, pattern) or fnmatchcase(function.partition("(")[0], pattern)
    )
