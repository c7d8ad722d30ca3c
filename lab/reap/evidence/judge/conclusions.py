"""Conclusions for each situation: one small function of `Facts` for each rule of `rules.RULES`."""

import math
from dataclasses import dataclass

from reap.answer import words
from reap.base import units
from reap.base.text import signal_name
from reap.compare import analyse, judge, phrases
from reap.compare import thresholds as comparing
from reap.evidence.judge import commands, untrusted
from reap.evidence.judge import sentences as say
from reap.evidence.judge.facts import Facts
from reap.evidence.judge.records import Conclusion as Headline
from reap.experiment.budget import LEAST_ROUNDS
from reap.launch import wrappers

_COPIES = 2
"""Runs of the program as it is in a round of either comparison."""
_SLACK = 2
"""Of a budget over what the fewest runs take: the first comparison goes on while it gets narrower."""
_LOOK_ELSEWHERE = "Look elsewhere: a CPU profile of the whole program says where its time goes."


@dataclass(frozen=True)
class Concluded:
    """Conclusion of a rule, without its evidence."""

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
    last = facts.comparison.last_words if facts.comparison else ""
    cause = f"was ended by {signal_name(code - 128)}" if code > 128 else f"could not be run (status {code})"
    cause += f", saying: {last}," if last else ""
    said = f"The program {cause} even under its own allocator, so its figures say nothing about its work."
    return Concluded("inconclusive", [said], "Find out why it fails without Reap, then measure it again.")


def unfinished(facts: Facts) -> Concluded:
    """A time limit or Ctrl-C ended the program: what is known is of the time until then."""
    seconds = facts.wall.wall_seconds if facts.wall else 0.0
    ended = f"The program was ended after {units.duration(seconds)}"
    said = f"{ended}, and trials need whole runs: nothing was tried."
    sentences = [said, *say.time(facts), *say.origin(facts)]
    return Concluded("inconclusive", sentences, "Give it less work, or more time.")


def long_runs(facts: Facts) -> Concluded:
    """One run takes so long that trials would take longer than anybody asked for."""
    seconds = facts.wall.wall_seconds if facts.wall else 0.0
    long = f"A run of the program takes {units.duration(seconds)}"
    said = f"{long}, and trials would take about {facts.trials_take / 60:.0f} min: nothing was tried."
    step, command = "Give it less work, or all trials their time.", f"{facts.trials_take:.0f}"
    if facts.is_server:
        said = f"Trials that decide would take about {command} s: nothing was tried."
        step = "Give the trials their time."
    sentences = [said, *say.time(facts), *say.origin(facts)]
    return Concluded("inconclusive", sentences, step, commands.run(facts.again, budget=command))


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
    program = wrappers.name(facts.command) or "The program"
    said = [phrases.too_short(program, facts.cpu_seconds or 0.0)]
    comparison = facts.comparison
    if comparison is None or not comparison.exit_code:
        return Concluded("inconclusive", said, "Give it more work, so that it runs for about a second.")
    status = phrases.status(comparison.exit_code, comparison.last_words)
    return Concluded(
        "inconclusive",
        [*said, f"It ended with {status}, also under its own allocator."],
        "See that it does its work: a measured program has no terminal, and no input but what is piped in.",
    )


def cannot_preload(facts: Facts) -> Concluded:
    """An allocator that no preload replaces: what it costs is known by samples, if at all."""
    full = "in full " if facts.compared else ""
    sentences = [
        f"What allocation costs this program cannot be tried {full}from outside: {facts.hidden}.",
        *([f"Of what malloc serves: {say.no_gain(facts)}"] if facts.settled else []),
        *([f"The budget had no time for {words.listed(facts.left_out)}."] if facts.left_out else []),
        *say.time(facts),
    ]
    if facts.left_out:
        step = "Give it the time for what can be tried."
        return Concluded("inconclusive", sentences, step, commands.run(facts.again, budget=_for_all(facts)))
    step = "Build it with another allocator, and compare the two builds."
    if facts.wall and "go" in {facts.wall.allocator, *(each.allocator for each in facts.wall.linked)}:
        step = "Go's runtime allocates for it: make fewer objects (a heap profile of pprof has the lines)."
    if facts.wall and facts.wall.refused:
        step = "Find out why it ends otherwise with LD_PRELOAD set, then measure it again."
    return Concluded("inconclusive", sentences, step)


