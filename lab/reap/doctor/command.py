"""`reap doctor`: what this machine can and cannot measure."""

from pathlib import Path

import click

from reap.commandline import outputs

_COLOURS = {"good": "green", "poor": "yellow", "bad": "bold red"}


@click.command()
@outputs.json
@outputs.html
@outputs.force
def doctor(json_file: Path | None, html_file: Path | None, force: bool) -> int:
    """Check what this machine can and cannot measure, and how to fix it.

    Each capability is tested by use: preloading, sampling, and the variation between identical runs. What
    a block and a page fault cost here is measured once and kept. Takes about two seconds. `good`: no
    restriction. `poor`: measurements are less precise or less complete. `bad`: measurements are not possible.

    Exits with 0 if everything essential works, and with 1 otherwise.
    """
    from rich.table import Table
    from rich.text import Text

    from reap.commandline import reporting
    from reap.commandline.progress import Bar
    from reap.commandline.tables import Sheet, write_page
    from reap.doctor import run

    reporting.refuse_existing(json_file, html_file, force=force)
    with Bar() as bar:
        checks = run.examine(bar.update)
    table = Table(box=None, pad_edge=False, show_header=False)
    for check in checks:
        said = Text(check.says)
        if check.mend:
            said.append(f"\n{check.mend}", style="bold")
        table.add_row(Text(check.state, style=_COLOURS[check.state]), check.name, said)
    reporting.console(json_file, html_file).print(table)
    if json_file is not None:
        reporting.write_plain(json_file, "doctor", {"checks": checks}, force=force)
    if html_file is not None:
        rows = [[check.name, check.state, check.says, check.mend] for check in checks]
        write_page(
            html_file,
            "What can this machine measure?",
            run.summary(checks),
            [Sheet("Checks", ["Check", "State", "Found", "What to do"], rows)],
            force=force,
        )
        reporting.say_written("the report", html_file)
    if not run.sound(checks):
        click.echo("something essential does not work: see `bad` above", err=True)
        return 1
    click.echo("next: reap run -- CMD", err=True)
    return 0
