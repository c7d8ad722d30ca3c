"""What is said of a search for an allocator's settings, the same on a terminal and on the page."""

from reap.answer import commands
from reap.base import units
from reap.compare import words
from reap.tune.records import Finding, Trial, Tuned

TRIED = (
    "What was tried has its ratio in the rounds of the search: good for choosing, no finding. The best of "
    "many is lucky; only the confirmation says what it gains."
)

_BESIDE = ("cpu", "wall", "peak_resident")


def title(tuned: Tuned) -> str:
    """The heading: whose settings, and how often the program ran."""
    return f"Settings of {tuned.allocator}, {len(tuned.trials)} tried in {units.number(tuned.runs, 'run')}"


def look(tuned: Tuned) -> str:
    """What the first run showed."""
    seen = tuned.look
    return (
        f"As it is, it takes {units.duration(seen.cpu)} of CPU time, "
        f"{units.percent(seen.system_share)} of it in the kernel, with {units.whole(seen.minor_faults)} "
        f"page faults and {units.size(seen.peak_resident)} at its peak."
    )


def verdict(finding: Finding) -> str:
    """What is known of an objective, in a line."""
    name = words.metric_name(finding.metric)
    subject = f"{name[:1].upper()}{name[1:]}"
    if finding.ratio is None:
        tried = f" ({finding.name})" if finding.name else ""
        return f"{subject}: nothing wins{tried}: {finding.why_not}"
    ratio = units.ratio_with_interval(finding.ratio.ratio)
    if finding.wins:
        return f"{subject}: {finding.name} wins, {ratio}"
    word = {"worse": "it is more", "better": "too little to matter"}.get(
        finding.ratio.verdict, "inconclusive"
    )
    return f"{subject}: nothing wins; the best of those tried, {finding.name}, confirmed: {ratio}, {word}"


def command(tuned: Tuned, finding: Finding) -> str:
    """The program's command with the setting and the allocator, to be pasted into a shell."""
    variables = commands.preloading(tuned.library) | finding.environment
    return commands.with_variables(variables, [*finding.command, *tuned.command])


def setting(trial: Trial) -> str:
    """What is set, as one writes it before a command."""
    return commands.with_variables(trial.environment, trial.command)


def about(tuned: Tuned, finding: Finding) -> str:
    """What the setting that was confirmed is."""
    return next((each.about for each in tuned.trials if each.name == finding.name), "")


def beside(finding: Finding) -> str:
    """What the winner does to the other metrics that matter."""
    said = []
    for metric in _BESIDE:
        if ratio := finding.beside.get(metric):
            span = units.ratio_with_interval(ratio.ratio)
            said.append(f"{words.metric_name(metric)} {span} {words.verdict_word(ratio)}")
    return "; ".join(said)


def confirmation(tuned: Tuned) -> str:
    """On what the findings rest."""
    noise = "; ".join(
        f"{words.metric_name(metric)} {units.ratio_with_interval(tuned.noise[metric].ratio)}"
        for metric in dict.fromkeys([finding.metric for finding in tuned.findings])
        if metric in tuned.noise
    )
    beside = f" As it is, to its own copy: {noise}." if noise else ""
    return (
        "Ratios are to the program as it is: below 1 is less. "
        f"Confirmed in {units.number(tuned.rounds, 'paired round')} of their own, after the choice; "
        f"intervals of {100 * tuned.level:.3g} %.{beside}"
    )


def metrics(tuned: Tuned) -> list[str]:
    """Those that the trials have, in the order in which they were asked for."""
    return list(dict.fromkeys(metric for trial in tuned.trials for metric in trial.scores))
