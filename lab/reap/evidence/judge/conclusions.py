"""What is said in each situation: one small function of `Facts` for each rule of `rules.RULES`."""

from dataclasses import dataclass

from reap.allocators import price
from reap.answer import words
from reap.answer.commands import preloading, with_variables
from reap.base import units
from reap.base.text import signal_name
from reap.compare import analyse, judge, phrases
from reap.compare import thresholds as comparing
from reap.evidence.judge import commands, origins, untrusted
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.facts import Facts
from reap.evidence.judge.findings import preloaded
from reap.evidence.judge.records import Bound
from reap.evidence.judge.records import Conclusion as Headline
from reap.experiment.records import Comparison, Ratio, Side

_LOOK_ELSEWHERE = "Look elsewhere: a CPU profile of the whole program says where its time goes."


@dataclass(frozen=True)
class Concluded:
    """What a rule says: a conclusion without its evidence."""

    headline: Headline
    sentences: list[str]
    next_step: str
    next_command: str = ""


def nothing_measured(facts: Facts) -> Concluded:
    """Neither sampled time nor an allocator that could be compared."""
    return Concluded(
        "inconclusive",
        [
            "Nothing was measured that could show whether allocation slows this program down.",
            *untrusted.sentences(facts.comparison),
        ],
        "See what this machine can measure, then run it again.",
        "reap doctor",
    )


def program_failed(facts: Facts) -> Concluded:
    """The program did not run, or was killed, so that its figures are of something else."""
    code = facts.comparison.exit_code if facts.comparison else 0
    cause = f"was ended by {signal_name(code - 128)}" if code > 128 else f"could not be run (status {code})"
    return Concluded(
        "inconclusive",
        [f"The program {cause} even under its own allocator, so its figures say nothing about its work."],
        "Find out why it fails without Reap, then measure it again.",
    )


def no_allocations(_: Facts) -> Concluded:
    """A whole recording without an allocation."""
    return Concluded(
        "leave it alone",
        [
            "The program never called malloc, so allocation cannot be what slows it down.",
            "Memory that it maps from the kernel or takes from its own pool is not visible here.",
        ],
        _LOOK_ELSEWHERE,
    )


def too_short(facts: Facts) -> Concluded:
    """So little CPU time that loading a library outweighs all that it does."""
    program = facts.command[0].rpartition("/")[2] if facts.command else "The program"
    return Concluded(
        "inconclusive",
        [phrases.too_short(program, facts.cpu_seconds or 0.0)],
        "Give it more work, so that it runs for about a second.",
    )


def cannot_preload(facts: Facts) -> Concluded:
    """An allocator that no preload replaces: what it costs is known by samples, if at all."""
    sentences = [
        f"What allocation costs this program cannot be tried from outside: {facts.hidden}.",
        *_time(facts),
    ]
    step = "Build it with another allocator, and compare the two builds."
    if facts.wall and facts.wall.allocator == "go":
        step = "Go's runtime allocates for it: make fewer objects (a heap profile of pprof has the lines)."
    return Concluded("inconclusive", sentences, step)


def change_setting(facts: Facts) -> Concluded:
    """A setting is faster: proven, beyond noise, worth it, and no allocator clearly faster."""
    side, held = facts.best_setting, facts.causes
    assert side is not None and held is not None  # noqa: S101, PT018 - the rule applies only then
    won = judge.gain(side, held)
    assert won is not None  # noqa: S101 - it has a gain
    variables = facts.environment(side)
    sentences = [f"A setting helps: with {_named(facts, side, won)}."]
    if memory := phrases.memory(side):
        sentences.append(f"{_capital(memory)}.")
    return Concluded(
        "change a setting",
        [*sentences, *_others(facts), *_beyond(facts, won), *_time(facts), *_origin(facts)],
        f"Try {facts.variables(side)} on the inputs that matter to you, before you rely on it.",
        with_variables(variables, facts.command) if variables and not facts.is_server else "",
    )


