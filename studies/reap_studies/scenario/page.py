"""A scenario as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Sequence

from reap.api import Machine
from reap.api import residence_page as render
from reap_studies.scenario import table
from reap_studies.scenario.judge import Judged
from reap_studies.scenario.records import Played


def page(played: Played, judged: Sequence[Judged], made_by: list[str], machine: Machine) -> str:
    """The remedies side by side, what is said of them, and the memory of each over time."""
    headings, rows = table.table(played)
    seen = [(each.arm.name, each.residence) for each in played.tried if each.residence is not None]
    return render(
        played.scenario.title,
        seen,
        made_by,
        machine,
        story=played.scenario.story,
        headings=headings,
        rows=rows,
        judged=judged,
        settings=table.settings(played),
    )
