"""Runs a program in callgrind: its instructions counted, or its misses in a model of caches.

Misses are counted from the moment when its heap has been littered. The preload tells callgrind when
(lab/preload/fragment/callgrind.h). The model has a first level for data and one for instructions, and a last
level; it knows neither prefetching nor address translation.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import beginning
from reap.launch import spawn
from reap.launch.litter import run as littering
from reap.launch.litter.records import Litter, Littered
from reap.launch.records import Launch, Misses, Outcome
from reap.launch.tools import valgrind

_KIB, _MIB = 1 << 10, 1 << 20

CACHES: dict[str, list[str]] = {
    "machine": [],
    "xeon-6430": [f"--I1={32 * _KIB},8,64", f"--D1={48 * _KIB},12,64", f"--LL={60 * _MIB},15,64"],
    "i7-8559u": [f"--I1={32 * _KIB},8,64", f"--D1={32 * _KIB},8,64", f"--LL={8 * _MIB},16,64"],
    "pentium-3": [f"--I1={16 * _KIB},4,32", f"--D1={16 * _KIB},4,32", f"--LL={256 * _KIB},8,32"],
}
"""By name: this machine's as the processor describes them, those of the paper (ISMM 2026, sections 4 and 5),
and the processor of the paper before it (OOPSLA 2002), with its unified 256 KB for a last level."""

_SLOWER = 300
"""How much longer than usual a simulated run may take; some fifty times is common."""


def tool(does: str = "simulates the caches", option: str = "--litter caches=NAME") -> Path:
    """The file that becomes the process under callgrind. Throws ReapError where there is none.

    It says what it `does`, and which option asks for that.
    """
    folder = valgrind.tools()
    if folder is None:
        raise ReapError(
            f"callgrind, which {does} (on x86-64 alone), is not installed",
            f"sudo apt-get install --no-install-recommends valgrind, or leave out {option}",
            ExitCode.FAILED,
        )
    return folder / f"callgrind-{valgrind.PLATFORM}"


def run(launch: Launch, litter: Litter, caches: str) -> tuple[Littered, Misses | None]:
    """Runs the program on a littered heap in the caches of that name (see `CACHES`).

    Its outcome is that of a program fifty times slower. No misses come back where the program executed
    another, or did not end by itself. Throws what `litter.run` throws, and ReapError without callgrind.
    """
    # Callgrind counts for all threads or for none: while another littered, the program would go uncounted.
    litter = msgspec.structs.replace(litter, threads=1)
    image = tool()  # under callgrind the process's executable is this file
    with tempfile.TemporaryDirectory(prefix="reap-callgrind-") as folder:
        simulated = _under(launch, folder, ["--cache-sim=yes", "--instr-atstart=no", *CACHES[caches]])
        littered = littering.run(simulated, litter, image=str(image))
        counted = _counted(folder)
    if not counted or littered.outcome.signal:
        return littered, None
    return littered, Misses(
        instructions=sum(each.instructions for each in counted),
        accesses=sum(each.accesses or 0 for each in counted),
        first=sum(each.first for each in counted),
        last=sum(each.last for each in counted),
        caches=counted[0].caches,
    )


def instructions(launch: Launch) -> Outcome:
    """Runs the program and what it executes; `events` of the outcome are their instructions in user mode.

    The rest of it is that of a program fifty times slower. Throws what `spawn.run` throws.
    """
    with tempfile.TemporaryDirectory(prefix="reap-callgrind-") as folder:
        outcome = spawn.run(_under(launch, folder, ["--trace-children=yes"]))
        counted = _counted(folder)
    return msgspec.structs.replace(outcome, events=sum(each.instructions for each in counted) or None)


def _under(launch: Launch, folder: str, options: Sequence[str]) -> Launch:
    """Launch of the program under callgrind, which writes its files to a folder."""
    return msgspec.structs.replace(
        launch,
        program=shutil.which("valgrind") or "valgrind",
        argv=[
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/out.%p",
            f"--log-file={folder}/log.%p",
            *options,
            launch.program,
            *launch.argv[1:],
        ],
        timeout=launch.timeout and launch.timeout * _SLOWER,
    )


def _counted(folder: str) -> list[Misses]:
    """Counts of each process."""
    texts = [beginning(path).decode(errors="replace") for path in Path(folder).glob("out.*")]
    return [each for each in map(parse, texts) if each is not None]


def parse(text: str) -> Misses | None:
    """Reads a file of callgrind's on one process; None if nothing was counted in it."""
    lines = text.splitlines()
    names = next((line.split()[1:] for line in lines if line.startswith("events:")), [])
    totals = next((line.split()[1:] for line in lines if line.startswith("totals:")), [])
    count = dict(zip(names, (int(number) for number in totals), strict=False))
    if not count.get("Ir"):
        return None
    return Misses(
        instructions=count["Ir"],
        accesses=count.get("Dr", 0) + count.get("Dw", 0),
        first=count.get("D1mr", 0) + count.get("D1mw", 0),
        last=count.get("ILmr", 0) + count.get("DLmr", 0) + count.get("DLmw", 0),
        caches=[
            line.removeprefix("desc: ") for line in lines if line.startswith("desc:") and "cache:" in line
        ],
    )
