"""Sentences that several conclusions share, each with its figure and interval. Nothing here decides."""

from reap.answer import words
from reap.answer.commands import preloading
from reap.base import units
from reap.compare import analyse, judge, phrases
from reap.evidence.judge import commands, origins
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.facts import Facts
from reap.evidence.judge.findings import preloaded
from reap.evidence.judge.records import Bound
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import price


def named(facts: Facts, side: Side, won: Ratio) -> str:
    """A setting, and what the program takes with it."""
    name = phrases.METRICS.get(won.metric, won.metric)
    amount = phrases.amount(won.ratio.value, name)
    return f"{facts.variables(side)} it takes {amount} (95 % CI {phrases.interval(won.ratio)})"


def took(facts: Facts, side: Side, ratio: Ratio) -> str:
    """Clause on what the program takes with any arm."""
    if facts.is_setting(side):
        return f"with {named(facts, side, ratio)}"
    if price.is_price(side.allocator):
        return phrases.effect(side, ratio).replace(side.allocator, preloaded(side.allocator), 1)
    return phrases.effect(side, ratio)


def others(facts: Facts) -> list[str]:
    """Allocators that gain beside the setting that is advised, and how much the best of them does."""
    comparison, best = facts.comparison, facts.best
    if comparison is None or best is None:
        return []
    paying = [side.allocator for side in facts.compared if side is not best and judge.pays(side, comparison)]
    more = f"; so {'does' if len(paying) == 1 else 'do'} {words.listed(paying)}" if paying else ""
    clearly = "clearly less" if facts.better == "setting" else "not clearly more or less"
    return [f"An allocator helps as well, {clearly}: {phrases.effect(best, facts.won(best))}{more}."]


def setting(facts: Facts) -> list[str]:
    """The setting that gains beside the allocator that is advised, and how much."""
    side = facts.best_setting
    if side is None:
        return []
    return [f"A setting helps as well, clearly less: with {named(facts, side, facts.won(side))}."]


def beyond(facts: Facts, won: Ratio) -> list[str]:
    """Sentence on what the best of all arms saves, where it is enough more than `won` to be worth telling."""
    bound = facts.bound
    if bound is None or bound.ratio.metric != won.metric or bound.ratio.ratio.high >= won.ratio.low:
        return []
    if won.ratio.value - bound.ratio.ratio.value < at.WORTH_TELLING:
        return []
    return [f"No change to malloc that was tried saves more than {part(bound)} ({bound.arm})."]


def most(facts: Facts) -> list[str]:
    """Sentence on what a malloc that costs next to nothing saves, where it gains nothing that matters."""
    ratios = [(analyse.cpu(side), side) for side, _, _ in facts.priced if price.is_whole(side.allocator)]
    if not ratios:
        return []
    ratio, side = min(ratios, key=lambda each: each[0].ratio.value)
    most = max(0.0, 1 - ratio.ratio.low)
    saved = f"at most {units.percent(most)}" if most >= 0.001 else "nothing"
    return [f"A malloc that costs next to nothing ({side.allocator}) saves {saved} of CPU time."]


def part(bound: Bound) -> str:
    """Saving of a bound: `30 % of its CPU time (95 % CI 29 to 31 %)`."""
    low, high = 1 - bound.ratio.ratio.high, 1 - bound.ratio.ratio.low
    name = phrases.METRICS.get(bound.ratio.metric, bound.ratio.metric)
    value = units.percent(1 - bound.ratio.ratio.value)
    return f"{value} of its {name} (95 % CI {units.percent_span(low, high)})"


def switched(facts: Facts, side: Side) -> tuple[str, str]:
    """Step to take before the program gets this allocator, and the command for it."""
    if facts.stood_aside:
        same = side.allocator == facts.stood_aside
        other = f"the {side.allocator} that was tried" if same else side.allocator
        own = "the one that is linked into it" if same else facts.stood_aside
        build = f"Build the program with {other} in place of {own}"
        return f"{build}, and compare the two builds on the inputs that matter to you.", ""
    inherited = facts.comparison.preloaded if facts.comparison else ""
    if not facts.is_server:
        step = f"Run the program under {side.allocator}, on the inputs that matter to you"
        return f"{step}, before you rely on it.", commands.switched(side, facts.command, inherited)
    how = " ".join(f"{name}={value}" for name, value in preloading(side.provider, inherited).items())
    step = f"Compare it under the loads that matter to you, before you start the server with {how or 'it'}."
    return step, commands.compare(facts.again, [side])


def redirected(facts: Facts) -> list[str]:
    """Sentence on how another allocator took the place of a linked one; empty where none did."""
    if not facts.stood_aside:
        return []
    linked = f"{facts.stood_aside} is linked into the program"
    return [
        f"{linked}: in the trials its functions jumped to another allocator's, and a build would gain more."
    ]


def gains(facts: Facts) -> list[Ratio]:
    """Gains of all allocators that pay."""
    comparison = facts.comparison
    if comparison is None:
        return []
    paying = [side for side in facts.compared if judge.pays(side, comparison)]
    return [won for side in paying if (won := judge.gain(side, comparison))]


def more(facts: Facts, rounds: int) -> str:
    """The command that runs so many rounds of what is not decided; only `reap run` prices allocation."""
    if any(price.is_price(side.allocator) for side in facts.open_arms):
        return commands.run(facts.again, runs=rounds)
    return commands.compare(facts.again, facts.open_arms, rounds)


def worth_nothing(facts: Facts) -> str:
    """Sentence that no allocator gains, or that no gain is worth its memory."""
    side, comparison = facts.unpaid, facts.comparison
    won = judge.gain(side, comparison) if side and comparison else None
    if side is None or won is None:
        return no_gain(facts)
    return f"The gain is not worth its price: {phrases.effect(side, won)}, but {phrases.memory(side)}."


def no_gain(facts: Facts) -> str:
    """Sentence that no allocator that was compared gains what matters, with the nearest to it."""
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


def time(facts: Facts) -> list[str]:
    """The share of time in the allocator, where it was sampled, and what no sample covers."""
    said = [f"{words.share(facts.share)}."] if facts.share else []
    unsampled = facts.wall.unsampled if facts.wall else None
    if said and unsampled is not None and unsampled >= at.UNSAMPLED:
        said.append(f"No sample covers {units.percent(unsampled)} of its CPU time.")
    return said


def origin(facts: Facts) -> list[str]:
    """Sentence on where allocations come from; empty where that was not recorded."""
    profile = None if facts.stood_aside else facts.profile
    return [origins.origin(profile)] if profile and profile.totals.total_objects else []


def by_line(facts: Facts) -> str:
    """Advice of a pattern, with its line, a sentence; empty without one."""
    return f"At {facts.pattern.location}: {facts.pattern.advice}." if facts.pattern else ""


def capital(text: str) -> str:
    """With a capital, unless the first word is a name (an allocator's)."""
    return text[:1].upper() + text[1:] if text.startswith(("no ", "peak ")) else text
