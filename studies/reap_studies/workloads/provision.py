"""What workloads lack on this machine, and installing it: packages, sources, programs, inputs.

First a plan, which does nothing; then what it says, and no more. Nothing is ever removed.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reap.api import ReapError, Record, apt, packages
from reap_studies.workloads import card, debian, modules, preparation
from reap_studies.workloads.records import Card


class Lack(Record):
    """What one workload lacks."""

    workload: str
    packages: list[str]
    source: str
    """The source that is still to be fetched, in words."""
    program: bool
    """Whether its program is still to be built."""
    inputs: bool
    """Whether its inputs are still to be made."""
    peers: dict[str, str] = {}
    """By name, peers whose library is still to be built, and the source that is still to be fetched."""
    modules: str = ""
    """The folder of its Python packages, where these are still to be installed."""

    @property
    def nothing(self) -> bool:
        """Whether it is ready."""
        own = self.packages or self.source or self.program or self.inputs
        return not (own or self.peers or self.modules)


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
    brings, removes = apt.simulated(wanted) if wanted else ([], [])
    return Plan(lacks=lacks, packages=wanted, brings=brings, removes=removes)


def carry_out(wanted: Plan, tell: Callable[[str], None], *, cache: Path | None = None) -> None:
    """Does what the plan says, and tells each step. Throws ReapError; what was done before stays.

    As many workloads are made at a time as there are cores. One that cannot be prepared does not stop the
    others: it throws when all were tried.
    """
    if wanted.packages:
        apt.install(wanted.packages, wanted.removes, tell)

    def tried(lacking: Lack) -> ReapError | None:
        try:
            _make_ready(lacking, tell, cache)
        except ReapError as error:
            return error
        return None

    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        outcomes = list(pool.map(tried, wanted.lacks))
    finally:
        pool.shutdown(cancel_futures=True)
    names = (each.workload for each in wanted.lacks)
    failed = {name: error for name, error in zip(names, outcomes, strict=True) if error is not None}
    if len(failed) == 1:
        raise next(iter(failed.values()))
    if failed:
        hint = "\n  ".join(f"{name}: {error.what}; {error.hint}" for name, error in failed.items())
        raise ReapError(f"{len(failed)} workloads are not prepared: {', '.join(failed)}", hint)


def _make_ready(lacking: Lack, tell: Callable[[str], None], cache: Path | None) -> None:
    name = lacking.workload
    home = cache or preparation.cache_folder()
    if lacking.source:
        tell(f"{name}: fetching {lacking.source}")
        debian.fetch(card.load(name).source, home)
    if lacking.program or lacking.inputs:
        made = [word for word, lacks in (("program", lacking.program), ("inputs", lacking.inputs)) if lacks]
        tell(f"{name}: making its {' and '.join(made)}")
        preparation.prepare(name, next(iter(card.load(name).variants)), cache=cache)
    for peer, wanted in lacking.peers.items():
        if wanted:
            tell(f"{name}, {peer}: fetching {wanted}")
            debian.fetch(card.load(name).peers[peer].source, home)
        tell(f"{name}, {peer}: making its library")
        preparation.prepare(name, peer, cache=cache)
    if lacking.modules:
        tell(f"{name}: installing its Python packages")
        modules.fetch(card.load(name), Path(lacking.modules))


def _lack(name: str, cache: Path | None) -> Lack:
    described, at = card.load(name), preparation.places(name, cache=cache)
    theirs = [package for peer in described.peers.values() for package in peer.packages]
    program = bool(at.built) and not Path(at.built).is_dir()
    python = modules.place(described, cache or preparation.cache_folder())
    return Lack(
        workload=name,
        packages=packages.lacking([*described.packages, *theirs]),
        source=debian.named(described.source)
        if program and at.source and not Path(at.source).is_dir()
        else "",
        program=program,
        # What is made from a program that users bring is made when they give it.
        inputs=bool(at.inputs) and not Path(at.inputs).is_dir() and described.brought is None,
        peers=_peers_lacking(described, cache),
        modules=str(python) if python and not python.is_dir() else "",
    )


def _peers_lacking(described: Card, cache: Path | None) -> dict[str, str]:
    found = {}
    for name, peer in described.peers.items():
        at = preparation.peer_places(described, name, cache=cache)
        if at.built and not Path(at.built).is_dir():
            is_here = not at.source or Path(at.source).is_dir()
            found[name] = "" if is_here else debian.named(peer.source)
    return found
