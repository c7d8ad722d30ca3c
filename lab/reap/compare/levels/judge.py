"""Verdicts on what a fragmented heap costs a program and what would recover it. Pure functions."""

from typing import Literal

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.base.records import Estimate, Record
from reap.compare import phrases
from reap.compare import thresholds as at
from reap.compare.levels import analyse
from reap.compare.levels.records import Arm, Control, Fragmented, LayoutBias
from reap.experiment import sequential
from reap.experiment.records import Ratio

_LIKELY = "adv3"
"""The level that the verdict is about, if it was run: the paper states its results at it."""
_TELLING = 0.01
"""A control that differs by less than this is not worth a reader's time, however certain it is."""

Standing = Literal[
    "it would be slower",
    "it would hardly be slower",
    "its own allocator saves time",
    "its own allocator saves no time",
    "inconclusive",
]


class FragmentVerdict(Record):
    """The verdict on a program on fragmented heaps."""

    first: list[str]
    """Warnings to read before any figure: controls that should show no difference, and do."""
    headline: Standing
    level: str
    """Which level the verdict is about; empty where none was run."""
    paragraph: str
    evidence: list[Evidence]


def judge(result: Fragmented) -> FragmentVerdict:
    """The verdict. It is on the first variant, the unchanged program; remedies are for the last one.

    On clean heaps alone it is about the program's own allocator.
    """
    if result.clean:
        return _own_allocator(result)
    level = _level(result)
    first = [*_missed_program(result), *_preloads(result), *_emptied(result)]
    arm = result.arm(result.variants[0], result.allocators[0], level)
    if arm is None or not arm.sound:
        why = f": {arm.problem}" if arm and arm.problem else ""
        paragraph = f"The program was not measured on a fragmented heap{why}."
        return FragmentVerdict(
            first=first, headline="inconclusive", level="", paragraph=paragraph, evidence=_evidence(result)
        )
    standing = "inconclusive" if result.elsewhere else _standing(arm)
    said = [_opening(result, arm), *_naive(result, level), *_remedies(result, level)]
    if result.elsewhere:
        said = [f"{result.elsewhere}, which allocates most, ran on a clean heap: add --litter children=yes."]
    return FragmentVerdict(
        first=first,
        headline=standing,
        level=level,
        paragraph=" ".join(said),
        evidence=_evidence(result),
    )


def _own_allocator(result: Fragmented) -> FragmentVerdict:
    """Verdict on what the program's own allocator saves over each general one, on heaps without litter."""
    arms = [result.arm(result.variants[-1], name, result.levels[0].name) for name in result.allocators]
    compared = [arm for arm in arms if arm and arm.sound and "cpu" in arm.to_custom]
    first = compared[0] if compared and compared[0].allocator == result.allocators[0] else None
    if first is None or first.rounds < at.FEWEST_ROUNDS:
        ran = units.number(first.rounds if first else 0, "round")
        paragraph = f"{ran}: too few for a verdict, which requires at least {at.FEWEST_ROUNDS}."
        return FragmentVerdict(
            first=[], headline="inconclusive", level="", paragraph=paragraph, evidence=_noise(result)
        )
    ratio = first.to_custom["cpu"].ratio
    headline: Standing = "inconclusive"
    if analyse.beyond_noise(first.to_custom["cpu"], result) and ratio.value >= 1 + at.WORTH_IT:
        headline = "its own allocator saves time"
    elif ratio.high <= 1 + at.MAY_HIDE:
        headline = "its own allocator saves no time"
    said = [
        f"Without its own allocator, over {arm.allocator}, it takes "
        f"{phrases.amount(arm.to_custom['cpu'].ratio.value, 'CPU time')} "
        f"(95 % CI {phrases.interval(arm.to_custom['cpu'].ratio)})."
        for arm in compared
    ]
    return FragmentVerdict(
        first=[],
        headline=headline,
        level=result.levels[0].name,
        paragraph=" ".join(said),
        evidence=_noise(result),
    )


def inverse(estimate: Estimate) -> Estimate:
    """The ratio the other way round."""
    return Estimate(value=1 / estimate.value, low=1 / estimate.high, high=1 / estimate.low)


def _level(result: Fragmented) -> str:
    names = [level.name for level in result.levels]
    return _LIKELY if _LIKELY in names else names[-1]


def _standing(arm: Arm) -> Standing:
    ratio = arm.slowdown["cpu"].ratio
    if arm.rounds < at.FEWEST_ROUNDS:
        return "inconclusive"
    if ratio.low > 1 and ratio.value >= 1 + at.WORTH_IT:
        return "it would be slower"
    return "it would hardly be slower" if ratio.high <= 1 + at.MAY_HIDE else "inconclusive"


