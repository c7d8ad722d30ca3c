"""`reap allocators check`: whether allocators really replace malloc and serve programs."""

import click

from reap.base.errors import ExitCode, ReapError


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME[=FILE]]...")
def check(names: tuple[str, ...]) -> int:
    """Check the named allocators, or all that are found; prints one line for each.

    Runs small programs under each: one reports which file provides each malloc function, one allocates
    aligned blocks, one uses threads and fork, and one is in C++. If a check fails, the failure is reported,
    the other checks still run, and the exit status is 1.
    """
    from reap.allocators import catalog, checking
    from reap.allocators.records import Allocator
    from reap.allocators.smoke import PARTS

    chosen: list[Allocator] = []
    faulty = []
    asked = [part for word in names for part in word.split(",")]
    for name in dict.fromkeys(asked or catalog.names()):
        try:
            # An allocator that was not named and is not installed is not a failure.
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