def switch_for_time(facts: Facts) -> Concluded:
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
    return Concluded(
        "switch the allocator",
        [*sentences, *_beyond(facts, won), *_time(facts), *_origin(facts)],
        *_switched(facts, side),
    )


def switch_for_memory(facts: Facts) -> Concluded:
    """An allocator takes much less memory at no cost in time."""
    side = facts.best_for_memory
    assert side is not None  # noqa: S101 - the rule applies only then
    return Concluded(
        "switch the allocator",
        [
            f"{side.allocator} saves memory at no cost in time that matters: {phrases.memory(side)}.",
            f"In CPU time, {phrases.effect(side, side.ratios['cpu'])}.",
            *_time(facts),
            *_origin(facts),
        ],
        *_switched(facts, side),
    )


def change_for_memory(facts: Facts) -> Concluded:
    """A trial leaves much less memory, at whatever it costs in time, which is said."""
    assert facts.smaller is not None  # noqa: S101 - the rule applies only then
    _, side = facts.smaller
    setting = facts.is_setting(side)
    return Concluded(
        "change a setting" if setting else "switch the allocator",
        [f"Less memory stays resident: {phrases.resident(side)}."],
        f"Set {facts.variables(side)} for the program, and see what it does to its time where that matters.",
        commands.resident(facts.environment(side), "" if setting else side.provider, facts.command),
    )


def bad_trade(facts: Facts) -> Concluded:
    """There is a gain, and it costs too much memory."""
    side = facts.unpaid
    assert side is not None  # noqa: S101 - the rule applies only then
    return Concluded(
        "leave it alone",
        [_worth_nothing(facts), *_time(facts), *_origin(facts)],
        f"Where memory is plentiful and time is not, {side.allocator} may still be right for you.",
        _switched(facts, side)[1],
    )


def allocate_less(facts: Facts) -> Concluded:
    """A malloc that costs next to nothing gains, and no allocator that exists is worth its price."""
    profile, bound = facts.profile, facts.price
    assert bound is not None  # noqa: S101 - the rule applies only then
    sentences = [
        f"Allocation costs this program {_part(bound)}: it takes that much less with {preloaded(bound.arm)}.",
        *([_worth_nothing(facts)] if facts.decided else untrusted.sentences(facts.comparison)),
        "What is left is to allocate less." if facts.decided else "Allocating less would save it.",
        *_time(facts),
        *_origin(facts),
    ]
    site = origins.busiest(profile) if profile else None
    where = f" at {words.place(site)}" if site else " where most objects come from"
    if profile and profile.temporary.low >= at.MOSTLY_TEMPORARY:
        step = f"Most objects die at once: reuse one buffer{where} instead of a new object each time."
    else:
        step = (
            f"Try fewer, larger or reused objects{where}; objects that die together can live in a region or "
            "a pool that is freed at once."
        )
    if facts.is_server:
        command = commands.watch(facts.again)
    else:
        command = commands.record_full(facts.command) if not profile or profile.depth == "triage" else ""
    return Concluded("allocate less", sentences, step, command)


def wide_intervals(facts: Facts) -> Concluded:
    """Nothing is proven, and a gain that matters may hide in the noise."""
    comparison = facts.comparison
    assert comparison is not None  # noqa: S101 - the rule applies only then
    least = min(facts.open_arms, key=lambda side: analyse.cpu(side).ratio.low)
    rounds = "round is" if least.rounds == 1 else "rounds are"
    reason = "the interval is too wide"
    if least.rounds < comparing.FEWEST_ROUNDS:
        reason = f"{least.rounds} {rounds} too few to judge by"
    elif analyse.cpu(least).ratio.high < 1:
        reason = f"the gain is within the noise ({phrases.noise(comparison)})"
    sentences = [
        f"Whether a change to allocation would help is not decided: {reason}.",
        f"So far, {phrases.effect(least, analyse.cpu(least))}.",
    ]
    if comparison.stopped_early:
        sentences.append("The budget ended before all rounds were run.")
    needed = judge.rounds_needed(least, comparison)
    step = phrases.more_rounds(needed, comparison)
    command = _more(facts, needed) if needed else "reap doctor"
    return Concluded("inconclusive", [*sentences, *_time(facts), *_origin(facts)], step, command)


