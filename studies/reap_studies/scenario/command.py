"""`reap workloads scenario`: reproduce a known allocator problem and compare its remedies."""

from pathlib import Path

import click

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("name", required=False)
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
def scenario(name: str | None, json_file: Path | None, html_file: Path | None, force: bool) -> int:
    """Reproduce a known allocator problem and compare its remedies.

    Builds a small program that has the problem by construction, runs it unchanged and with each remedy, and
    reports which of the known claims hold on this machine. Without NAME, lists the scenarios.

    \b
        reap workloads scenario midnight-climb --html midnight.html
    """  # noqa: D301 - click wants the character itself
    import sys

    from rich.console import Console

    from reap.api import ExitCode, machine, reporting, write_safely
    from reap.api import ProgressBar as Bar
    from reap_studies.scenario import judge as judging
    from reap_studies.scenario import page as pages
    from reap_studies.scenario import run as playing
    from reap_studies.scenario import terminal
    from reap_studies.scenario.records import VERSION

    if name is None:
        known = playing.scenarios()
        terminal.render_list(Console(), [(each.name, each.story) for each in known.values()])
        reporting.say_next(["reap", "workloads", "scenario", next(iter(known))])
        return ExitCode.OK
    wanted = playing.named(name)
    reporting.refuse_existing(json_file, html_file, force=force)
    program = playing.build(name, playing.default_cache())
    with Bar() as bar:
        played = playing.play(wanted, program, bar.update)
    judged = judging.judge(played)
    if html_file is not None:
        page = pages.page(played, judged, ["reap", *sys.argv[1:]], machine.describe())
        write_safely(html_file, page.encode(), force=force)
    terminal.render(reporting.console(json_file, html_file), played, judged)
    if json_file is not None:
        reporting.write_plain(
            json_file, "scenario", {"played": played, "judged": judged}, force=force, version=VERSION
        )
    if html_file is not None:
        reporting.say_written("the report", html_file)
    verb = "rss" if wanted.kind == "memory" else "compare"
    reporting.say_next(["reap", verb, "--", program, *playing.arguments(wanted.arms[0])])
    return ExitCode.OK
