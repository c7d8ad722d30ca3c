"""What a report draws: results, and nothing that it would have to measure."""

from reap.analysis.drag_records import DragProfile
from reap.analysis.records import Profile
from reap.analysis.wall_records import Wall
from reap.diagnosis.records import Diagnosis
from reap.diagnosis.resilience import Resilience
from reap.diagnosis.wall_records import WallVerdict
from reap.experiment.matrix_records import Fragmented
from reap.experiment.records import Comparison
from reap.experiment.tune_records import Tuned
from reap.launch.records import Machine
from reap.records import Record

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
    """Where processor time went, folded as `analysis.wall.folded` has them: the flame graph."""


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
