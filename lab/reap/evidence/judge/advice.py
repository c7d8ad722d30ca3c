"""Conclusions where something gains: one small function of `Facts` for each rule of `rules.RULES`."""

from dataclasses import replace

from reap.answer import words
from reap.answer.commands import with_variables
from reap.compare import judge, phrases
from reap.evidence.judge import commands, origins, untrusted
from reap.evidence.judge import sentences as say
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.conclusions import Concluded
from reap.evidence.judge.facts import Facts
from reap.evidence.judge.findings import preloaded
from reap.launch import price


def change_either(facts: Facts) -> Concluded:
    """A setting and an allocator are faster, one of them perhaps by little, and neither by clearly more."""
    setting, side = facts.best_setting, facts.best
    assert setting is not None and side is not None  # noqa: S101, PT018 - the rule applies only then
    names = f"{facts.variables(setting)} or {side.allocator}"
    step = f"Try {names} on the inputs that matter to you, before you rely on one of them."
    return replace(change_setting(facts), headline="change a setting or the allocator", next_step=step)


def change_setting(facts: Facts) -> Concluded:
    """A setting is faster: proven, beyond noise, worth it, and allocators by clearly less."""
    side = facts.best_setting
    assert side is not None  # noqa: S101 - the rule applies only then
    won = facts.won(side)
    variables = facts.environment(side)
    sentences = [f"A setting helps: with {say.named(facts, side, won)}."]
    if memory := phrases.memory(side):
        sentences.append(f"{say.capital(memory)}.")
    return Concluded(
        "change a setting",
        [*sentences, *say.others(facts), *say.beyond(facts, won), *say.time(facts), *say.origin(facts)],
        f"Try {facts.variables(side)} on the inputs that matter to you, before you rely on it.",
        with_variables(variables, facts.command) if variables and not facts.is_server else "",
    )


def switch_for_time(facts: Facts) -> Concluded:
    """An allocator is faster: proven, beyond noise, worth it, and paying for its memory."""
    side, comparison = facts.best, facts.comparison
    assert side is not None and comparison is not None  # noqa: S101, PT018 - the rule applies only then
    won = facts.won(side)
    sentences = [f"Switching the allocator helps: {phrases.effect(side, won)}."]
    if memory := phrases.memory(side):
        sentences.append(f"{say.capital(memory)}.")
    others = [
        other.allocator for other in facts.compared if other is not side and judge.pays(other, comparison)
    ]
    if others:
        verb = "gains" if len(others) == 1 else "gain"
        fastest = all(won.ratio.value <= other.ratio.value for other in say.gains(facts))
        why = "the fastest" if fastest else "as fast as the best, with less memory"
        sentences.append(f"{words.listed(others)} {verb} as well; {side.allocator} is {why}.")
    return Concluded(
        "switch the allocator",
        [
            *sentences,
            *say.setting(facts),
            *say.beyond(facts, won),
            *say.redirected(facts),
            *say.time(facts),
            *say.origin(facts),
        ],
        *say.switched(facts, side),
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
            *say.time(facts),
            *say.origin(facts),
        ],
        *say.switched(facts, side),
    )


def change_for_memory(facts: Facts) -> Concluded:
    """A trial leaves much less memory, at whatever it costs in time, which is said."""
    assert facts.smaller is not None  # noqa: S101 - the rule applies only then
    _, side = facts.smaller
    setting = facts.is_setting(side)
    return Concluded(
        "change a setting" if setting else "switch the allocator",
        [f"Less memory stays resident: {phrases.resident(side)}."],
        f"Set {facts.variables(side)} for the program, or measure first what other remedies give and cost.",
        commands.remedies(facts.again),
    )


def bad_trade(facts: Facts) -> Concluded:
    """There is a gain, and it costs too much memory."""
    side = facts.unpaid
    assert side is not None  # noqa: S101 - the rule applies only then
    return Concluded(
        "leave it alone",
        [say.worth_nothing(facts), *say.time(facts), *say.origin(facts)],
        f"Where memory is plentiful and time is not, {side.allocator} may still be right for you.",
        say.switched(facts, side)[1],
    )


def little(facts: Facts) -> Concluded:
    """A gain is proven that is hardly worth a change, and nothing gives more."""
    assert facts.little is not None  # noqa: S101 - the rule applies only then
    side, ratio = facts.little
    sentences = [f"What helps hardly pays: {say.took(facts, side, ratio)}.", *say.most(facts)]
    step = "Take it where it costs nothing; for more, look elsewhere: a CPU profile says where its time goes."
    if price.is_price(side.allocator):
        step = "Look elsewhere: a CPU profile of the whole program says where its time goes."
    chosen = not price.is_price(side.allocator) and not facts.is_setting(side)
    return Concluded(
        "little to gain",
        [*sentences, *say.time(facts), *say.origin(facts)],
        step,
        say.switched(facts, side)[1] if chosen else "",
    )


def allocate_less(facts: Facts) -> Concluded:
    """A malloc that costs next to nothing gains, and no allocator that exists is worth its price."""
    profile, bound = facts.profile, facts.price
    assert bound is not None  # noqa: S101 - the rule applies only then
    sentences = [
        f"Allocation costs this program {say.part(bound)}, as measured with {preloaded(bound.arm)}.",
        *([say.worth_nothing(facts)] if facts.decided else untrusted.sentences(facts.comparison)),
        "What is left is to allocate less." if facts.decided else "Allocating less would save it.",
        *say.redirected(facts),
        *say.time(facts),
        *say.origin(facts),
    ]
    site = origins.main(profile) if profile and not facts.stood_aside else None
    where = f" at {words.place(site)}" if site else " where most objects come from"
    if line := say.by_line(facts):
        step = line
    elif profile and profile.temporary.low >= at.MOSTLY_TEMPORARY:
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
