"""What an experiment is: everything that must be the same when it goes on after a kill."""

from collections.abc import Mapping
from pathlib import Path

from reap.allocators.records import DEFAULT, Allocator
from reap.errors import ExitCode, ReapError
from reap.launch import program as programs
from reap.launch.program import Program
from reap.records import Record

SEED = 20260101
"""Of the order of runs and of the bootstrap, so that the same runs give the same figures."""


class File(Record):
    """Enough of a file to see that it was changed."""

    path: str
    bytes: int
    modified_ns: int


class Spec(Record):
    """One program under several allocators."""

    workload: str
    variant: str
    program: Program
    directory: str
    """Where the program runs, absolute."""
    environment: dict[str, str]
    allocators: list[Allocator]
    """The baseline first."""
    files: list[File]
    """The program and the libraries, as they were."""
    runs: int = 0
    """Rounds; 0: as many as suit the program's length and the budget."""
    budget: float | None = None
    """Seconds for everything together; None for no bound."""
    prepare: str = ""
    """A shell command before each run."""
    cleanup: str = ""
    """A shell command after each run."""
    timeout: float | None = None
    """Seconds for one run; None for no bound."""
    stdin: bool = False
    """Whether standard input was spooled."""
    seed: int = SEED

    @property
    def baseline(self) -> Allocator:
        """What the others are compared with."""
        return self.allocators[0]


def specify(
    command: list[str],
    allocators: list[Allocator],
    *,
    baseline: str = DEFAULT,
    workload: str = "command",
    variant: str = "default",
    directory: str = "",
    environment: Mapping[str, str] | None = None,
    runs: int = 0,
    budget: float | None = None,
    prepare: str = "",
    cleanup: str = "",
    timeout: float | None = None,
    stdin: bool = False,
    seed: int = SEED,
) -> Spec:
    """Finds the program, puts the baseline first (adding glibc if it is the baseline and was not named).

    Throws ReapError if the program cannot be found, executed or entered by a preload, or if there is
    nothing to compare.
    """
    where = str(Path(directory or ".").absolute())
    found = programs.resolve(command, directory=where)
    programs.require_preloadable(found)
    ordered = _baseline_first(allocators, baseline)
    libraries = [each.library for each in ordered if each.library]
    return Spec(
        workload=workload,
        variant=variant,
        program=found,
        directory=where,
        environment=dict(environment or {}),
        allocators=ordered,
        files=[_state(path) for path in dict.fromkeys([found.path, found.image, *libraries])],
        runs=runs,
        budget=budget,
        prepare=prepare,
        cleanup=cleanup,
        timeout=timeout,
        stdin=stdin,
        seed=seed,
    )


def changed_files(spec: Spec) -> list[str]:
    """The files that are not what they were when the experiment began."""
    return [file.path for file in spec.files if not Path(file.path).exists() or _state(file.path) != file]


def _state(path: str) -> File:
    status = Path(path).stat()
    return File(path=path, bytes=status.st_size, modified_ns=status.st_mtime_ns)


def _baseline_first(allocators: list[Allocator], baseline: str) -> list[Allocator]:
    named = {each.name: each for each in allocators}
    if baseline not in named:
        if baseline != DEFAULT:
            raise ReapError(
                f"the baseline {baseline} is not among the allocators",
                f"add it: --allocators {','.join([baseline, *named])}",
                ExitCode.USAGE,
            )
        named[baseline] = Allocator(name=DEFAULT)
    others = [each for name, each in named.items() if name != baseline]
    if not others:
        raise ReapError(
            f"there is nothing to compare {baseline} with",
            "name other allocators, as in --allocators glibc,jemalloc; `reap allocators` lists them",
            ExitCode.USAGE,
        )
    return [named[baseline], *others]
