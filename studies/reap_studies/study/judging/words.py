"""What a conclusion's evidence says, in words. Pure functions."""

from collections.abc import Sequence

from reap.api import Estimate, units
from reap_studies.study.judging import exclusions, programs
from reap_studies.study.judging.programs import SHARE
from reap_studies.study.records import Conclusion, Finding, Side, Variation

_SIDES: tuple[Side, ...] = ("for", "against", "inconclusive")


def span(findings: Sequence[Finding]) -> str:
    """From the least to the greatest, with their workloads."""
    values = sorted(findings, key=lambda each: each.ratio.value)
    amount = units.percent if findings[0].figure == SHARE else units.ratio
    ends = [f"{amount(each.ratio.value)} ({each.workload}, {each.figure})" for each in values]
    return f"from {ends[0]} to {ends[-1]}" if len(ends) > 1 else f"it is {ends[0]}"


def with_interval(figure: str, ratio: Estimate) -> str:
    """A figure, or a mean over programs, and its interval: in percent if it is a share."""
    if figure != SHARE:
        return units.ratio_with_interval(ratio).replace(units.TOO_FEW, "too few programs")
    return f"{units.percent(ratio.value)} [{units.percent_span(ratio.low, ratio.high)}]"


def figures(conclusion: Conclusion) -> str:
    """The mean over programs with its interval and the extremes; programs or figures where there is none."""
    found = exclusions.counted(conclusion.findings)
    effects = programs.effects(found)
    number = units.number(len(effects), "program")
    if not found:
        return "Nothing that counts was measured."
    if conclusion.means:
        each = [f"{name} {with_interval(name, mean)}" for name, mean in conclusion.means.items()]
        return f"{number}, means: {'; '.join(each)}."
    if conclusion.mean is not None and len(effects) >= programs.LEAST:
        return f"{number}, mean {with_interval(found[0].figure, conclusion.mean)}, {span(found)}."
    if len(found) <= len(effects) or len(found) == 2:
        each = [f"{one.workload}, {one.figure} {with_interval(one.figure, one.ratio)}" for one in found]
    elif len(effects) == 1:
        return f"{units.number(len(found), 'figure')}, {span(found)}."
    else:
        each = [f"{one.program} {with_interval('', one.ratio)}" for one in effects]
    return f"Measured: {'; '.join(each)}."


def answer(findings: Sequence[Finding], sides: Sequence[Side], unit: str) -> str:
    """What the evidence says all together; `sides` are those of what is counted."""
    if not findings:
        return "Nothing was measured that says anything of it."
    said = span(findings)
    if len(findings) == 1:
        side = findings[0].side
        which = side if side == "inconclusive" else f"{side} it"
        return f"One figure, {which}: {said.removeprefix('it is ')}."
    number = dict(zip(_SIDES, map(list(sides).count, _SIDES), strict=True))
    return (
        f"{units.number(len(sides), unit)}: {number['for']} for it, {number['against']} against it, "
        f"{number['inconclusive']} inconclusive. {said[:1].upper()}{said[1:]}."
    )


def varied(variation: Variation, figure: str = "") -> str:
    """One line of what a verdict rests on."""
    mean = f", mean {with_interval(figure, variation.mean)}" if variation.mean else ""
    return f"{variation.what}: {variation.standing} ({units.number(variation.programs, 'program')}{mean})"


def sensitivity(conclusion: Conclusion) -> str:
    """How the verdict changes; that it does not survive comes first. Empty where nothing was varied."""
    found = exclusions.counted(conclusion.findings)
    said = []
    if conclusion.flips:
        changed = ", ".join(f"{standing} without {name}" for name, standing in conclusion.flips.items())
        said.append(f"Does not survive leaving one program out: {changed}.")
    elif conclusion.flips is not None:
        said.append("Survives leaving any one program out.")
    if conclusion.sensitivity:
        figure = (found or conclusion.findings)[0].figure
        others = "; ".join(varied(each, figure) for each in conclusion.sensitivity)
        said.append(f"{others[:1].upper()}{others[1:]}.")
    return " ".join(said)
