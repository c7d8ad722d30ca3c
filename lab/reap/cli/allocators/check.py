"""`reap allocators check`: whether allocators really replace malloc and serve programs."""

import click

from reap.base.errors import ExitCode, ReapError


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME[=FILE]]...")
def check(names: tuple[str, ...]) -> int:
    """Check allocators, all that are found if none is named: a line each.

    Small programs run under each: one says which file each of malloc's functions comes from, one asks for
    aligned blocks, one has threads and forks, one is of C++. A fault is said, the others are checked, and the
    exit status is 1.
    """
    from reap.allocators import catalog, checking
    from reap.allocators.records import Allocator
    from reap.allocators.smoke import PARTS

    chosen: list[Allocator] = []
    faulty = []
    asked = [part for word in names for part in word.split(",")]
    for name in dict.fromkeys(asked or catalog.names()):
        try:
            # Of those that nobody named, what is not installed is no fault.
            chosen += catalog.parse(name) if asked or isinstance(catalog.find(name), Allocator) else []
        except ReapError as error:
            faulty.append(name.partition("=")[0])
            click.echo(f"{faulty[-1]}: {error.what}")
            if error.hint:
                click.echo(f"  {error.hint}")
    for each in checking.check(chosen):
        wrong = [f"{PARTS[part]}: {said}" for part, said in each.problems.items() if said]
        fine = [PARTS[part] for part, said in each.problems.items() if not said]
        click.echo(f"{each.allocator}: " + ("; ".join(wrong) if wrong else f"serves ({', '.join(fine)})"))
        for note in each.notes:
            click.echo(f"  {note}")
        if not each.sound:
            faulty.append(each.allocator)
    if faulty:
        click.echo(
            f"next: leave {', '.join(faulty)} out of --allocators, or install another version", err=True
        )
        return ExitCode.FAILED
    sound = ",".join(["glibc", *(each.name for each in chosen if each.name != "glibc")][:4])
    click.echo(f"next: reap compare --allocators {sound} -- CMD", err=True)
    return ExitCode.OK
