"""The stages of each suite, in the order in which they are preferred to start: long ones first.

A command reads from its environment how many cores it has ($JOBS), and where the reports of test programs go
($REPORTS).
"""

from stage import Cores, Stage

PYTEST = ".venv/bin/python -m pytest -q --durations=5"
EVERYWHERE = "not browser and not long and not workloads and not verdict"
"""Of the lab's tests those that need nothing but what setup/apt/test.txt brings, and take seconds."""


def build(preset: str, *targets: str) -> str:
    """Configure a CMake preset and build it, or some of its targets."""
    chosen = f" --target {' '.join(targets)}" if targets else ""
    return f"cmake --preset {preset}\ncmake --build --preset {preset} --parallel $JOBS{chosen}\n"


def test(preset: str) -> str:
    """Build a CMake preset and run its tests."""
    return f"{build(preset)}ctest --preset {preset} --parallel $JOBS\n"


def each(*commands: str) -> str:
    """All of the commands, past one that fails."""
    return "failed=0\n" + "".join(f"{command} || failed=1\n" for command in commands) + "exit $failed\n"


def lab(selection: str) -> str:
    """The lab's tests of a selection, a file at a time on each core."""
    return f"{PYTEST} -n $JOBS --dist loadfile -m '{selection}'\n"


def none_skipped(selection: str) -> str:
    """The same one after another; a test that was skipped is a failure, since it checked nothing."""
    report = "$REPORTS.pytest"
    return (
        f"{PYTEST} -m '{selection}' --junitxml={report}\n"
        f"""grep -q 'skipped="0"' {report} || {{ echo 'a skipped test is a failure here'; exit 1; }}\n"""
    )


def model(operations: int) -> str:
    """Every layer of the library against the reference model; what was done is printed."""
    return f"build/release/library/test/library-model-plain --operations {operations}\n"


INSTALL = Stage("install", "setup/install\n")
LINT = Stage(
    "lint",
    each(
        "git ls-files '*.h' '*.hpp' '*.c' '*.cpp' | xargs -r .venv/bin/clang-format --dry-run -Werror",
        "! git grep -nE '^(<<<<<<<|>>>>>>>) '",  # what a merge left
        ".venv/bin/ruff check .",
        ".venv/bin/ruff format --check .",
        ".venv/bin/mypy",
        ".venv/bin/lint-imports --no-logo",
    ),
    cores=Cores.ONE,
)
TIDYING = "cmake --preset release\nsetup/tidy build/release --jobs $JOBS"
TIDY = Stage("tidy", f"{TIDYING} --quick\n", after=("release",))
TIDY_ALL = Stage("tidy", f"{TIDYING}\n", after=("release",))

TEST = (
    INSTALL,
    Stage("asan", test("asan")),
    # The same build folder as what is installed.
    Stage("release", test("release"), after=("install",)),
    Stage("lab", lab(EVERYWHERE), after=("install",)),
    Stage("browser", none_skipped("browser and not long"), after=("install",), cores=Cores.ONE),
    Stage("tsan", test("tsan")),
    TIDY,
    Stage("golden", build("release") + "setup/golden\n", after=("release",)),
    Stage("model", build("release") + model(12_000_000), after=("release",), cores=Cores.ONE),
    LINT,
)

MORE = (
    Stage("clang", build("clang") + "setup/coverage build/clang $JOBS\n"),
    Stage("fuzz", build("fuzz", "fuzz-targets") + "setup/fuzz 30 lab\nsetup/fuzz 8 library\n"),
    Stage(
        "memcheck",
        build("release") + "setup/memcheck build/release $JOBS\n",
        after=("release", "golden", "model"),
    ),
    TIDY_ALL,
)

BARE = Stage("bare", ".ci/bare-root\n", cores=Cores.ONE)

LONG = (
    Stage("lab-long", f"{PYTEST} -m long\n", limit=7200),
    Stage("model-long", build("release") + model(1_000_000_000), limit=7200),
    Stage(
        "fuzz-long", build("fuzz", "fuzz-targets") + "setup/fuzz 600 lab\nsetup/fuzz 60 library\n", limit=7200
    ),
)

SUITES: dict[str, tuple[Stage, ...]] = {
    "test": TEST,
    "more": MORE,
    # The quick pass of clang-tidy is part of the whole one.
    "ci": (BARE, *(stage for stage in TEST if stage is not TIDY), *MORE),
    "long": LONG,
}
