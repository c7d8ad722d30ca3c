"""The whole answer for one program: measured once, tried under allocators and without its costs."""

import shlex
from collections.abc import Callable

import msgspec

from reap.base.errors import ExitCode
from reap.base.files import read_back, write_safely
from reap.compare import run
from reap.drag import once as drag
from reap.evidence import explain
from reap.evidence import run as measuring
from reap.evidence.analyse.reach import untriable
from reap.evidence.analyse.suspicions.suspect import to_try
from reap.evidence.explain import Explained
from reap.evidence.run import Measured
from reap.evidence.trials import too_long
from reap.experiment.budget import SmallBudgetError
from reap.experiment.folder import Folder
from reap.experiment.once import alone, prepared, start
from reap.experiment.runner import InterruptedRunError, Listener
from reap.launch import hung
from reap.launch.records import Launch, Outcome
from reap.recording import read
from reap.recording.analyse.profile import profile as analyse
from reap.recording.naming import as_started
from reap.run.records import Examined

REPORT = "report.html"
"""The report's name in the folder of a run."""
RECORDING = measuring.COUNTED
"""The recording's name in an experiment's folder."""
_KNOWN = "evidence.json"
"""What is known of the program; written when all of it is, so that it marks a whole recording."""


def measure(folder: Folder, listener: Listener, *, title: str, with_drag: bool = False) -> Examined:
    """Measures, compares, tells causes apart; what a killed predecessor did in `folder` is not done again.

    A server is loaded once for each run in which it is measured; the load is not.

    Throws ReapError, and `InterruptedRunError` on Ctrl-C with the command to go on.
    """
    hint = f"go on with: reap run --resume {folder.path}{' --drag' if with_drag else ''}"
    try:
        # First, since what it needs may not be here, and nothing has been waited for yet.
        seen = drag.once(folder, listener.say) if with_drag else drag.kept(folder)
        known = _known_once(folder, listener.say)
    except KeyboardInterrupt:
        raise InterruptedRunError(
            f"stopped during the recording, which --resume makes again ({folder.path})",
            hint,
            ExitCode.SIGNALLED + 2,
        ) from None
    if known.timed_out and not known.wall.unfinished:
        listener.say(f"{title} did not end in time; one run without the recorder shows whether that is why")
        raise hung.too_long(
            title,
            alone(folder),
            {"record": alone(folder)},
            f"give it more with --timeout; what it did until then: reap show {folder.path / RECORDING}",
            _start_prepared(folder),
        )
    profile = None
    if known.recorded:
        profile = as_started(analyse(read.read(folder.path / RECORDING), folder.spec.program.command))
    why = untriable(known.wall)
    if why:
        listener.say(f"no allocator is tried: {why}")
    if known.wall.unfinished:
        ended = "was ended" if known.interrupted else f"did not end within {folder.spec.timeout:g} s"
        listener.say(f"{title} {ended}: nothing is tried")
    takes = 0.0 if why or known.wall.unfinished else _too_long(folder, known)
    compared, told = None, Explained(takes=takes)
    try:
        if not takes:
            compared = None if why or known.wall.unfinished else run.compare(folder, listener)
            told = explain.explain(folder, listener, to_try(known.wall), compared, known.wall)
    except SmallBudgetError as error:
        listener.say(error.what)
        told = Explained(takes=error.needed)
    except InterruptedRunError as error:
        raise InterruptedRunError(error.what, hint, error.code) from None
    return Examined(
        command=folder.spec.program.command,
        again=folder.spec.again,
        known=known,
        profile=profile,
        comparison=compared,
        causes=told.comparison,
        missing=told.missing,
        takes=told.takes,
        drag=seen,
    )


def _too_long(folder: Folder, known: Measured) -> float:
    """Seconds that trials take, where nobody allowed as many; a number of rounds is meant as it is."""
    spec = folder.spec
    if spec.runs or spec.server is not None or folder.runs:
        return 0.0
    return too_long(len(spec.allocators) - 1, known.wall.wall_seconds, spec.budget)


def _start_prepared(folder: Folder) -> Callable[[Launch], Outcome]:
    def run_prepared(launch: Launch) -> Outcome:
        with prepared(folder.spec):
            return start(folder)(launch)

    return run_prepared


def _known_once(folder: Folder, say: Callable[[str], None]) -> Measured:
    done = folder.path / _KNOWN
    remove = f"rm {shlex.quote(str(done))}"
    found = read_back(done, Measured, f"remove it, and the program is measured again: {remove}")
    if found is not None:
        return found
    known = measuring.measure(
        alone(folder), folder.spec.program, folder.path, say, start=_start_prepared(folder)
    )
    if known.interrupted:
        return known  # --resume measures it again, and whole
    write_safely(done, msgspec.json.encode(known) + b"\n", force=True)
    return known
