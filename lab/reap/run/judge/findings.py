"""What is said in each situation: one small function of `Facts` for each rule of `rules.RULES`."""

from dataclasses import dataclass
from typing import Literal

from reap.answer import words
from reap.answer.commands import preloading
from reap.base import units
from reap.base.text import signal_name
from reap.compare import analyse, judge, phrases
from reap.compare import thresholds as comparing
from reap.experiment.records import Ratio, Side
from reap.run.judge import commands, origins, untrusted
from reap.run.judge import thresholds as at
from reap.run.judge.facts import Facts

Headline = Literal["leave it alone", "switch the allocator", "allocate less", "inconclusive"]


@dataclass(frozen=True)
class Finding:
    """What a rule says: a verdict without its evidence."""

    headline: Headline
    sentences: list[str]
    next_step: str
    next_command: str = ""


def nothing_measured(facts: Facts) -> Finding:
    """Neither sampled time nor an allocator that could be compared."""
    return Finding(
        "inconclusive",
        [
            "Nothing was measured that could show whether allocation slows this program down.",
            *untrusted.sentences(facts),
        ],
        "See what this machine can measure, then run it again.",
        "reap doctor",
    )


def program_failed(facts: Facts) -> Finding:
    """The program did not run, or was killed, so that its figures are of something else."""
    code = facts.comparison.exit_code if facts.comparison else 0
    cause = f"was ended by {signal_name(code - 128)}" if code > 128 else f"could not be run (status {code})"
    return Finding(
        "inconclusive",
        [f"The program {cause} even under its own allocator, so its figures say nothing about its work."],
        "Find out why it fails without Reap, then measure it again.",
    )


def no_allocations(_: Facts) -> Finding:
    """A whole recording without an allocation."""
    return Finding(
        "leave it alone",
        [
            "The program never called malloc, so allocation cannot be what slows it down.",
            "Memory that it maps from the kernel or takes from its own pool is not visible here.",
        ],
        "Look elsewhere: a CPU profile of the whole program says where its time goes.",
    )


def too_short(facts: Facts) -> Finding:
    """So little CPU time that loading a library outweighs all that it does."""
    return Finding(
        "inconclusive",
        [
            f"The program takes {units.duration(facts.cpu_seconds or 0)} of CPU time.",
            "Loading another allocator's library is a large part of that, so the ratios say nothing.",
        ],
        "Give it more work (a larger input), so that it runs for about a second, and compare again.",
    )


def switch_for_time(facts: Facts) -> Finding:
    """An allocator is faster: proven, beyond noise, worth it, and paying for its memory."""
    side, comparison = facts.best, facts.comparison
    assert side is not None and comparison is not None  # noqa: S101, PT018 - the rule applies only then
    won = judge.gain(side, comparison)
    assert won is not None  # noqa: S101 - `best` has a gain
    sentences = [f"Switching the allocator helps: {phrases.effect(side, won)}."]
    if memory := phrases.memory(side):
        sentences.append(f"{_capital(memory)}.")
    others = [
        other.allocator for other in facts.compared if other is not side and judge.pays(other, comparison)
    ]
    if others:
        verb = "gains" if len(others) == 1 else "gain"
        fastest = all(won.ratio.value <= other.ratio.value for other in _gains(facts))
        why = "the fastest" if fastest else "as fast as the best, with less memory"
        sentences.append(f"{words.listed(others)} {verb} as well; {side.allocator} is {why}.")
    sentences += _time(facts)
    if facts.share and 1 - won.ratio.high > facts.share.share.high:
        sentences.append(
            "The gain is larger than that, so that part of it probably comes from elsewhere: from where "
            "objects lie in memory, or from page faults."
        )
    return Finding(
        "switch the allocator",
        [*sentences, *_origin(facts)],
        *_switched(facts, side),
    )


def switch_for_memory(facts: Facts) -> Finding:
    """An allocator takes much less memory at no cost in time."""
    side = facts.best_for_memory
    assert side is not None  # noqa: S101 - the rule applies only then
    return Finding(
        "switch the allocator",
        [
            f"{side.allocator} saves memory at no cost in time that matters: {phrases.memory(side)}.",
            f"In CPU time, {phrases.effect(side, side.ratios['cpu'])}.",
            *_time(facts),
            *_origin(facts),
        ],
        *_switched(facts, side),
    )


def bad_trade(facts: Facts) -> Finding:
    """There is a gain, and it costs too much memory."""
    side, comparison = facts.unpaid, facts.comparison
    assert side is not None and comparison is not None  # noqa: S101, PT018 - the rule applies only then
    won = judge.gain(side, comparison)
    assert won is not None  # noqa: S101 - its standing says so
    return Finding(
        "leave it alone",
        [
            f"The gain is not worth its price: {phrases.effect(side, won)}, but {phrases.memory(side)}.",
            *_time(facts),
            *_origin(facts),
        ],
        f"Where memory is plentiful and time is not, {side.allocator} may still be right for you.",
        _switched(facts, side)[1],
    )


