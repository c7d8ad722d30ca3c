"""The table of allocators' functions has all by which the libraries of this machine allocate and free."""

import re

import pytest

from reap import native
from reap.allocators import catalog, elf
from reap.launch.linked import redirect

ALLOCATES = re.compile(r"alloc|new|dup|delete|free|realpath|expand")
ASKS = re.compile(
    r"(usable|good|malloc)_size$|stats|nallocx|sallocx|mallinfo|mode|register|heap_(new|delete)|arena"
)
SAYS_NO_SIZE = re.compile(r"realpath|wcsdup|dupenv_s|reallocarr$|expand")


@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc", "tcmalloc"])
def test_it_knows_each_exported_function(allocator):
    prefix = redirect.PREFIXES[allocator]
    known = {prefix + name for name in native.known_functions(allocator)}
    tables = elf.opened(catalog.find(allocator).library).symbol_tables(dynamic_only=True)
    exported = {name for table in tables for name, kind, _ in table.defined() if kind == native.FUNCTION}
    own = {name for name in exported if name.startswith(prefix or "m") and not name.startswith("_")}
    unknown = {name for name in own if ALLOCATES.search(name) and not ASKS.search(name)} - known
    assert len(own) > 5
    assert {name for name in unknown if not SAYS_NO_SIZE.search(name)} == set()
