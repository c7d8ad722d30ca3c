"""`reap demo`: the whole answer for three programs that everybody has."""

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
    from rich.console import Console

    from reap.answer import files
    from reap.answer.records import Answer
    from reap.base.files import unused
    from reap.commandline import reporting
    from reap.commandline.experiments import Terminal
    from reap.commandline.progress import Bar
    from reap.compare import experiments
    from reap.evidence import terminal as evidence_terminal
    from reap.evidence import trials
    from reap.evidence.part import VerdictPart
    from reap.experiment.folder import Folder
    from reap.experiment.specify import Conditions, Workload, specify
    from reap.launch import program as programs
    from reap.run import parts
    from reap.run import run as running
    from reap.run.terminal import render_overview
    from reap.workloads import preparation

    place = (output or unused("demo")).absolute()
    allocators, missing = experiments.choose(None)
    if missing:
        click.echo(missing, err=True)
    console = Console()
    answers = []
    for name, scale in PROGRAMS.items():
        ready = preparation.prepare(name, scale=scale)
        arms = trials.first(allocators, programs.resolve(ready.argv, directory=ready.directory))
        spec = specify(
            ready.argv,
            arms,
            workload=Workload(
                name=name,
                variant=ready.variant,
                directory=ready.directory,
                environment=ready.environment,
            ),
            conditions=Conditions(budget=budget, pairing="auto"),
        )
        with Folder.create(place / name, spec, force=force) as folder, Bar() as bar:
            measured = running.measure(folder, Terminal(bar), title=name)
        answer = Answer(title=ready.card.title, command=ready.argv, parts=parts.of_run(measured))
        answers.append(answer)
        # Written after each program, before a word of it is printed: whoever has seen enough loses nothing.
        report = files.report_of(*answers)
        again = force or len(answers) > 1
        files.write_files(report, json=place / "report.json", html=place / running.REPORT, force=again)
        console.rule(name, align="left")
        if verdict := answer.part(VerdictPart):
            evidence_terminal.render(console, verdict.diagnosis)
        console.print()
    render_overview(console, files.report_of(*answers))
    reporting.say_files(json=place / "report.json", html=place / running.REPORT)
    reporting.say_next(["reap", "run", "--", "CMD"])
    return 0
