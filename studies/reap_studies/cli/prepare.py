"""`reap workloads prepare`: what workloads need, said first and installed when asked."""

from __future__ import annotations  # what is imported late stands in annotations

from typing import TYPE_CHECKING

import click

from reap.api import ExitCode

if TYPE_CHECKING:
    from reap_studies.workloads.provision import Lack


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Install what is missing; otherwise nothing is changed.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def prepare(names: tuple[str, ...], yes: bool) -> int:
    """Report what workloads (all, if none is named) lack on this machine; with --yes, install it.

    Packages are installed with apt-get, which requires root or passwordless sudo; nothing is ever removed.
    Sources are fetched by apt-get, Python packages by pip. Programs that you bring (`--program`) are listed;
    nothing fetches or builds them.
    Sources, programs and inputs go to ~/.cache/reap/workloads (or below XDG_CACHE_HOME). A repeated call does
    nothing.
    """
    from rich.console import Console
    from rich.table import Table

    from reap_studies.workloads import brought, card, provision

    named = list(dict.fromkeys(names))
    cards, bad = card.sound([] if named else card.names())
    for error in bad.values():
        click.echo(f"left out: {error.what}\n  {error.hint}", err=True)
    wanted = provision.plan(named or [each.name for each in cards])
    open_ones = [each for each in wanted.lacks if not each.nothing]
    absent = {each.workload: brought.lacking(card.load(each.workload)) for each in wanted.lacks}
    for name, why in absent.items():
        if why:
            click.echo(f"{name}: {why}", err=True)
    if not open_ones:
        ready = [name for name, why in absent.items() if not why]
        if ready:
            click.echo(f"all ready: {', '.join(ready)}")
            click.echo(f"next: reap workloads run {ready[0]}", err=True)
        return ExitCode.OK
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("workload", overflow="fold")
    table.add_column("lacks", overflow="fold")
    for each in open_ones:
        table.add_row(each.workload, _words(each))
    Console().print(table)
    if wanted.packages:
        more = len(wanted.brings) - len(wanted.packages)
        click.echo(f"apt-get would install {', '.join(wanted.packages)}, and {more} more that these need")
    if wanted.removes:
        click.echo(f"and would have to remove {', '.join(wanted.removes)}: that is left to you")
    again = " ".join(["reap workloads prepare --yes", *names])
    if not yes:
        click.echo(f"nothing was done; to do it: {again}", err=True)
        return ExitCode.OK
    provision.carry_out(wanted, lambda said: click.echo(f"reap: {said}", err=True))
    if ready := [each.workload for each in open_ones if not absent.get(each.workload)]:
        click.echo(f"next: reap workloads run {ready[0]}", err=True)
    return ExitCode.OK


def _words(lack: Lack) -> str:
    words = [f"package {name}" for name in lack.packages]
    words += [lack.source] if lack.source else []
    words += ["its program"] if lack.program else []
    words += ["its inputs"] if lack.inputs else []
    words += ["its Python packages"] if lack.modules else []
    words += [
        f"the library of its peer {peer}{f' ({where})' if where else ''}"
        for peer, where in lack.peers.items()
    ]
    return ", ".join(words)
