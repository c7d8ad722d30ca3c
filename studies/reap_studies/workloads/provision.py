"""What workloads lack on this machine, and installing it: packages, sources, programs, inputs.

First a plan, which does nothing; then what it says, and no more. Nothing is ever removed.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reap.api import ReapError, Record, apt, packages
from reap_studies.workloads import card, git, modules, preparation, source
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


def carry_out(
    wanted: Plan, tell: Callable[[str], None], *, cache: Path | None = None, optional: bool = False
) -> list[str]:
    """Does what the plan says, and tells each step. Throws ReapError; what was done before stays.

    As many workloads are made at a time as there are cores. One that cannot be prepared does not stop the
    others: it throws when all were tried. With `optional`, workloads whose git repository cannot be reached
    are told and returned instead, peers told.
    """
    if wanted.packages:
        apt.install(wanted.packages, wanted.removes, tell)

    def tried(lacking: Lack) -> ReapError | None:
        try:
            _make_ready(lacking, tell, cache, optional=optional)
        except ReapError as error:
            return error
        return None

    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        outcomes = list(pool.map(tried, wanted.lacks))
    finally:
        pool.shutdown(cancel_futures=True)
    failed: dict[str, ReapError] = {}
    unreachable: list[str] = []
    for name, error in zip((each.workload for each in wanted.lacks), outcomes, strict=True):
        if optional and isinstance(error, git.UnreachableError):
            tell(f"{name} is not prepared: {error.what}; {error.hint}")
            unreachable.append(name)
        elif error is not None:
            failed[name] = error
    if len(failed) == 1:
        raise next(iter(failed.values()))
    if failed:
        hint = "\n  ".join(f"{name}: {error.what}; {error.hint}" for name, error in failed.items())
        raise ReapError(f"{len(failed)} workloads are not prepared: {', '.join(failed)}", hint)
    return unreachable


def _make_ready(lacking: Lack, tell: Callable[[str], None], cache: Path | None, *, optional: bool) -> None:
    name = lacking.workload
    if lacking.source:
        tell(f"{name}: fetching {lacking.source}")
        source.fetch(card.load(name).source, cache or preparation.cache_folder())
    if lacking.program or lacking.inputs:
        made = [word for word, lacks in (("program", lacking.program), ("inputs", lacking.inputs)) if lacks]
        tell(f"{name}: making its {' and '.join(made)}")
        preparation.prepare(name, next(iter(card.load(name).variants)), cache=cache)
    for peer, wanted in lacking.peers.items():
        try:
            if wanted:
                tell(f"{name}, {peer}: fetching {wanted}")
                source.fetch(card.load(name).peers[peer].source, cache or preparation.cache_folder())
            tell(f"{name}, {peer}: making its library")
            preparation.prepare(name, peer, cache=cache)
        except git.UnreachableError as error:
            if not optional:
                raise
            tell(f"{name} is prepared without its peer {peer}: {error.what}; {error.hint}")
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
        source=source.named(described.source)
        if program and at.source and not Path(at.source).is_dir()
        else "",
        program=program,
        inputs=bool(at.inputs) and not Path(at.inputs).is_dir(),
        peers=_peers_lacking(described, cache),
        modules=str(python) if python and not python.is_dir() else "",
    )


def _peers_lacking(described: Card, cache: Path | None) -> dict[str, str]:
    found = {}
    for name, peer in described.peers.items():
        at = preparation.peer_places(described, name, cache=cache)
        if at.built and not Path(at.built).is_dir():
            is_here = not at.source or Path(at.source).is_dir()
            found[name] = "" if is_here else source.named(peer.source)
    return found
