"""Part of a program's run that a recording is of."""

import signal

from reap import native
from reap.base import units
from reap.base.records import Record

SIGNALS = {"USR1": signal.SIGUSR1, "USR2": signal.SIGUSR2}
"""Signals to reap that can start and stop a recording, by name."""
LONGEST_PHASE = 63
"""Bytes of a phase's name that are compared; marks cut longer ones."""


class Moment(Record):
    """Event that a recording starts or stops with; neither: with the program."""

    phase: str = ""
    """The program enters this phase, by `reap_mark_phase`."""
    signal: int = 0
    """`reap` gets this signal."""

    def __str__(self) -> str:
        """As the option of `reap record` has it; empty: with the program."""
        names = {int(number): name for name, number in SIGNALS.items()}
        if self.phase:
            return f"phase:{self.phase}"
        return f"signal:{names.get(self.signal, self.signal)}" if self.signal else ""

    def __bool__(self) -> bool:
        """Whether it is any but the program's own start or end."""
        return bool(self.phase or self.signal)

    @property
    def missed(self) -> str:
        """Clause that the event was waited for in vain."""
        if self.phase:
            return f"the program never entered the phase {self.phase}"
        return f"reap never got SIG{str(self).partition(':')[2]}"


def moment(text: str) -> Moment | None:
    """A moment as users write it: `phase:steady`, `signal:USR1`. None for what is none."""
    kind, _, name = text.partition(":")
    if kind == "phase" and 0 < len(name.encode()) <= LONGEST_PHASE and "\0" not in name:
        return Moment(phase=name)
    if kind == "signal" and name.removeprefix("SIG") in SIGNALS:
        return Moment(signal=int(SIGNALS[name.removeprefix("SIG")]))
    return None


class Limits(Record):
    """Limits of what is recorded of a run; the default is all of it."""

    start: Moment = Moment()
    stop: Moment = Moment()
    last_seconds: float = 0.0
    """What is kept of that, up to its end; 0: all, or by bytes."""
    last_bytes: int = 0
    """The same by the bytes of the file."""

    def __bool__(self) -> bool:
        """Whether it is not all."""
        return bool(self.start or self.stop or self.is_ring)

    @property
    def is_ring(self) -> bool:
        """Whether the newest part of the recording is kept."""
        return self.last_seconds > 0 or self.last_bytes > 0

    @property
    def last(self) -> str:
        """Newest part that is kept, in words for readers; empty: all."""
        if self.last_seconds:
            return f"the last {units.duration(self.last_seconds)}"
        return f"the last {units.size(self.last_bytes)}" if self.last_bytes else ""


def unreached_at(gate: int, limits: Limits) -> str:
    """Event that the limits waited for in vain, as a clause; empty where they have been reached."""
    if gate == native.GATE_SHUT:
        return f"recording never began, because {limits.start.missed}"
    if gate == native.GATE_OPEN and limits.stop:
        return f"recording went on to the program's end, because {limits.stop.missed}"
    return ""


def limits_of(header: native.Header) -> Limits:
    """Limits of a recording, from its header."""
    (start_phase, start_signal), (stop_phase, stop_signal) = header.start, header.stop
    return Limits(
        start=Moment(phase=start_phase, signal=start_signal),
        stop=Moment(phase=stop_phase, signal=stop_signal),
        last_seconds=header.ring_seconds,
        last_bytes=header.ring_bytes,
    )
