"""The whole answer for one program: recorded once, compared under several allocators."""

import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from reap.base.errors import ExitCode
from reap.base.files import read_back
from reap.compare import run
from reap.drag import once as drag
from reap.evidence import collectors_run
from reap.evidence.records import Collector
from reap.experiment.folder import Folder
from reap.experiment.once import alone, prepared, start
from reap.experiment.runner import InterruptedRunError, Listener
from reap.launch import hung
from reap.launch.records import Launch, Outcome
from reap.recording import read, record, watch
from reap.recording.analyse.profile import profile as analyse
from reap.recording.naming import as_started
from reap.run.records import Measured

REPORT = "report.html"
"""The report's name in the folder of a run."""
RECORDING = "recording.reap"
"""The recording's name in an experiment's folder."""
_OUTCOME = "recording.json"
"""What the recorded run cost; written when it has ended, so that it marks a whole recording."""


_COLLECTORS = "collectors.json"
"""What its garbage collectors said of themselves."""


def measure(folder: Folder, listener: Listener, *, title: str, with_drag: bool = False) -> Measured:
    """Records in triage, and compares; what a killed predecessor did in `folder` is not done again.

    A server is loaded once while it is recorded; the load is not recorded.

    Throws ReapError, and `InterruptedRunError` on Ctrl-C with the command to go on.
    """
    hint = f"go on with: reap run --resume {folder.path}{' --drag' if with_drag else ''}"
    try:
        # First, since what it needs may not be here, and nothing has been waited for yet.
        seen = drag.once(folder, listener.say) if with_drag else drag.kept(folder)
        what = "load" if folder.spec.server else "run"
        outcome = _record_once(folder, lambda: listener.say(f"recording one {what} of {title}"))
    except KeyboardInterrupt:
        raise InterruptedRunError(
            f"stopped during the recording, which --resume makes again ({folder.path})",
            hint,
            ExitCode.SIGNALLED + 2,
        ) from None
    if outcome.timed_out:
        listener.say(f"{title} did not end in time; one run without the recorder shows whether that is why")
        raise hung.too_long(
            title,
            alone(folder),
            {"record": alone(folder)},
            f"give it more with --timeout; what it did until then: reap show {folder.path / RECORDING}",
            _start_prepared(folder),
        )
    recorded = as_started(analyse(read.read(folder.path / RECORDING), folder.spec.program.command))
    try:
        collections = _heard_once(folder, listener.say)
        compared = run.compare(folder, listener)
    except InterruptedRunError as error:
        raise InterruptedRunError(error.what, hint, error.code) from None
    return Measured(
        command=folder.spec.program.command,
        again=folder.spec.again,
        profile=recorded,
        comparison=compared,
        collections=collections,
        drag=seen,
    )


def _start_prepared(folder: Folder) -> Callable[[Launch], Outcome]:
    def run_prepared(launch: Launch) -> Outcome:
        with prepared(folder.spec):
            return start(folder)(launch)

    return run_prepared


def _record_once(folder: Folder, announce: Callable[[], None]) -> Outcome:
    done = folder.path / _OUTCOME
    remove = f"rm {shlex.quote(str(done))}"
    found = read_back(done, Outcome, f"remove it, and the program is recorded again: {remove}")
    if found is not None:
        return found
    announce()
    with prepared(folder.spec):
        outcome = record.record(
            alone(folder), folder.path / RECORDING, "triage", force=True, start=start(folder)
        )
    _mark(done, msgspec.json.encode(outcome) + b"\n")
    return outcome


def _heard_once(folder: Folder, say: Callable[[str], None]) -> list[Collector]:
    """The program's garbage collectors; a program that has none is not run again."""
    done = folder.path / _COLLECTORS
    remove = f"rm {shlex.quote(str(done))}"
    found = read_back(done, list[Collector], f"remove it, and the collector is measured again: {remove}")
    if found is not None:
        return found
    seen = watch.read(folder.path / RECORDING, files=[], functions=[])
    with prepared(folder.spec):
        heard = collectors_run.with_heard(alone(folder), seen, [], say, start(folder))
    _mark(done, msgspec.json.encode(heard) + b"\n")
    return heard


def _mark(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all: whoever is killed here records again, and finds no half a file."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_bytes(content)
    part.replace(path)
