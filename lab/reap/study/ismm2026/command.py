"""`reap study ismm2026`: custom allocation on fragmented heaps, the paper's conclusions judged."""

from pathlib import Path

import click

from reap.study import conduct as studies


@click.command()
@studies.options
def ismm2026(
    *, quick: bool, full: bool, workloads: str | None, output: Path | None, resume: Path | None
) -> int:
    """Reproduce Tables 1 to 4 and Figures 2 to 6 of ISMM 2026, and judge the paper's conclusions.

    Runs every workload that is installed (`reap workloads prepare`) with its own allocator and without, over
    glibc, jemalloc and mimalloc, on clean and on fragmented heaps. --quick or --full says how thoroughly.
    --resume continues a study that was stopped. Run nothing else meanwhile.

    \b
        reap study ismm2026 --quick
        reap study ismm2026 --quick --workloads chart-parser,rapidjson
    """  # noqa: D301 - click wants the character itself
    from reap.study.ismm2026 import run as studying

    return studies.conduct(
        studying, quick=quick, full=full, workloads=workloads, output=output, resume=resume
    )
