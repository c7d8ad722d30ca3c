"""The command `reap`: its verbs, loaded when they are called, and the one place where errors are printed."""

import atexit
import errno
import gc
import importlib
import os
import shlex
import shutil
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from reap import __version__
from reap.base import installation
from reap.base.errors import ExitCode, ReapError
from reap.base.text import did_you_mean, printable
from reap.cli import config, redact
from reap.cli.commands import Commands
from reap.cli.plain import print_plainly
from reap.commandline.errors import complain

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "The time that allocation takes, and what saves it": {
        "run": ("reap.run.command", "Find out whether allocation slows a program, and what to do."),
        "wall": ("reap.wall.command", "Find out where its time goes, and which causes are proven."),
        "compare": ("reap.cli.compare", "Compare allocators, settings or builds, on any machines."),
        "tune": ("reap.tune.command", "Search an allocator's settings for those that suit it."),
        "fragment": ("reap.fragment.command", "Run it on a heap as fragmented as after weeks."),
    },
    "What a program allocates, and where": {
        "record": ("reap.record.command", "Record a program's allocations into a file; --live shows them."),
        "show": ("reap.show.command", "Show what a recording contains."),
        "diff": ("reap.diff.command", "Show what grew and shrank from one build to another."),
        "check": ("reap.check.command", "Fail if a program exceeds its budget of allocations."),
        "export": ("reap.export.command", "Write a recording for other tools: pprof, flame graphs, ..."),
        "fleet": ("reap.fleet.command", "Show what thousands of recordings allocate."),
    },
    "Memory that stays, or grows": {
        "rss": ("reap.rss.command", "Show what resident memory consists of, and what returns it."),
        "drag": ("reap.drag.command", "Measure what it holds after its last use (drag)."),
    },
    "This machine, and servers": {
        "doctor": ("reap.doctor.command", "Check what can be measured here, and how to fix it."),
        "allocators": ("reap.cli.allocators.command", "List the allocators, and install others."),
        "load": ("reap.load.command", "Make requests of a server at a fixed rate."),
    },
}
"""Each command by what its user wants: its module, in which it has the command's name, and its help line.

`reap --help` imports none of them, and shows them on one screen.
"""

VERBS = {name: place for group in GROUPS.values() for name, place in group.items()}
"""Every command of reap's own, without the groups."""

COMMANDS = Commands(VERBS)
"""Commands of reap and of the packages that add some."""

EXIT_CODES = """\b
Exit codes:
  the program's own  where a program ran and nothing else went wrong
  1                  the result is bad: an allocator changed the program's behaviour, or a check failed
  2                  the command line is invalid
  3                  not measured: reap check has not seen all of the program, so no limit counts as kept
  124                the program timed out (--timeout)
  125                reap itself failed: it cannot write a file, or cannot find a part of itself
  126                the program cannot be executed here, or nothing can be preloaded into it
  127                the program was not found
  128 + N            the program was killed by signal N
"""


CODES = """Exit codes: the program's own; else 1 the result is bad, 2 invalid command line, 3 not measured,
124 timed out, 125 reap itself failed, 126 cannot be executed, 127 not found, 128 + N killed by signal N.
See reap(1).
"""
"""Exit codes in `reap --help`, which is one screen."""


class Verbs(click.Group):
    """A group whose commands are imported when they are called and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs, in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Imports the verb."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - a mistake of ours, not of the user
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Says which verb an unknown one resembles, or how to measure a program that stands in its place."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            hint = did_you_mean(args[0], COMMANDS).rstrip()
            if not hint and shutil.which(args[0]):
                hint = f"to measure a program: {shlex.join(['reap', 'run', '--', *args])}"
            ctx.fail(f"No such command '{printable(args[0])}'{f'; {hint}' if hint else '.'}")
        name, command, rest = super().resolve_command(ctx, args)
        given = ctx.default_map
        if name and command and given and (table := given.get(name)):
            taken = config.defaults(name, command, table)
            ctx.default_map = {**given, name: taken}
            config.say_commands(name, command, taken, rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Lists the verbs without importing them, by what their user wants."""
        width = max(map(len, COMMANDS))
        added = {name: COMMANDS[name] for name in COMMANDS if name not in VERBS}
        for title, group in {**GROUPS, "Of other packages": added}.items():
            if group:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), line) for name, (_, line) in group.items()])


@click.command(
    cls=Verbs,
    epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="reap")
@config.option(COMMANDS)
@redact.option
def cli() -> None:
    """Find out whether memory allocation slows a program down, and what each remedy gains.

    The program is measured from outside, unmodified; its command comes after --: reap run -- perl script.pl
    """


