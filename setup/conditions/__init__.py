"""Conditions that other machines have, for tests to run under: `setup/repeat --under`.

Each is made for one command and its descendants; nothing else of this machine changes. A condition that
cannot be made here says why, and is skipped.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent

SMALL_STACK = 1 << 20
"""Bytes, of a main thread and of threads that ask for no size; 8 MiB is the default."""

# It ends when this process does, however that ends.
_HOG = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    for _ in range(1000000): pass"


class UnavailableError(Exception):
    """Why a condition cannot be made on this machine."""


@dataclass(frozen=True)
class Entry:
    """How a command enters a condition: the words before its own, and its environment besides."""

    words: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """What differs, and how it is made.

    `enter` is given an empty folder, and throws UnavailableError where this machine cannot make it.
    """

    differs: str
    enter: Callable[[Path], AbstractContextManager[Entry]]


@contextmanager
def hogs(count: int, core: int | None = None) -> Iterator[None]:
    """Busy processes, all on one core if it is named."""
    busy = [subprocess.Popen([sys.executable, "-c", _HOG, str(os.getpid())]) for _ in range(count)]
    try:
        for each in busy:
            if core is not None:
                os.sched_setaffinity(each.pid, {core})
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def _command(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise UnavailableError(f"{name} is not installed")
    return found


def _core() -> int:
    return max(os.sched_getaffinity(0))


@contextmanager
def _one_core(_: Path) -> Iterator[Entry]:
    yield Entry([_command("taskset"), "-c", str(_core())])


@contextmanager
def _busy_core(_: Path) -> Iterator[Entry]:
    with hogs(1, _core()):
        yield Entry()


def _quota_file() -> tuple[Path, str]:
    """The control groups that limit CPU time, and the file of a group that has its quota."""
    for folder, name in (
        (Path("/sys/fs/cgroup"), "cpu.max"),
        (Path("/sys/fs/cgroup/cpu"), "cpu.cfs_quota_us"),
    ):
        controllers = folder / "cgroup.subtree_control"
        if name == "cpu.max" and not (controllers.exists() and "cpu" in controllers.read_text().split()):
            continue
        if name != "cpu.max" and not (folder / name).exists():
            continue
        return folder, name
    raise UnavailableError("no control group that limits CPU time can be made here")


@contextmanager
def _half_core(_: Path) -> Iterator[Entry]:
    folder, name = _quota_file()
    group = folder / f"reap-half-core-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise UnavailableError(f"no control group can be made in {folder}: {error.strerror}") from error
    try:
        (group / name).write_text("50000 100000" if name == "cpu.max" else "50000")
        yield Entry(["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")])
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    """Removes a control group once the processes in it have ended."""
    for _ in range(100):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    print(f"{group} is still in use: remove it with rmdir", file=sys.stderr)


# In every program, whatever its environment: /etc has a file more, for these processes alone.
_PRELOADED = """mkdir -p "$0" && mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work" &&
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" /etc &&
echo "$1" >> /etc/ld.so.preload && shift && exec "$@\""""


@contextmanager
def _signal_frame(folder: Path) -> Iterator[Entry]:
    library = folder / "signal-frame.so"
    words = [_command("cc"), "-O1", "-shared", "-fPIC", str(HERE / "signal_frame.c"), "-o", str(library)]
    subprocess.run(words, check=True)
    entry = [_command("unshare"), "-m", "/bin/sh", "-c", _PRELOADED, str(folder / "etc"), str(library)]
    done = subprocess.run([*entry, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"no library can be preloaded into every program: {done.stderr.strip()}")
    yield Entry(entry)


@contextmanager
def _small_stack(_: Path) -> Iterator[Entry]:
    yield Entry([_command("prlimit"), f"--stack={SMALL_STACK}:", "--"])


@contextmanager
def _older_kernel(_: Path) -> Iterator[Entry]:
    yield Entry([sys.executable, str(HERE / "older_kernel.py")], {"REAP_PROBES": "events"})


@contextmanager
def _no_perfmon(_: Path) -> Iterator[Entry]:
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    if not level.exists() or int(level.read_text()) < 2:
        raise UnavailableError("kernel.perf_event_paranoid is below 2, so that everybody may use perf events")
    # CAP_SYS_ADMIN includes the others.
    without = "-perfmon,-bpf,-sys_admin"
    yield Entry([_command("setpriv"), f"--bounding-set={without}", f"--inh-caps={without}", "--"])


@contextmanager
def _elsewhere(folder: Path) -> Iterator[Entry]:
    name = "de_DE.UTF-8"
    folder.chmod(0o755)  # for programs of other users
    words = [_command("localedef"), "-i", "de_DE", "-f", "UTF-8", str(folder / name)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not (folder / name).is_dir():
        raise UnavailableError(f"the locale {name} cannot be made: {done.stderr.strip()}")
    zone = "Asia/Kathmandu"
    if not Path("/usr/share/zoneinfo", zone).exists():
        zone = "<+0545>-05:45"
    yield Entry(
        environment={"LOCPATH": str(folder), "LANG": name, "LC_ALL": name, "LANGUAGE": "de", "TZ": zone}
    )


CONDITIONS = {
    "one-core": Condition("one core", _one_core),
    "half-core": Condition("a quota of half a core, as in a container", _half_core),
    "busy-core": Condition("a busy process on one of the cores", _busy_core),
    "signal-frame": Condition("signal frames 12 KiB larger, as AVX-512 and AMX make them", _signal_frame),
    "small-stack": Condition(f"a stack of {SMALL_STACK >> 20} MiB, also for threads", _small_stack),
    "older-kernel": Condition(
        "no system call that is newer than Linux 5.2; perf events for probes", _older_kernel
    ),
    "no-perfmon": Condition("no CAP_PERFMON, CAP_BPF or CAP_SYS_ADMIN", _no_perfmon),
    "elsewhere": Condition("a German locale and the time zone of Kathmandu", _elsewhere),
}
