"""`reap workloads run`: one run of each variant, to see that it works here."""

import click

from reap.api import ExitCode
from reap_studies.study.conduct import program_option


@click.command()
@click.argument("name")
@click.option("--variant", help="Run only this variant (default: all).")
@click.option("--scale", type=click.IntRange(min=1), help="Amount of work, in the card's unit.")
@click.option("--quick", is_flag=True, help="Use the card's scale for a short run.")
@program_option
def run(name: str, variant: str | None, scale: int | None, quick: bool, programs: tuple[str, ...]) -> int:
    """Run a workload once in each variant, and compare what it prints.

    Builds it first if its source is part of Reap, and generates its inputs. A single run is a check, not a
    measurement.
    """
    from rich.console import Console
    from rich.table import Table

    from reap.api import reporting, units
    from reap_studies.study.allocators import run as allocators
    from reap_studies.study.ismm2026 import run as ismm2026
    from reap_studies.study.oopsla2002 import run as oopsla2002
    from reap_studies.workloads import brought, card
    from reap_studies.workloads import run as workload

    if quick and scale is not None:
        raise click.UsageError("--quick is a scale: give one of --quick and --scale")
    described = card.load(name)
    brought.take(programs)
    tried = workload.try_variants(
        name, [variant] if variant else [], scale=described.quick_scale if quick else scale
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("variant")
    for heading in ("CPU time", "in the kernel", "wall time", "peak memory", "page faults"):
        table.add_column(heading, justify="right")
    for each in tried:
        table.add_row(
            each.variant,
            units.duration(each.outcome.cpu_ns / 1e9),
            units.duration(each.outcome.system_ns / 1e9),
            units.duration(each.outcome.wall_ns / 1e9),
            units.size(each.outcome.peak_resident),
            units.whole(each.outcome.minor_faults + each.outcome.major_faults),
        )
    Console().print(table)
    if len(tried) > 1:
        click.echo("all variants print the same output", err=True)
    if not quick and scale in (None, described.default_scale):
        said = workload.as_the_card_says(described, tried)
        if said is False:
            of = name if described.brought else ", ".join(described.packages)
            click.echo(f"its output differs from its card: another version of {of}?", err=True)
        elif said:
            click.echo("its output is as its card states", err=True)
    if described.brought is not None:
        click.echo(f"how it allocates, to compare: {described.brought.profile}", err=True)
    runs = {
        ismm2026.NAME: ismm2026.WORKLOADS,
        oopsla2002.NAME: oopsla2002.WORKLOADS,
        allocators.NAME: allocators.WORKLOADS,
    }
    if len(described.variants) > 1 and name in card.own_names():
        runs[ismm2026.NAME] = (name,)
    if study := next((study for study, known in runs.items() if name in known), ""):
        bringing = [word for each in programs for word in ("--program", each)]
        reporting.say_next(["reap", "study", study, "--quick", "--workloads", name, *bringing])
    else:
        reporting.say_next(["reap", "workloads", "list"])
    return ExitCode.OK