def _opening(result: Fragmented, arm: Arm) -> str:
    level = next(each for each in result.levels if each.name == arm.level)
    objects = units.count(level.objects(round(result.profile.peak.value)))
    heap = (
        f"On a heap like that of a long-running process ({level.name}: {objects} objects of the program's "
        f"sizes were allocated and {units.percent(1 - level.occupancy)} of them were freed before it started)"
    )
    if arm.rounds < at.FEWEST_ROUNDS:
        ran = f"{units.number(arm.rounds, 'round')} {'was' if arm.rounds == 1 else 'were'} run"
        return f"{heap} {ran}, too few for a verdict, which requires at least {at.FEWEST_ROUNDS}."
    return f"{heap} {_slowdown(_who(result, arm.variant), arm.slowdown['cpu'])}."


def _who(result: Fragmented, variant: str) -> str:
    if variant == "naive":
        return "without its own allocator it"
    return "the program, its own allocator in use," if len(result.variants) > 1 else "the program"


def _slowdown(who: str, ratio: Ratio) -> str:
    """`the program would need 20 % more CPU time (95 % CI ...)`, compared with a clean heap."""
    if ratio.verdict == "inconclusive":
        return (
            f"whether {who} would need more CPU time is inconclusive: its ratio to a clean heap is "
            f"{units.ratio_with_interval(ratio.ratio)}"
        )
    change = phrases.amount(ratio.ratio.value, "CPU time")
    more = "than on" if ratio.ratio.value < 2 else "of"
    return f"{who} would need {change} {more} a clean one (95 % CI {phrases.interval(ratio.ratio)})"


def _naive(result: Fragmented, level: str) -> list[str]:
    if len(result.variants) == 1:
        return []
    arm = result.arm(result.variants[-1], result.allocators[0], level)
    if arm is None or not arm.sound or arm.rounds < at.FEWEST_ROUNDS:
        return []
    said = _slowdown(_who(result, arm.variant), arm.slowdown["cpu"])
    return [f"{said[:1].upper()}{said[1:]}."]


def _remedies(result: Fragmented, level: str) -> list[str]:
    """Remedies that recover time on that heap, the best first; the rest in one sentence."""
    variant, usual = result.variants[-1], result.allocators[0]
    arm = result.arm(variant, usual, level)
    if arm is None or not arm.sound or arm.rounds < at.FEWEST_ROUNDS:
        return []
    found: list[tuple[str, Estimate]] = []
    if custom := arm.to_custom.get("cpu"):
        found.append(("its own allocator", inverse(custom.ratio)))
    for name in result.allocators[1:]:
        other = result.arm(variant, name, level)
        if other is not None and other.sound and "cpu" in other.to_allocator:
            found.append((name, other.to_allocator["cpu"].ratio))
    huge = result.arm(variant, usual, level, "on")
    if huge is not None and huge.sound and "cpu" in huge.to_small:
        found.append(("huge pages", huge.to_small["cpu"].ratio))
    helping = sorted((each for each in found if each[1].high < 1), key=lambda each: each[1].value)
    open_still = [(name, ratio) for name, ratio in found if ratio.low <= 1 <= ratio.high]
    same = [name for name, ratio in open_still if sequential.standing(ratio, result.worth) == "equivalent"]
    unclear = [name for name, _ in open_still if name not in same]
    said = []
    if helping:
        parts = [
            f"{units.percent(1 - ratio.value)} less CPU time with {name} "
            f"({units.percent_span(1 - ratio.high, 1 - ratio.low)})"
            for name, ratio in helping
        ]
        said.append(f"There it takes {words.listed(parts)}.")
    if same:
        said.append(
            f"There CPU time with {words.listed(same)} is the same within {units.percent(result.worth)}."
        )
    if unclear:
        said.append(f"The result is inconclusive for {words.listed(unclear)}.")
    if found and not helping and not unclear and not same:
        said.append(f"There it takes no less CPU time with {words.listed([name for name, _ in found])}.")
    return said


def _missed_program(result: Fragmented) -> list[str]:
    """Behind a shell or a shim nothing that matters was littered."""
    if not result.elsewhere:
        return []
    said = f"Most is allocated by {result.elsewhere}, which the program executes, and only the program was"
    return [f"{said} littered: no figure here is about fragmentation. --litter children=yes litters all."]


def _preloads(result: Fragmented) -> list[str]:
    """Bare and adv0 should be the same: nothing is littered in either."""
    said = []
    for control in result.controls:
        if control.preload is None or not _telling(control.preload):
            continue
        text = (
            f"Bare and adv0 differ: {_pair(result, control)} takes "
            f"{phrases.amount(control.preload.ratio.value, 'CPU time')} with the preload loaded and nothing "
            f"littered (95 % CI {phrases.interval(control.preload.ratio)})."
        )
        said.append(f"{text} {_explained(result, control, control.preload)}")
    return said


def _explained(result: Fragmented, control: Control, preload: Ratio) -> str:
    """Possible explanation of a control's difference: noise, or layout bias."""
    if noise := result.noise.get("cpu"):
        most = max(noise.ratio.high, 1 / noise.ratio.low)
        if 1 / most <= preload.ratio.value <= most:
            return "The baseline may differ from itself by as much: measure again on a quieter machine."
    seen = [each for each in result.layout_bias if each.variant == control.variant and each.ratios]
    if not seen:
        return "Whether layout bias explains this was not tested (--litter layouts=2)."
    low, high = layout_span(seen)
    span = f"{units.ratio(low)} to {units.ratio(high)} times"
    if low <= preload.ratio.value <= high:
        return f"Other address-space layouts do as much ({span}): it is layout bias."
    return f"Other address-space layouts do less ({span}): layout bias alone does not explain it."