def small_share(facts: Facts) -> Finding:
    """Little time goes to allocation, whatever allocators do."""
    assert facts.share is not None  # noqa: S101 - the rule applies only then
    sentences = [f"Allocation is not what holds this program back: {words.share(facts.share)}."]
    if facts.settled:
        sentences.append(_no_gain(facts))
    elif facts.inconclusive:
        sentences.append("The comparison is too noisy to say more than that.")
    return Finding(
        "leave it alone",
        [*sentences, *_origin(facts)],
        "Look elsewhere: a CPU profile of the whole program says where its time goes.",
    )


def wide_intervals(facts: Facts) -> Finding:
    """Nothing is proven, and a gain that matters may hide in the noise."""
    comparison = facts.comparison
    assert comparison is not None  # noqa: S101 - the rule applies only then
    least = min(facts.inconclusive, key=lambda side: analyse.cpu(side).ratio.low)
    rounds = "round is" if least.rounds == 1 else "rounds are"
    reason = "the interval is too wide"
    if least.rounds < comparing.FEWEST_ROUNDS:
        reason = f"{least.rounds} {rounds} too few to judge by"
    elif analyse.cpu(least).ratio.high < 1:
        reason = f"the gain is within the noise ({phrases.noise(comparison)})"
    sentences = [
        f"Whether another allocator would help cannot be said yet: {reason}.",
        f"So far, {phrases.effect(least, least.ratios['cpu'])}.",
    ]
    if comparison.stopped_early:
        sentences.append("The budget ended before all rounds were run.")
    if facts.share:
        sentences.append(f"{words.share(facts.share, 'The program')}.")
    needed = judge.rounds_needed(least, comparison)
    step = phrases.more_rounds(needed, comparison)
    command = commands.compare(facts.again, facts.inconclusive, needed) if needed else "reap doctor"
    return Finding("inconclusive", [*sentences, *_origin(facts)], step, command)


def small_budget(facts: Facts) -> Finding:
    """The budget had no time for two rounds, so that nothing was compared."""
    assert facts.comparison is not None  # noqa: S101 - the rule applies only then
    needed = f"{facts.needed_budget:.0f}"
    ran = units.number(facts.comparison.rounds, "round")
    why = f"the budget ended after {ran}, and an interval takes two"
    sentences = [f"Whether another allocator would help was not measured: {why}."]
    if facts.share:
        sentences.append(f"{words.share(facts.share, 'The program')}.")
    return Finding(
        "inconclusive",
        [*sentences, *_origin(facts)],
        f"Two rounds take about {needed} s with their warm-ups; without --budget there are at least five.",
        commands.run(facts.again, budget=needed),
    )


def allocate_less(facts: Facts) -> Finding:
    """Allocation is a large part, and no allocator makes it smaller."""
    profile, share = facts.profile, facts.share
    assert profile is not None and share is not None  # noqa: S101, PT018 - the rule applies only then
    sentences = [
        f"Allocation is a large part of this program's work: {words.share(share)}.",
        _no_gain(facts),
        "What is left is to allocate less.",
        *_origin(facts),
    ]
    site = origins.busiest(profile)
    where = f" at {words.place(site)}" if site else " where most objects come from"
    if profile.temporary.low >= at.MOSTLY_TEMPORARY:
        step = f"Most objects die at once: reuse one buffer{where} instead of a new object each time."
    else:
        step = (
            f"Try fewer, larger or reused objects{where}; objects that die together can live in a region or "
            "a pool that is freed at once."
        )
    if facts.on_glibc:
        step += (
            " A cheap experiment before that: GLIBC_TUNABLES=glibc.malloc.tcache_count=1000 in the "
            "environment helps where more than a few objects of one size are freed in a row."
        )
    if facts.is_server:
        command = commands.watch(facts.again)
    else:
        command = commands.record_full(facts.command) if profile.depth == "triage" else ""
    return Finding("allocate less", sentences, step, command)


def unclear_share(facts: Facts) -> Finding:
    """No allocator helps, and the samples are too few to say whether allocating less would."""
    assert facts.share is not None  # noqa: S101 - the rule applies only then
    return Finding(
        "inconclusive",
        [
            _no_gain(facts),
            f"Whether allocating less would help cannot be said: {words.share(facts.share)}.",
            *_origin(facts),
        ],
        f"Give {'the load more requests' if facts.is_server else 'the program more work'}, so that it runs "
        "longer and more samples are taken.",
        commands.run(facts.again),
    )


