"""The verdict: is memory allocation what holds this program back, and what is to be done?"""

from collections.abc import Sequence

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.compare import phrases
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.facts import WallFacts
from reap.evidence.judge.others import garbage_collection
from reap.evidence.records import Collector, Wall
from reap.experiment.records import Comparison
from reap.recording.analyse.growth import growth
from reap.recording.records import Profile
from reap.run.judge.facts import Facts
from reap.run.judge.rules import RULES
from reap.run.judge.untrusted import why_not
from reap.run.records import Diagnosis


def diagnose(
    profile: Profile | None,
    comparison: Comparison | None,
    *,
    command: list[str],
    again: Sequence[str] = (),
    collections: Sequence[Collector] = (),
) -> Diagnosis:
    """Judge a program by what was recorded, by what was compared, or by both.

    Pure: the same records give the same verdict. The first rule of `rules.RULES` that applies decides;
    the evidence lists the figures behind it, and what limits them. `command` is the measured program's
    command line and `again` what names it on another, for the command to type next; `collections` are its
    garbage collectors.
    """
    facts = Facts(profile, comparison, command, again)
    finding = next(rule for rule in RULES if rule.applies(facts)).says(facts)
    return Diagnosis(
        headline=finding.headline,
        paragraph=" ".join(
            [*finding.sentences, *_of_collectors(facts, collections), *_of_growth(facts), *_of_itself(facts)]
        ),
        evidence=[*_of_sampling(facts), *_of_comparison(facts), *_of_recording(facts)],
        next_step=finding.next_step,
        next_command=finding.next_command,
    )


def _of_collectors(facts: Facts, collections: Sequence[Collector]) -> list[str]:
    """What a garbage collector takes, where that is a good part, and what would make it less."""
    seen = Wall(command=facts.command, cpu_seconds=facts.cpu_seconds or 0.0, collections=list(collections))
    suspicion = garbage_collection(WallFacts(seen))
    if suspicion is None or suspicion.weight < at.CAUSE_WORTH:
        return []
    remedies = "; ".join(f"{each.name} ({each.expect})" for each in suspicion.remedies)
    return [*(each.statement for each in suspicion.statements), f"No allocator changes that: {remedies}."]


def _of_growth(facts: Facts) -> list[str]:
    grown = growth(facts.profile) if facts.profile else None
    return [words.growth(grown)] if grown else []


def _of_itself(facts: Facts) -> list[str]:
    """Allocators that are the baseline again."""
    comparison = facts.comparison
    if comparison is None:
        return []
    return [phrases.itself(side, comparison) for side in comparison.sides if side.itself]


def _of_sampling(facts: Facts) -> list[Evidence]:
    share, profile = facts.share, facts.profile
    if profile is None:
        return []
    if share is None:
        return [
            Evidence(statement="The time executing in the allocator could not be sampled.", source="sampling")
        ]
    said = words.share(share, "The program")
    limit = "The marginal cost is higher: this excludes call overhead and cache effects."
    return [Evidence(statement=f"{said}. {limit}", source="sampling")]


def _of_comparison(facts: Facts) -> list[Evidence]:
    comparison = facts.comparison
    if comparison is None:
        return []
    texts = []
    for side in comparison.sides:
        if side not in facts.compared:
            texts.append(f"{side.allocator} was left out: {why_not(side)}.")
            continue
        effect = (
            f"Over {units.number(side.rounds, 'paired round')} {phrases.effect(side, side.ratios['cpu'])}"
        )
        beside = filter(None, (phrases.memory(side), phrases.latency(side)))
        texts.append(f"{'; '.join((effect, *beside))}.")
    if noise := phrases.noise(comparison):
        texts.append(f"{noise}.")
    if comparison.stopped_early:
        texts.append(
            f"The budget ended after {units.number(comparison.rounds, 'round')}, before all were run."
        )
    if 0 < comparison.exit_code < 126:
        texts.append(f"The program ended with status {comparison.exit_code} under its own allocator.")
    if comparison.stdout_varies:
        texts.append("The program's output varies by itself, so it could not be compared between allocators.")
    return [Evidence(statement=text, source="comparison") for text in texts]


def _of_recording(facts: Facts) -> list[Evidence]:
    profile = facts.profile
    if profile is None:
        return []
    totals, peak = profile.totals, profile.totals.max_bytes
    held = units.size(peak.value)
    if not peak.exact:
        held = f"about {held} ({units.size(peak.low)} to {units.size(peak.high)})"
    made = f"{units.number(totals.total_objects, 'allocation')} of {units.size(totals.total_bytes)} in all"
    texts = [f"{made}; at most {held} in use at once."]
    missing = [process.name for process in profile.processes if not process.recorded]
    if missing:
        texts.append(
            f"Not recorded: {words.listed(missing)} ({len(missing)} of {len(profile.processes)} processes)."
        )
    return [Evidence(statement=text, source="recording") for text in texts]
