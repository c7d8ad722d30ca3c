"""Allocators that are linked into a program are known by their functions, or by what they print."""

import re
from pathlib import Path

import pytest
from building import OUT, compiled

from reap import native
from reap.allocators import catalog, own_functions
from reap.launch.linked import recognise, redirect

LAB = Path(__file__).parents[2]

JEMALLOC = """
    const char said[] = "<jemalloc>: Error";
    void *_rjem_malloc(unsigned long size) { static char heap[4096]; return heap + size % 64; }
    int main(void) { return _rjem_malloc(8) == said; }"""
OTHERS = {"mimalloc": "mi_malloc", "tcmalloc": "tc_malloc", "rpmalloc": "rpmalloc", "snmalloc": "sn_malloc"}
TCMALLOC_TEXT = """
    const char *said[] = {"tcmalloc.slack_bytes", "tcmalloc.pageheap_unmapped_bytes"};
    int main(int count, char **words) { return words[0] == said[count % 2]; }"""


def program(text: str, *flags: str) -> str:
    command = ["gcc", "-x", "c", "-O0", "-fno-builtin", *flags, "-", "-o", OUT]
    return compiled("linked-in" + "".join(flags), command, text=text)


def found(path: str, *, as_program: bool = True) -> list[tuple[str, str, bool]]:
    return [(each.name, each.how, each.seen) for each in recognise.find(path, program=as_program)]


def test_a_linked_allocator_is_known_by_its_functions_and_stripped_by_what_it_prints():
    assert found(program(JEMALLOC)) == [("jemalloc", "symbols", True)]
    assert found(program(JEMALLOC, "-s")) == [("jemalloc", "text", False)]
    assert found(program(TCMALLOC_TEXT, "-s")) == [("tcmalloc", "text", False)]


@pytest.mark.parametrize("name", OTHERS)
def test_each_family_has_a_function_of_its_own(name):
    function = OTHERS[name]
    text = f"char {function}(char n) {{ return n; }} int main(void) {{ return {function}(0); }}"
    assert found(program(text)) == [(name, "symbols", True)]


def test_a_malloc_of_no_known_family_counts_of_the_program_alone():
    path = program("void *malloc(unsigned long n) { return (void *)n; } int main(void) { return 0; }")
    assert found(path) == [("unknown", "symbols", True)]
    assert found(path, as_program=False) == []


@pytest.mark.parametrize("text", ["<jemalloc>: ", "tcmalloc.slack_bytes", "nothing"])
def test_words_that_a_program_only_has_are_no_allocator(text):
    named = text.replace("<jemalloc>: ", "jemalloc")
    assert found(program(f'const char said[] = "{named}"; int main(void) {{ return said[0] == 0; }}')) == []


@pytest.mark.parametrize(
    "path", ["/usr/bin/perl", "/usr/bin/python3", "/bin/sh", "/nonexistent", "", "[vdso]"]
)
def test_what_has_none_has_none(path):
    assert found(path) == []


def test_names_of_all_functions_are_gone_from_a_stripped_file():
    assert recognise.has_names(program(JEMALLOC))
    assert not recognise.has_names(program(JEMALLOC, "-s"))
    assert not recognise.has_names(program(JEMALLOC, "-Wl,--discard-all"))
    assert not recognise.has_names("/nonexistent")


def test_mimalloc_within_cpython_is_not_what_serves_it():
    text = """
        const char said[] = "mimalloc: error: ";
        void *PyMem_RawMalloc(unsigned long n) { return (void *)n; }
        int main(void) { return PyMem_RawMalloc(1) == said; }"""
    path = program(text, "-rdynamic")
    assert found(path) == []
    assert own_functions.read(path).defined == {}


def test_a_library_that_is_an_allocator_has_it(tmp_path):
    assert [name for name, _, _ in found(catalog.find("jemalloc").library, as_program=False)] == ["jemalloc"]
    cut = tmp_path / "cut"
    cut.write_bytes(b"\x7fELF and no more")
    assert found(str(cut)) == []


@pytest.mark.parametrize("allocator", redirect.PREFIXES)
def test_each_function_of_the_table_has_a_replacement(allocator):
    """But those of mimalloc that say the size of the block, too."""
    prefix, functions = redirect.PREFIXES[allocator], redirect.replacements(allocator)
    without = {name for name in native.known_functions(allocator) if prefix + name not in functions}
    assert all(name.startswith("u") for name in without), without
    assert len(without) == (8 if allocator == "mimalloc" else 0)
    in_place = (LAB / "preload/redirect/redirect.cpp").read_text()
    assert [name for name in sorted(set(functions.values())) if f'{{"{name}", ' not in in_place] == []


def test_the_tables_of_names_agree():
    """The table of functions and this package know the same names."""
    assert set(recognise.PRIVATE_NAMES.values()) == set(redirect.PREFIXES)
    for name in recognise.WITH_PREFIX:
        assert name in recognise.PRIVATE_NAMES, f"native.own_names does not know {name}"
        bare = re.sub(r"^(_rjem|je)_(?=malloc)", "", name)
        assert bare in redirect.replacements(recognise.PRIVATE_NAMES[name]), name
