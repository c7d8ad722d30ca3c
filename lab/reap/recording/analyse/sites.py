"""Allocation sites, into which stacks are folded."""

import re
from collections.abc import Callable, Iterable

from reap.recording.analyse.callers import Callers
from reap.recording.analyse.frames import (
    Frame,
    is_interpreter,
    is_loader,
    is_ocaml,
    is_ocaml_runtime,
    is_python,
    is_start,
    is_system,
    is_wrapper,
    line_of,
    names,
    passes_on,
    plain,
)
from reap.recording.records import Site

Stack = tuple[int, int, float, float, float, float, float, float]
"""Image, number, objects, bytes, temporary, live at the peak, variances of objects and of bytes."""

DEEPEST = 40
"""Frames of a stack that a site shows."""
_OUTERMOST = 8
"""Of these, so many are its outermost where it is deeper."""
_NOWHERE: Frame = ("", 0, "", "", 0, False)
_RUST_BEGINS = "__rust_begin_short_backtrace"
"""The function of Rust's library that calls main, or what a thread does."""
_PACKAGES = re.compile(r"/(?:site|dist)-packages/([^/]+)")


def sites(stacks: Iterable[Stack], frames: Callable[[int, int], list[Frame]]) -> list[Site]:
    """Folds stacks whose site is the same function and line; largest in bytes first.

    `frames` gives the frames of a stack, innermost first. The stack that a site shows is the one with the
    most bytes among its own.
    """
    return [site for site, _ in folded(stacks, frames)]


def folded(
    stacks: Iterable[Stack], frames: Callable[[int, int], list[Frame]]
) -> list[tuple[Site, list[Stack]]]:
    """Folds stacks into the same sites as `sites()`, each with its stacks."""
    found: dict[tuple[str, str, str], _Group] = {}
    for stack in stacks:
        chain = frames(*stack[:2])
        at = index_of(chain)
        key = names(chain[at] if chain else _NOWHERE)
        # Stacks come with the most bytes first, so the stack that is kept is the first one's.
        group = found.setdefault(key, _Group(lines_of(chain), via(chain, at)))
        group.add(stack, chain[at + 1 :])
    named = [(group.site(*key), group.stacks) for key, group in found.items()]
    return sorted(named, key=lambda each: (-each[0].bytes, each[0].function, each[0].location))


class _Group:
    """The stacks of one site."""

    def __init__(self, stack: list[str], called: str) -> None:
        self._stack, self._via = stack, called
        self._callers = Callers()
        self._sums = [0.0] * 6
        self.stacks: list[Stack] = []

    def add(self, stack: Stack, outwards: list[Frame]) -> None:
        self.stacks.append(stack)
        self._callers.add(outwards, stack[2], stack[3])
        self._sums = [one + other for one, other in zip(self._sums, stack[2:], strict=True)]

    def site(self, function: str, location: str, module: str) -> Site:
        objects, size, temporary, at_peak, objects_variance, bytes_variance = self._sums
        return Site(
            function=function,
            location=location,
            module=module,
            via=self._via,
            stack=self._stack,
            callers=self._callers.listed(),
            objects=objects,
            bytes=size,
            temporary=temporary,
            live_at_peak=at_peak,
            objects_variance=objects_variance,
            bytes_variance=bytes_variance,
        )


def telling(chain: list[Frame]) -> Frame:
    """The frame that a stack is charged to: its site."""
    return chain[index_of(chain)] if chain else _NOWHERE


def index_of(chain: list[Frame]) -> int:
    """The place of a stack's site in it: the innermost line of Python, else the program's own code.

    Passed over are wrappers of malloc, the libraries of C, C++, Rust, D and Go, and functions of shared
    objects that have no name. The program's last frame never is: where nothing else is left, the outermost
    of its frames beside the allocation is the site. 0 of an empty stack.
    """
    ocaml = any(is_ocaml(frame) for frame in chain)
    candidates: list[int] = []
    for at, frame in enumerate(chain):
        if is_python(frame):
            return at
        if not passes_on(frame) and not is_start(frame) and not (ocaml and is_ocaml_runtime(frame)):
            candidates.append(at)
    own = [at for at in candidates if not is_system(chain[at]) and _is_known(chain[at])]
    named = (at for at in own if _is_named(chain[at]) or not _is_shared(chain[at]))
    first = next(named, next(iter(own), -1))
    if first >= 0:
        return first
    return _last_own(chain, candidates)


def _last_own(chain: list[Frame], candidates: list[int]) -> int:
    """The outermost of the program's frames beside the allocation, all of which pass it on."""
    own = [bool(frame[0]) and not is_system(frame) and not is_start(frame) for frame in chain]
    if any(own):
        at = own.index(True)
        while at + 1 < len(chain) and own[at + 1] and _RUST_BEGINS not in chain[at][2]:
            at += 1
        return at
    named = (at for at in candidates if _is_named(chain[at]) and not is_loader(chain[at]))
    return next(named, next(iter(candidates), 0))


def _is_known(frame: Frame) -> bool:
    """Whether a frame is code of a file or has a name; a walk may end with a word that is no code."""
    return bool(frame[0] or frame[2])


def _is_named(frame: Frame) -> bool:
    return bool(frame[2])


def _is_shared(frame: Frame) -> bool:
    return ".so" in frame[0].rpartition("/")[2]


def via(chain: list[Frame], at: int) -> str:
    """Name of what the site at this place called, where that is a library that was passed over; else empty.

    Below a line of Python it is the package of the extension.
    """
    called = [frame for frame in chain[:at] if not is_python(frame)]
    if chain and is_python(chain[at]):
        called = [frame for frame in called if frame[0] and not is_interpreter(frame)]
        return _package(called[-1][0]) if called else ""
    if not called or is_wrapper(called[-1]):
        return ""
    frame = called[-1]
    if not frame[2]:
        return frame[0].rpartition("/")[2]
    return plain(frame[2])


def _package(path: str) -> str:
    """The package that an extension module belongs to, or the name of a library."""
    inside = _PACKAGES.search(path)
    name = inside[1] if inside else path.rpartition("/")[2]
    return re.sub(r"\.libs$|\.(cpython-|abi3|so).*$", "", name)


def lines_of(chain: list[Frame]) -> list[str]:
    """A stack as it is shown: of a deep one its innermost frames and its outermost."""
    if len(chain) <= DEEPEST:
        return [line_of(frame) for frame in chain]
    inner, outer = chain[: DEEPEST - _OUTERMOST], chain[-_OUTERMOST:]
    left = f"... {len(chain) - DEEPEST} more ..."
    return [*(line_of(frame) for frame in inner), left, *(line_of(frame) for frame in outer)]
