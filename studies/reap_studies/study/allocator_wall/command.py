"""`reap study allocator-wall`: what is said of allocators as a wall, judged on this machine."""

from typing import Any

import click

from reap_studies.study import conduct as studies


@click.command("allocator-wall")
@studies.options
def allocator_wall(**given: Any) -> int:  # noqa: ANN401 - click's; conduct says their types
    """Test each claim of an article on the "allocator wall" by measurements on this machine.

    Measures the cost of an allocation by allocations per request and by threads, lock waits, latency in an
    open loop (no coordinated omission), the article's experiment in Python, nginx and gunicorn, memory that
    stays resident after it was freed, and the allocators' own statistics: under glibc (default and tuned),
    jemalloc, tcmalloc and mimalloc, as far as they are installed. Claims are judged by these; what
    --allocator adds is in the tables. --workloads names parts: structure, counts, go, memory, knee, threads,
    latency, services, python. --resume continues a study that was stopped. Run nothing else meanwhile.

    \b
        reap study allocator-wall --quick
        reap study allocator-wall --quick --workloads structure,knee
    """  # noqa: D301 - click wants the character itself
    from reap_studies.study.allocator_wall import run as studying

    return studies.conduct(studying, **given)