def stood_aside(facts: Facts) -> Concluded:
    """A linked allocator whose place others took in the trials, and none gained: a build with one may."""
    name = facts.stood_aside
    how = f"{name} is linked into the program: in the trials its functions jumped to another allocator's"
    none = "None gained, but each call cost more so than it would in a build with that allocator."
    tried = [none] if facts.compared or facts.priced else untrusted.sentences(facts.comparison)
    sentences = [f"{how}.", *tried, *say.time(facts)]
    step = "Build it with another allocator, and compare the two builds."
    return Concluded("inconclusive", sentences, step)


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
    command = say.more(facts, needed) if needed else "reap doctor"
    return Concluded("inconclusive", [*sentences, *say.time(facts), *say.origin(facts)], step, command)


def small_budget(facts: Facts) -> Concluded:
    """The budget had no time for two rounds, so that nothing was compared."""
    assert facts.comparison is not None  # noqa: S101 - the rule applies only then
    needed = f"{facts.needed_budget:.0f}"
    ran = units.number(facts.comparison.rounds, "round")
    why = f"the budget ended after {ran}, and an interval needs at least two rounds"
    said = f"Whether another allocator would help was not measured: {why}."
    return Concluded(
        "inconclusive",
        [said, *say.time(facts), *say.origin(facts)],
        f"Two rounds take about {needed} s with their warm-ups; without --budget there are at least five.",
        commands.run(facts.again, budget=needed),
    )


def untried(facts: Facts) -> Concluded:
    """No malloc gains what it is worth, and a suspicion that would be worth much was not tried."""
    first = facts.untried[0]
    by_hand = (f"Try by hand: {each.name}: {each.note}." for each in first.by_hand)
    step = say.by_line(facts) or next(by_hand, "")
    tried = "tried" if first.status == "not tried" else "decided"
    why = f"Whether another change gains is not known: what is suspected was not {tried}."
    return Concluded(
        "inconclusive",
        [say.worth_nothing(facts), why, *say.time(facts), *say.origin(facts)],
        step or "Give it more time with --budget.",
        commands.run(facts.again) if not step else "",
    )


def left_out(facts: Facts) -> Concluded:
    """Nothing that was tried gains, and the budget ended before all was tried."""
    names = words.listed(facts.left_out)
    return Concluded(
        "inconclusive",
        [
            say.worth_nothing(facts),
            f"The budget had no time for {names}.",
            *say.time(facts),
            *say.origin(facts),
        ],
        "Give it the time for all of them, or leave them out.",
        commands.run(facts.again, budget=_for_all(facts)),
    )


def _for_all(facts: Facts) -> str:
    """Seconds in which what was left out has its fewest rounds, on as busy a machine; empty if unknown."""
    arms = len(facts.trials) + len(facts.left_out) + 2 * _COPIES
    if facts.wall is None:
        return ""
    return str(10 * math.ceil(_SLACK * (LEAST_ROUNDS + 1) * arms * facts.wall.wall_seconds / 10))


def unknown_cost(facts: Facts) -> Concluded:
    """The allocator takes a large part by samples, and no other malloc takes less."""
    return Concluded(
        "inconclusive",
        [
            say.no_gain(facts),
            *say.time(facts),
            "What not calling malloc would save there cannot be tried from outside.",
            *say.origin(facts),
        ],
        say.by_line(facts) or "Try fewer allocations where most come from.",
        commands.record_full(facts.command) if not facts.is_server else commands.watch(facts.again),
    )


def no_gain(facts: Facts) -> Concluded:
    """Nothing that was tried gains: no allocator, and no malloc that costs next to nothing."""
    sentences = [say.no_gain(facts), *say.most(facts), *say.time(facts)]
    if facts.bound is None:
        sentences.append("What allocation costs in all was not measured.")
    command = "" if facts.profile else commands.run(facts.again)
    return Concluded("leave it alone", [*sentences, *say.origin(facts)], _LOOK_ELSEWHERE, command)


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
        if not facts.command:
            step, command = "Start it with `reap run`, which tries what helps.", ""
    return Concluded("inconclusive", [*tried, *say.time(facts), *say.origin(facts)], step, command)