def no_gain(facts: Facts) -> Finding:
    """No allocator helps, and the share of time is moderate or not known."""
    sentences = [_no_gain(facts)]
    if facts.share:
        sentences.append(
            f"Allocation is not the largest part of its work: {words.share(facts.share)}."
            if not facts.large_share
            else f"{words.share(facts.share, 'The program')}."
        )
        step = "Look elsewhere first: a CPU profile of the whole program says where its time goes."
    else:
        sentences.append(
            "How much of its time goes to allocation was not measured, so that this is said of other "
            "allocators and not of allocating less."
        )
        step = "Keep the allocator. Recording the program would say how much of its time goes to allocation."
    command = "" if facts.profile else commands.run(facts.again)
    return Finding("leave it alone", [*sentences, *_origin(facts)], step, command)


def not_compared(facts: Facts) -> Finding:
    """Allocation may matter; no remedy has been tried."""
    assert facts.share is not None  # noqa: S101 - the rule applies only then
    size = "a large part" if facts.large_share else "some part"
    sentences = [f"Allocation is {size} of this program's work: {words.share(facts.share)}."]
    if facts.unclear_share:
        sentences = [
            f"The samples are too few to say how much allocation matters: {words.share(facts.share)}."
        ]
    elif not facts.share.sees_kernel and not facts.large_share:
        sentences = [f"How much allocation matters is seen only in part: {words.share(facts.share)}."]
    if facts.comparison:
        tried, step, command = (
            untrusted.sentences(facts),
            "See which allocators this machine has.",
            "reap doctor",
        )
    else:
        tried = ["No other allocator was tried, so it is unknown what would help."]
        step, command = "Compare allocators on it.", commands.compare(facts.again)
    return Finding("inconclusive", [*sentences, *tried, *_origin(facts)], step, command)


def _switched(facts: Facts, side: Side) -> tuple[str, str]:
    """What to do before the program gets this allocator, and the command for it."""
    if not facts.is_server:
        step = f"Run the program under {side.allocator}, on the inputs that matter to you"
        return f"{step}, before you rely on it.", commands.switched(side, facts.command)
    how = " ".join(f"{name}={value}" for name, value in preloading(side.provider).items())
    step = f"Compare it under the loads that matter to you, before you start the server with {how or 'it'}."
    return step, commands.compare(facts.again, [side])


def _gains(facts: Facts) -> list[Ratio]:
    """What every allocator that pays gains."""
    comparison = facts.comparison
    if comparison is None:
        return []
    paying = [side for side in facts.compared if judge.pays(side, comparison)]
    return [won for side in paying if (won := judge.gain(side, comparison))]


def _no_gain(facts: Facts) -> str:
    best = min(facts.compared, key=lambda side: analyse.cpu(side).ratio.low)
    one = len(facts.compared) == 1
    names = words.listed([side.allocator for side in facts.compared])
    most = max(0.0, 1 - analyse.cpu(best).ratio.low)
    who = f"{names} gives no" if one else f"None of {names} gives a"
    ratio = analyse.cpu(best)
    nearest = f"{'it' if one else best.allocator}{phrases.effect(best, ratio).removeprefix(best.allocator)}"
    comparison = facts.comparison
    assert comparison is not None  # noqa: S101 - something was compared
    if all(analyse.cpu(side).verdict == "equivalent" for side in facts.compared):
        within = f"equivalent to {comparison.baseline} within {units.percent(comparison.worth)}"
        return f"In CPU time {names} {'is' if one else 'are'} {within}: {nearest}."
    if slower := judge.slower_elsewhere(ratio, best, comparison.worth):
        name = phrases.METRICS[slower.metric]
        return f"{who} gain worth having: {nearest}, but {phrases.change_with_interval(slower.ratio)} {name}."
    if ratio.ratio.high < 1:
        return f"{who} gain worth having: {nearest}, and so little may be gone with the next build."
    limit = f", so it saves {units.percent(most)} at most" if most > 0 else ""
    return f"{who} gain worth having: {nearest}{limit}."


def _time(facts: Facts) -> list[str]:
    """The share of time in the allocator, where it was sampled."""
    return [f"{words.share(facts.share, 'The program')}."] if facts.share else []


def _origin(facts: Facts) -> list[str]:
    """Where allocations come from, where that was recorded."""
    profile = facts.profile
    return [origins.origin(profile)] if profile and profile.totals.total_objects else []


def _capital(text: str) -> str:
    """With a capital, unless the first word is a name (an allocator's)."""
    return text[:1].upper() + text[1:] if text.startswith(("no ", "peak ")) else text
