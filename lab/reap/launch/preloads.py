"""Preloads of a measured program and its children, in their order."""

import os
from pathlib import Path

from reap.allocators import library
from reap.launch import native_files
from reap.launch.linked import redirect
from reap.launch.records import Launch

_LAST_PRELOAD = "REAP_LAST_PRELOAD"
"""Tells the recorder the last object that reap preloads: see lab/preload/exec."""
_PRELOADS = "REAP_PRELOADS"
"""Tells the recorder which preloads a program gets back whose environment has lost them."""
_MEASURES = ("libreap-record.so", "libreap-resident.so")
_OBSERVERS = (*_MEASURES, "libreap-probe.so", "libreap-requests.so", "libreap-exec.so")
"""What only observes. Others, such as an allocator, a program may replace in its children."""
_KEEP_ENVIRONMENT = "REAP_KEEP_ENVIRONMENT"
"""Set by users: children start with the environment that their parent gives them, recorded or not."""


def compose(launch: Launch, scratch: Path) -> dict[str, str]:
    """The environment's LD_PRELOAD: reap's own, the allocator, then what the user preloads anyway.

    The order matters: the recorder must see a call before the allocator does, and a user's preload has to
    meet both as it would meet the C library. What keeps these out of programs that they would break is in the
    recorder, which must know the last of them, and else stands behind them. The loader splits the list at
    spaces and colons; a file whose path has one gets a link in `scratch`.
    """
    probes = [str(native_files.preload("probe"))] if launch.probe else []
    timers = [str(native_files.preload("requests"))] if launch.requests else []
    ours = [*probes, *timers, *launch.preloads, *library.preloads(launch.allocator)]
    recorder = str(native_files.preload("record"))
    if ours and recorder not in ours:
        ours.append(str(native_files.preload("exec")))
    aside = redirect.find(launch.program) if launch.allocator else None
    if aside is not None:  # the last is initialised first, before the allocator that it redirects to
        ours.append(str(native_files.preload("redirect")))
    linked = [_without_separators(path, scratch / str(number)) for number, path in enumerate(ours)]
    removed = "LD_PRELOAD" in launch.remove
    theirs = launch.environment.get("LD_PRELOAD", "" if removed else inherited())
    composed = ":".join([*linked, *([theirs] if theirs else [])])
    variables = {"LD_PRELOAD": composed} if composed else {}
    if aside is not None:
        variables |= aside.variables(linked[ours.index(launch.allocator)])
    if recorder in ours:
        variables[_LAST_PRELOAD] = linked[-1]
    names = [Path(path).name for path in ours]
    if not os.environ.get(_KEEP_ENVIRONMENT) and any(name in _MEASURES for name in names):
        kept = [link for name, link in zip(names, linked, strict=True) if name in _OBSERVERS]
        variables[_PRELOADS] = ":".join(kept)
    return variables


def inherited() -> str:
    """The user's own LD_PRELOAD, which measured programs are started with, too; empty where there is none."""
    return os.environ.get("LD_PRELOAD", "")


def _without_separators(path: str, folder: Path) -> str:
    if not any(separator in path for separator in " \t\n:"):
        return path
    folder.mkdir()
    link = folder / Path(path).name.translate(str.maketrans(" \t\n:", "____"))
    link.symlink_to(Path(path).absolute())
    return str(link)
