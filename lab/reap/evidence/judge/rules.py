"""The rules by which a verdict is reached: a table, read from the top; the first that applies decides.

Each rule is two small functions of `Facts`: whether it applies, and what it then says. Gains come from trials
alone, and *leave it alone* needs a pair that shows it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reap.evidence.judge import advice, conclusions
from reap.evidence.judge.conclusions import Concluded
from reap.evidence.judge.facts import Facts


@dataclass(frozen=True)
class Rule:
    """A situation and what to say in it."""

    applies: Callable[[Facts], bool]
    says: Callable[[Facts], Concluded]

    @property
    def name(self) -> str:
        """The situation's name."""
        return self.says.__name__


RULES: tuple[Rule, ...] = (
    Rule(lambda f: f.comparison is not None and f.comparison.exit_code >= 126, conclusions.program_failed),
    Rule(lambda f: f.unfinished, conclusions.unfinished),
    Rule(lambda f: f.trials_take > 0, conclusions.long_runs),
    Rule(lambda f: f.too_short, conclusions.too_short),
    Rule(lambda f: f.better == "either", advice.change_either),
    Rule(lambda f: f.better == "setting", advice.change_setting),
    Rule(lambda f: f.better == "allocator", advice.switch_for_time),
    Rule(lambda f: f.best_for_memory is not None, advice.switch_for_memory),
    Rule(lambda f: f.smaller is not None, advice.change_for_memory),
    Rule(lambda f: bool(f.hidden) and (f.price is None or bool(f.inconclusive)), conclusions.cannot_preload),
    Rule(lambda f: f.price is not None and not f.inconclusive and not f.reached, advice.allocate_less),
    Rule(lambda f: bool(f.stood_aside) and not f.inconclusive, conclusions.stood_aside),
    Rule(lambda f: f.silent and not f.untried, conclusions.no_allocations),
    Rule(lambda f: f.needed_budget > 0 and not f.compared, conclusions.small_budget),
    Rule(lambda f: bool(f.open_arms), conclusions.wide_intervals),
    Rule(lambda f: f.decided and bool(f.untried), conclusions.untried),
    Rule(lambda f: f.little is not None, advice.little),
    Rule(lambda f: f.unpaid is not None, advice.bad_trade),
    Rule(lambda f: f.settled and bool(f.left_out), conclusions.left_out),
    Rule(lambda f: f.settled and f.large_share, conclusions.unknown_cost),
    Rule(lambda f: f.settled, conclusions.no_gain),
    Rule(lambda f: f.share is not None, conclusions.not_compared),
    Rule(lambda _: True, conclusions.nothing_measured),
)
"""In order: what spoils the figures, what helps, what need not be done, what is not known."""
