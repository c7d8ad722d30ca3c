"""The rules by which a verdict is reached: a table, read from the top; the first that applies decides.

Each rule is two small functions of `Facts`: whether it applies, and what it then says.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reap.run.judge import findings
from reap.run.judge.facts import Facts
from reap.run.judge.findings import Finding


@dataclass(frozen=True)
class Rule:
    """A situation and what to say in it."""

    applies: Callable[[Facts], bool]
    says: Callable[[Facts], Finding]

    @property
    def name(self) -> str:
        """The situation's name."""
        return self.says.__name__


RULES: tuple[Rule, ...] = (
    Rule(lambda f: f.comparison is not None and f.comparison.exit_code >= 126, findings.program_failed),
    Rule(lambda f: f.too_short, findings.too_short),
    Rule(lambda f: f.best is not None, findings.switch_for_time),
    Rule(lambda f: f.best_for_memory is not None, findings.switch_for_memory),
    Rule(lambda f: f.unpaid is not None, findings.bad_trade),
    Rule(lambda f: f.silent, findings.no_allocations),
    Rule(lambda f: f.small_share, findings.small_share),
    Rule(lambda f: f.needed_budget > 0 and not f.compared, findings.small_budget),
    Rule(lambda f: bool(f.inconclusive), findings.wide_intervals),
    Rule(lambda f: f.settled and f.large_share, findings.allocate_less),
    Rule(lambda f: f.settled and f.unclear_share, findings.unclear_share),
    Rule(lambda f: f.settled, findings.no_gain),
    Rule(lambda f: f.share is not None, findings.not_compared),
    Rule(lambda _: True, findings.nothing_measured),
)
"""In order: what spoils the figures, what helps, what need not be done, what is not known."""
