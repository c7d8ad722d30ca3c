"""Whether comparisons are right: false positives, coverage, width, detection, bias, and hyperfine beside it.

    .venv/bin/python lab/bench/deciding.py [--resamples N] [--live N] [--trials N] [--rounds N]
        [--keep FILE [--seconds S]] [--hog] [PART...]

Parts, all of them without any:

- resampled: recorded rounds of glibc against itself (lab/test/intervals), in experiments that stop at the
  answer: how many find a difference that is not there, how many intervals leave the truth out at any look,
  and how wide intervals are beside those for the same number of rounds fixed beforehand.
- live: a command against itself, so often; false positives with the upper end of their binomial 95 % CI.
- detect: a program of 0.3 s against one that does 5 % more, so often: found, and after how many seconds.
- bias: mimalloc against glibc on eleven programs, at the same time on one core and one after another, in so
  many rounds each: the difference of the two effects, and its mean over programs with its 95 % CI, also with
  each weighted by its precision.
- hyperfine: the two commands of `detect` in hyperfine and in reap, in turn, a tenth as often.

Each part prints a row or two as it ends. The machine's load is part of the result, so it is printed. With
--hog another process keeps one core busy half of the time, as the bar of `detect` has it. With
--keep each trial of `live`, `detect` and `bias` is appended to FILE when it ends, and none of those is rerun:
hours of them can be made in parts of S seconds. Rows are of all trials in FILE.

Exits with 1 where a bar is missed: 5 % false positives and uncovered truths (and 0.5 of chance, resampled;
the binomial CI holds 5 %, live), width 1.3, 95 % detected within 20 s, a bias whose interval is below 0.5 %.
"""

import argparse
import functools
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import intervals
import keeping
import pairing
import sequential as stopping
from scipy.special import stdtrit

from reap.allocators import catalog
from reap.base.records import Record
from reap.compare.run import compare
from reap.experiment import sequential
from reap.experiment.folder import Folder
from reap.experiment.records import Asked, Comparison, Ratio
from reap.experiment.spec import Variant
from reap.experiment.specify import Conditions, Workload, specify
from reap.launch import program

SUM = "my $s = 0; $s += $_ for 1..{}"
WORK = 9_000_000
"""Additions of perl: 0.3 s of CPU time on the machine of the documents."""
EFFECT = 0.05
SECONDS = 20.0


def perl(additions: float) -> list[str]:
    """The command that adds so many numbers."""
    return ["perl", "-e", SUM.format(round(additions))]


def against(command: list[str], other: list[str], where: Path) -> Comparison:
    """The other command as a ratio to the first, until it is decided."""
    variant = Variant(name="other", program=program.resolve(other, directory=str(where)))
    spec = specify(
        command,
        [],
        against=[variant],
        workload=Workload(directory=str(where)),
        conditions=Conditions(pairing="auto"),
    )
    with (
        tempfile.TemporaryDirectory(prefix="reap-bench-") as folder,
        Folder.create(Path(folder) / "runs", spec, None) as experiment,
    ):
        return compare(experiment)


class Trial(Record):
    """One comparison, as it is kept."""

    part: str
    name: str
    """Of a bias the program and the method; else its number."""
    ratio: Ratio
    rounds: int
    seconds: float
    load: float
    """That the kernel reports when it ends."""


class Trials:
    """Those that were made, in a file if there is one, and until when more may be begun."""

    def __init__(self, file: Path | None, seconds: float) -> None:
        self._file, self._until = file, time.monotonic() + seconds
        self._made = keeping.resume(file, Trial) if file else []

    def of(self, part: str, name: str, make: Callable[[], Comparison]) -> Trial | None:
        """That trial, which is made unless it is there; None where there is no time left for it."""
        found = next((each for each in self._made if (each.part, each.name) == (part, name)), None)
        if found is not None or time.monotonic() > self._until:
            return found
        begun = time.monotonic()
        comparison = make()
        made = Trial(
            part=part,
            name=name,
            ratio=comparison.sides[0].ratios["cpu"],
            rounds=comparison.rounds,
            seconds=time.monotonic() - begun,
            load=os.getloadavg()[0],
        )
        self._made.append(made)
        if self._file is not None:
            keeping.append(self._file, made)
        return made

    def several(self, part: str, count: int, make: Callable[[], Comparison]) -> list[Trial]:
        """So many of a part, or as many as there is time for."""
        return [found for number in range(count) if (found := self.of(part, str(number), make))]


def load(trials: Sequence[Trial]) -> str:
    """What else ran here."""
    loads = sorted(each.load for each in trials)
    return f"load {loads[0]:.1f} to {loads[-1]:.1f} on {os.cpu_count()} cores"


