"""Watches the resident memory of a process, or of all processes of a command, while they run."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from reap.base.errors import ReapError
from reap.base.files import folder_for_programs
from reap.launch import native_files, spawn
from reap.launch.process import areas, cgroup, huge, jvm, smaps
from reap.launch.process.look import View, Watched
from reap.launch.process.records import Kernel, Moment, Said
from reap.launch.records import Launch, Outcome
from reap.rss import file
from reap.rss.linked import Search
from reap.rss.outside import Walks

Take = Callable[[Moment], None]
"""Gets each moment as it comes; called from another thread than `run`'s."""

_SHARE, _CREDIT = 0.012, 0.02
"""CPU time of looking: as a share of the time, and in seconds that may be spent at first, for short programs.
Many mappings are looked at less often."""
_FIRST = 0.005
"""Seconds to the second look."""
_LATE = 5.0
"""Seconds, and twice the interval, that an answer may be old. On a busy machine our thread in the program
waits for a CPU so long that most of the heap may be freed meanwhile."""
_LAUNCHER = "reap-spawn"
_PRELOAD = "libreap-resident.so"
_LEAST_HUGE = 4 << 20
"""Bytes in huge pages from which on they are sampled."""
_SAMPLED = 0.5
"""Seconds between two samples of them: each takes 1.5 ms."""


def watch(
    pid: int,
    interval: float,
    seconds: float | None,
    take: Take,
    folder: Path | None = None,
    *,
    below: bool = False,
) -> str:
    """Looks at a process until it ends, or for some seconds; returns why it stopped, as a sentence or empty.

    With `below`, the processes that it has started and those below them are looked at, too. With the `folder`
    of `asking`, what its allocator says is taken from there. Throws ReapError if it may not be looked at.
    """
    smaps.require_readable(pid)
    looks = Looks(interval, folder)
    with contextlib.closing(looks):
        return _until_it_ends(pid, looks, seconds, take, below=below)


def _until_it_ends(pid: int, looks: "Looks", seconds: float | None, take: Take, *, below: bool) -> str:
    try:
        begun, image = smaps.begun(pid), smaps.executable(pid)
        for now in _ticks(looks.interval, seconds):
            moments = looks.at(now, [pid, *(smaps.descendants(pid) if below else [])])
            if smaps.begun(pid) != begun:
                return f"process {pid} ended, and its number is another's now"
            if smaps.executable(pid) != image:
                return f"process {pid} became another program: {smaps.executable(pid)}"
            if not moments or moments[0].pid != pid:
                return f"process {pid} ended"
            if moments[0].coarse:
                return f"process {pid} became another user's, and may not be looked at any more"
            for moment in moments:
                take(moment)
    except smaps.EndedError:
        return f"process {pid} ended"
    return ""


def run(
    launch: Launch,
    interval: float,
    take: Take,
    *,
    ask: bool,
    start: Callable[[Launch], Outcome] = spawn.run,
) -> Outcome:
    """Runs a program to its end, and looks at all its processes meanwhile. Throws what `start` throws.

    With `ask` its allocator is asked, too, from a thread of ours inside each process. `take` gets a moment of
    every process in turn; what it throws ends the watching, and is thrown when the program has ended.
    """
    with folder_for_programs("reap-rss-") as folder:
        asked = asking(launch, interval, folder) if ask else launch
        watcher = _Watcher(interval, folder if ask else None, take)
        with watcher:
            outcome = start(asked)
    if watcher.failure is not None:
        raise watcher.failure
    return outcome


def asking(launch: Launch, interval: float, folder: Path) -> Launch:
    """Launch with a thread inside each process that asks its allocator, and writes into the folder."""
    return msgspec.structs.replace(
        launch,
        preloads=[str(native_files.preload("resident")), *launch.preloads],
        environment={**launch.environment, file.VARIABLE: f"{max(1, round(interval * 1e6))}:{folder}"},
    )


class _Watcher:
    """Looks at the processes below our launcher from a thread."""

    def __init__(self, interval: float, folder: Path | None, take: Take) -> None:
        self.failure: Exception | None = None
        self._interval, self._take = interval, take
        self._looks = Looks(interval, folder)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reap-rss", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._looks.close()

    def _watch(self) -> None:
        try:
            for now in _ticks(self._interval, None, self._end):
                for moment in self._looks.at(now, list(_measured())):
                    self._take(moment)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for us
            self.failure = error


def without_late_values(said: Said | None, interval: float, now: float) -> Said | None:
    """Drops values of long before `now`, which is in seconds of the monotonic clock."""
    if said is None or now - said.stamp / 1e9 <= max(_LATE, 2 * interval):
        return said
    return msgspec.structs.replace(said, values={}, walk=None, others=None, around=None, linked=[])


