"""`reap allocators install`: from a recipe to an allocator that the catalogue finds, whole or not at all."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from reap.allocators import crates, library, recipe, smoke, store
from reap.allocators.process import Runner
from reap.allocators.recipe import Recipe
from reap.base.errors import ExitCode, ReapError

_PATIENCE = 1800
"""Seconds that a build may take. The longest, jemalloc's, takes one or two minutes on two cores."""


def install(wanted: Recipe, *, force: bool, tell: Callable[[str], None]) -> bool:
    """Builds an allocator and puts it where the catalogue finds it; False if it is there already.

    One is there already that was made from the same recipe and source by the same compiler. `force` builds it
    all the same. `tell` is called with what is being done. However this ends, what was there before is there
    until the new one is built and has served a program; a failed build's log is kept.
    Throws ReapError.
    """
    if re.search(r"[\s:]", str(store.root())):
        raise ReapError(
            f"the loader preloads nothing from {store.root()}: a space or a colon ends a name for it",
            "set XDG_DATA_HOME to a folder without either",
        )
    crate = recipe.crate(wanted)
    stamp = store.Stamp(
        fingerprint=recipe.fingerprint(wanted),
        compiler=_version("g++" if "g++" in wanted.needs else "gcc"),
        crate=f"{crate.name} {crate.version}",
    )
    try:
        with store.workshop(tell) as (work, lock):
            if store.installed(wanted) == stamp and not force:
                return False
            _require("cargo", "gcc", *wanted.needs)
            made = work / "made"
            made.mkdir()
            runner = Runner(made / "build.log", lock)
            try:
                tell(f"fetching crate {stamp.crate}")
                source = crates.fetch(crate, work, runner)
                tell(f"building {wanted.name} {wanted.version}")
                _build(wanted, source, made, runner)
                tell(f"checking that {wanted.name} serves a program")
                _check(wanted, made, work, runner)
                store.publish(wanted, made, stamp, work)
            except (ReapError, OSError):
                _keep_log(wanted, runner.log)
                raise
    except OSError as error:
        raise ReapError(
            f"{wanted.name} could not be installed in {store.root()}: {error.strerror or error}",
            "free some space or correct the permissions, or set XDG_DATA_HOME to another folder",
        ) from error
    log_of_failure(wanted).unlink(missing_ok=True)
    return True


def log_of_failure(wanted: Recipe) -> Path:
    """Log of a build that failed."""
    return store.root() / f"{wanted.name}.log"


def _require(*commands: str) -> None:
    missing = [command for command in dict.fromkeys(commands) if shutil.which(command) is None]
    if not missing:
        return
    # gcc without libc6-dev has no headers, and nothing but a recommendation brings that.
    packages = [
        {"ar": "binutils", "strip": "binutils"}.get(command, command)
        for command in missing
        if command != "cargo"
    ]
    hints = [crates.CARGO_HINT] if "cargo" in missing else []
    if packages:
        hints.append(f"sudo apt-get install --no-install-recommends {' '.join([*packages, 'libc6-dev'])}")
    raise ReapError(f"to build an allocator, {' and '.join(missing)} must be installed", "\n  ".join(hints))


def _version(compiler: str) -> str:
    if shutil.which(compiler) is None:
        return ""
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def _build(wanted: Recipe, source: Path, made: Path, runner: Runner) -> None:
    # Nothing else of the user's environment: CFLAGS would make another allocator of it.
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TMPDIR": str(made.parent),
        "NAME": wanted.name,
        "VERSION": wanted.version,
        "JOBS": str(len(os.sched_getaffinity(0))),
        "RECIPES": str(recipe.FOLDER),
        "OUT": str(made),
    }
    script = f"exec >&2\n{wanted.build}"
    done = runner.run(["sh", "-eux", "-c", script], cwd=source, environment=environment, seconds=_PATIENCE)
    if done.returncode != 0:
        raise ReapError(
            f"{wanted.name} could not be built; the end of what was said:\n{runner.tail(15)}",
            f"all of it is in {log_of_failure(wanted)}",
        )


def _check(wanted: Recipe, made: Path, work: Path, runner: Runner) -> None:
    try:
        allocator = library.examine(wanted.name, str(made / store.library_name(wanted)))
        problem = smoke.problem(allocator, work, runner)
    except ReapError as error:
        problem = error.what
    if problem:
        raise ReapError(
            f"{wanted.name} was built, but does not work here, so it was not installed: {problem}",
            f"the log of the build is {log_of_failure(wanted)}",
            ExitCode.FAILED,
        )


def _keep_log(wanted: Recipe, log: Path) -> None:
    # Where nothing was logged yet, the error itself says it all.
    with contextlib.suppress(OSError):
        if log.stat().st_size > 0:
            log.replace(log_of_failure(wanted))