def resampled(asked: argparse.Namespace) -> bool:
    """False positives, coverage and width of experiments that stop at the answer."""
    held = True
    chance = random.Random(1)
    for file in sorted(stopping.RECORDED.glob("*.txt")):
        logs = [abs(math.log(float(line))) for line in file.read_text().split()]
        for effect in (0.0, EFFECT):
            ended = [stopping.experiment(logs, math.log1p(-effect), chance) for _ in range(asked.resamples)]
            wrong = sum(bad for _, _, bad in ended) / len(ended)
            found = sum(how in ("lower", "higher") for _, how, _ in ended) / len(ended)
            held &= wrong <= 0.055 and (effect > 0 or found <= 0.055)
            print(
                f"resampled  {file.stem:5} {effect:.0%} less, {len(ended)} experiments: a difference found "
                f"in {found:.1%}, truth left out at any look {wrong:.1%}",
                flush=True,
            )
    print(f"resampled  width {sequential.WIDENING:.2f} of an interval for that number of rounds", flush=True)
    return held and sequential.WIDENING <= 1.3


def live(asked: argparse.Namespace) -> bool:
    """False positives of a command against itself."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        made = asked.made.several("live", asked.live, lambda: against(perl(WORK), perl(WORK), Path(scratch)))
    if not made:
        return True
    wrong = sum(each.ratio.verdict in ("better", "worse") for each in made)
    inside = sum(each.ratio.ratio.low <= 1 <= each.ratio.ratio.high for each in made)
    print(
        f"live       perl against itself, {len(made)} of {asked.live} times ({load(made)}): {wrong} false "
        f"positives (95 % CI up to {intervals.at_most(wrong, len(made)):.1%}); the interval holds 1 in "
        f"{inside}; {statistics.median(each.rounds for each in made):g} rounds in the median",
        flush=True,
    )
    return intervals.at_least(wrong, len(made)) <= 0.05


def detect(asked: argparse.Namespace) -> bool:
    """How often, and how soon, 5 % more is found."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        made = asked.made.several(
            "detect",
            asked.trials,
            lambda: against(perl(WORK), perl(WORK * (1 + EFFECT)), Path(scratch)),
        )
    if not made:
        return True
    seconds = sorted(each.seconds for each in made)
    ever = [each for each in made if each.ratio.verdict == "worse"]
    found = sum(each.seconds <= SECONDS for each in ever)
    errors = [abs(each.ratio.ratio.value - 1 - EFFECT) for each in made]
    late = seconds[math.ceil(0.95 * len(seconds)) - 1]
    print(
        f"detect     5 % more of 0.3 s, {len(made)} of {asked.trials} times ({load(made)}): found within "
        f"{SECONDS:g} s in {found} (95 % CI from {intervals.at_least(found, len(made)):.1%}), and in the end "
        f"in {len(ever)}; seconds: median {statistics.median(seconds):.1f}, 95th percentile {late:.1f}; "
        f"error in the median {statistics.median(errors):.2%}",
        flush=True,
    )
    return found >= 0.95 * len(made)


def programs(folder: Path) -> Iterator[tuple[str, list[str], Mapping[str, str]]]:
    """What each stands for, its command, its environment."""
    draw = random.Random(1)
    (folder / "words").write_text("".join(f"{draw.random()}\n" for _ in range(150_000)))
    body = "for (int i = 0; i < x; ++i) y += i * x ^ (y >> 3); return y ? y / 3 : x;"
    functions = "".join(f"int f{i}(int x) {{ int y = {i}; {body} }}\n" for i in range(300))
    (folder / "program.c").write_text(f"{functions}int main(void) {{ return f1(2) & 1; }}\n")
    tables = (
        "create table t(a, b); with recursive n(i) as (values(1) union all select i+1 from n where i<120000) "
        "insert into t select i, hex(i*7919) from n; create index i on t(b); select count(*) from t;"
    )
    hashes = "my %h; for my $t (1..12) { $h{$_ % 97} .= $_ for 1..60000; %h = (); }"
    pages = "for (1..60) { my $x = 'a' x 8_000_000; }"
    texts = "import json\nt = json.dumps([{'a': n} for n in range(4000)])\nfor _ in range(25): json.loads(t)"
    arrays = ["gawk", "{ a[$1] = $1 x; n += length(a[$1]) } END { print n }", "words", "words"]
    yield "cache-resident: perl", ["perl", "-e", hashes], {}
    yield "compiler: cc1", ["gcc", "-O1", "-S", "-o", "/dev/null", "program.c"], {}
    yield "stream: sed", ["sed", "-E", "s/([0-9])([0-9])/\\2\\1/g", "words"], {}
    yield "interpreter: CPython", ["/usr/bin/python3", "-c", texts], {"PYTHONMALLOC": "malloc"}
    yield "memory-bound: gawk", arrays, {}
    yield "the same, huge pages", arrays, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    yield "sort", ["sort", "--parallel=1", "words"], {}
    yield "system calls: dd", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"], {}
    yield "page faults: perl", ["perl", "-e", pages], {}
    yield (
        "children: sh",
        ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do perl -e '1 for 1..200000'; done"],
        {},
    )
    yield "database: sqlite3", ["sqlite3", ":memory:", tables], {}


