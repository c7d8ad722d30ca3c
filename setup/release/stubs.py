"""C library to link against whose symbols are all older than a version: what is built runs on older systems.

A stub has the names, kinds and versions of this system's C library, and no code. It lacks each symbol that is
newer than asked, or has a newer default version: a call of one fails to link unless lab/older defines it.
"""

import re
from pathlib import Path

from commands import run
from elftools.elf.elffile import ELFFile
from versions import NotReadyError

LIBRARIES = {"libc.so.6": "libc.so.6", "libm.so.6": "libm.so", "ld-linux-x86-64.so.2": "ld.so"}
"""Libraries that have a stub, and the stub's file."""

OLDER = frozenset({"__libc_start_main", "pthread_create", "pthread_join"})
"""Functions that reap-calibrate calls in an older version than the default one. It has no constructors, which
the first of them would not run, and needs libpthread, which has the others before glibc 2.34."""


def write(out: Path, newest: int, older: frozenset[str] = frozenset()) -> None:
    """Write libc.so and libm.so for glibc 2.`newest` and later; any version of those in `older` serves."""
    out.mkdir(parents=True, exist_ok=True)
    for soname, name in LIBRARIES.items():
        library = Path(run("gcc", f"-print-file-name={soname}").strip())
        if not library.is_absolute():
            raise NotReadyError(f"the compiler has no {soname}: install libc6-dev")
        _link(out / name, soname, symbols(library, newest, older))
    static = run("gcc", "-print-file-name=libc_nonshared.a").strip()
    (out / "libc.so").write_text(f"GROUP({out / 'libc.so.6'} {static} AS_NEEDED({out / 'ld.so'}))\n")


def symbols(library: Path, newest: int, older: frozenset[str]) -> dict[str, tuple[str, str, int]]:
    """Symbols of a library whose default version, or any of `older`, is at most 2.`newest`.

    By name: version, kind and size.
    """
    with library.open("rb") as file:
        elf = ELFFile(file)
        table, of, defined = (
            elf.get_section_by_name(name) for name in (".dynsym", ".gnu.version", ".gnu.version_d")
        )
        versions = {each.entry.vd_ndx: next(names).name for each, names in defined.iter_versions()}
        found = {}
        for i, symbol in enumerate(table.iter_symbols()):
            index = of.get_symbol(i).entry.ndx
            if symbol.name in older and isinstance(index, int):
                index &= 0x7FFF
            # A version that is not the default one has a bit that makes this None.
            version = versions.get(index)
            if version is None or symbol["st_shndx"] in {"SHN_UNDEF", "SHN_ABS"}:
                continue
            if re.fullmatch(r"GLIBC_2\.[0-9.]+", version) and minor_version(version) <= newest:
                kind = "object" if symbol["st_info"]["type"] == "STT_OBJECT" else "function"
                found[symbol.name] = (version, kind, symbol["st_size"])
        return found


def minor_version(version: str) -> int:
    """Minor version in a name like GLIBC_2.35; 0 in every other name."""
    match = re.match(r"GLIBC_2\.(\d+)", version)
    return int(match[1]) if match else 0


def _link(stub: Path, soname: str, found: dict[str, tuple[str, str, int]]) -> None:
    """Link a stub from assembly and a version script, which are written beside it."""
    source, script = stub.with_suffix(".s"), stub.with_suffix(".map")
    lines = {"function": [".text"], "object": [".bss"]}
    by_version: dict[str, list[str]] = {}
    for name, (version, kind, size) in sorted(found.items()):
        lines[kind] += [f".globl {name}", f".type {name}, @{kind}", f".size {name}, {size}"]
        lines[kind] += [f"{name}:", f".skip {size}"]
        by_version.setdefault(version, []).append(name)
    source.write_text("\n".join(line for part in lines.values() for line in part) + "\n")
    nodes = (f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in by_version.items())
    script.write_text("".join(nodes))
    run(
        "gcc",
        "-shared",
        "-nostdlib",
        f"-Wl,-soname,{soname},--version-script,{script}",
        "-o",
        stub,
        source,
    )
