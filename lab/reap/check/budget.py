"""The files of `reap check`: a budget, which a person writes, and a baseline, which `--update` writes."""

from pathlib import Path
from typing import Literal

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import read_back, write_safely
from reap.base.records import Record
from reap.check.records import Baseline


class Budget(Record, forbid_unknown_fields=True, rename="kebab"):
    """A budget file, in TOML. Paths in it are relative to it."""

    limits: dict[str, int | float | str] = {}
    fail_if: list[str] = []
    suppress: list[str] = []
    accept_unrecorded: list[str] = []
    baseline: str = ""
    runs: int | None = None
    depth: Literal["triage", "full"] | None = None


def read_budget(path: Path) -> Budget:
    """Reads a budget file. Throws ReapError."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=Budget)
    except OSError as error:
        raise ReapError(
            f"the budget {path} cannot be read: {error.strerror}",
            "the command that is measured comes after --: reap check [BUDGET.toml] -- CMD",
            ExitCode.USAGE,
        ) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ReapError(
            f"the budget {path} is not understood: {error}",
            "docs/check.md has an example; the command that is measured comes after --",
            ExitCode.USAGE,
        ) from error
    if not found.baseline:
        return found
    return msgspec.structs.replace(found, baseline=str(path.parent / found.baseline))


def read_baseline(path: Path) -> Baseline:
    """Reads what `write_baseline` wrote. Throws ReapError."""
    hint = "make it again: add --update"
    found = read_back(path, Baseline, hint)
    if found is None:
        raise ReapError(f"there is no baseline {path}", "make it: add --update")
    if found.schema != 1 or not found.runs:
        raise ReapError(f"the baseline {path} is of another version of reap, or empty", hint)
    return found


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Replaces the baseline. Throws ReapError."""
    data = msgspec.json.format(msgspec.json.encode(baseline), indent=1) + b"\n"
    write_safely(path, data, force=True)