def small_budget(facts: Facts) -> Concluded:
    """The budget had no time for two rounds, so that nothing was compared."""
    assert facts.comparison is not None  # noqa: S101 - the rule applies only then
    needed = f"{facts.needed_budget:.0f}"
    ran = units.number(facts.comparison.rounds, "round")
    why = f"the budget ended after {ran}, and an interval needs at least two rounds"
    return Concluded(
        "inconclusive",
        [
            f"Whether another allocator would help was not measured: {why}.",
            *_time(facts),
            *_origin(facts),
        ],
        f"Two rounds take about {needed} s with their warm-ups; without --budget there are at least five.",
        commands.run(facts.again, budget=needed),
    )


def untried(facts: Facts) -> Concluded:
    """No malloc gains what it is worth, and a suspicion that would be worth much was not tried."""
    first = facts.untried[0]
    step = next((f"{each.name}: {each.note}" for each in first.by_hand), "")
    return Concluded(
        "inconclusive",
        [_worth_nothing(facts), *_time(facts), *_origin(facts)],
        f"Try by hand: {step}." if step else "Give it more time with --budget.",
        commands.run(facts.again) if not step else "",
    )


def unknown_cost(facts: Facts) -> Concluded:
    """The allocator takes a large part by samples, and no other malloc takes less."""
    return Concluded(
        "inconclusive",
        [
            _no_gain(facts),
            *_time(facts),
            "What not calling malloc would save there cannot be tried from outside.",
            *_origin(facts),
        ],
        "Try fewer allocations where most come from.",
        commands.record_full(facts.command) if not facts.is_server else commands.watch(facts.again),
    )


def no_gain(facts: Facts) -> Concluded:
    """Nothing that was tried gains: no allocator, and no malloc that costs next to nothing."""
    sentences = [_no_gain(facts), *_most(facts), *_time(facts)]
    if facts.bound is None:
        sentences.append("What allocation costs in all was not measured.")
    command = "" if facts.profile else commands.run(facts.again)
    return Concluded("leave it alone", [*sentences, *_origin(facts)], _LOOK_ELSEWHERE, command)


def not_compared(facts: Facts) -> Concluded:
    """Allocation may matter; no remedy has been tried."""
    if facts.comparison:
        tried, step, command = (
            untrusted.sentences(facts.comparison),
            "See which allocators this machine has.",
            "reap doctor",
        )
    else:
        tried = ["Nothing was tried, so it is unknown what allocation costs and what would help."]
        step, command = "Compare allocators on it.", commands.run(facts.again)
    return Concluded("inconclusive", [*tried, *_time(facts), *_origin(facts)], step, command)


def _named(facts: Facts, side: Side, won: Ratio) -> str:
    name = phrases.METRICS.get(won.metric, won.metric)
    amount = phrases.amount(won.ratio.value, name)
    return f"{facts.variables(side)} it takes {amount} (95 % CI {phrases.interval(won.ratio)})"


def _others(facts: Facts) -> list[str]:
    """Allocators that gain as well as the setting that is advised."""
    comparison = facts.comparison
    if comparison is None:
        return []
    paying = [side.allocator for side in facts.compared if judge.pays(side, comparison)]
    if not paying:
        return []
    return [
        f"{words.listed(paying)} {'gains' if len(paying) == 1 else 'gain'} as well, and not clearly more."
    ]


def _beyond(facts: Facts, won: Ratio) -> list[str]:
    """How much more the best of all arms saves, where that is worth telling."""
    bound = facts.bound
    if bound is None or bound.ratio.metric != won.metric or bound.ratio.ratio.high >= won.ratio.low:
        return []
    if won.ratio.value - bound.ratio.ratio.value < at.WORTH_TELLING:
        return []
    return [f"No change to malloc that was tried saves more than {_part(bound)} ({bound.arm})."]


