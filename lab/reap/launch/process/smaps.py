"""Reads what the kernel says of a process's memory, and why it says nothing."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.launch.process import areas
from reap.launch.process.records import Kernel

PROC = Path("/proc")
_PF_KTHREAD = 0x00200000
"""The flag of the kernel's threads (linux/sched.h)."""


class EndedError(Exception):
    """The process has ended, or never was."""


def read(pid: int) -> Kernel:
    """The memory of a process now, by kind. Some 20 us a mapping, in the kernel and here together.

    Throws EndedError if it ended, PermissionError if it belongs to somebody else.
    """
    return parse(mappings(pid))


def mappings(pid: int) -> str:
    """The text that `parse` takes. Throws as `read`."""
    try:
        text = _text(pid)
    except (FileNotFoundError, ProcessLookupError):
        raise EndedError from None
    if not text:  # a zombie has none, as a kernel's thread
        raise EndedError
    return text


def pages(pid: int) -> str:
    """The numbers of its pages, at no more than 20 us; empty where there are none."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "statm").read_text(errors="replace")
    return ""


def number_within(pid: int) -> int:
    """The number that a process has in its own PID namespace; of one that ended, its number here."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text(errors="replace").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return pid


def _text(pid: int) -> str:
    """Text of the mappings; by another thread where the first has ended, and so has no memory any more."""
    if text := _whole(PROC / str(pid)):
        return text
    for thread in (PROC / str(pid) / "task").glob("*"):
        with contextlib.suppress(OSError):
            if text := _whole(thread):
                return text
    return ""


def _whole(thread: Path) -> str:
    """The mappings of a thread; empty where it has lost its memory, which cuts short what is being read."""
    text = (thread / "smaps").read_text(errors="replace")
    return text if text and int((thread / "statm").read_text().split()[0]) > 0 else ""


def parse(text: str) -> Kernel:
    """Sums of a text like /proc/PID/smaps, by kind of mapping alone."""
    return areas.summed(areas.parse(text), {})[0]


def coarse(pid: int) -> Kernel:
    """Memory as anybody may read it of a process: three kinds and what is swapped out. Throws EndedError."""
    kinds = _kinds(pid)
    if not kinds:
        raise EndedError
    anonymous, files, shared = (kinds.get(name, 0) for name in ("RssAnon", "RssFile", "RssShmem"))
    return Kernel(
        resident=anonymous + files + shared,
        heap=0,
        anonymous=anonymous,
        stack=0,
        files=files,
        written=0,
        shared=shared,
        lazy_free=0,
        swap=kinds.get("VmSwap", 0),
    )


