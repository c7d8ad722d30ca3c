"""The verdict: what does allocation cost this program, why, and what is to be done?"""

from collections.abc import Mapping, Sequence

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.compare import phrases
from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.judge.conclusions import Concluded
from reap.evidence.judge.facts import Facts
from reap.evidence.judge.records import Diagnosis
from reap.evidence.judge.rules import RULES
from reap.evidence.judge.untrusted import why_not
from reap.evidence.records import Wall
from reap.experiment.records import Comparison
from reap.recording.records import Profile


def diagnose(
    *,
    command: list[str],
    profile: Profile | None = None,
    comparison: Comparison | None = None,
    causes: Comparison | None = None,
    wall: Wall | None = None,
    suspicions: Sequence[Suspicion] = (),
    missing: Mapping[str, str] | None = None,
    again: Sequence[str] = (),
    trials_take: float = 0.0,
) -> Diagnosis:
    """Judge a program by what is known of it, whatever part of that there is.

    Pure: the same records give the same verdict. The first rule of `rules.RULES` that applies decides;
    `findings` are the suspected causes with what their trials say. `command` is the measured program's
    command line and `again` what names it on another, for the command to type next. `trials_take` is how
    many seconds trials would take, where none was run for that.
    """
    facts = Facts(
        command=command,
        profile=profile,
        comparison=comparison,
        causes=causes,
        wall=wall,
        suspicions=suspicions,
        missing=missing or {},
        named=again,
        trials_take=trials_take,
    )
    concluded = next(rule for rule in RULES if rule.applies(facts)).says(facts)
    return Diagnosis(
        headline=concluded.headline,
        paragraph=" ".join(
            [*concluded.sentences, *_of_hidden(facts, concluded), *_of_itself(facts), *_of_load(facts)]
        ),
        findings=facts.findings,
        patterns=profile.patterns if profile else [],
        bound=facts.bound,
        evidence=[
            *(said for each in facts.findings for said in each.statements),
            *_of_sampling(facts),
            *_of_comparison(facts),
            *_of_recording(facts),
        ],
        next_step=concluded.next_step,
        next_command=concluded.next_command,
    )


def _of_hidden(facts: Facts, concluded: Concluded) -> list[str]:
    """Beside a gain, what no trial reached."""
    if not facts.hidden or not facts.compared or concluded.headline == "inconclusive":
        return []
    return [f"That is of what malloc serves: {facts.hidden}."]


def _of_itself(facts: Facts) -> list[str]:
    """Allocators that are the baseline again."""
    comparison = facts.comparison
    if comparison is None:
        return []
    return [phrases.itself(side, comparison) for side in comparison.sides if side.itself]


def _of_load(facts: Facts) -> list[str]:
    """Sentence that other programs used the processors meanwhile, where that matters."""
    said = phrases.load(facts.comparison) if facts.comparison else ""
    return [said] if said else []


def _of_sampling(facts: Facts) -> list[Evidence]:
    share, profile = facts.share, facts.profile
    if profile is None and facts.wall is None:
        return []
    if share is None:
        return [
            Evidence(statement="The time executing in the allocator could not be sampled.", source="sampling")
        ]
    said = words.share(share)
    limit = "The marginal cost is higher: this excludes call overhead and cache effects."
    return [Evidence(statement=f"{said}. {limit}", source="sampling")]


def _of_comparison(facts: Facts) -> list[Evidence]:
    comparison = facts.comparison
    if comparison is None:
        return []
    texts = []
    priced = [side for side, held, _ in facts.priced if held is comparison]
    for side in comparison.sides:
        if side not in facts.compared and side not in priced:
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
    texts += [f"Not tried: {name} ({why})." for name, why in facts.missing.items()]
    if 0 < comparison.exit_code < 126:
        status = phrases.status(comparison.exit_code, comparison.last_words)
        texts.append(f"The program ended with {status} under its own allocator.")
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
