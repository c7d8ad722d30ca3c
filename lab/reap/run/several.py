"""`reap run` for several programs, with one report."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from reap.answer import files
from reap.answer.records import Answer
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


@dataclass(frozen=True)
class Named:
    """A program to measure."""

    title: str
    """In the report."""
    argv: list[str]
    workload: Workload
    """Whose name is that of the program's folder."""


def measure(programs_to_run: Iterable[Named], place: Path, *, budget: float, force: bool) -> None:
    """Measure each program as `reap run` does, print its verdict, and write one report into `place`.

    `budget` is in seconds for the comparison of each. The next program is taken when the one before it has
    been measured. With `force` what is in `place` is replaced. Throws ReapError.
    """
    console, answers, said = Console(), list[Answer](), {""}
    json, html = place / "report.json", place / running.REPORT
    for each in programs_to_run:
        name = each.workload.name
        found = programs.resolve(each.argv, directory=each.workload.directory)
        allocators, missing = experiments.choose(None, linked=found.stands_aside)
        if missing not in said:
            click.echo(missing, err=True)
            said.add(missing)
        arms = trials.first(allocators, found)
        spec = specify(
            each.argv,
            arms,
            workload=each.workload,
            conditions=Conditions(budget=budget, pairing="auto"),
        )
        with Folder.create(place / name, spec, force=force) as folder, Bar() as bar:
            measured = running.measure(folder, Terminal(bar), title=name)
        answers.append(Answer(title=each.title, command=each.argv, parts=parts.of_run(measured)))
        # Written after each program, before a word of it is printed: whoever has seen enough loses nothing.
        files.write_files(files.report_of(*answers), json=json, html=html, force=force or len(answers) > 1)
        console.rule(name, align="left")
        if verdict := answers[-1].part(VerdictPart):
            evidence_terminal.render(console, verdict.diagnosis)
        console.print()
    render_overview(console, files.report_of(*answers))
    reporting.say_files(json=json, html=html)