def bias(asked: argparse.Namespace) -> bool:
    """The effect of mimalloc at the same time and one after another."""
    methods: tuple[Asked, ...] = ("auto", "sequential")  # which restarts runs where that changes nothing
    differences, weights = [], []
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        for name, command, environment in programs(Path(scratch)):
            both = []
            for method in methods:
                compared = functools.partial(by, method, command, environment, asked.rounds, Path(scratch))
                if made := asked.made.of("bias", f"{name}, {method}", compared):
                    both.append(made)
            if len(both) < len(methods):
                break
            effects = [each.ratio.ratio for each in both]
            differences.append(math.log(effects[0].value / effects[1].value))
            half = math.hypot(*(math.log(each.high / each.low) / 2 for each in effects))
            weights.append(1 / half**2)
            text = "  ".join(f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]" for each in effects)
            print(
                f"bias       {name:22} {text}  {differences[-1]:+.2%} ±{half:.2%}  ({load(both)})", flush=True
            )
    if len(differences) < 2:
        return True
    count, middle = len(differences), statistics.fmean(differences)
    reach = float(stdtrit(count - 1, 0.975)) * statistics.stdev(differences) / math.sqrt(count)
    weighted = statistics.fmean(differences, weights)
    print(
        f"bias       mean over {count} programs {middle:+.2%} ±{reach:.2%}, "
        f"weighted {weighted:+.2%} ±{1 / math.sqrt(sum(weights)):.2%}",
        flush=True,
    )
    return abs(middle) + reach <= 0.005


def by(
    method: Asked, command: list[str], environment: Mapping[str, str], rounds: int, where: Path
) -> Comparison:
    """Mimalloc compared with glibc by one method."""
    spec = specify(
        command,
        catalog.parse("glibc,mimalloc"),
        workload=Workload(directory=str(where), environment=environment),
        conditions=Conditions(runs=rounds, pairing=method),
    )
    with (
        tempfile.TemporaryDirectory(prefix="reap-bench-") as folder,
        Folder.create(Path(folder) / "runs", spec, None) as experiment,
    ):
        return compare(experiment)


def hyperfine(asked: argparse.Namespace) -> bool:
    """The same two commands by hyperfine, as it is used without options but for a warm-up, and by reap."""
    tool = shutil.which("hyperfine")
    if tool is None:
        print("hyperfine  not installed: apt install hyperfine", flush=True)
        return True
    texts = [f"perl -e '{SUM.format(round(WORK * factor))}'" for factor in (1.0, 1 + EFFECT)]
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        file = Path(scratch) / "x.json"
        for _ in range(max(1, asked.trials // 10)):
            begun = time.monotonic()
            subprocess.run(
                [tool, "--style", "none", "--warmup", "1", "--export-json", file, *texts],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            between = time.monotonic()
            one, other = json.loads(file.read_text())["results"]
            ratio = other["mean"] / one["mean"]
            # The figure behind "±" in its summary.
            sigma = ratio * math.hypot(*(each["stddev"] / each["mean"] for each in (one, other)))
            found = against(perl(WORK), perl(WORK * (1 + EFFECT)), Path(scratch)).sides[0].ratios["cpu"]
            after = time.monotonic()
            print(
                f"hyperfine  {ratio:.3f} ±{sigma:.3f} in {between - begun:.0f} s; "
                f"reap {found.ratio.value:.3f} [{found.ratio.low:.3f}, {found.ratio.high:.3f}] "
                f"in {after - between:.0f} s  (load {os.getloadavg()[0]:.1f})",
                flush=True,
            )
    return True


PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "resampled": resampled,
    "live": live,
    "detect": detect,
    "hyperfine": hyperfine,
    "bias": bias,
}


def missed(names: Sequence[str], asked: argparse.Namespace) -> list[str]:
    """Runs the parts; those whose bar is missed."""
    return [name for name in names if not PARTS[name](asked)]


def main() -> int:
    """Prints every part."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--resamples", type=int, default=10_000)
    words.add_argument("--live", type=int, default=100)
    words.add_argument("--trials", type=int, default=100)
    words.add_argument("--rounds", type=int, default=12)
    words.add_argument("--keep", type=Path)
    words.add_argument("--seconds", type=float, default=math.inf)
    words.add_argument("--hog", action="store_true")
    words.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], default=[])
    asked = words.parse_args()
    asked.made = Trials(asked.keep, asked.seconds)
    with pairing.hog(quiet=not asked.hog):
        bad = missed(asked.parts or list(PARTS), asked)
    print(f"the bar is missed: {', '.join(bad)}" if bad else "every bar is held")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
