"""What copies of a command that run at the same time would meet: files, locks, ports, processes.

Two copies that write one file or listen on one port disturb each other, or harm what the user has. So a
command is watched by strace, alone, before copies run side by side. It may read; use anonymous memory, pipes
and children of its own; write to /dev/null and its like; and make temporary files whose names differ from run
to run. Everything else that succeeds is named as a reason to run copies one after another.
"""

import os.path
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec

from reap.base.errors import ReapError
from reap.base.records import Record
from reap.experiment import naming
from reap.launch.records import Launch
from reap.launch.tools import syscalls

Around = Callable[[str], AbstractContextManager[None]]
_NAMES = ("s000-00000000", "t000-00000000")


def _as_it_is(_name: str) -> AbstractContextManager[None]:
    return nullcontext()


class Footprint(Record):
    """What was seen of a command in runs of its own."""

    shares: list[str] = []
    """What another copy would meet, in a few words each."""
    threads: bool = False
    """Whether it made threads: on one core it may be another program."""


def watch(launch: Launch, around: Around = _as_it_is) -> Footprint:
    """Runs the program under strace: once, and once more where names of temporary files have to be compared.

    `{arm}` in its words is another name each time, and files of that name are the run's own. `around` is
    what goes before and after a run of that name. Throws what `syscalls.traced` throws, and ReapError where it
    does not end within its timeout: strace waits for all that a program leaves running.
    """
    first = _watched(launch, _NAMES[0], around)
    made = first.made & _watched(launch, _NAMES[1], around).made if first.made else set()
    shares = [*first.shares, *(f"creates {path}" for path in sorted(made))]
    return Footprint(shares=list(dict.fromkeys(shares)), threads=first.threads)


class Seen(msgspec.Struct):
    """What the lines of strace say of one run."""

    shares: list[str] = []
    made: set[str] = set()
    """Files and folders that it created and that nobody had before; what is within these is its own, too."""
    name: str = ""
    """What the names of its own files have in them, where the command says `{arm}`."""
    signalled: set[str] = set()
    """The processes and groups that it sent signals to."""
    threads: bool = False


_OPENS = ("?open", "openat", "?openat2", "?creat")
_CHANGES = (
    "?truncate", "?unlink", "unlinkat", "?rename", "?renameat", "renameat2", "?link", "linkat",
    "?symlink", "symlinkat", "?mkdir", "mkdirat", "?rmdir", "?mknod", "mknodat", "?chmod", "fchmodat",
    "?chown", "?lchown", "fchownat", "?utime", "?utimes", "?utimensat", "mount", "umount2",
)  # fmt: skip
_MEETS = ("bind", "connect", "flock", "shmget", "semget", "msgget", "?mq_open", "kill", "?tkill", "tgkill")
_CALLS = ("execve", "clone", "?clone3", *_OPENS, *_CHANGES, *_MEETS)

_LINE = re.compile(r"^(?P<pid>\d+) +(?P<call>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<words>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)")
_PATH = re.compile(r'(?:(?:AT_FDCWD|-?\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
_WRITES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_SWALLOW = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}


def seen(lines: Iterable[str], own_name: str = "") -> Seen:
    """Reads what strace wrote with --decode-fds=path and --follow-forks.

    A path with `own_name` in it is one that no other run has.
    """
    found = Seen(name=own_name)
    own = {"0"}
    for pid, call in _whole(lines):
        own |= {pid, f"-{pid}"}
        parts = _CALL.match(call)
        if parts is None or (parts["result"].startswith("-") and "EINPROGRESS" not in call):
            continue
        name, words = parts["name"], parts["words"]
        if name in _JUDGES:
            _JUDGES[name](found, words)
        elif name in _CHANGING:
            _changes(found, name, words)
    found.shares += [f"signals process {each}" for each in sorted(found.signalled - own)]
    return found


def _watched(launch: Launch, name: str, around: Around) -> Seen:
    own = naming.filled(launch, name)
    with around(name), syscalls.traced(own, _CALLS, ["--decode-fds=path"]) as (outcome, lines):
        if outcome.timed_out:
            raise ReapError(f"a run under strace did not end within {launch.timeout:g} s")
        return seen(lines, name)


