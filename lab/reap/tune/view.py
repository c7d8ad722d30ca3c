"""A search for an allocator's settings as the page shows it: strings and lists."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.compare import words as compared
from reap.tune import words
from reap.tune.records import Tuned


@dataclass(frozen=True)
class FindingView:
    """Finding for one objective, as the page shows it."""

    said: str
    wins: bool
    gains: bool
    command: str
    about: str
    beside: str


@dataclass(frozen=True)
class TuneView:
    """A program's section on settings."""

    title: str
    look: str
    findings: list[FindingView]
    paired: str
    confirmation: str
    beyond: str
    reading: str
    tried: str
    columns: list[str]
    rows: list[tuple[str, str, str, str, list[str], str]]
    """Of each setting: its name, what it is, its words, its rounds, its ratios, and why it was given up."""
    load: str
    notes: list[str]
    exit_code: int
    last_words: str


def view(tuned: Tuned) -> TuneView:
    """The section's words and figures."""
    metrics = words.metrics(tuned)
    return TuneView(
        title=printable(words.title(tuned)),
        look=words.look(tuned),
        findings=[
            FindingView(
                said=printable(words.verdict(each)),
                wins=each.wins,
                gains=each.gains,
                command=printable(words.command(tuned, each)),
                about=printable(words.about(tuned, each)),
                beside=words.beside(each),
            )
            for each in tuned.findings
        ],
        paired=words.made(tuned),
        confirmation=words.confirmation(tuned),
        beyond=words.BEYOND,
        reading=compared.INCONCLUSIVE,
        tried=words.TRIED,
        columns=[compared.metric_name(metric) for metric in metrics],
        rows=[
            (
                printable(each.name),
                printable(each.about),
                printable(words.setting(each)),
                str(each.rounds),
                [units.ratio(each.scores[m]) if m in each.scores else units.UNKNOWN for m in metrics],
                printable(each.problem),
            )
            for each in tuned.trials
        ],
        load=words.load(tuned),
        notes=[printable(note) for note in tuned.notes],
        exit_code=tuned.exit_code,
        last_words=tuned.last_words,
    )
