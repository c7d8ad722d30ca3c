"""Conflicts between copies of a command that run at the same time: files, locks, ports, processes.

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
from reap.launch.records import Launch, Outcome
from reap.launch.tools import syscalls

Around = Callable[[str], AbstractContextManager[None]]
_NAMES = ("s000-00000000", "t000-00000000")


def _as_it_is(_name: str) -> AbstractContextManager[None]:
    return nullcontext()


class Footprint(Record):
    """Observations of a command in runs of its own."""

    shares: list[str] = []
    """What another copy would meet, in a few words each."""
    threads: bool = False
    """Whether it made threads: on one core it may be another program."""
    job_control: bool = False
    """Whether it waited for children that stop, as a shell with job control does."""
    changed: dict[str, list[list[str]]] = {}
    """Of `shares`, those that are changes or locks of files: the absolute paths, one group a call. Where a
    call has a relative path and the program changes its folder, a group for each folder that it was in."""
    kept: list[str] = []
    """Files that it writes to and whose contents it keeps."""
    executed: list[str] = []
    leaves: list[str] = []
    """What may stay where it is killed: the files and folders that it makes, `System V or POSIX objects`."""
    outcome: Outcome = Outcome(exit_code=0)
    """Of its first run."""


def watch(launch: Launch, around: Around = _as_it_is) -> Footprint:
    """Runs the program under strace: once, and once more where names of temporary files have to be compared.

    `{arm}` in its words is another name each time, and files of that name are the run's own. `around` is
    what goes before and after a run of that name. Throws what `syscalls.traced` throws, and ReapError where
    it does not end within its timeout: strace waits for all that a program leaves running.
    """
    first, outcome = _watched(launch, _NAMES[0], around)
    made = first.made & _watched(launch, _NAMES[1], around)[0].made if first.made else set()
    creates = {f"creates {path}": first.absolute([path]) for path in sorted(made)}
    return Footprint(
        shares=list(dict.fromkeys([*first.shares, *creates])),
        threads=first.threads,
        job_control=first.job_control,
        changed={what: first.absolute(paths) for what, paths in first.changed.items()} | creates,
        kept=sorted({path for kept in first.kept for (path,) in first.absolute([kept])}),
        executed=sorted(first.executed),
        leaves=sorted({*first.objects, *(path for each in first.made for (path,) in first.absolute([each]))}),
        outcome=outcome,
    )


class Seen(msgspec.Struct):
    """Observations of one run, from the lines of strace."""

    shares: list[str] = []
    changed: dict[str, list[str]] = {}
    """Of these, the changes and locks of files: the paths."""
    kept: set[str] = set()
    executed: set[str] = set()
    made: set[str] = set()
    """Files and folders that it created and that nobody had before; what is within these is its own, too."""
    name: str = ""
    """What the names of its own files have in them, where the command says `{arm}`."""
    objects: set[str] = set()
    """Kinds of things that it made and that are there until they are removed, as files are."""
    signalled: set[str] = set()
    """The processes and groups that it sent signals to."""
    threads: bool = False
    job_control: bool = False

    folders: list[str] = []
    """In which it ran, one after another."""

    def absolute(self, paths: list[str]) -> list[list[str]]:
        """These paths of a call, as they are or in each of `folders`."""
        if all(path.startswith("/") for path in paths):
            return [paths]
        return [[os.path.normpath(os.path.join(each, path)) for path in paths] for each in self.folders]  # noqa: PTH118

    def meets(self, what: str, paths: list[str]) -> None:
        """Notes a change or a lock of files that another copy would meet."""
        self.shares.append(what)
        self.changed[what] = paths


_OPENS = ("?open", "openat", "?openat2", "?creat")
_CHANGES = (
    "?truncate", "?unlink", "unlinkat", "?rename", "?renameat", "renameat2", "?link", "linkat",
    "?symlink", "symlinkat", "?mkdir", "mkdirat", "?rmdir", "?mknod", "mknodat", "?chmod", "fchmodat",
    "?chown", "?lchown", "fchownat", "?utime", "?utimes", "?utimensat", "mount", "umount2",
)  # fmt: skip
_MEETS = ("bind", "connect", "flock", "shmget", "semget", "msgget", "?mq_open", "kill", "?tkill", "tgkill")
_CALLS = ("execve", "chdir", "fchdir", "wait4", "waitid", "clone", "?clone3", *_OPENS, *_CHANGES, *_MEETS)

_LINE = re.compile(r"^(?P<pid>\d+) +(?P<call>.*)$")
_CALL = re.compile(r"^(?P<name>\w+)\((?P<words>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)")
_PATH = re.compile(r'(?:(?:AT_FDCWD|-?\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
_WRITES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_SWALLOW = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}


def seen(lines: Iterable[str], own_name: str = "", folder: str = "/") -> Seen:
    """Reads what strace wrote with --decode-fds=path and --follow-forks.

    A path with `own_name` in it is one that no other run has. `folder` is where it started.
    """
    found = Seen(name=own_name, folders=[folder])
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


def _watched(launch: Launch, name: str, around: Around) -> tuple[Seen, Outcome]:
    own = naming.filled(launch, name)
    with around(name), syscalls.traced(own, _CALLS, ["--decode-fds=path"]) as (outcome, lines):
        if outcome.timed_out:
            raise ReapError(f"a run under strace did not end within {launch.timeout:g} s")
        return seen(lines, name, launch.directory or os.getcwd()), outcome  # noqa: PTH109 - text


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
            found.meets(f"writes {path}", [path])
        if "O_TRUNC" not in words:
            found.kept.add(path)


def _changes(found: Seen, name: str, words: str) -> None:
    paths = _paths(words)
    if name in ("mount", "umount2"):
        found.shares.append("mounts file systems")
    elif name.startswith("mkdir") and paths:
        found.made.add(paths[0])
    elif paths and not all(_own(found, path) for path in paths):
        found.meets(f"{_VERBS.get(name, 'changes')} {paths[-1]}", paths if name in _MOVES else paths[-1:])


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
    if "LOCK_UN" in words or (path and _own(found, path[1])):
        return
    if path is None:
        found.shares.append("locks a file")
    else:
        found.meets(f"locks {path[1]}", [path[1]])


def _ipc(found: Seen, words: str) -> None:
    found.objects.add("System V or POSIX objects")
    if not words.startswith("IPC_PRIVATE"):
        found.shares.append("shares System V or POSIX objects")


def _kills(found: Seen, words: str) -> None:
    to, _, signal = words.partition(", ")
    if not signal.startswith("0"):  # which only asks whether it is there
        found.signalled.add(to)


def _moves_to(found: Seen, words: str) -> None:
    path = re.search(r"<([^>]*)>", words)
    paths = [path[1]] if path else _paths(words)[:1]
    found.folders += [
        each
        for (each,) in found.absolute(paths)
        if each not in found.folders and os.path.isdir(each)  # noqa: PTH112
    ]


def _waits(found: Seen, words: str) -> None:
    found.job_control |= bool(re.search("WUNTRACED|WSTOPPED", words))


def _executes(found: Seen, words: str) -> None:
    found.executed.update(_paths(words)[:1])


def _threads(found: Seen, words: str) -> None:
    found.threads |= "CLONE_THREAD" in words


_CHANGING = {name.lstrip("?") for name in _CHANGES}
_JUDGES: dict[str, Callable[[Seen, str], None]] = {
    **dict.fromkeys((name.lstrip("?") for name in _OPENS), _opens),
    "creat": lambda found, words: _opens(found, f"{words} O_CREAT"),
    "execve": _executes,
    **dict.fromkeys(("wait4", "waitid"), _waits),
    **dict.fromkeys(("chdir", "fchdir"), _moves_to),
    "bind": _binds,
    "connect": _connects,
    "flock": _locks,
    **dict.fromkeys(("shmget", "semget", "msgget", "mq_open"), _ipc),
    **dict.fromkeys(("kill", "tkill", "tgkill"), _kills),
    **dict.fromkeys(("clone", "clone3"), _threads),
}
_MOVES = {"rename", "renameat", "renameat2", "link", "linkat"}
"""Both of whose paths have to be in one file system."""
_VERBS = {"unlink": "removes", "unlinkat": "removes", "rmdir": "removes"} | dict.fromkeys(
    ("rename", "renameat", "renameat2"), "renames"
)
