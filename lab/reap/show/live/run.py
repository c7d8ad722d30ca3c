"""Reads a recording while it is made."""

import time
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.base.files import native_name
from reap.recording.analyse.frames import names
from reap.recording.analyse.sites import telling
from reap.recording.analyse.sizes import bins
from reap.recording.read import reading
from reap.show.live import analyse
from reap.show.live.records import Depth, Moment

MOST_EVENTS = 500_000
"""Events that are read at once, in about 0.1 s of CPU time."""
_STACKS = 200
"""Stacks with most bytes in use, and as many with most allocations: their names are looked up."""
_SITES = 30
_SILENCE = 5.0
"""Seconds without a measurement by the launcher, which takes one each second, after which it is gone."""


class Watched:
    """A recording in progress."""

    def __init__(self, path: Path) -> None:
        """Throws ReapError where the file cannot be read, or is no recording."""
        self._path = path
        with reading(path):
            self._recording = native.GrowingRecording(native_name(path))
        self._names: dict[tuple[int, int], analyse.Place] = {}
        self._before = (0.0, 0, 0)
        self._last: Moment | None = None
        self._measured = (0, time.monotonic())

    def look(self, *, ended: bool = False) -> Moment:
        """Reads what is new since the last look. `ended`: nothing more is written.

        Reads at most about `MOST_EVENTS` events; where more are waiting, the moment is `behind`. Throws
        ReapError where the file was cut short or written over.
        """
        recording = self._recording
        over = ended or self._is_over()
        with reading(self._path):
            behind = recording.update(MOST_EVENTS, over)
            if recording.finished and not over:  # as this look has found
                over, behind = True, recording.update(MOST_EVENTS, True)
        now = recording.now()
        seconds, allocations, size = self._before
        # An attached process is reported for some tenths of a second at once, or for seconds.
        until = now.last_event if recording.attached else now.seconds
        passed = until - seconds
        if recording.attached and passed <= 0 and now.seconds - until < _SILENCE and self._last is not None:
            return self._again(self._last, now, over=over and not behind, behind=behind)
        self._before = (until, now.objects, now.bytes)
        sites = analyse.sites(recording.stacks(_STACKS), self._place, passed)
        self._last = Moment(
            depth=self._depth(),
            command=recording.command,
            seconds=now.seconds,
            allocations=now.objects,
            bytes=now.bytes,
            frees=now.frees,
            allocations_per_second=analyse.rate(now.objects, allocations, passed),
            bytes_per_second=analyse.rate(now.bytes, size, passed),
            live_bytes=max(0.0, now.live_bytes),
            peak_bytes=now.peak_bytes,
            samples=now.samples,
            resident=now.resident,
            peak_resident=now.peak_resident,
            running=now.running,
            processes=now.processes,
            sizes=bins(recording.sizes()),
            live_sites=analyse.by_live(sites, _SITES),
            busy_sites=analyse.by_rate(sites, _SITES),
            large_sites=analyse.by_bytes(sites, _SITES) if recording.attached else [],
            behind=behind,
            over=over and not behind,
            notes=self._notes(),
        )
        return self._last

    def _again(self, last: Moment, now: native.Now, *, over: bool, behind: bool) -> Moment:
        """Repeats the last moment, as nothing was reported since."""
        return replace(
            last,
            seconds=now.seconds,
            resident=now.resident,
            peak_resident=now.peak_resident,
            running=now.running,
            over=over,
            behind=behind,
            notes=self._notes(),
        )

    def _depth(self) -> Depth:
        if self._recording.attached:
            return "attached"
        return "full" if self._recording.depth == native.FULL else "triage"

    def _is_over(self) -> bool:
        """Whether the recording was closed, or those who would write to it are gone."""
        recording = self._recording
        if recording.finished:
            return True
        now = recording.now()
        if now.running or now.measurements != self._measured[0]:
            self._measured = (now.measurements, time.monotonic())
        silent = time.monotonic() - self._measured[1] > _SILENCE
        return not now.running and (silent or (recording.ended and now.processes > 0))

    def _place(self, image: int, stack: int) -> analyse.Place:
        key = (image, stack)
        if key not in self._names:
            self._names[key] = names(telling(self._recording.frames(image, stack)))
        return self._names[key]

    def _notes(self) -> list[str]:
        damage = self._recording.damage()
        said = []
        if self._recording.stop_reason:
            said.append(f"Events are missing from some moment on; reap show {self._path} says why.")
        if damage.foreign or damage.corrupt or damage.truncated or damage.malformed:
            said.append("A part of the file is damaged; what is shown lacks it.")
        return said