def _kinds(pid: int) -> dict[str, int]:
    """Sizes in /proc/PID/status by name; empty for a process without memory."""
    with contextlib.suppress(OSError):
        text = (PROC / str(pid) / "status").read_text(errors="replace")
        return {name: int(size) << 10 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    return {}


def begun(pid: int) -> int:
    """Start of the process, in the kernel's ticks: with the number it says which process is meant.

    Throws EndedError.
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        raise EndedError from None
    fields = text.rpartition(")")[2].split()
    if fields[0] in "ZX" and int(fields[17]) <= 1:  # threads: those of a zombie may go on
        raise EndedError
    return int(fields[19])


def program(pid: int) -> tuple[int, int]:
    """Start of the process, in the kernel's ticks, and the program break at the start of its program.

    Together they tell apart which program is meant. Both are 0 where that is not to be seen.
    """
    with contextlib.suppress(OSError, IndexError, ValueError):
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(fields[19]), int(fields[44])
    return 0, 0


def age(pid: int) -> float:
    """Seconds since the process started. Throws EndedError."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return max(0.0, now - begun(pid) / os.sysconf("SC_CLK_TCK"))


def command(pid: int) -> list[str]:
    """Its words, as far as it shows them; empty for none.

    A server may show a title instead, padded with zeros as far as its words went.
    """
    try:
        text = (PROC / str(pid) / "cmdline").read_text(errors="replace")
    except OSError:
        return []
    return text.rstrip("\0").split("\0") if text else []


def titled(pid: int, words: list[str]) -> bool:
    """Whether these words of a process are a title that it has given itself, which starts no program."""
    if not words or os.path.exists(PROC / str(pid) / "cwd" / words[0]):  # noqa: PTH110 - Path's throws
        return False
    return shutil.which(words[0]) is None


def executable(pid: int) -> str:
    """The file that it executes; empty if that is not to be seen."""
    for link in (PROC / str(pid) / "exe", *_of_threads(pid, "exe")):
        with contextlib.suppress(OSError):
            return str(link.readlink())
    return ""


def parent(pid: int) -> int:
    """The process that has made it, or has adopted it; 0 for none that is known."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int((PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return 0


def children(pid: int) -> list[int]:
    """The processes that its threads have made and that are still there."""
    found: list[int] = []
    for file in _of_threads(pid, "children"):
        try:
            found += map(int, file.read_text().split())
        except OSError:
            continue
    return found


def _of_threads(pid: int, name: str) -> Iterator[Path]:
    """The file of that name of each of its threads; none of a process that ends meanwhile."""
    with contextlib.suppress(OSError):
        yield from (PROC / str(pid) / "task").glob(f"*/{name}")


def descendants(root: int) -> list[int]:
    """The living descendants of a process, parents before their children."""
    found = [root]
    for pid in found:
        found += children(pid)
    return found[1:]


def require_readable(pid: int) -> None:
    """Throws ReapError where the memory of the process cannot be looked at, with the reason."""
    if not (PROC / "self" / "smaps").exists():
        raise ReapError(
            f"{PROC} is not there, or does not show smaps, so that no process can be looked at",
            "mount -t proc proc /proc, or run reap outside of this container",
        )
    if pid <= 0:
        raise ReapError(f"{pid} is not the number of a process", "reap rss --pid NUMBER", ExitCode.USAGE)
    if not (PROC / str(pid)).exists():
        _explain_missing(pid)
    try:
        text = _text(pid)
    except (FileNotFoundError, ProcessLookupError):
        raise _gone(pid) from None
    except PermissionError:
        raise ReapError(
            f"the memory of process {pid} may not be looked at: it belongs to another user, or hides itself"
            f"{_for_anybody(pid)}",
            f"sudo reap rss --pid {pid}",
            ExitCode.NOT_EXECUTABLE,
        ) from None
    if not text:
        _explain_empty(pid)


def _for_anybody(pid: int) -> str:
    """End of a sentence: what is known without permission."""
    try:
        kernel = coarse(pid)
    except EndedError:
        return ""
    kinds = {"anonymous": kernel.anonymous, "files": kernel.files, "shared memory": kernel.shared}
    listed = ", ".join(f"{units.size(size)} {kind}" for kind, size in kinds.items())
    return f"; all that is known is {units.size(kernel.resident)} resident: {listed}"


def _explain_missing(pid: int) -> None:
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (ProcessLookupError, OverflowError):
        raise _gone(pid) from None
    raise ReapError(
        f"process {pid} runs, but {PROC} does not show it: mounted with hidepid, or another container's",
        f"sudo reap rss --pid {pid}, where {PROC} is whole",
        ExitCode.NOT_EXECUTABLE,
    )


def _explain_empty(pid: int) -> None:
    """A process that is ending has no memory from before it is a zombie, so its state does not tell."""
    try:
        flags = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[6]
    except OSError:
        raise _gone(pid) from None
    if not int(flags) & _PF_KTHREAD:
        raise _gone(pid)
    raise ReapError(
        f"process {pid} has no memory of its own: it is a thread of the kernel",
        "name a program's process",
        ExitCode.USAGE,
    )


def _gone(pid: int) -> ReapError:
    return ReapError(
        f"there is no process {pid}: it has ended, or never was",
        "if a supervisor restarted it, use its new pid, as in: reap rss --pid $(pidof -s NAME)",
        ExitCode.NOT_FOUND,
    )
