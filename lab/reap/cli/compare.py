"""`reap compare`: on one program here, or as a sweep, of the programs of a plan or on other machines."""

from typing import Any, get_args

import click

from reap.commandline import exports, outputs, servers
from reap.commandline.sections import Sectioned, section
from reap.compare import against, experiments, scan
from reap.compare.levels import options as level_options
from reap.experiment.records import Objective
from reap.sweep import places

_DETAILS = "Print every table before the verdict."
_PLAN = "Compare on the programs of this TOML file, under each of its settings, in place of CMD."
_WITNESS = (
    "Also count the instructions of one run of each, after the rounds: by the processor where it lets us, "
    "else by callgrind, about 50 times as slow."
)


@click.command(cls=Sectioned)
@outputs.json
@outputs.html
@exports.option
@click.option("--details", is_flag=True, help=_DETAILS)
@click.option(
    "--for",
    "objective",
    type=click.Choice(get_args(Objective)),
    default="time",
    show_default=True,
    help="What the verdict is on: time, or memory: settled (median of the second half of the run), mean over "
    "time, or peak.",
)
@click.option("--witness", type=click.Choice(["instructions"]), help=_WITNESS)
@section(
    "Several programs, and other machines",
    click.option("--plan", "plan_file", type=outputs.FILE, help=_PLAN),
    places.option,
)
@servers.options
@servers.load_options
@against.option
@scan.option
@level_options.options
@experiments.options
def compare(context: click.Context, /, **given: Any) -> int:  # noqa: ANN401 - click's; the steps say their types
    """Compare allocators on a program.

    Runs CMD many times, under each allocator in turn, and prints which is faster than the C library's malloc,
    with 95 % CIs; with --details also CPU time, wall time, peak memory and page faults as ratios. If an
    interval contains 1, the result is *inconclusive*. CMD should do the same work in each run; use --prepare
    for setup. Standard input is read once and given to every run; output is compared, then discarded.

    With --against it compares CMD with other commands, such as the program before and after a change, and
    with --scan with itself with other values of a parameter.

    With --server it compares a server under load: each round starts it under each allocator, waits until it
    is ready, and runs --load once to warm it up and --loads times more. Only the server's own processes are
    measured. Where the number of requests is known, CPU time per request is compared. --against compares two
    commands or settings of a server, each under the same load.

    With --naive it compares CMD with its own allocator and without, under each allocator.
    With --levels it also runs each variant and allocator on heaps fragmented like those of long-running
    processes (see `reap fragment`), with controls. The cost of littering is subtracted.

    With --plan it compares on several programs, under several settings; with --on the rounds run on other
    machines, or on several cores of this one, where CMD, inputs and what CMD names below the current folder
    are copied. The results are the effect of each allocator on each kind of machine, and for machines like
    these. A round whose worker is lost is run on another.

    Exits with CMD's own status under the baseline, or 1 if an allocator changed its status or its output, if
    none could be compared (as where --budget allows less than two rounds), or a heap could not be littered.
    With --plan or --on exits with 0 if all rounds were run and no output changed, else with 1.

    \b
        reap compare --allocators glibc,jemalloc,mine=/path/libmine.so -- ./server --selftest
        reap compare --against './server-old --selftest' -- ./server --selftest
        reap compare --against MALLOC_ARENA_MAX=1 -- ./server --selftest
        reap compare --for settled -- ./server --selftest
        reap compare --scan threads=1,2,4 -- xz --threads={threads} --stdout file
        reap compare --server 'redis-server --port {port}' --ready tcp --load 'redis-benchmark -p {port} -q'
        reap compare --server ... --ready tcp --load ... --against MALLOC_ARENA_MAX=1
        reap compare --levels adv0,adv3 --naive PYTHONMALLOC=malloc -- python3 script.py
        reap compare --plan plan.toml --on ssh:alpha,beta,gamma --html sweep.html
    """  # noqa: D301 - click wants the character itself
    from reap.sweep import command_line

    given = command_line.without_defaults(context, given)
    if command_line.is_asked(given):
        return command_line.compare(context, given)
    del given["on"], given["plan_file"]  # neither was given: that is a sweep
    from reap.compare import steps

    return steps.compare(context, **given)
