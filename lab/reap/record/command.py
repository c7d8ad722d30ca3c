"""`reap record`: record every allocation of a program into a file."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.text import command_line, message
from reap.commandline.label import LABEL, of_a_recording
from reap.commandline.moment import MOMENT
from reap.commandline.size import NEWEST, PERCENT, SECONDS, SIZE

if TYPE_CHECKING:
    from reap.recording.part import Moment


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Output file (default: NAME.reap in the current folder).",
)
@click.option(
    "-d",
    "--depth",
    type=click.Choice(["triage", "full"]),
    default="triage",
    show_default=True,
    help="triage counts every event and samples stacks; full writes every event.",
)
@click.option("-a", "--allocator", help="Record it under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--timeout", type=SECONDS, help="Seconds until CMD is stopped.")
@click.option(
    "--python/--no-python",
    default=True,
    show_default=True,
    help="Show Python functions in stacks, instead of CPython's own.",
)
@click.option("--compress", is_flag=True, help="Compress the file with zstd when CMD has ended.")
@click.option(
    "--max-size",
    type=SIZE,
    default=0,
    metavar="SIZE",
    help="Stop writing events when the file has this size (64M, 2G); totals stay exact.",
)
@click.option(
    "--start-at",
    type=MOMENT,
    metavar="MOMENT",
    help="Start recording when CMD enters a phase (phase:NAME, see docs/marks.md) or reap gets a signal "
    "(signal:USR1, signal:USR2).",
)
@click.option("--stop-at", type=MOMENT, metavar="MOMENT", help="Stop recording then; CMD runs on to its end.")
@click.option(
    "--last",
    type=NEWEST,
    metavar="AMOUNT",
    help="Keep the newest part of the recording alone: 5min, 2h, 512M.",
)
@click.option(
    "--via",
    type=click.Choice(["preload", "uprobe"]),
    default="preload",
    show_default=True,
    help="uprobe: watch CMD from outside, as --pid does; also where it is static or for musl.",
)
@click.option("--pid", type=click.IntRange(min=1), help="Watch this running process instead of running CMD.")
@click.option(
    "--seconds",
    type=SECONDS,
    default=10,
    show_default=True,
    help="With --pid: how long; with --live until it ends, if not given.",
)
@click.option(
    "--max-cpu",
    type=PERCENT,
    metavar="PERCENT",
    help="With --pid or --via uprobe: how much of its CPU time watching may cost a process (default: 5%).",
)
@click.option(
    "--label",
    "labels",
    type=LABEL,
    multiple=True,
    callback=of_a_recording,
    help="Keep this in the recording: service, version and host are what `reap fleet` groups by.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Show what is recorded each second: a view in a terminal, else lines on standard error.",
)
@click.option(
    "--kit",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Make a folder that records on machines without Reap and Python, instead of running CMD.",
)
@click.option("-f", "--force", is_flag=True, help="Replace the file if it exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@click.pass_context
def record(
    context: click.Context,
    command: tuple[str, ...],
    output: Path | None,
    depth: str,
    allocator: str | None,
    timeout: float | None,
    python: bool,
    compress: bool,
    max_size: int,
    start_at: "Moment | None",
    stop_at: "Moment | None",
    last: tuple[float, int] | None,
    via: str,
    pid: int | None,
    seconds: float,
    max_cpu: float | None,
    labels: tuple[tuple[str, str], ...],
    live: bool,
    kit: Path | None,
    force: bool,
) -> int:
    """Record every allocation of a program into a file.

    CMD runs once, on this terminal, with its children and threads; its behaviour does not change. --depth
    triage slows it down by a few percent at most, and the file stays small. --depth full writes every
    allocation and free with its stack, at a few tenths of a microsecond and about 8 bytes each.

    Children get the recorder also where their environment drops it; with REAP_KEEP_ENVIRONMENT=1 environments
    stay as they are. As root, or with CAP_PERFMON and CAP_BPF, calls of an allocator that is linked into CMD
    are estimated by uprobes beside that, at about 2 % of its CPU time.

    The file can be read at any time, even if the program crashes. Exits with CMD's own status.

    --start-at and --stop-at record a part of the run. A block that was allocated before it is not in the
    recording, nor is its free. A signal that they name is for reap: CMD does not get it. --last keeps the
    newest minutes or bytes of a long run on disk, up to its end or --stop-at.

    --pid watches a process that runs already, and its children: where they allocate, what sizes and how
    often, all estimated. Nothing is loaded into them: the kernel counts their calls by uprobes, now and then,
    at about 5 % of their CPU time. Requires root, or CAP_PERFMON and CAP_BPF. Exits with 126 where that is
    refused, and with 127 where there is no such process. --via uprobe watches CMD in this way, for programs
    that nothing can be preloaded into: static, for musl, set-user-ID.

    --live shows allocations a second, live bytes, resident memory, sizes, and the sites that hold most and
    allocate most. It only reads the file, and so does not slow CMD down. While the view has the terminal,
    CMD's output is kept, and printed unchanged after it. q closes the view; Ctrl-C interrupts CMD. With --pid
    either ends watching, and live bytes are not known.

    --kit makes a folder to copy: FOLDER/reap-record records there as reap record does, with names, and its
    file is read here. It needs x86-64 and glibc 2.17 or later, and neither Reap nor Python.

    \b
        reap record -o perl.reap -- perl script.pl
        reap record -o steady.reap --start-at phase:steady -- ./server
        reap record -o redis.reap --pid $(pidof -s redis-server) --seconds 30
        reap record -o static.reap --via uprobe -- ./static-server
        reap record --live -- perl script.pl
        reap record --kit kit
        reap show perl.reap
    """  # noqa: D301 - click wants the character itself
    from reap.base import redact
    from reap.base.errors import ExitCode, ReapError
    from reap.base.text import printable
    from reap.commandline import reporting
    from reap.commandline.errors import complain
    from reap.commandline.recorded import to_record
    from reap.commandline.written import written
    from reap.recording import record as recording
    from reap.recording.part import Limits, Moment

    if redact.asked():
        raise ReapError(
            "--redact does not go with record: a recording keeps the command line",
            "leave it out here, and share what is made of the recording, as by reap --redact show --html",
            ExitCode.USAGE,
        )
    watched = {
        "python": python,
        "max_bytes": max_size,
        "labels": labels,
        "force": force,
        **({} if max_cpu is None else {"most_overhead": max_cpu}),
    }
    if live or pid is not None or via == "uprobe":
        from reap.record import steps  # not for other recordings: it takes as long to load as they begin
    if kit is not None:
        others = {each.name or "" for each in context.command.params} - {"command", "kit", "force"}
        unused = ["CMD"] if command else sorted(written(context, others))
        if unused:
            raise ReapError(
                f"{unused[0]} must not be used with --kit", "give it to FOLDER/reap-record", ExitCode.USAGE
            )
        from reap.record import kit as kits

        return kits.step(kit, force=force)
    if pid is not None:
        unused = ["CMD"] if command else sorted(written(context, (*_OF_A_COMMAND, *_OF_A_PRELOAD, "via")))
        if unused:
            raise ReapError(
                f"{unused[0]} must not be used with --pid", f"reap record --pid {pid}", ExitCode.USAGE
            )
        if live:
            from reap.recording.attach import FOREVER

            most = seconds if written(context, ("seconds",)) else FOREVER
            return steps.watch_attached(pid, most, output, watched)
        return steps.attach(pid, seconds, output, watched)
    if written(context, ("seconds",)):
        raise ReapError("--seconds requires --pid; CMD ends by itself", "use --timeout", ExitCode.USAGE)
    if via == "uprobe":
        if unused := sorted(written(context, _OF_A_PRELOAD)):
            raise ReapError(f"{unused[0]} must not be used with --via uprobe", "leave it out", ExitCode.USAGE)
        if live:
            raise ReapError(
                "--live must not be used with --via uprobe",
                "watch it in another terminal: reap show --live FILE",
                ExitCode.USAGE,
            )
        return steps.from_outside(command, timeout, output, watched)
    if written(context, ("max_cpu",)):
        raise ReapError(
            "--max-cpu requires --pid or --via uprobe; a preloaded recorder counts each call",
            "add --via uprobe, by which calls are counted in windows of time",
            ExitCode.USAGE,
        )
    reporting.require_file(output)
    launch = to_record(command, allocator, timeout)
    path = output or Path(f"{reporting.name_of(launch.argv)}.reap")
    if last and max_size:
        raise ReapError("--max-size must not be used with --last", "give --last a size", ExitCode.USAGE)
    seconds_kept, bytes_kept = last or (0.0, 0)
    limits = Limits(
        start=start_at or Moment(),
        stop=stop_at or Moment(),
        last_seconds=seconds_kept,
        last_bytes=bytes_kept,
    )
    keep = functools.partial(
        recording.record,
        path=path,
        depth="full" if depth == "full" else "triage",
        force=force,
        python=python,
        max_bytes=max_size,
        compress=compress,
        labels=labels,
        limits=limits,
    )
    try:
        outcome = steps.watch(keep, launch, path) if live else keep(launch)
    except recording.LostError as lost:
        complain(lost)
        return reporting.say_end(launch.argv[0], lost.outcome, timeout)
    status = reporting.say_end(launch.argv[0], outcome, timeout)
    if outcome.timed_out:
        from reap.launch import hung

        alone = command_line(["timeout", f"{timeout:g}", *launch.argv])
        click.echo(f"note: if it ends by itself ({alone}), the recorder is why; {hung.INSTEAD}", err=True)
    if unreached := recording.unreached(path, limits):
        click.echo(f"note: {unreached}", err=True)
    reporting.say_written("the recording", path)
    for said in recording.told(outcome, path):
        click.echo(f"note: {message(said)}", err=True)
    if outcome.still_running:
        who = ", ".join(outcome.still_running)
        click.echo(f"note: still running, and still recorded into it: {printable(who)}", err=True)
    reporting.say_next(["reap", "show", str(path)])
    return status


_OF_A_COMMAND = ("timeout",)
"""Options that must not be used with --pid."""
_OF_A_PRELOAD = ("depth", "allocator", "compress", "start_at", "stop_at", "last")
"""Nor these, neither with --via uprobe."""
