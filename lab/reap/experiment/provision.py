"""What workloads lack on this machine, and installing it: packages, sources, programs, inputs.

First a plan, which does nothing; then what it says, and no more. Nothing is ever removed.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from reap.allocators import packages
from reap.errors import ExitCode, ReapError
from reap.experiment import card, source
from reap.records import Record


class Lack(Record):
    """What one workload lacks."""

    workload: str
    packages: list[str]
    source: str
    """Debian's source package that is still to be fetched."""
    program: bool
    """Whether its program is still to be built."""
    inputs: bool
    """Whether its inputs are still to be made."""

    @property
    def nothing(self) -> bool:
        """Whether it is ready."""
        return not (self.packages or self.source or self.program or self.inputs)


class Plan(Record):
    """What preparing some workloads would do."""

    lacks: list[Lack]
    packages: list[str]
    """To be installed because a card names them, sorted."""
    brings: list[str]
    """All that apt would install, those and what they depend on."""
    removes: list[str]
    """What apt would have to remove for that: then it is left to you."""


def plan(names: Sequence[str], *, cache: Path | None = None) -> Plan:
    """What these workloads lack. Throws ReapError for a name that is none, or packages that apt has not."""
    lacks = [_lack(name, cache) for name in names]
    wanted = sorted({package for each in lacks for package in each.packages})
    brings, removes = _simulated(wanted) if wanted else ([], [])
    return Plan(lacks=lacks, packages=wanted, brings=brings, removes=removes)


def carry_out(wanted: Plan, tell: Callable[[str], None], *, cache: Path | None = None) -> None:
    """Does what the plan says, and tells each step. Throws ReapError; what was done before stays."""
    if wanted.packages:
        _install(wanted, tell)
    for each in wanted.lacks:
        if each.source:
            tell(f"{each.workload}: fetching Debian's source of {each.source}")
            source.fetch(each.source, cache or card.cache_folder())
        if each.program or each.inputs:
            made = [word for word, lacks in (("program", each.program), ("inputs", each.inputs)) if lacks]
            tell(f"{each.workload}: making its {' and '.join(made)}")
            card.prepare(each.workload, next(iter(card.load(each.workload).variants)), cache=cache)


def _lack(name: str, cache: Path | None) -> Lack:
    described, at = card.load(name), card.places(name, cache=cache)
    theirs = [package for peer in described.peers.values() for package in peer.packages]
    program = bool(at.built) and not Path(at.built).is_dir()
    return Lack(
        workload=name,
        packages=packages.lacking([*described.packages, *theirs]),
        source=described.source if program and at.source and not Path(at.source).is_dir() else "",
        program=program,
        inputs=bool(at.inputs) and not Path(at.inputs).is_dir(),
    )


def _command(names: Sequence[str]) -> str:
    return f"sudo apt-get install --no-install-recommends {' '.join(names)}"


def _simulated(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """What apt would install and remove, by its own simulation, which anybody may run."""
    done = subprocess.run(
        ["apt-get", "--simulate", "install", "--no-install-recommends", *names],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        said = "; ".join(re.findall(r"^E: (.*)$", done.stderr, re.MULTILINE)) or done.stderr.strip()[-300:]
        raise ReapError(
            f"apt cannot install {', '.join(names)}: {said}",
            "sudo apt-get update, and repeat; or name other workloads",
            ExitCode.FAILED,
        )
    return _named("Inst", done.stdout), _named("Remv", done.stdout)


def _named(word: str, said: str) -> list[str]:
    return re.findall(rf"^{word} (\S+)", said, re.MULTILINE)


def _install(wanted: Plan, tell: Callable[[str], None]) -> None:
    if wanted.removes:
        raise ReapError(
            f"nothing was done: {', '.join(wanted.removes)} would have to be removed",
            f"if that is right, run: {_command(wanted.packages)}",
            ExitCode.FAILED,
        )
    may = _rights()
    if may is None:
        raise ReapError(
            f"nothing was done: only root may install {', '.join(wanted.packages)}",
            f"run: {_command(wanted.packages)}; then repeat",
            ExitCode.FAILED,
        )
    tell(f"installing {', '.join(wanted.packages)}")
    words = ["apt-get", "install", "-y", "--no-install-recommends", "--no-remove"]
    words += ["-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Use-Pty=0"]
    done = subprocess.run(
        [*may, "env", "DEBIAN_FRONTEND=noninteractive", *words, *wanted.packages],
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        raise ReapError(
            f"apt-get could not install {', '.join(wanted.packages)}: {done.stderr.strip()[-800:]}",
            f"sudo apt-get update, then: {_command(wanted.packages)}",
            ExitCode.FAILED,
        )


def _rights() -> list[str] | None:
    """What to put before a command so that root runs it; None where that is not allowed."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None