class Looks:
    """Looks at processes again and again, and keeps what it learned of each.

    With a `folder`, allocators of the processes write there.
    """

    def __init__(self, interval: float, folder: Path | None) -> None:
        self.interval, self._folder = interval, folder
        self._watched: dict[int, Watched] = {}
        self._search = Search()
        self._jvms = jvm.Account()
        self._walks = Walks()
        self._zeros: dict[int, tuple[float, huge.Zeros | None]] = {}
        """Until when a sample of a process is good, and the sample."""
        self._turns = 0

    def at(self, now: float, pids: Sequence[int]) -> list[Moment]:
        """The processes at this moment; one that ended meanwhile is left out."""
        before = self._watched
        self._watched = {}
        for pid in pids:  # parents come before their children
            parent = None if pid in before else self._watched.get(smaps.parent(pid))
            self._watched[pid] = before.get(pid) or Watched(pid, parent)
        self._walks.begin(pids)
        views: dict[int, View] = {}
        for pid in pids:
            with contextlib.suppress(smaps.EndedError):
                views[pid] = self._watched[pid].look()
        return [self._moment(pid, now, view, views.get(smaps.parent(pid))) for pid, view in views.items()]

    def _moment(self, pid: int, now: float, view: View, parent: View | None) -> Moment:
        forked = parent is not None and areas.forked(view.areas, parent.areas)
        path = self._answers(pid, view.text)
        said, unwalked = self._said(pid, view, path)
        private = view.kernel.heap + view.kernel.anonymous
        return Moment(
            pid=pid,
            seconds=now,
            kernel=self._with_zeros(pid, view, now),
            shares=view.shares,
            said=said,
            linked=self._search.look(pid, view.text, private, said, path, now) if view.text else [],
            copied=areas.copied(view.areas, parent.areas) if parent and forked else 0,
            forked_from=smaps.parent(pid) if forked else 0,
            cgroup=cgroup.read(pid),
            native=self._jvms.look(pid, view.kernel, now),
            unwalked=unwalked,
            coarse=not view.text,
        )

    def close(self) -> None:
        """Ends what was begun for these looks."""
        self._jvms.close()
        self._walks.close()

    def _said(self, pid: int, view: View, path: Path | None) -> tuple[Said | None, str]:
        """The allocator's word, where one of our threads is inside; else what a walk from outside finds.

        Without either, a clause that says why.
        """
        if path is not None:
            return without_late_values(file.read(path), self.interval, time.monotonic()), ""
        starting = self._folder is not None and _PRELOAD in view.text and self._folder.name not in view.text
        if not view.text or starting:  # a forked child has its parent's file mapped
            return None, ""
        found = self._walks.look(pid, view)
        return (None, found) if isinstance(found, str) else (found, "")

    def _answers(self, pid: int, text: str) -> Path | None:
        """The file where its allocators write, unless a program wrote it that this process was before."""
        number = smaps.number_within(pid) if self._folder else pid
        mapped = self._folder is not None and f"/{self._folder.name}/{number}\n" in text
        return self._folder / str(number) if self._folder and mapped else None

    def _with_zeros(self, pid: int, view: View, now: float) -> Kernel:
        kernel = view.kernel
        if kernel.huge < _LEAST_HUGE:
            return kernel
        until, zeros = self._zeros.get(pid, (now, None))
        if now >= until:
            self._turns += 1
            zeros = huge.zeros(pid, view.areas, view.claims, self._turns)
            self._zeros[pid] = now + _SAMPLED, zeros
        if zeros is None:
            return kernel
        return msgspec.structs.replace(kernel, heap_zeros=zeros.heap, anonymous_zeros=zeros.anonymous)


def _measured() -> Iterator[int]:
    """The program's processes: those below the launcher, which is a child of ours."""
    seen: set[int] = set()
    below = [child for child in smaps.children(os.getpid()) if _is_launcher(child)]
    while below:
        children = [each for each in smaps.children(below.pop()) if each not in seen]
        seen.update(children)
        below += children
        # One that is not the program yet, between fork and exec, is left out.
        yield from (each for each in children if not _is_launcher(each))


def _is_launcher(pid: int) -> bool:
    return Path(smaps.executable(pid)).name == _LAUNCHER


def _ticks(interval: float, seconds: float | None, end: threading.Event | None = None) -> Iterator[float]:
    """The time since the begin, again and again: at the interval, or less often if each takes long.

    Sooner at first, so that something is seen of what ends at once.
    """
    ended = end or threading.Event()
    step = min(interval, _FIRST)
    begin, spent = time.monotonic(), time.thread_time()
    while True:
        now = time.monotonic()
        yield now - begin
        if seconds is not None and now - begin >= seconds:
            return
        # By CPU time: on a busy machine it is the waiting that takes long, and not the looking.
        used = time.thread_time() - spent - _CREDIT
        rest = max(step - (time.monotonic() - now), used / _SHARE - (time.monotonic() - begin), 0)
        if seconds is not None:  # the end is looked at
            rest = min(rest, max(seconds - (time.monotonic() - begin), 0))
        if ended.wait(rest):
            return
        step = min(interval, step * 2)


def require_interval(interval: float) -> None:
    """Throws ReapError for one that would measure the looking."""
    if not 0.005 <= interval <= 3600:
        raise ReapError(f"an interval of {interval:g} s is not possible", "give one from 0.005 to 3600")
