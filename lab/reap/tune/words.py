"""Texts about a search for an allocator's settings, the same on a terminal and on the page."""

from reap.answer import commands
from reap.answer.words import listed
from reap.base import units
from reap.compare import pairings, phrases, words
from reap.experiment.sequential import WORTH
from reap.tune.records import Finding, Trial, Tuned

TRIED = (
    "Ratios of the tried settings are from the search rounds: they serve to choose, and are no result. The "
    "best of many benefits from chance; only the confirmation shows what it gains."
)

BEYOND = (
    "Settings alone were tried: `reap run` says what allocation costs and if another allocator gains more."
)

_BESIDE = ("cpu_per_request", "cpu", "wall", "settled_resident", "peak_resident")


def title(tuned: Tuned) -> str:
    """The heading: whose settings, and how often the program ran."""
    return f"Settings of {tuned.allocator}, {len(tuned.trials)} tried in {units.number(tuned.runs, 'run')}"


def headline(tuned: Tuned) -> str:
    """The answer in a few words: the conclusion, and what it is about."""
    wins = list(dict.fromkeys(each.name for each in tuned.findings if each.wins))
    return f"{tuned.conclusion}: {listed(wins) if wins else _why_not(tuned)}"


def _why_not(tuned: Tuned) -> str:
    if tuned.conclusion == "little to gain":
        little = list(dict.fromkeys(each.name for each in tuned.findings if each.standing == "little"))
        return f"{listed(little)} hardly {'pays' if len(little) == 1 else 'pay'}"
    if any(each.is_open for each in tuned.findings):
        return "the intervals are too wide to say"
    if any(each.too_short for each in tuned.findings):
        return "the program is too short to compare settings on it"
    if any(each.standing == "untried" for each in tuned.findings):
        return "not all that seemed to help was confirmed"
    if tuned.restless:
        return "the program as it is varied too much to tell settings apart"
    return f"none of {tuned.allocator}'s helps"


def made(tuned: Tuned) -> str:
    """Phrase on how the search's runs were paired."""
    return pairings.served(tuned.pairing, tuned.loads) if tuned.load else pairings.paired(tuned.pairing)


def look(tuned: Tuned) -> str:
    """Sentence on the first run."""
    seen = tuned.look
    return (
        f"Unchanged, it takes {units.duration(seen.cpu)} of CPU time, "
        f"{units.percent(seen.system_share)} of it in the kernel, with {units.whole(seen.minor_faults)} "
        f"page faults and a peak of {units.size(seen.peak_resident)}."
    )


def verdict(finding: Finding) -> str:
    """The result for an objective, in a line."""
    name = words.metric_name(finding.metric)
    subject = f"{name[:1].upper()}{name[1:]}"
    if finding.too_short and finding.ratio is not None:
        return (
            f"{subject}: the program is too short to tell; the best candidate ({finding.name}) takes "
            f"{units.more_or_less(finding.ratio.typical - finding.ratio.baseline)}"
        )
    if finding.ratio is None:
        tried = f" ({finding.name})" if finding.name else ""
        return f"No setting lowers {name}{tried}: {finding.why_not}"
    held = finding.ratio.ratio
    change = f"{units.change(held.value)} ({phrases.interval(held)})"
    if finding.wins:
        return f"{subject}: {finding.name} helps: {change}"
    if finding.standing == "little":
        return f"{subject}: {finding.name} hardly pays: {change}"
    words_of = {"worse": "worse", "better": "too little to matter", "equivalent": "equivalent"}
    word = "inconclusive" if finding.is_open else words_of.get(finding.ratio.verdict, "no gain that matters")
    if finding.standing == "costly":
        word = "which does not pay for its memory"
    return f"{subject}: no setting helps; the best candidate ({finding.name}), confirmed: {change}, {word}"


def command(tuned: Tuned, finding: Finding) -> str:
    """The program's command with the setting and the allocator, to be pasted into a shell."""
    variables = commands.preloading(tuned.library, tuned.preloaded) | finding.environment
    return commands.with_variables(variables, [*finding.command, *tuned.command])


def setting(trial: Trial) -> str:
    """The setting, as it is written before a command."""
    return commands.with_variables(trial.environment, trial.command)


def about(tuned: Tuned, finding: Finding) -> str:
    """A description of the confirmed setting."""
    return next((each.about for each in tuned.trials if each.name == finding.name), "")


def beside(finding: Finding) -> str:
    """The effect of the winner on the other important metrics."""
    said = []
    for metric in _BESIDE:
        if ratio := finding.beside.get(metric):
            span = units.ratio_with_interval(ratio.ratio)
            said.append(f"{words.metric_name(metric)} {span} {words.verdict_word(ratio)}")
    return "; ".join(said)


def basis(tuned: Tuned) -> str:
    """Basis of the findings, in a line."""
    if not tuned.rounds:
        return "No setting was confirmed in rounds of its own."
    return f"Confirmed in {units.number(tuned.rounds, 'separate paired round')}; all ratios: --details."


def confirmation(tuned: Tuned) -> str:
    """Basis of the findings, with their noise and intervals."""
    noise = "; ".join(
        f"{words.metric_name(metric)} {units.ratio_with_interval(tuned.noise[metric].ratio)}"
        for metric in dict.fromkeys([finding.metric for finding in tuned.findings])
        if metric in tuned.noise
    )
    beside = f" Unchanged against unchanged: {noise}." if noise else ""
    return (
        "Ratios are to the unchanged program: below 1 is less. "
        f"Confirmed in {units.number(tuned.rounds, 'separate paired round')}, after the choice"
        f"{' (stopped: all decided)' if tuned.decided else ''}; "
        f"intervals of {100 * tuned.level:.3g} %.{beside}"
        f"{''.join(f' {line}' for line in phrases.stopping(tuned.widening))}"
    )


def load(tuned: Tuned) -> str:
    """Effect of other programs on the intervals, and what to do; empty where it does not matter."""
    is_open = any(each.is_open for each in tuned.findings)
    noise = next((tuned.noise[each.metric] for each in tuned.findings if each.metric in tuned.noise), None)
    return phrases.busy(tuned.others, noise, WORTH, is_open=is_open)


def metrics(tuned: Tuned) -> list[str]:
    """Metrics that the trials have, in the order in which they were asked for."""
    return list(dict.fromkeys(metric for trial in tuned.trials for metric in trial.scores))
