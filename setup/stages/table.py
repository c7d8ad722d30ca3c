"""The stages of each suite, in the order in which they are preferred to start: long ones first.

A command reads from its environment how many cores it has ($JOBS), and where the reports of test programs go
($REPORTS).
"""

from stage import Cores, Stage

PYTEST = ".venv/bin/python -m pytest -q --durations=5 --rerun-show-tracebacks --maxfail=50"
"""Ends after so many failures: of a broken build each test would be waited for twice."""
EVERYWHERE = "not browser and not long and not package and not verdict and not workloads"
"""Of the lab's tests those that need nothing but what setup/apt/test.txt brings."""


def in_folder(preset: str, command: str) -> str:
    """A command that uses the build folder of a preset, while no other stage does."""
    return f"flock build/{preset}.lock {command}\n"


def build(preset: str, *targets: str, folder: str = "") -> str:
    """Configure a CMake preset and build it, or some of its targets; in another's folder, if one is named."""
    chosen = f" --target {' '.join(targets)}" if targets else ""
    configured = in_folder(folder or preset, f"cmake --preset {preset}")
    return configured + in_folder(
        folder or preset, f"cmake --build --preset {preset} --parallel $JOBS{chosen}"
    )


def ctest(preset: str, options: str = "") -> str:
    """Run the tests of a CMake preset. With a sanitizer a program is one test, and reports its cases."""
    return (
        f"rm -rf build/{preset}/reports\nln -s $REPORTS build/{preset}/reports\n"
        f"ctest --test-dir build/{preset} --parallel $JOBS --output-on-failure --no-tests=error {options}\n"
    )


def each(*commands: str) -> str:
    """All of the commands, past one that fails."""
    return "failed=0\n" + "".join(f"{command} || failed=1\n" for command in commands) + "exit $failed\n"


def lab(selection: str) -> str:
    """The lab's tests of a selection, a file at a time on each core, even beside builds, which end sooner."""
    return f"{PYTEST} -n $(nproc) --dist loadfile -m '{selection}'\n"


def none_skipped(selection: str, prefix: str = "") -> str:
    """The same one after another; a test that was skipped is a failure, since it checked nothing."""
    report = "$REPORTS/pytest.junit"
    return (
        f"{prefix} {PYTEST} -m '{selection}' --junitxml={report}\n"
        f"""grep -q 'skipped="0"' {report} || {{ echo 'a skipped test is a failure here'; exit 1; }}\n"""
    )


def model(operations: int) -> str:
    """Every layer of the library against the reference model; what was done is printed."""
    return f"build/release/library/test/library-model-plain --operations {operations}\n"


TRACED = "unshare --mount sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec \"$@\"' sh"
"""Runs a command where tracefs is mounted, for itself alone."""
OUTER = "apr|consumers|docs|mode|ordinary|sanitized|strangers|workload"
"""How the names of tests begin that build the library in further ways, as users do. CI runs them."""
FUZZ = build("fuzz", "fuzz-targets")
AARCH64 = """for name in core blocks; do
qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/library/test/library-$name-plain \\
    --gtest_brief=1 --gtest_output=xml:$REPORTS/$name.xml
done
"""

INSTALL = Stage("install", in_folder("release", "setup/install"))

TEST = (
    INSTALL,
    Stage("lab", lab(f"not slow and {EVERYWHERE}"), after=("install",)),
    # Of these two the whole is among MORE.
    Stage(
        "asan",
        build("asan", "unit-tests")
        + ctest("asan", f"-E '^checked.(model|misuse|library-sweep)|^({OUTER})|_NOT_BUILT$'"),
    ),
    # In the folder in which `install` has compiled what it installs.
    Stage(
        "release",
        build("release", "as-shipped", "sweeps") + ctest("release", f"-E '^({OUTER}|checked.)|_NOT_BUILT$'"),
        after=("install",),
    ),
    Stage("browser", none_skipped("browser and not long and not site"), after=("install",), cores=Cores.ONE),
    Stage("tsan", build("tsan") + ctest("tsan", "-L threads")),
    Stage("model", build("release", "sweeps") + model(12_000_000), after=("release",), cores=Cores.ONE),
    Stage(
        "lint",
        each(
            "git ls-files '*.h' '*.hpp' '*.c' '*.cpp' | xargs -r .venv/bin/clang-format --dry-run -Werror",
            "! git grep -nE '^(<<<<<<<|>>>>>>>) '",  # what a merge left
            ".venv/bin/ruff check .",
            ".venv/bin/ruff format --check .",
            ".venv/bin/biome lint --error-on-warnings lab/reap/draw/page",
            ".venv/bin/biome format lab/reap/draw/page",
            "python3 setup/style",
            ".venv/bin/mypy",
            ".venv/bin/lint-imports --no-logo",
        ),
        cores=Cores.ONE,
    ),
)