def _whole(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Calls by process; those that strace cut because another process came between are put together."""
    begun: dict[str, str] = {}
    for line in lines:
        parts = _LINE.match(line.rstrip("\n"))
        if parts is None:
            continue
        pid, call = parts["pid"], parts["call"]
        if call.endswith("<unfinished ...>"):
            begun[pid] = call.removesuffix("<unfinished ...>").rstrip()
        elif call.startswith("<... "):
            yield pid, begun.pop(pid, "") + call.partition(" resumed>")[2]
        else:
            yield pid, call


def _paths(words: str) -> list[str]:
    """The paths among a call's words, absolute where strace knows the folder."""
    return [
        os.path.normpath(os.path.join(each["folder"] or "", each["path"]))  # noqa: PTH118 - text of another process
        for each in _PATH.finditer(words)
    ]


def _own(found: Seen, path: str) -> bool:
    if found.name and found.name in path:
        return True
    return path in found.made or any(path.startswith(f"{folder}/") for folder in found.made)


def _named(found: Seen, words: str) -> bool:
    """Whether a socket's path is the run's own."""
    return bool(found.name) and "sun_path" in words and found.name in words


def _opens(found: Seen, words: str) -> None:
    if not _WRITES.search(words):
        return
    for path in _paths(words):
        if path in _SWALLOW or path.startswith("/proc/") or _own(found, path) or "O_TMPFILE" in words:
            continue
        if "O_CREAT" in words and "O_EXCL" in words:
            found.made.add(path)
        else:
            found.shares.append(f"writes {path}")


def _changes(found: Seen, name: str, words: str) -> None:
    paths = _paths(words)
    if name.startswith("mkdir") and paths:
        found.made.add(paths[0])
    elif paths and not all(_own(found, path) for path in paths):
        found.shares.append(f"{_VERBS.get(name, 'changes')} {paths[-1]}")


def _binds(found: Seen, words: str) -> None:
    if "AF_NETLINK" not in words and "htons(0)" not in words and not _named(found, words):
        found.shares.append(f"listens on {_address(words)}")


def _connects(found: Seen, words: str) -> None:
    if "AF_NETLINK" not in words and "AF_UNSPEC" not in words and not _named(found, words):
        found.shares.append(f"talks to {_address(words)}")


def _address(words: str) -> str:
    port = re.search(r"htons\((\d+)\)", words)
    path = re.search(r'sun_path=@?"([^"]*)"', words)
    return f"port {port[1]}" if port else path[1] if path else "a socket"


def _locks(found: Seen, words: str) -> None:
    path = re.search(r"<([^>]*)>", words)
    if "LOCK_UN" not in words and not (path and _own(found, path[1])):
        found.shares.append(f"locks {path[1] if path else 'a file'}")


def _ipc(found: Seen, words: str) -> None:
    if not words.startswith("IPC_PRIVATE"):
        found.shares.append("shares System V or POSIX objects")


def _kills(found: Seen, words: str) -> None:
    to, _, signal = words.partition(", ")
    if not signal.startswith("0"):  # which only asks whether it is there
        found.signalled.add(to)


def _threads(found: Seen, words: str) -> None:
    found.threads |= "CLONE_THREAD" in words


_CHANGING = {name.lstrip("?") for name in _CHANGES}
_JUDGES: dict[str, Callable[[Seen, str], None]] = {
    **dict.fromkeys((name.lstrip("?") for name in _OPENS), _opens),
    "creat": lambda found, words: _opens(found, f"{words} O_CREAT"),
    "bind": _binds,
    "connect": _connects,
    "flock": _locks,
    **dict.fromkeys(("shmget", "semget", "msgget", "mq_open"), _ipc),
    **dict.fromkeys(("kill", "tkill", "tgkill"), _kills),
    **dict.fromkeys(("clone", "clone3"), _threads),
}
_VERBS = {"unlink": "removes", "unlinkat": "removes", "rmdir": "removes"} | dict.fromkeys(
    ("rename", "renameat", "renameat2"), "renames"
)
