"""What the pages of all studies are made of: tables, figures, and what must be known first."""

from dataclasses import dataclass

import markupsafe

from reap.api import Fragmented, units
from reap.api import levels_words as words
from reap_studies.study.drawing.bars import Bar, draw
from reap_studies.study.records import Standing, Study
from reap_studies.workloads.records import Card


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
    whiskers: bool = True
    """Whether they show intervals."""


@dataclass(frozen=True)
class StudyView:
    """The page."""

    title: str
    source: str
    """The paper's authors, and where it was."""
    address: str
    """Empty for what is not published, or has none."""
    first: list[str]
    remarks: list[str]
    tables: list[TableView]
    figures: list[FigureView]
    what: str = "paper"
    """What is judged, in a word."""


def checks(study: Study) -> TableView:
    """What must make no difference, and how much it makes: nothing below that is a finding."""
    columns = [
        "workload", "baseline to itself", "idle preload", "littered and emptied", "other layouts",
    ]  # fmt: skip
    rows = [
        [each.card.name, *_check(each.result)] for each in study.measured if each.result and each.result.noise
    ]
    return TableView("What must make no difference: ratios of CPU time", columns, rows)


def _check(result: Fragmented) -> list[str]:
    noise = result.noise.get("cpu")
    moved = [ratio.ratio.value for each in result.layout_bias for ratio in each.ratios]
    return [
        units.ratio_with_interval(noise.ratio) if noise else units.UNKNOWN,
        _ends([each.preload.ratio.value for each in result.controls if each.preload]),
        _ends([each.emptied.ratio.value for each in result.controls if each.emptied]),
        _ends(moved),
    ]


def _ends(ratios: list[float]) -> str:
    if not ratios:
        return "not run"
    return f"{units.ratio(min(ratios))} to {units.ratio(max(ratios))}"


def remarks(study: Study) -> list[str]:
    """What the experiments say of themselves: their notes, and why arms and controls say nothing."""
    every = [*study.measured, *study.occupancy, *study.simulated]
    full = study.plan.mode == "full"
    return list(
        dict.fromkeys(
            f"{each.card.name}: {said}"
            for each in every
            if each.result
            for said in [
                *words.problems(each.result),
                *each.result.notes,
                *([f"{ratio} wide" for ratio in each.wide] if full else []),
            ]
        )
    )


_ORDER: tuple[Standing, ...] = (
    "does not hold", "outdated", "holds partly", "inconclusive", "not measurable here", "holds"
)  # fmt: skip


def first(study: Study, quick: str) -> list[str]:
    """What must be known before any figure is read; `quick` of a quick study."""
    said = [f"A control failed. {each}" for each in study.controls]
    said += [
        f"{each.claim.removesuffix('.')}: {each.standing}."
        for each in sorted(study.conclusions, key=lambda each: _ORDER.index(each.standing))
        if each.standing != "holds"
    ]
    if study.plan.mode == "quick":
        said.append(f"{quick} What holds here is to be seen in a full one.")
    left_out = [each.card.name for each in study.measured if each.result is None]
    if left_out:
        said.append(f"Not measured: {', '.join(left_out)}; Table 1 says why.")
    if wide := [each.card.name for each in study.measured if each.wide and study.plan.mode == "full"]:
        said.append(f"Some intervals of {', '.join(wide)} stayed wider than 5 %; they are named below.")
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


def drawn(title: str, groups: list[tuple[str, list[Bar]]], *, unit_line: bool = True) -> markupsafe.Markup:
    """A drawing to stand in the page."""
    return markupsafe.Markup(draw(title, groups, unit_line=unit_line))  # noqa: S704 - ours, and every word in it is escaped
