"""What a report draws: results, and nothing that it would have to measure."""

from reap.base.records import Record
from reap.compare.levels.judge import Resilience
from reap.compare.levels.records import Fragmented
from reap.drag.exact.records import DragProfile
from reap.experiment.records import Comparison
from reap.launch.records import Machine
from reap.recording.records import Profile
from reap.run.records import Diagnosis
from reap.tune.records import Tuned
from reap.wall.judge.records import WallVerdict
from reap.wall.records import Wall

SCHEMA = 1
"""Raised when a field changes its meaning; new fields do not raise it."""


class Answer(Record, frozen=True, kw_only=True):
    """All that is known of one program. Parts that were not asked for are None."""

    title: str
    command: list[str]
    profile: Profile | None = None
    comparison: Comparison | None = None
    diagnosis: Diagnosis | None = None
    fragmented: Fragmented | None = None
    resilience: Resilience | None = None
    """The verdict on `fragmented`."""
    tuned: Tuned | None = None
    drag: DragProfile | None = None
    wall: Wall | None = None
    wall_verdict: WallVerdict | None = None
    """The verdict on `wall`; if its remedies were tried, `comparison` has their ratios."""
    stacks: list[str] = []
    """Where CPU time went, folded as `analysis.wall.folded` has them: the flame graph."""


class Report(Record, frozen=True, kw_only=True):
    """One file's worth: answers for one or more programs. This is what `--json` writes."""

    schema: int = SCHEMA
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    made_by: list[str]
    """The command line that made it."""
    answers: list[Answer]
