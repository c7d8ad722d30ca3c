"""Facts of ELF files are those that readelf prints, and damaged files are refused."""

import random
import re
import subprocess
from pathlib import Path

import pytest

from reap import native
from reap.allocators import elf

FUNCTIONS = ("malloc", "free", "memcpy", "printf", "__cxa_finalize", "main")


def is_elf(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == elf.MAGIC


def some() -> list[Path]:
    """Programs, libraries, objects and debug files of this system."""
    folders = ("/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/gcc", "/usr/lib/debug")
    patterns = ("*", "*", "*", "**/*", "**/*")
    found = []
    for folder, pattern in zip(folders, patterns, strict=True):
        here = [path for path in sorted(Path(folder).glob(pattern)) if is_elf(path)]
        found += random.Random(47).sample(here, min(3, len(here)))
    return found


FILES = some()


def readelf(*words: str) -> str:
    done = subprocess.run(["readelf", "--wide", *words], capture_output=True, text=True, check=True)
    return done.stdout


def printed(text: str, pattern: str) -> list[str]:
    return re.findall(pattern, text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_facts_are_those_of_readelf(path):
    facts = elf.read(path, frozenset(FUNCTIONS))
    headers = readelf("--file-header", "--program-headers", str(path))
    dynamic = readelf("--dynamic", "--version-info", str(path))
    assert [f"ELF{facts.bits}"] == printed(headers, r"Class: +(\w+)")
    assert [facts.kind] == printed(headers, r"Type: +(\w+)")
    if path.suffix != ".debug":  # whose segments are in another file
        assert facts.interpreter == "".join(printed(headers, r"program interpreter: (.*)\]"))
    assert facts.dynamic == bool(printed(headers, r"(?m)^  DYNAMIC"))
    assert facts.needed == printed(dynamic, r"\(NEEDED\) +Shared library: \[(.*)\]")
    versions = set(printed(dynamic, r"Name: (\S+)  Flags: \w+  Version"))
    assert set(elf.opened(path).needed_versions()) == versions
    assert elf.build_id(path) == "".join(printed(readelf("--notes", str(path)), r"Build ID: (\w+)")[:1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_symbols_are_those_of_readelf(path):
    facts = elf.read(path, frozenset(FUNCTIONS))
    named = rf"(?m)(FUNC|IFUNC|NOTYPE|OBJECT) .* (\w+) +({'|'.join(FUNCTIONS)})(?:@\S+)?(?: \(\d+\))?$"
    tables = {
        dynamic: readelf(words, str(path)) for dynamic, words in ((True, "--dyn-syms"), (False, "--syms"))
    }
    rows = {dynamic: re.findall(named, text) for dynamic, text in tables.items()}

    def functions(dynamic: bool) -> set[str]:
        return {name for kind, where, name in rows[dynamic] if where != "UND" and kind.endswith("FUNC")}

    assert facts.exports == functions(dynamic=True)
    assert facts.defines == functions(dynamic=True) | functions(dynamic=False)
    assert facts.imports == {name for _, where, name in rows[True] if where == "UND"}


def test_what_is_no_whole_elf_file_is_refused(tmp_path):
    whole = Path("/bin/true").read_bytes()
    path = tmp_path / "file"
    refusals = {b"": "is empty", b"text": "is not an ELF file", whole[:4]: "damaged", whole[:-1]: "truncated"}
    for content, refusal in refusals.items():
        path.write_bytes(content)
        with pytest.raises(elf.NotElfError, match=refusal):
            elf.read(path, frozenset())
    with pytest.raises(FileNotFoundError):
        elf.read(tmp_path / "none", frozenset())


def test_a_table_outlives_the_name_of_its_file():
    (table,) = native.ElfFile(b"/bin/true").symbol_tables(dynamic_only=True)
    assert "__libc_start_main" in table.functions(["__libc_start_main"])[1]
    assert b"__libc_start_main" in table.strings
