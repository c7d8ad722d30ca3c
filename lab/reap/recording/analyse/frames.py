"""Kinds of frames of a stack: code of the program, or of what only passes its requests on."""

import re
from functools import lru_cache

Frame = tuple[str, int, str, str, int, bool]
"""Module path, address in the file, function, source file, line, whether inlined."""

_WRAPPER = re.compile(
    r"""
    (m|c|re|z|x|v|k|s|f)?alloc(ate|ator|ation|0|_n|_array|_zeroed|z|s|x)?\d*$   # malloc, xrealloc, g_malloc0
    | (^|::)(re)?allocateheap$ | (^|::)alloc\w*withretry$  # the JVM's, V8's
    | ^mi_(heap_)?\w*(alloc|new)(_\w+|n|f|arr\w*)?$  # mimalloc's
    | memalign\d*$ | strn?dup\d*$ | ^operator\ new | ^_Zn[wa] | ^PyDataMem_
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Functions that only pass the request on: naming them would name them for everything."""
_LAYERS = re.compile(r"^(void\*? |bool )?reap::v\d\w*::|^reap_mark_\w+$")
_LAYER_HEADERS = re.compile(r"/reap/(core|source|layer|face)/|/reap/mark\.h$")

_CXX = re.compile(r"^(std|__gnu_cxx|__gnu_debug|boost::container)::")
_CXX_OPERATOR = re.compile(r"operator\s*(<=>|<<=?|>>=?|->\*?|[<>]=?|\(\))")
_CXX_FILES = re.compile(r"/include/c\+\+/|/libstdc\+\+-v3/|/libcxx(abi)?/")
"""The C++ library's templates: without linkage names their functions have no namespace."""
_RUST_FILES = re.compile(
    r"/rustc/[0-9a-f]{8,}/|/rustlib/src/rust/library/|/rust/deps/|(^|/)library/(alloc|core|std|test)/src/"
)
"""Rust's library, and the crates that it is built with; those of a program are in cargo's registry."""
_RUST = re.compile(
    r"""
    ^(&?(mut\ )?)?(alloc|core|std|hashbrown)::
    | ^<[^:]*?(alloc|core|std|hashbrown)::.*\ as\ (alloc|core|std|hashbrown)::
    | ^<[&\[(]?(mut\ )?[\w, ]+[\])]?\ as\ (alloc|core|std)::   # of a type parameter
    | ^<(alloc|core|std|hashbrown)::(?!.*\ as\ )
    | ^<(\[[^]]*\]|str|bool|char|[iu](size|\d+)|f\d+)>::
    | ^(__rustc::|_?_)?(__rust_|__rdl_|__rg_)\w+$
    """,
    re.VERBOSE,
)
"""The same by name, where no file is known. C++ has namespaces called `core` too, but its names end with
parameters."""
_D_FILES = re.compile(r"/(druntime|phobos|libphobos)/|/include/(d|dmd)/")
_D = re.compile(r"^(core|rt|gc|std)\.[a-z_]+\.|^object\.|^_d_[a-z]\w+$")
_GO = re.compile(r"^runtime(/\w+)?\.|^_cgo_[0-9a-f]+_C2?func_|^_?x?_cgo_|^crosscall")

_INTERPRETER = re.compile(r"/(lib)?python3[^/]*$")
"""The executable or library that CPython is in; extension modules have other names."""
_OCAML = re.compile(r"^caml[A-Z]\w*?(__|\.|\$)\w")
_OCAML_RUNTIME = re.compile(r"^caml_[a-z]")
_SYSTEM = re.compile(
    r"/(ld-linux|ld-musl|libc|libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libpthread|libm|libstd"
    r"|libg?phobos2?|libg?druntime|libphobos2-ldc|libdruntime-ldc)[-.]\S*so"
)
"""Shared objects of the languages' own libraries."""
_LOADER = re.compile(r"/ld-(linux|musl)[^/]*$")
_STARTS = re.compile(
    r"^(_start|start_thread|(__)?clone3?|_dl_\w+|__libc_\w+|\(frames left out\))$|^runtime(/\w+)?\."
)
"""Of Go, the functions that switch to the stack on which C runs; and the mark in a deep stack."""


def is_python(frame: Frame) -> bool:
    """Whether a frame is a line of Python: it has a file, and lies in no module."""
    return not frame[0] and bool(frame[3]) and bool(frame[2])


def is_interpreter(frame: Frame) -> bool:
    """Whether a frame is one of CPython's own functions."""
    return _INTERPRETER.search(frame[0]) is not None


def is_system(frame: Frame) -> bool:
    """Whether a frame lies in a shared object of C's, C++'s, Rust's or D's own library, or of the loader."""
    return _SYSTEM.search(frame[0]) is not None


def is_loader(frame: Frame) -> bool:
    """Whether a frame is one of the dynamic loader's, which calls the constructors of libraries."""
    return _LOADER.search(frame[0]) is not None


def is_start(frame: Frame) -> bool:
    """Whether a frame starts the program, a thread or a stack."""
    return _STARTS.search(frame[2]) is not None


def is_ocaml(frame: Frame) -> bool:
    """Whether a frame is a function that OCaml's compiler named."""
    return _OCAML.search(frame[2]) is not None


def is_ocaml_runtime(frame: Frame) -> bool:
    """Whether a frame is a primitive of OCaml's runtime."""
    return _OCAML_RUNTIME.search(frame[2]) is not None


def is_wrapper(frame: Frame) -> bool:
    """Whether a frame is a function such as xmalloc, or one of this project's layers."""
    function = frame[2].partition("(")[0]
    return function != "" and (
        any(each.search(function) for each in (_WRAPPER, _LAYERS))
        or _LAYER_HEADERS.search(frame[3]) is not None
    )


@lru_cache(maxsize=1 << 16)
def passes_on(frame: Frame) -> bool:
    """Whether a frame is a wrapper of malloc, or a part of the library of C++, Rust, D or Go."""
    function, file = frame[2], frame[3]
    if not function:
        return False
    if is_wrapper(frame) or _CXX.search(plain(function)) or _GO.search(function):
        return True
    if function.endswith((")", ") const")):  # a qualified name of C++ or D
        return _D.search(function) is not None
    if file:
        return any(each.search(file) for each in (_CXX_FILES, _RUST_FILES, _D_FILES))
    return _D.search(function) is not None or _RUST.search(function) is not None


def plain(function: str) -> str:
    """The qualified name of a function, without its return type, template arguments and parameters.

    Of a method of a trait in Rust it is the type's name, and the method's.
    """
    if function.startswith("<"):
        end = _closing(function)
        kind = function[1:end].partition(" as ")[0]
        return (plain(f"{kind}{function[end + 1 :]}") if kind.strip("<") else function) or function
    bare = function.replace("(anonymous namespace)", "{anonymous}").replace("->", "")
    text = _CXX_OPERATOR.sub("operator", bare)
    kept, depth = [], 0
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            if letter == "(":
                break
            kept.append(letter)
    name = "".join(kept).replace("::::", "::").strip(" :")
    before, operator, _ = name.partition("operator ")
    return before.rsplit(" ", 1)[-1] + operator.strip() if operator else name.rsplit(" ", 1)[-1]


def _closing(text: str) -> int:
    """Index where the bracket closes that the text begins with; the text's end if none does."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">" and text[at - 1] != "-")
        if depth == 0:
            return at
    return len(text)


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
    if location in (function, "unknown"):
        return function
    return f"{function} [inlined] ({location})" if frame[5] else f"{function} ({location})"


def with_via(location: str, via: str) -> str:
    """The location of a site and, if it called into a library, what it called there."""
    return f"{location}, via {via}" if via else location
