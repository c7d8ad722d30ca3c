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
from reap.evidence.analyse.suspicions.suspect import to_try
from reap.evidence.judge.verdict import diagnose
from reap.evidence.part import CausesPart, VerdictPart
from reap.run.records import Examined
from reap.show.part import FlamePart, ProfilePart, SourcePart
from reap.tune.part import TunePart
from reap.wall.part import WallPart

KINDS: tuple[type[Part], ...] = (
    VerdictPart,
    WallPart,
    LevelsPart,
    TunePart,
    ComparisonPart,
    CausesPart,
    ProfilePart,
    FlamePart,
    SourcePart,
    DifferencePart,
    ResultsPart,
    CheckPart,
    DragPart,
)
"""In the order of the page. A field that two of them have belongs to the first that is there."""


def of_run(examined: Examined) -> list[Part]:
    """The parts of an answer of `reap run`, the verdict among them."""
    profile, wall = examined.profile, examined.known.wall
    verdict = diagnose(
        command=examined.command,
        profile=profile,
        comparison=examined.comparison,
        causes=examined.causes,
        wall=wall,
        suspicions=to_try(wall),
        missing=examined.missing,
        again=examined.again,
        trials_take=examined.takes,
    )
    if not examined.comparison or not examined.comparison.load:
        pasted = with_input(verdict.next_command, examined.command)
        verdict = msgspec.structs.replace(verdict, next_command=pasted)
    parts: list[Part] = [
        VerdictPart(diagnosis=verdict),
        WallPart(wall=wall, stacks=examined.known.stacks),
    ]
    parts += [ComparisonPart(comparison=examined.comparison)] if examined.comparison else []
    parts += [CausesPart(causes=examined.causes)] if examined.causes else []
    parts += [ProfilePart(profile=profile)] if profile else []
    return [*parts, DragPart(drag=examined.drag)] if examined.drag else parts


def read_json(path: Path | str) -> Report:
    """Read what `--json` wrote. Raises ReapError as `answer.json.read_json` does."""
    return json.read_json(path, KINDS)