MORE = (
    INSTALL,
    Stage("asan", build("asan") + ctest("asan")),
    Stage("release", build("release") + ctest("release"), after=("install",)),
    Stage("lab-slow", lab(f"slow and {EVERYWHERE}"), after=("install",)),
    Stage("golden", build("release", "counted") + "setup/golden\n", after=("release",), cores=Cores.ONE),
    Stage(
        "docs",
        "setup/bootstrap docs\nsetup/site/build\n" + none_skipped("site"),
        after=("install",),
        cores=Cores.ONE,
    ),
    Stage("abi", "setup/abi\n", cores=Cores.ONE),
    Stage("clang", build("clang") + "setup/coverage build/clang $JOBS\n"),
    Stage(
        "libcxx",
        build("libcxx", "unit-tests", "library-headers-alone")
        + ctest(
            "libcxx",
            r"-R '^(plain\.|consumers\.(install|find_package)$)' -E '^plain\.(model|c$|bug|gdb)|_NOT_BUILT$'",
        ),
    ),
    Stage("aarch64", build("aarch64", "library-core-plain", "library-blocks-plain") + AARCH64),
    Stage(
        "tidy",
        "cmake --preset by-file\nsetup/tidy build/by-file --jobs $JOBS\n",
        after=("install",),
    ),
    # valgrind runs what `release` has compiled in plain mode, and the checked mode. It waits for
    # all stages that configure this folder for plain mode alone.
    Stage(
        "memcheck",
        build("memcheck", "memchecked", folder="release")
        + ctest("release", "-R ^valgrind")
        + "setup/memcheck build/release $JOBS\n",
        after=("release", "model", "golden"),
    ),
    Stage("fuzz", FUZZ + "setup/fuzz 15 lab\nsetup/fuzz 4 library\n"),
    Stage("tsan-checked", build("tsan-checked") + ctest("tsan-checked", "-L threads")),
    Stage(
        "asan-plain",
        build("asan-plain", "library-model-plain", "library-sweep-plain")
        + ctest("asan-plain", "-R '^plain.(model|library-sweep)'"),
    ),
    Stage(
        "asan-hardened",
        build("asan-hardened", "unit-tests", "sweeps", "strangers")
        + ctest("asan-hardened", r"-R '^(strangers\.)?hardened\.'"),
    ),
)

# What needs 1.3 GB of packages, or tracefs.
WHOLE_MACHINE = (
    Stage("packages", "setup/bootstrap workloads\n", cores=Cores.ONE),
    # Near the begin, beside `bare`, which is one process for most of its time.
    Stage(
        "verdicts",
        f"if {TRACED} true; then\n{none_skipped('(verdict or tracing) and not settled and not long', TRACED)}"
        "else\necho 'tracefs cannot be mounted here: tests marked tracing are not run'\n"
        f"{none_skipped('verdict and not tracing and not settled and not long')}fi\n",
        after=("install", "packages"),
        cores=Cores.ONE,
    ),
    Stage(
        "workloads",
        ".venv/bin/reap workloads prepare --yes\n" + none_skipped("workloads and not long and not verdict"),
        after=("install", "packages"),
        cores=Cores.ONE,
    ),
    Stage("settled", none_skipped("settled and not long"), after=("install", "packages"), cores=Cores.NONE),
)

# What users install: the wheel and the recipes here, then one platform, each of them in turn.
PACKAGE = (
    Stage(
        "package",
        "setup/bootstrap release\n" + none_skipped("package and not long") + "setup/platforms --turn\n",
        after=("install",),
        cores=Cores.ONE,
    ),
)

LONG = (
    Stage("platforms", "setup/bootstrap release\nsetup/platforms --all\n", limit=7200),
    Stage("lab-long", f"{PYTEST} -m long\n", limit=7200),
    Stage("model-long", build("release", "sweeps") + model(1_000_000_000), limit=7200),
    Stage("fuzz-long", FUZZ + "setup/fuzz 600 lab\nsetup/fuzz 60 library\n", limit=7200),
)

SUITES: dict[str, tuple[Stage, ...]] = {
    "test": TEST,
    "more": MORE,
    "ci": (
        Stage("bare", ".ci/bare-root\n", cores=Cores.ONE),
        *WHOLE_MACHINE,
        *PACKAGE,
        *{stage.name: stage for stage in (*TEST, *MORE)}.values(),
    ),
    "long": LONG,
}
