"""The parts of all capabilities: what an answer can be of, and how a written report is read."""

from pathlib import Path

import msgspec

from reap.answer import json
from reap.answer.part import Part
from reap.answer.records import Report
from reap.check.part import CheckPart
from reap.commandline.stdin import with_input
from reap.compare.levels.part import LevelsPart
from reap.compare.part import ComparisonPart
from reap.diff.part import DifferencePart, ResultsPart
from reap.drag.exact.part import DragPart
from reap.run.judge.verdict import diagnose
from reap.run.part import VerdictPart
from reap.run.records import Measured
from reap.show.part import FlamePart, ProfilePart, SourcePart
from reap.tune.part import TunePart
from reap.wall.part import WallPart

KINDS: tuple[type[Part], ...] = (
    VerdictPart,
    WallPart,
    LevelsPart,
    TunePart,
    ComparisonPart,
    ProfilePart,
    FlamePart,
    SourcePart,
    DifferencePart,
    ResultsPart,
    CheckPart,
    DragPart,
)
"""In the order of the page. A field that two of them have belongs to the first that is there."""


def of_run(measured: Measured) -> list[Part]:
    """The parts of an answer of `reap run`, the verdict among them."""
    profile, comparison = measured.profile, measured.comparison
    verdict = diagnose(
        profile,
        comparison,
        command=measured.command,
        again=measured.again,
        collections=measured.collections,
    )
    if not comparison.load:
        pasted = with_input(verdict.next_command, measured.command)
        verdict = msgspec.structs.replace(verdict, next_command=pasted)
    parts: list[Part] = [
        VerdictPart(diagnosis=verdict),
        ComparisonPart(comparison=comparison),
        ProfilePart(profile=profile),
    ]
    return [*parts, DragPart(drag=measured.drag)] if measured.drag else parts


def read_json(path: Path | str) -> Report:
    """Read what `--json` wrote. Raises ReapError as `answer.json.read_json` does."""
    return json.read_json(path, KINDS)
