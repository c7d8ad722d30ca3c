"""`reap study oopsla2002`: custom allocation beside general allocators, the paper's conclusions judged."""

from typing import Any

import click

from reap_studies.study import conduct as studies


@click.command()
@studies.spread_options
def oopsla2002(**given: Any) -> int:  # noqa: ANN401 - click's; conduct says their types
    """Reproduce Tables 1 to 4, Figures 1, 5 to 7, sections 4.3 and 7.5 of OOPSLA 2002, and judge the paper.

    Records every workload that is installed (`reap workloads prepare`) once without its own allocator, and
    runs it with and without over glibc, dlmalloc, a stand-in for the Windows heap, this library's malloc,
    jemalloc and mimalloc; once each under strace, to count the memory that it requests from the system;
    three of them also with other region libraries in place of their own; and once under Valgrind, for drag.
    --resume continues a study that was stopped. Run nothing else meanwhile.

    \b
        reap study oopsla2002 --quick
        reap study oopsla2002 --quick --workloads chart-parser,rapidjson,perl
    """  # noqa: D301 - click wants the character itself
    from reap_studies.study.oopsla2002 import run as studying

    return studies.spread(studying, given)
