"""Write what the repository keeps of full studies: conclusions, and the values that their figures draw.

    .venv/bin/python studies/bench/keep.py [--check] FOLDER ...

FOLDER is one that `reap study STUDY --full -o FOLDER` or full.py has filled. Writes `conclusions.json`,
`figures.csv`, `parts.jsonl` and the drawings of README.md to docs/results/STUDY. `study.json` and the page,
which are megabytes, are files of a release: setup/release. With --check nothing is written; exits with 1
where what is kept is not what FOLDER gives, or where today's rules judge its figures in another way.
"""

import argparse
import csv
import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from reap.base.records import Record
from reap.launch.records import Machine
from reap_studies.study import figures, page
from reap_studies.study.ismm2026 import artefact
from reap_studies.study.ismm2026 import run as ismm2026
from reap_studies.study.oopsla2002 import run as oopsla2002
from reap_studies.study.records import Answer, Conclusion, Plan, Study

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
CONCLUSIONS, PARTS = "conclusions.json", "parts.jsonl"
DRAWINGS = {"ismm2026": ("figure-5.svg",), "oopsla2002": ("figure-6-1.svg",)}
JUDGES = {"ismm2026": ismm2026.judged, "oopsla2002": oopsla2002.judged}
_DIGITS, _DRAWN_DIGITS = 6, 4
"""Significant digits kept, of what is printed and of what is drawn."""
_NUMBERS = ("value", "low", "high")
_SAID_ELSEWHERE = ("kind",)
"""Columns that the cards have, too."""
_DEFAULTS = {"excluded": [], "original": False, "mean": None, "means": {}, "sensitivity": []}
"""Fields of conclusions, which are kept where they are another."""
_OURS = tuple(f"cpu {figure}" for figure in artefact.FIGURES)
"""The authors' own are in artefact.toml."""
_TIME, _MISSES = "cpu normalised", ("first-level misses", "last-level misses")
_DRAWN: dict[str, dict[str, tuple[str, ...]]] = {
    "ismm2026": {"workloads": (_TIME,), "occupancy": (_TIME, *_MISSES), "artefact": _OURS},
    "oopsla2002": {
        "workloads": (_TIME, "peak_resident normalised"),
        "peers": (_TIME, "peak_resident normalised"),
        "statistics": ("share of CPU time in the allocator",),
        "memory": (),
        "drag": (),
        "section 7.5": (),
    },
}
"""By study and part of the table of `figures`: the figures that are drawn; all of a part if empty."""


class Kept(Record, kw_only=True):
    """What `conclusions.json` holds: a study without its measurements."""

    plan: Plan
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    answers: list[Answer]
    controls: list[str] = []
    departures: dict[str, str] = {}
    conclusions: list[Conclusion]


def read(folder: Path) -> Study:
    """The study in `folder`. Cards of before 29 November 2026 name commits as sources, which are dropped."""
    data = msgspec.json.decode((folder / page.DATA).read_bytes())
    return msgspec.convert(_without_commits(data), Study)


def _without_commits(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_without_commits(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if key != "source" or isinstance(each, str)}
    return {key: _without_commits(each) for key, each in kept.items()}


def files(folder: Path) -> tuple[Study, dict[str, bytes]]:
    """The study in `folder`, and what is kept of it, by file name."""
    study = read(folder)
    made = {CONCLUSIONS: _conclusions(study).encode(), page.FIGURES: _figures(study).encode()}
    copied = [folder / name for name in (PARTS, *DRAWINGS.get(study.plan.study, ()))]
    return study, made | {path.name: path.read_bytes() for path in copied if path.is_file()}


def _conclusions(study: Study) -> str:
    """JSON with a line for each conclusion."""
    kept = Kept(**{name: getattr(study, name) for name in Kept.__struct_fields__})
    head, _, tail = _dumps(msgspec.to_builtins(msgspec.structs.replace(kept, conclusions=[]))).rpartition("]")
    lines = ",\n".join(map(_dumps, msgspec.to_builtins(study.conclusions)))
    return f"{head}\n{lines}\n]{tail}\n"


def _dumps(value: Any) -> str:  # noqa: ANN401 - JSON is
    return json.dumps(_rounded(value), ensure_ascii=False)


def _rounded(value: Any) -> Any:  # noqa: ANN401
    """The same with each number at `_DIGITS` significant digits, without what is as by default."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items() if _DEFAULTS.get(key, ...) != each}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{_DIGITS}g}")
    return value


def _figures(study: Study) -> str:
    """The lines of the study's table that its figures draw."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_lines(study))
    return text.getvalue()


def _lines(study: Study) -> Iterator[list[str]]:
    head, *lines = csv.reader(io.StringIO(figures.table(study)))
    part, figure = head.index("part"), head.index("figure")
    drawn = _DRAWN.get(study.plan.study, {})
    columns = [at for at, name in enumerate(head) if name not in _SAID_ELSEWHERE]
    yield [head[at] for at in columns]
    for line in lines:
        if line[part] in drawn and (not drawn[line[part]] or line[figure] in drawn[line[part]]):
            yield [_shortened(line[at]) if head[at] in _NUMBERS else line[at] for at in columns]


def _shortened(number: str) -> str:
    """A number at `_DRAWN_DIGITS` significant digits; an empty cell as it is."""
    return f"{float(number):.{_DRAWN_DIGITS}g}" if number else number


_JUDGED = ("conclusions", "controls", "departures")
"""Fields that the rules give."""


def problems(folder: Path, results: Path = RESULTS) -> list[str]:
    """Differences of `results` from the study in `folder`, and of its conclusions from today's rules."""
    study, made = files(folder)
    name = study.plan.study
    found = [
        f"{results / name / file} is not what {folder} gives: write it with {Path(__file__).name} {folder}"
        for file, data in made.items()
        if not (results / name / file).is_file() or (results / name / file).read_bytes() != data
    ]
    judged = JUDGES[name](study) if name in JUDGES else study
    if any(getattr(judged, each) != getattr(study, each) for each in _JUDGED):
        found.append(f"{folder / page.DATA} was judged by other rules: rejudge.py {folder}")
    return found


def main() -> int:
    """Write or check each study; 1 where a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    if asked.check:
        found = [problem for folder in asked.folders for problem in problems(folder)]
        print("".join(f"{each}\n" for each in found), end="", file=sys.stderr)
        return 1 if found else 0
    for folder in asked.folders:
        study, made = files(folder)
        place = RESULTS / study.plan.study
        place.mkdir(parents=True, exist_ok=True)
        for file, data in made.items():
            (place / file).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
