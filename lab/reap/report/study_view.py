"""What the pages of all studies are made of: tables, figures, and what must be known first."""

from dataclasses import dataclass

import markupsafe

from reap.experiment.card import Card
from reap.experiment.matrix_records import Fragmented
from reap.report.bars_svg import Bar, draw
from reap.study.records import Study


@dataclass(frozen=True)
class TableView:
    """One table of the paper, ours."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class FigureView:
    """One figure of the paper, ours: drawings, and what they are of."""

    title: str
    remark: str
    drawings: list[markupsafe.Markup]


@dataclass(frozen=True)
class StudyView:
    """The page."""

    title: str
    source: str
    """The paper's authors, and where it was."""
    address: str
    first: list[str]
    tables: list[TableView]
    figures: list[FigureView]


def first(study: Study, quick: str) -> list[str]:
    """What must be known before any figure is read; `quick` of a quick study."""
    said = [
        f"{each.claim[:-1]}: {each.standing}."
        for each in study.conclusions
        if each.standing not in ("holds", "cannot tell")
    ]
    if study.plan.mode == "quick":
        said.append(f"{quick} What holds here is to be seen in a full one.")
    left_out = [each.card.name for each in study.measured if each.result is None]
    if left_out:
        said.append(f"Not measured: {', '.join(left_out)}; Table 1 says why.")
    few = [each.card.name for each in study.measured if each.result and not usable(each.result)]
    if few:
        said.append(
            f"Nothing is said of {', '.join(few)}: too few rounds ended in the time that they were given."
        )
    return said


def usable(result: Fragmented) -> bool:
    """Whether some arm had rounds enough for an interval."""
    return any(arm.sound for arm in result.arms)


def scale(described: Card, amount: int) -> str:
    """How much work a run was."""
    return f"{described.scale}: {amount}" if described.scale else "fixed"


def drawn(title: str, groups: list[tuple[str, list[Bar]]]) -> markupsafe.Markup:
    """A drawing to stand in the page."""
    return markupsafe.Markup(draw(title, groups))  # noqa: S704 - ours, and every word in it is escaped
