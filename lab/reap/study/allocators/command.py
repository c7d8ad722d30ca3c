"""`reap study allocators`: general-purpose allocators side by side, the paper's conclusions judged."""

from pathlib import Path

import click

from reap.study import conduct as studies


@click.command()
@studies.options
@click.option(
    "--allocator",
    "added",
    multiple=True,
    metavar="NAME[=FILE]",
    help="One more, by its name or its .so file; may be given again.",
)
def allocators(
    *,
    quick: bool,
    full: bool,
    workloads: str | None,
    output: Path | None,
    resume: Path | None,
    added: tuple[str, ...],
) -> int:
    """Reproduce Tables 1 to 4 and Figures 1 to 3 of an evaluation of six allocators, and judge it.

    Runs lists and trees with 1 to 1000 evaluations and with 1 thread to more than there are cores, perl on
    all cores, perl, gcc and sed, over glibc, dlmalloc, jemalloc, tcmalloc, mimalloc, snmalloc, rpmalloc,
    tbbmalloc, scudo and hardened_malloc, as far as they are installed (`reap allocators`); once each under
    strace, to count system calls. No recipe builds Hoard or Lockless: name their files. --resume
    continues a study that was stopped. Run nothing else meanwhile.

    \b
        reap study allocators --quick
        reap study allocators --quick --allocator hoard=/path/libhoard.so
    """  # noqa: D301 - click wants the character itself
    from reap.study.allocators import run as studying

    return studies.conduct(
        studying, quick=quick, full=full, workloads=workloads, output=output, resume=resume, added=added
    )
