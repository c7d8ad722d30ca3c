"""Where allocations come from: stacks folded into sites."""

import re
from collections.abc import Callable, Iterable

from reap.recording.records import Site

Frame = tuple[str, int, str, str, int, bool]
"""Module path, address in the file, function, source file, line, whether inlined."""
Stack = tuple[int, int, float, float, float, float]
"""Image, number, objects, bytes, temporary, live at the peak."""

DEEPEST = 40
"""Frames of a stack that are kept; what lies outside is the same for all."""

_WRAPPER = re.compile(
    r"""
    (m|c|re|z|x|v|k|s|f)?alloc(ate|ator|ation|0|_n|_array|z|s)?\d*$   # malloc, xrealloc, g_malloc0
    | (^|::)(re)?allocateheap$ | (^|::)alloc\w*withretry$  # the JVM's, V8's
    | memalign\d*$ | strn?dup\d*$ | ^operator\ new | ^_Zn[wa]
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Functions that only pass the request on: naming them would name them for everything."""
_LIBRARY = re.compile(r"^(std|__gnu_cxx|__gnu_debug|boost::container)::|^(void|.*\W)?(std|__gnu_cxx)::\w+<")


_HEADERS = re.compile(r"/include/c\+\+/|/reap/(core|source|layer|face)/|/reap/mark\.h$")
"""Where the C++ library's templates are, and this library's: without linkage names their functions have no
namespace."""
_INTERPRETER = re.compile(r"/(lib)?python3[^/]*$")
"""The executable or library that CPython is in; extension modules have other names."""
_LAYERS = re.compile(r"^(void\*? |bool )?reap::v\d\w*::|^reap_mark_\w+$")


def sites(stacks: Iterable[Stack], frames: Callable[[int, int], list[Frame]]) -> list[Site]:
    """Folds stacks whose innermost telling frame is the same function and line; largest in bytes first.

    `frames` gives the frames of a stack, innermost first. The stack that a site shows is the one with the
    most bytes among its own.
    """
    found: dict[tuple[str, str, str], Site] = {}
    for image, number, objects, size, temporary, at_peak in stacks:
        chain = frames(image, number)
        place = telling(chain)
        function, location, module = names(place)
        key = (function, location, module)
        known = found.get(key)
        if known is None:
            found[key] = Site(
                function=function,
                location=location,
                module=module,
                stack=[line_of(frame) for frame in chain[:DEEPEST]],
                objects=objects,
                bytes=size,
                temporary=temporary,
                live_at_peak=at_peak,
            )
        else:
            # Stacks come with the most bytes first, so the stack that is kept is the first one's.
            found[key] = Site(
                function=function,
                location=location,
                module=module,
                stack=known.stack,
                objects=known.objects + objects,
                bytes=known.bytes + size,
                temporary=known.temporary + temporary,
                live_at_peak=known.live_at_peak + at_peak,
            )
    return sorted(found.values(), key=lambda site: (-site.bytes, site.function, site.location))


def telling(chain: list[Frame]) -> Frame:
    """The innermost frame that says something: no wrapper of malloc, no part of C++'s library or of ours.

    Where Python called, nor one of CPython's own functions.
    """
    if not chain:
        return ("", 0, "", "", 0, False)
    telling = (frame for frame in chain if not passes_on(frame))
    if any(is_python(frame) for frame in chain):
        telling = (frame for frame in telling if not is_interpreter(frame))
    return next(telling, chain[0])


def is_python(frame: Frame) -> bool:
    """Whether a frame is a line of Python: it has a file, and lies in no module."""
    return not frame[0] and bool(frame[3]) and bool(frame[2])


def is_interpreter(frame: Frame) -> bool:
    """Whether a frame is one of CPython's own functions."""
    return _INTERPRETER.search(frame[0]) is not None


def passes_on(frame: Frame) -> bool:
    """Whether a frame is a wrapper of malloc, or a part of C++'s library or of ours."""
    function, file = frame[2].partition("(")[0], frame[3]
    known = (_WRAPPER, _LIBRARY, _LAYERS)
    return function != "" and (
        any(each.search(function) for each in known) or _HEADERS.search(file) is not None
    )


def names(frame: Frame) -> tuple[str, str, str]:
    """A frame's function, location and module, as a reader is shown them."""
    path, address, function, file, line, _ = frame
    module = path.rpartition("/")[2]
    if file:
        location = f"{_short(file)}:{line}" if line else _short(file)
    elif path:
        location = f"{module}+0x{address:x}"
    else:
        location = f"0x{address:x}" if address else "unknown"
    return function or (location if path or address else "unknown"), location, module


def _short(file: str) -> str:
    """The last two parts of a source path: enough to find it, not the build machine's folders."""
    return "/".join(file.split("/")[-2:])


def line_of(frame: Frame) -> str:
    """A frame as a line of a stack."""
    function, location, _ = names(frame)
    if function == location:
        return function
    return f"{function} [inlined] ({location})" if frame[5] else f"{function} ({location})"
