"""Asks the allocators that are linked into files of a process, beside the one that serves malloc."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from reap.launch.process import mapped
from reap.launch.process.mapped import Place
from reap.launch.process.records import Linked, Said
from reap.rss import file

_LEAST = 4 << 20
"""Bytes of private memory from which on it matters who holds it."""
_SECONDS = 1.0
"""Between two searches in the mapped files of a process."""
_LONG = 4 << 20
"""Letters of /proc/PID/smaps, some 5,000 mappings, from which on these pauses are longer: they take 20 ms."""
_WAIT = 0.2
"""Seconds that a snapshot waits for a search: the process may not live long."""


@dataclass
class _Process:
    """State of the search in one process's mapped files."""

    due: float = 0.0
    """When its files are to be searched again."""
    code: int = 0
    """How many mappings of code it had then: with a library it has more."""
    mappings: str = ""
    """As last read; the same text again is no new reading."""
    token: int = 0
    """As last read."""
    searched: int = 0
    """The token that the process had when the mappings were read that are being searched."""
    search: "Future[list[Place]] | None" = None
    requested: tuple[int, list[tuple[str, int]]] | None = None
    """The token and the functions of the last request."""
    places: list[Place] = field(default_factory=list)


class Search:
    """Finds linked allocators, and requests their statistics from our thread in each process.

    Files are read in a thread of its own, since a large one takes 0.2 s of CPU time, after which the next
    snapshot would be late.
    """

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reap-files")

    def look(
        self, pid: int, mappings: str, size: int, said: Said | None, path: Path | None, now: float
    ) -> list[Linked]:
        """The allocators of a process with this text of /proc/PID/smaps, with what they last reported.

        `size` is its private memory, `said` what was read after the mappings, and `path` the file of its
        answers. Without these the allocators have names and no values.
        """
        process = self._processes.setdefault(pid, _Process())
        token = said.token if said is not None else 0
        self._finish(process, token, path)
        fresh, process.mappings = mappings is not process.mappings, mappings
        code = mappings.count(" r-xp ") if fresh else process.code
        due = fresh and (now >= process.due or code != process.code)
        if process.search is None and size >= _LEAST and due:
            process.code = code
            # The mappings were read between two readings of one token: no library was unloaded meanwhile.
            process.searched = token if token == process.token else 0
            pause = _SECONDS * max(1, len(mappings) / _LONG)
            process.due = now + pause
            process.search = self._reader.submit(mapped.find, pid, mappings)
            wait([process.search], _WAIT)
            self._finish(process, token, path)
        process.token = token
        return _with_values(process.places, said)

    def _finish(self, process: _Process, token: int, path: Path | None) -> None:
        if process.search is None or not process.search.done():
            return
        process.places, process.search = process.search.result(), None
        functions = [(each.allocator, each.address) for each in process.places if each.address]
        wanted = (token, functions)
        if not functions or path is None or wanted == process.requested:
            return
        if token and token == process.searched and file.request(path, token, functions):
            process.requested = wanted
        else:  # a library was unloaded meanwhile: the files are known now, and the next search is short
            process.due = 0.0


def _with_values(places: list[Place], said: Said | None) -> list[Linked]:
    answers = {each.function: each.values for each in said.linked} if said is not None else {}
    return [
        Linked(
            allocator=each.allocator,
            file=each.file,
            function=each.function,
            values=answers.get(each.address, {}),
        )
        for each in places
        if said is None or said.function == 0 or each.address != said.function
    ]
