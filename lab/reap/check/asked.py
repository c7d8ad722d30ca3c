"""Combines the requests of the command line and of the budget file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reap.base.errors import ExitCode, ReapError
from reap.check import judge
from reap.check.budget import Budget, read_baseline, read_budget
from reap.check.records import FIGURES, Baseline, Limit
from reap.diff.judge import understood as growth_of
from reap.recording.record import Depth


@dataclass(frozen=True)
class Asked:
    """One check."""

    command: list[str]
    limits: list[Limit]
    baseline: Baseline | None
    """None where there is none, or it is being written."""
    baseline_file: Path | None
    update: bool
    suppress: list[str]
    accept: list[str]
    """Globs of files that need not be recorded."""
    runs: int
    depth: Depth
    allocator: str | None
    timeout: float | None
    output: Path | None
    json: Path | None
    html: Path | None
    junit: Path | None
    github: bool
    force: bool


def understood(given: Mapping[str, Any], command: list[str]) -> Asked:
    """`given` are the options by name; they come before what the budget file says. Throws ReapError."""
    budget = read_budget(given["budget"]) if given["budget"] else Budget()
    growth = [growth_of(text) for text in given["growth"] or budget.fail_if]
    update: bool = given["update"]
    file: Path | None = given["baseline"] or (Path(budget.baseline) if budget.baseline else None)
    if (growth or update) and file is None:
        raise ReapError("--fail-if and --update require a baseline", "add --baseline FILE", ExitCode.USAGE)
    baseline = read_baseline(file) if file is not None and not update else None
    limits = _limits(given, budget)
    if baseline is not None:
        limits += [judge.growth(each, baseline) for each in growth]
    if not limits and not update:
        raise ReapError(
            "there is no limit to check",
            "name one, or a budget file (docs/check.md): reap check --max-peak 200MB -- CMD",
            ExitCode.USAGE,
        )
    github = given["github"]
    return Asked(
        command=command,
        limits=limits,
        baseline=baseline,
        baseline_file=file,
        update=update,
        suppress=[*budget.suppress, *given["suppress"]],
        accept=[*budget.accept_unrecorded, *given["accept_unrecorded"]],
        runs=given["runs"] or budget.runs or 1,
        depth=given["depth"] or budget.depth or "full",
        allocator=given["allocator"],
        timeout=given["timeout"],
        output=given["output"],
        json=given["json_file"],
        html=given["html_file"],
        junit=given["junit_file"],
        github=os.environ.get("GITHUB_ACTIONS") == "true" if github is None else github,
        force=given["force"],
    )


def _limits(given: Mapping[str, Any], budget: Budget) -> list[Limit]:
    texts = {figure: str(text) for figure, text in budget.limits.items()}
    for figure in FIGURES:
        if (text := given[f"max_{figure.replace('-', '_')}"]) is not None:
            texts[figure] = text
    return [judge.limit(figure, text) for figure, text in texts.items()]
