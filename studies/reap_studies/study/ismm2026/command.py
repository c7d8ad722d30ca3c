"""`reap study ismm2026`: custom allocation on fragmented heaps, the paper's conclusions judged."""

from typing import Any

import click

from reap_studies.study import conduct as studies


@click.command()
@studies.spread_options
def ismm2026(**given: Any) -> int:  # noqa: ANN401 - click's; conduct says their types
    """Reproduce Tables 1 to 4 and Figures 2 to 6 of ISMM 2026, and judge the paper's conclusions.

    Runs every workload that is installed (`reap workloads prepare`) with its own allocator and without, over
    glibc, jemalloc, mimalloc and, where they are installed, today's mimalloc 3, jemalloc 5.3.1, snmalloc and
    tcmalloc, on clean and on fragmented heaps. --quick or --full says how thoroughly.
    --resume continues a study that was stopped. Run nothing else meanwhile.

    \b
        reap study ismm2026 --quick
        reap study ismm2026 --quick --workloads chart-parser,rapidjson
    """  # noqa: D301 - click wants the character itself
    from reap_studies.study.ismm2026 import run as studying

    return studies.spread(studying, given)
