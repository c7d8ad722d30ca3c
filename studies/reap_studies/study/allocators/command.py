"""`reap study allocators`: general-purpose allocators side by side, the paper's conclusions judged."""

from typing import Any

import click

from reap_studies.study import conduct as studies


@click.command()
@studies.options
def allocators(**given: Any) -> int:  # noqa: ANN401 - click's; conduct says their types
    """Reproduce Tables 1 to 4 and Figures 1 to 3 of an evaluation of six allocators, and judge it.

    Runs lists and trees with 1 to 1000 evaluations and with 1 thread to more than there are cores, perl on
    all cores, perl, gcc and sed, over glibc, dlmalloc, Hoard, jemalloc, tcmalloc, mimalloc, snmalloc,
    rpmalloc, tbbmalloc, scudo and hardened_malloc, as far as they are installed (`reap allocators`); once
    each under strace, to count system calls. No recipe builds Lockless: name its file. --resume continues a
    study that was stopped. Run nothing else meanwhile.

    \b
        reap study allocators --quick
        reap study allocators --quick --allocator lockless=/path/liblockless.so
    """  # noqa: D301 - click wants the character itself
    from reap_studies.study.allocators import run as studying

    return studies.conduct(studying, **given)