def main() -> NoReturn:
    """Runs the command line and exits. What the user can act on is printed as what happened and a hint."""
    _fill_standard_streams()
    # The interpreter's last collections would free each object just before the process ends: 20 ms.
    atexit.register(gc.freeze)
    # Whoever stops us with SIGTERM gets what Ctrl-C gets: the program is ended, what was measured is kept.
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, _interrupt)
    # As every Unix tool: `reap show FILE | head` ends when head has seen enough.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print_plainly()
    try:
        status = cli.main(prog_name="reap", standalone_mode=False)
    except ReapError as error:
        complain(error)
        sys.exit(error.code)
    except click.UsageError as error:
        _show(error)
        sys.exit(ExitCode.USAGE)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.INTERNAL)
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo(f"reap: stopped{_LIMITED if _was_loading(error) else ''}", err=True)
        sys.exit(ExitCode.SIGNALLED + signal.SIGINT)
    except ImportError as error:
        if (lacking := _lacking(error)) is None:
            _mistake()
        complain(lacking)
        sys.exit(lacking.code)
    except UnicodeEncodeError as error:
        if not any("\ud800" <= character <= "\udfff" for character in error.object):
            _mistake()
        complain(_NO_TEXT)
        sys.exit(_NO_TEXT.code)
    except OSError as error:
        if error.errno not in _SHORT_OF:
            _mistake()
        complain(_short_of(error))
        sys.exit(ExitCode.INTERNAL)
    except MemoryError:
        complain(ReapError("there is no memory for reap itself", _SHORT_OF[errno.ENOMEM]))
        sys.exit(ExitCode.INTERNAL)
    except Exception:  # noqa: BLE001 - a mistake of ours must not look like the program's own exit code 1
        _mistake()
    sys.exit(status if isinstance(status, int) else ExitCode.OK)


def _show(error: click.UsageError) -> None:
    """Prints it, and where an option of `reap` itself goes that was given to one of its commands."""
    known = {flag: each for each in cli.params for flag in each.opts}
    if not isinstance(error, click.NoSuchOption) or error.option_name not in known or error.ctx is None:
        error.show()
        return
    own = known[error.option_name]
    click.NoSuchOption(error.option_name, ctx=error.ctx).show()  # without what it resembles
    value = [own.make_metavar(error.ctx)] if isinstance(own, click.Option) and not own.is_flag else []
    words = ["reap", error.option_name, *value, *error.ctx.command_path.split()[1:], "..."]
    click.echo(f"  put it before the command: {' '.join(words)}", err=True)


_LIMITED = """ while it loaded its libraries
  if nobody stopped it, memory or threads are too limited for them (ulimit -d, -v and -u):
  limit the program alone, as in: reap compare -- sh -c 'ulimit -d 100000; exec ./program'"""
"""OpenBLAS, of numpy, sends SIGINT where it cannot start its threads."""


def _was_loading(error: BaseException) -> bool:
    """Whether it came while a module was imported."""
    last = (error.__cause__ or error).__traceback__  # click's own has that cause
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code if last is not None else None
    return code is not None and (code.co_name == "<module>" or "importlib" in code.co_filename)


_STANDARD_ERROR = 2


def _fill_standard_streams() -> None:
    """Opens /dev/null where a standard stream is closed, so that no file of ours gets its number.

    For ourselves: the program finds it closed.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= _STANDARD_ERROR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


_NO_TEXT = ReapError(
    "an argument or a name contains bytes that are not valid text in this locale",
    "try another locale, such as LC_ALL=C.UTF-8, or put the command into a script with a plain name",
    ExitCode.USAGE,
)


def _mistake() -> NoReturn:
    import traceback  # not where there is none

    traceback.print_exc()
    click.echo("reap: this is a bug in reap; please report it with the lines above", err=True)
    sys.exit(ExitCode.INTERNAL)


_SHORT_OF = {
    errno.EMFILE: "ulimit -n 1024 allows this shell more open files",
    errno.ENFILE: "end programs that hold many files open",
    errno.ENOSPC: "make room, or set TMPDIR to a folder with room",
    errno.EDQUOT: "make room, or set TMPDIR to a folder with room",
    errno.EFBIG: "ulimit -f unlimited allows this shell larger files",
    errno.ENOMEM: "end programs that take much memory, or lift the shell's limit: ulimit -v, ulimit -d",
}
"""What to do where the machine or a limit of the shell ends, wherever reap meets that."""


def _short_of(error: OSError) -> ReapError:
    of = f": {error.filename}" if error.filename else ""
    return ReapError(f"{error.strerror}{of}", _SHORT_OF[error.errno or 0])


_PACKAGES = {"libdw.so.1": "libdw1", "libelf.so.1": "libelf1", "libxxhash.so.0": "libxxhash0"}
"""Debian's, of the libraries that reap.native is linked with."""


def _lacking(error: ImportError) -> ReapError | None:
    """Error that says what to install; None where a part of reap itself cannot be imported."""
    library, _, reason = str(error).partition(": ")
    if ".so" in library and "cannot open" not in reason:
        return ReapError(
            f"{library} cannot be loaded: {reason}", "it may be damaged, or memory limited (ulimit -a)"
        )
    if ".so" in library:
        name = _PACKAGES.get(library, f"the package of {library}")
        return ReapError(
            f"{library} is not installed; it is required to read recordings",
            f"sudo apt-get install {name}" if library in _PACKAGES else f"install {name}",
        )
    root = (error.name or "").partition(".")[0]
    if root in {"", "reap"}:
        return None
    return ReapError(f"the Python package {root} is not installed here", installation.again())


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
