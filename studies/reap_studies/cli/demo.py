"""`reap workloads demo`: the whole answer for three programs that everybody has."""

from collections.abc import Iterator
from pathlib import Path

import click

PROGRAMS = {"perl": 3, "gcc": 1, "sed": 16}
"""Those of the evaluation of general-purpose allocators that this project grew out of, each at a scale at
which it runs for about half a second: more and shorter rounds decide sooner."""


@click.command()
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=40.0,
    show_default=True,
    help="Seconds for the comparison of each program, at most.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Output folder (default: a new reap-runs/demo-TIME).",
)
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
def demo(budget: float, output: Path | None, force: bool) -> int:
    """Run the whole analysis on perl, gcc and sed, in one to three minutes.

    Generates an input for each, does what `reap run` does, and writes one report for all three.
    """
    from reap.api import Workload, reporting, several, unused
    from reap_studies.workloads import preparation

    def programs() -> Iterator[several.Named]:
        for name, scale in PROGRAMS.items():
            ready = preparation.prepare(name, scale=scale)
            workload = Workload(
                name=name, variant=ready.variant, directory=ready.directory, environment=ready.environment
            )
            yield several.Named(title=ready.card.title, argv=ready.argv, workload=workload)

    several.measure(programs(), (output or unused("demo")).absolute(), budget=budget, force=force)
    reporting.say_next(["reap", "run", "--", "CMD"])
    return 0
