"""Tests, by trying it, what this machine can and cannot do for a measurement, and how to mend it."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from reap import native
from reap.allocators import catalog, elf, verify
from reap.allocators.records import Allocator, Missing
from reap.base import installation, units
from reap.base.errors import ReapError
from reap.doctor import cores, noise
from reap.doctor.records import Check
from reap.drag.exact import valgrind
from reap.launch import freezer, native_files, spawn
from reap.launch.host import calibration, machine, sampling
from reap.launch.records import Launch

_TRACEPOINTS = tuple(
    f"/sys/kernel/{folder}/events/raw_syscalls/sys_enter/id" for folder in ("tracing", "debug/tracing")
)
_LEAST_SPACE = 1 << 30
_LOUD = 0.05


def examine(listener: Callable[[int, int, str], None] | None = None) -> list[Check]:
    """Every check, in the order in which they matter; takes about two seconds."""
    checks: list[Check] = []
    for number, (label, check) in enumerate(_CHECKS):
        if listener is not None:
            listener(number, len(_CHECKS), label)
        try:
            checks.append(check())
        except ReapError as error:
            checks.append(Check(name=label, state="bad", says=error.what, mend=error.hint))
    return checks


def summary(checks: list[Check]) -> list[str]:
    """Summary of the checks, in sentences."""
    by_state = {state: [check.name for check in checks if check.state == state] for state in ("bad", "poor")}
    said = [
        "Everything essential works here."
        if sound(checks)
        else f"Something essential does not work: {', '.join(by_state['bad'])}."
    ]
    if by_state["poor"]:
        said.append(f"Less precise or less complete: {', '.join(by_state['poor'])}.")
    return said


def sound(checks: list[Check]) -> bool:
    """Whether everything essential works."""
    return all(check.state != "bad" for check in checks)


def _parts() -> Check:
    found = [
        native_files.spawner(),
        native_files.calibrator(),
        native_files.preload("probe"),
        native_files.preload("record"),
    ]
    return Check(name="reap's parts", state="good", says=f"complete, in {found[0].parent.parent}")


def _preload() -> Check:
    """Runs a program with the probe: the loader takes our objects, and the C library serves malloc."""
    outcome = spawn.run(Launch(argv=["true"], program=_true(), probe=True, timeout=10))
    judged = verify.judge(Allocator(name="glibc"), outcome.heap)
    if judged.verified:
        return Check(name="preloading", state="good", says=f"works; malloc is from {judged.provider}")
    if outcome.heap:
        return Check(
            name="preloading",
            state="poor",
            says=f"works, but {judged.problem}",
            mend="unset LD_PRELOAD" if os.environ.get("LD_PRELOAD") else "",
        )
    return Check(
        name="preloading",
        state="bad",
        says=f"the loader does not load our preloads: {outcome.stderr_tail.strip() or judged.problem}",
        mend="reap needs glibc, and a folder for its files that is mounted without noexec",
    )


def _true() -> str:
    found = shutil.which("true")
    if found is None:
        raise ReapError("there is no program called true in PATH", "correct PATH")
    return found


def _sampling() -> Check:
    seen = sampling.check()
    paranoid = _text("/proc/sys/kernel/perf_event_paranoid")
    level = f"kernel.perf_event_paranoid is {paranoid or 'unknown'}"
    if seen.samples > 0 and seen.kernel:
        return Check(name="sampling", state="good", says=f"perf events work, the kernel included ({level})")
    mend = "sudo sysctl kernel.perf_event_paranoid=1"
    if seen.samples > 0:
        return Check(
            name="sampling", state="good", says=f"perf events work for user time ({level})", mend=mend
        )
    return Check(
        name="sampling",
        state="poor",
        says=f"no perf events: {os.strerror(seen.errno) if seen.errno else 'no sample came'} ({level}); "
        "the share of time is sampled by a timer, more coarsely",
        mend=mend,
    )


def _allocators() -> Check:
    survey = [catalog.find(name) for name in catalog.names()]
    here = ", ".join(each.name for each in survey if isinstance(each, Allocator))
    # Those that can be built here are for whoever wants them: no machine is the poorer without.
    missing = [each for each in survey if isinstance(each, Missing) and each.package]
    if not missing:
        return Check(name="allocators", state="good", says=here)
    return Check(
        name="allocators",
        state="poor",
        says=f"{here}; not installed: {', '.join(each.name for each in missing)}",
        mend=catalog.install_command(missing),
    )


def _noise() -> Check:
    heard = noise.measure()
    says = (
        f"CPU time of {heard.runs} identical runs of {units.duration(heard.seconds)} varies by "
        f"{units.percent(heard.variation)}, wall time by {units.percent(heard.wall_variation)}"
    )
    if heard.variation <= _LOUD:
        return Check(name="noise", state="good", says=says)
    return Check(name="noise", state="poor", says=says, mend="stop other programs; give compare more --runs")


def _calibration() -> Check:
    """Checks the costs that verdicts of `wall` compare with."""
    found = calibration.here()
    costs = found.costs
    pairs = ", ".join(
        f"{units.duration(seconds)} {what}"
        for seconds, what in (
            (costs.fast_pair, "for one hot block"),
            (costs.usual_pair, "for 30 a request"),
            (costs.past_pair, "for 100 a request"),
        )
    )
    says = f"malloc and free take {pairs}; a page fault {units.duration(costs.page_fault)}"
    if not costs.measured:
        return Check(
            name="calibration",
            state="poor",
            says=f"{found.note}: {says}",
            mend=installation.again(),
        )
    if not found.kept:
        mend = "set XDG_CACHE_HOME to a folder where you may write"
        return Check(name="calibration", state="poor", says=f"{says}; {found.note}", mend=mend)
    return Check(name="calibration", state="good", says=f"{says} (kept in {found.kept})")


def _turns() -> Check:
    """Checks by what means compared programs of several threads are stopped and continued."""
    found = freezer.search()
    if isinstance(found, freezer.Hierarchy):
        return Check(
            name="turns",
            state="good",
            says=f"programs that use several cores take turns by the freezer of cgroups "
            f"(version {found.version}, in {found.folder})",
        )
    return Check(
        name="turns",
        state="poor",
        says="programs that use several cores take turns by SIGSTOP and SIGCONT, which they may notice; "
        f"cgroups cannot be frozen here: {found}",
        mend="mount /sys/fs/cgroup writable"
        if os.geteuid() == 0
        else "systemd-run --user --scope -p Delegate=yes reap compare ..., or run reap as root",
    )


def _huge_pages() -> Check:
    mode = machine.describe().huge_pages
    if not mode:
        return Check(name="huge pages", state="good", says="the kernel has no transparent huge pages")
    return Check(name="huge pages", state="good", says=f"transparent huge pages: {mode}")


def _clock() -> Check:
    source = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    flags = next(
        (line for line in _text("/proc/cpuinfo").splitlines() if line.startswith("flags")), ""
    ).split()
    invariant = {"constant_tsc", "nonstop_tsc"} <= set(flags)
    if source in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page") and (invariant or source != "tsc"):
        return Check(name="clock", state="good", says=f"{source}{', invariant TSC' if invariant else ''}")
    return Check(
        name="clock",
        state="poor",
        says=f"{source or 'unknown'}: reading the clock is slow here, which shows in recorded latencies",
        mend="boot with clocksource=tsc if the processor's is invariant" if invariant else "",
    )


def _space() -> Check:
    places = dict.fromkeys([str(Path.cwd()), tempfile.gettempdir()])
    free = {place: shutil.disk_usage(place).free for place in places}
    says = ", ".join(f"{units.size(size)} in {place}" for place, size in free.items())
    if min(free.values()) < _LEAST_SPACE:
        return Check(
            name="free space", state="poor", says=says, mend="full recordings may need gigabytes; make room"
        )
    return Check(name="free space", state="good", says=says)


def _symbols() -> Check:
    libc = _libc()
    build = elf.build_id(libc) if libc else ""
    debug = Path(f"/usr/lib/debug/.build-id/{build[:2]}/{build[2:]}.debug")
    if build and debug.is_file():
        return Check(name="symbols", state="good", says=f"of the C library, in {debug}")
    return Check(
        name="symbols",
        state="poor",
        says="the C library's debug symbols are not installed; stacks through it lack lines",
        mend="sudo apt-get install --no-install-recommends libc6-dbg",
    )


def _sandbox() -> Check:
    unprivileged, filtered = native.confinement()
    if unprivileged and filtered:
        return Check(name="sandbox", state="good", says="symbols are read without privileges, under seccomp")
    lacking = ["drops no privileges"] * (not unprivileged) + ["has no seccomp filter"] * (not filtered)
    return Check(
        name="sandbox",
        state="poor",
        says=f"the process that reads symbols {' and '.join(lacking)}",
        mend="do not measure what you do not trust" + (", or not as root" if os.geteuid() == 0 else ""),
    )


def _calls() -> Check:
    if os.geteuid() == 0 and any(Path(each).exists() for each in _TRACEPOINTS):
        return Check(name="system calls", state="good", says="traced by who makes them")
    strace = "`reap wall --calls` has strace count them" if shutil.which("strace") else "strace is not there"
    mend = "sudo mount -t tracefs nodev /sys/kernel/tracing, and run `reap wall` as root"
    return Check(
        name="system calls",
        state="poor",
        says=f"not traced: `reap wall` does not tell brk and mmap thrash from other page faults; {strace}",
        mend=mend if os.geteuid() != 0 else mend.removeprefix("sudo ").partition(",")[0],
    )


def _drag() -> Check:
    try:
        valgrind.require()
    except ReapError as error:
        return Check(name="drag", state="poor", says=f"{error.what}: no `reap drag`", mend=error.hint)
    return Check(name="drag", state="good", says="Valgrind and what builds its tools are installed")


def _libc() -> str:
    """The C library that this process itself uses."""
    for line in _text("/proc/self/maps").splitlines():
        if line.endswith("/libc.so.6"):
            return line[line.index("/") :]
    return ""


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


_CHECKS: tuple[tuple[str, Callable[[], Check]], ...] = (
    ("reap's parts", _parts),
    ("preloading", _preload),
    ("sampling", _sampling),
    ("allocators", _allocators),
    ("noise", _noise),
    ("calibration", _calibration),
    ("load", cores.load),
    ("cores", cores.which),
    ("quota", cores.limited),
    ("turns", _turns),
    ("huge pages", _huge_pages),
    ("clock", _clock),
    ("free space", _space),
    ("symbols", _symbols),
    ("sandbox", _sandbox),
    ("system calls", _calls),
    ("drag", _drag),
)