def layout_span(seen: list[LayoutBias]) -> tuple[float, float]:
    """The minimum and maximum over the layouts, the default one included."""
    values = [1.0, *(ratio.ratio.value for each in seen for ratio in each.ratios)]
    return min(values), max(values)


def _emptied(result: Fragmented) -> list[str]:
    """Reports emptied heaps that are slower than clean ones, though no litter stays on them."""
    return [
        f"{_given_back(result, control, ratio)} That much of a level's slowdown is not due to fragmentation."
        for control, ratio in _telling_emptied(result)
        if ratio.ratio.value > 1
    ]


def _readied(result: Fragmented) -> list[Evidence]:
    """Reports emptied heaps that are faster than clean ones: their pages are there already, as in a level."""
    return [
        Evidence(
            statement=f"{_given_back(result, control, ratio)} Its pages are in memory already, and so are "
            "those of every level: fragmentation costs more than a level's slowdown shows.",
            source="comparison",
        )
        for control, ratio in _telling_emptied(result)
        if ratio.ratio.value < 1
    ]


def _telling_emptied(result: Fragmented) -> list[tuple[Control, Ratio]]:
    return [
        (control, control.emptied)
        for control in result.controls
        if control.emptied is not None and _telling(control.emptied)
    ]


def _given_back(result: Fragmented, control: Control, ratio: Ratio) -> str:
    return (
        f"A heap on which all litter was freed differs from a clean one: {_pair(result, control)} takes "
        f"{phrases.amount(ratio.ratio.value, 'CPU time')} on it "
        f"(95 % CI {phrases.interval(ratio.ratio)})."
    )


def _telling(ratio: Ratio) -> bool:
    held = ratio.ratio
    return not held.low <= 1 <= held.high and abs(held.value - 1) > _TELLING


def _pair(result: Fragmented, control: Control) -> str:
    variant = f"{control.variant}, " if len(result.variants) > 1 else "it, "
    return f"{variant}under {control.allocator},"


def _evidence(result: Fragmented) -> list[Evidence]:
    facts = []
    for variant in result.variants:
        arm = result.arm(variant, result.allocators[0], _level(result))
        clean = result.arm(variant, result.allocators[0], result.levels[0].name)
        if arm and clean and arm.sound and arm.split and clean.split:
            facts.append(Evidence(statement=_parted(result, arm, clean), source="sampling"))
        if arm and clean and arm.sound and arm.misses and clean.misses:
            source: Literal["simulation", "machine"] = "simulation" if arm.misses.caches else "machine"
            facts.append(Evidence(statement=_missed(result, arm, clean), source=source))
    return [*facts, *_readied(result), *_noise(result)]


def _noise(result: Fragmented) -> list[Evidence]:
    noise = result.noise.get("cpu")
    if noise is None:
        return []
    span = phrases.interval(noise.ratio)
    statement = f"The baseline compared with itself: {span} CPU time; differences within that are noise."
    if units.says_nothing(noise.ratio):
        statement = f"How far the baseline differs from itself is unknown: {units.TOO_FEW}."
    return [Evidence(statement=statement, source="comparison")]


def _parted(result: Fragmented, arm: Arm, clean: Arm) -> str:
    """Share of a level's cost that is spent in the allocator itself, in words."""
    assert arm.split is not None  # noqa: S101 - the caller has looked
    assert clean.split is not None  # noqa: S101
    inside = arm.split.inside.value - clean.split.inside.value
    outside = arm.split.outside.value - clean.split.outside.value
    who = f"{arm.variant}: " if len(result.variants) > 1 else ""
    return (
        f"{who}at {arm.level} {units.percent(arm.split.share.value)} of its CPU time is inside the allocator "
        f"({units.percent_span(arm.split.share.low, arm.split.share.high)}), and at {clean.level} "
        f"{units.percent(clean.split.share.value)} "
        f"({units.percent_span(clean.split.share.low, clean.split.share.high)}): "
        f"{units.more_or_less(inside)} inside it and {units.more_or_less(outside)} outside."
    )


def _missed(result: Fragmented, arm: Arm, clean: Arm) -> str:
    """Effect of a level on caches: where objects lie apart, misses rise and instructions do not."""
    assert arm.misses is not None  # noqa: S101 - the caller has looked
    assert clean.misses is not None  # noqa: S101
    who = f"{arm.variant}: " if len(result.variants) > 1 else ""
    first = units.ratio(arm.misses.first / max(clean.misses.first, 1))
    last = units.ratio(arm.misses.last / max(clean.misses.last, 1))
    work = units.ratio(arm.misses.instructions / max(clean.misses.instructions, 1))
    where = "in simulated caches " if arm.misses.caches else ""
    return (
        f"{who}{where}it has {first} times the misses of the first level and {last} times those of the last "
        f"at {arm.level}, by {work} times the instructions."
    )
