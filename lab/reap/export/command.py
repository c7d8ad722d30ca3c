"""`reap export`: write a recording as a file that other tools read."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT
from reap.commandline.redact import redacting

if TYPE_CHECKING:
    from reap import native
    from reap.recording.analyse.calls import Calls, Measure

FORMATS = {
    "collapsed": ".collapsed",
    "speedscope": ".speedscope.json",
    "pprof": ".pb.gz",
    "parquet": ".parquet",
    "chrome-trace": ".trace.json",
    "heaptrack": ".heaptrack.gz",
    "fleet": ".fleet.parquet",
}
"""With what the name of the output ends."""
_MEASURES = ("allocations", "bytes", "peak", "temporary", "live-at-exit")
_WITHOUT_MEASURE = {"parquet", "chrome-trace", "heaptrack", "fleet"}


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
@redacting
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
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

    if measure is not None and form in _WITHOUT_MEASURE:
        raise ReapError(
            f"--of chooses what stacks are counted by; {form} has no such choice",
            "leave it out",
            ExitCode.USAGE,
        )
    target = output or file.with_suffix(FORMATS[form])
    if form == "parquet":
        from reap.export.view import parquet

        parquet.require()
        reporting.require_file(target)
        _folder(target, force=force)
    elif form == "fleet":
        from reap.export.view import fleet

        fleet.require()
        reporting.require_file(target)
    elif form == "heaptrack":
        reporting.require_file(target)
        reporting.refuse_existing(target, force=force)
    else:
        reporting.refuse_existing(target, force=force)
    recording = read(file)
    _require_known(recording, file, form, measure)
    if form == "parquet":
        _write_tables(recording, target, force=force)
    elif form == "fleet":
        target = _write_rows(recording, target, force=force)
    elif form == "heaptrack":
        _write_heaptrack(recording, target, force=force)
    else:
        from reap.base.files import write_safely

        write_safely(target, _rendered(recording, form, measure, file), force=force)
    reporting.say_written("the export", target)
    _warn(recording)
    _say_next(form, target)
    return 0


def _require_known(recording: "native.Recording", file: Path, form: str, measure: "Measure | None") -> None:
    """Throws ReapError for what a recording from outside, or one in triage, does not say."""
    from reap import native

    header = recording.header()
    if form == "heaptrack" and header.depth != native.FULL and not header.attached:
        raise ReapError(
            f"{file} was recorded in triage: heaptrack's format has every allocation",
            "record the program with --depth full",
            ExitCode.USAGE,
        )
    if not header.attached or form == "fleet":
        return
    known = ("allocations", "bytes")
    if (
        form in _WITHOUT_MEASURE
        or (form == "speedscope" and measure is None)
        or measure not in (None, *known)
    ):
        raise ReapError(
            f"{file} was recorded from outside (--pid, --via uprobe): only allocations and bytes are known",
            f"reap export --to {'speedscope' if form in _WITHOUT_MEASURE else form} --of bytes {file}",
            ExitCode.USAGE,
        )


def _say_next(form: str, target: Path) -> None:
    """Says how to look at what was written, unless that was written to standard output."""
    if target == STANDARD_OUTPUT:
        return
    name = shlex.quote(str(target))
    table = shlex.quote(f"import pandas; print(pandas.read_parquet({str(target / 'stacks.parquet')!r}))")
    said = {
        "collapsed": f"flamegraph.pl {name} >{shlex.quote(str(target.with_suffix('.svg')))}",
        "speedscope": f"speedscope {name}",
        "pprof": f"go tool pprof -http=: {name}",
        "parquet": f"python3 -c {table}",
        "chrome-trace": f"open {name} in https://ui.perfetto.dev",
        "heaptrack": f"heaptrack_print {name}",
        "fleet": f"reap fleet {shlex.quote(str(target.parent))}",
    }[form]
    click.echo(f"next: {said}", err=True)


def _rendered(recording: "native.Recording", form: str, measure: "Measure | None", file: Path) -> bytes:
    from reap.base import redact
    from reap.recording.analyse.calls import MEASURES
    from reap.recording.analyse.profile import profile

    if form == "chrome-trace":
        from reap.export.view import chrome_trace

        return chrome_trace.render(redact.shared(profile(recording, [])))
    tree = _named(recording.calls(0.0))
    if form == "collapsed":
        from reap.export.view import collapsed

        return collapsed.render(tree, measure or "bytes").encode()
    if form == "speedscope":
        from reap.export.view import speedscope

        return speedscope.render(tree, [measure] if measure else MEASURES, file.name)
    from reap.export.view import pprof

    header = recording.header()
    comment = f"reap export {file.name}"
    return pprof.render(tree, measure or "bytes", header.start_unix_ns, header.seconds, comment)


def _named(tree: "native.CallTree") -> "Calls":
    """The stacks with the names that are to be written."""
    from dataclasses import replace

    from reap.base import redact
    from reap.recording.analyse.calls import named

    found = named(tree)
    return replace(found, places=redact.shared(found.places))


_TABLES = ("stacks.parquet", "events.parquet")


def _folder(target: Path, *, force: bool) -> None:
    """Makes the folder of the tables, private to the user; refuses one that holds them already."""
    from reap.commandline import reporting

    try:
        if not target.is_dir():
            target.mkdir(mode=0o700)
    except OSError as error:
        raise ReapError(
            f"the folder {target} could not be made: {error.strerror}", "name a folder where you may write"
        ) from error
    reporting.refuse_existing(*(target / name for name in _TABLES), force=force)


def _write_tables(recording: "native.Recording", target: Path, *, force: bool) -> None:
    from reap.base.files import written_safely
    from reap.export.view import parquet

    tree = recording.calls(0.0)
    stacks, events = (target / name for name in _TABLES)
    with written_safely(stacks, force=force) as stream:
        parquet.write_stacks(stream, _named(tree))
    with written_safely(events, force=force) as stream:
        parquet.write_events(stream, recording, tree)


def _write_rows(recording: "native.Recording", target: Path, *, force: bool) -> Path:
    """Writes the rows into a file, or into a new one of a folder; which."""
    from reap.base.files import written_safely
    from reap.export.view import fleet

    path = fleet.file_in(target, recording) if target.is_dir() else target
    with written_safely(path, force=force) as stream:
        fleet.write(stream, recording)
    return path


def _write_heaptrack(recording: "native.Recording", target: Path, *, force: bool) -> None:
    from reap.base import redact
    from reap.base.files import written_safely
    from reap.base.text import command_line
    from reap.export.view import heaptrack
    from reap.recording.analyse.profile import profile

    tree = recording.calls(0.0)
    said = redact.shared(profile(recording, []))
    with written_safely(target, force=force) as file, heaptrack.compressed(file, target) as stream:
        heaptrack.write(stream, recording, tree, _named(tree), command_line(said.command), said.resident)


def _warn(recording: "native.Recording") -> None:
    """Prints what must be known of the figures on standard error."""
    from reap import native

    if recording.header().depth != native.FULL:
        click.echo(
            "note: a triage recording: stacks are estimated from samples (--depth full has all)", err=True
        )
    if recording.damage():
        click.echo("note: the recording is damaged or cut short; what could be read was exported", err=True)
