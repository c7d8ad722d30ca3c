"""`reap export`: write a recording as a file that other tools read."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT
from reap.commandline import outputs
from reap.export.formats import FORMATS, Export

if TYPE_CHECKING:
    from reap import native
    from reap.recording.analyse.calls import Measure

_MEASURES = ("allocations", "bytes", "peak", "temporary", "live-at-exit")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "form", type=click.Choice(list(FORMATS)), required=True, help="The format to write.")
@click.option(
    "--of",
    "measure",
    type=click.Choice(_MEASURES),
    help="What a stack is counted by. Default: bytes for collapsed and pprof, all of them for speedscope.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write (a folder for parquet; for fleet also a folder that many recordings share); - is "
    "standard output. Default: FILE with another ending.",
)
@outputs.force
def export(file: Path, form: str, measure: "Measure | None", output: Path | None, force: bool) -> int:
    """Write a recording as a file that other tools read.

    Stacks with what they allocated, for flame graphs: collapsed (flamegraph.pl, inferno), speedscope, pprof
    (go tool pprof). The events themselves: parquet, with a table of stacks, and heaptrack (heaptrack_print,
    heaptrack_gui). Memory over time: chrome-trace (Perfetto). Totals by site, to be read by `reap fleet` with
    those of other recordings: fleet. Stacks are exact in recordings of `reap record --depth full`, else
    estimated from samples.
    """
    from reap.commandline import reporting
    from reap.recording.read import read

    chosen = FORMATS[form]
    if measure is not None and not chosen.measured:
        raise ReapError(
            f"--of chooses what stacks are counted by; {form} has no such choice",
            "leave it out",
            ExitCode.USAGE,
        )
    target = output or file.with_suffix(chosen.ending)
    chosen.prepare(target, force=force)
    recording = read(file)
    _require_known(recording, file, form, measure)
    written = chosen.write(Export(recording, file, target, measure, force))
    reporting.say_written("the export", written)
    _warn(recording)
    if written != STANDARD_OUTPUT:
        click.echo(f"next: {chosen.reader(written)}", err=True)
    return 0


def _require_known(recording: "native.Recording", file: Path, form: str, measure: "Measure | None") -> None:
    """Throws ReapError for what a recording from outside, or one in triage, does not say."""
    from reap import native

    header, chosen = recording.header(), FORMATS[form]
    if chosen.every_event and header.depth != native.FULL and not header.attached:
        raise ReapError(
            f"{file} was recorded in triage: {form}'s format has every allocation",
            "record the program with --depth full",
            ExitCode.USAGE,
        )
    if header.attached and measure not in chosen.from_outside:
        raise ReapError(
            f"{file} was recorded from outside (--pid, --via uprobe): only allocations and bytes are known",
            f"reap export --to {form if chosen.measured else 'speedscope'} --of bytes {file}",
            ExitCode.USAGE,
        )


def _warn(recording: "native.Recording") -> None:
    """Prints what must be known of the figures on standard error."""
    from reap import native

    if recording.header().depth != native.FULL:
        click.echo(
            "note: a triage recording: stacks are estimated from samples (--depth full has all)", err=True
        )
    if recording.damage():
        click.echo("note: the recording is damaged or cut short; what could be read was exported", err=True)