def _most(facts: Facts) -> list[str]:
    """What a malloc that costs next to nothing takes, where it gains nothing that matters."""
    ratios = [(analyse.cpu(side), side) for side, _, _ in facts.priced if price.is_whole(side.allocator)]
    if not ratios:
        return []
    ratio, side = min(ratios, key=lambda each: each[0].ratio.value)
    most = max(0.0, 1 - ratio.ratio.low)
    saved = f"at most {units.percent(most)}" if most >= 0.001 else "nothing"
    return [f"A malloc that costs next to nothing ({side.allocator}) saves {saved} of CPU time."]


def _part(bound: Bound) -> str:
    low, high = 1 - bound.ratio.ratio.high, 1 - bound.ratio.ratio.low
    name = phrases.METRICS.get(bound.ratio.metric, bound.ratio.metric)
    value = units.percent(1 - bound.ratio.ratio.value)
    return f"{value} of its {name} (95 % CI {units.percent_span(low, high)})"


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


def _more(facts: Facts, rounds: int) -> str:
    """The command that runs so many rounds of what is not decided; only `reap run` prices allocation."""
    if any(price.is_price(side.allocator) for side in facts.open_arms):
        return commands.run(facts.again, runs=rounds)
    return commands.compare(facts.again, facts.open_arms, rounds)


def _worth_nothing(facts: Facts) -> str:
    """That no allocator gains, or none what its memory is worth."""
    side, comparison = facts.unpaid, facts.comparison
    won = judge.gain(side, comparison) if side and comparison else None
    if side is None or won is None:
        return _no_gain(facts)
    return f"The gain is not worth its price: {phrases.effect(side, won)}, but {phrases.memory(side)}."


def _no_gain(facts: Facts) -> str:
    best = min(facts.compared, key=lambda side: analyse.cpu(side).ratio.low)
    one = len(facts.compared) == 1
    names = words.listed([side.allocator for side in facts.compared])
    who = f"{names} gives no" if one else f"None of {names} gives a"
    ratio = analyse.cpu(best)
    nearest = f"{'it' if one else best.allocator}{phrases.effect(best, ratio).removeprefix(best.allocator)}"
    comparison = facts.comparison
    assert comparison is not None  # noqa: S101 - something was compared
    if all(analyse.cpu(side).verdict == "equivalent" for side in facts.compared):
        return _equivalent(facts, comparison, names, nearest)
    if slower := judge.slower_elsewhere(ratio, best, comparison.worth):
        name = phrases.METRICS[slower.metric]
        return f"{who} gain worth having: {nearest}, but {phrases.change_with_interval(slower.ratio)} {name}."
    if ratio.ratio.high < 1:
        return f"{who} gain worth having: {nearest}; a gain this small may vanish with the next build."
    most = max(0.0, 1 - ratio.ratio.low)
    limit = f", so it saves {units.percent(most)} at most" if most > 0 else ""
    return f"{who} gain worth having: {nearest}{limit}."


def _equivalent(facts: Facts, comparison: Comparison, names: str, nearest: str) -> str:
    within = f"equivalent to {comparison.baseline} within {units.percent(comparison.worth)}"
    return f"In CPU time {names} {'is' if len(facts.compared) == 1 else 'are'} {within}: {nearest}."


def _time(facts: Facts) -> list[str]:
    """The share of time in the allocator, where it was sampled, and what no sample covers."""
    said = [f"{words.share(facts.share, 'The program')}."] if facts.share else []
    unsampled = facts.wall.unsampled if facts.wall else None
    if said and unsampled is not None and unsampled >= at.UNSAMPLED:
        said.append(f"No sample covers {units.percent(unsampled)} of its CPU time.")
    return said


def _origin(facts: Facts) -> list[str]:
    """Where allocations come from, where that was recorded."""
    profile = facts.profile
    return [origins.origin(profile)] if profile and profile.totals.total_objects else []


def _capital(text: str) -> str:
    """With a capital, unless the first word is a name (an allocator's)."""
    return text[:1].upper() + text[1:] if text.startswith(("no ", "peak ")) else text
