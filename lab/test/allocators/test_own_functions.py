"""Allocators that are called by functions of their own: named where their calls are not recorded."""

import pytest
from building import OUT, compiled
from recorded import recorded

from reap.allocators import catalog, own_functions
from reap.recording.analyse.notes import notes
from reap.recording.analyse.unrecorded import note, unrecorded
from reap.recording.records import UnrecordedAllocator

LINKED = """
    #include <stdio.h>
    #include <stdlib.h>
    const char said[] = "<jemalloc>: Error";
    void *app_je_malloc(size_t size) { static char heap[4096]; return heap + size % 64; }
    int main(void) {
        void *kept[100];
        for (int i = 0; i < 100; i++) kept[i] = malloc(100);
        for (int i = 0; i < 100; i++) free(kept[i]);
        return app_je_malloc(8) == said;
    }"""


def linked(*flags: str) -> str:
    command = ["gcc", "-x", "c", "-g", "-O0", *flags, "-", "-o", OUT]
    return compiled("linked" + "".join(flags), command, text=LINKED)


def test_a_linked_allocator_is_named_with_what_that_means_for_the_figures(tmp_path):
    profile = recorded(tmp_path, "full", linked()).profile
    (found,) = profile.unrecorded_allocators
    assert (found.module.split("/")[-1], found.allocator, found.function) == (
        "linked",
        "jemalloc",
        "app_je_malloc",
    )
    (note,) = [each for each in profile.notes if "app_je_malloc" in each]
    assert all(each in note for each in ("jemalloc", "linked", "most in use", "leak", "check"))


def test_the_note_names_uprobes_where_functions_have_names():
    def said(function: str) -> str:
        return note(UnrecordedAllocator(module="/srv/service", allocator="jemalloc", function=function))

    assert "uprobes" in said("_rjem_malloc")
    assert "uprobes" in said("app_je_malloc")
    assert "uprobes" not in said("")


def test_a_stripped_one_is_known_by_what_it_prints():
    assert own_functions.read(linked("-s")).defined == {"jemalloc": ""}


def test_one_whose_exported_functions_alone_have_names_is_known_by_what_it_prints():
    """As Bun: its table has the names that others may call, and none of mimalloc's."""
    text = LINKED.replace("void *app_je_malloc", "static void *app_je_malloc")
    command = ["gcc", "-x", "c", "-O0", "-rdynamic", "-Wl,--discard-all", "-", "-o", OUT]
    program = compiled("linked-exported", command, text=text)
    assert own_functions.read(program).defined == {"jemalloc": ""}


def test_one_of_which_only_what_it_prints_is_known():
    """Its functions have names of its own."""
    text = LINKED.replace('said[] = "<jemalloc>: Error"', r'said[] = "SCUDO_OPTIONS\0Scudo ERROR: "')
    program = compiled("linked-scudo", ["gcc", "-x", "c", "-", "-o", OUT], text=text)
    assert own_functions.read(program).defined == {"scudo": ""}


@pytest.mark.parametrize(
    ("allocator", "function"),
    [("snmalloc", "sn_rust_alloc"), ("rpmalloc", "rpmalloc"), ("tcmalloc", "tc_malloc")],
)
def test_one_that_prints_nothing_is_known_by_its_functions(allocator, function):
    """Else a check passes on what it did not measure."""
    text = LINKED.replace("<jemalloc>: ", "").replace("app_je_malloc", function)
    program = compiled(f"linked-{allocator}", ["gcc", "-x", "c", "-", "-o", OUT], text=text)
    assert own_functions.read(program).defined == {allocator: function}


def test_functions_that_only_have_such_names_are_no_allocator():
    text = LINKED.replace("<jemalloc>: ", "")
    program = compiled("named", ["gcc", "-x", "c", "-", "-o", OUT], text=text)
    assert own_functions.read(program).defined == {}


def test_what_serves_malloc_counts_only_if_its_own_functions_are_called():
    library = catalog.find("jemalloc").library
    text = "void *mallocx(unsigned long, int); int main(void) { return mallocx(8, 0) == 0; }"
    calls = compiled("calls", ["gcc", "-x", "c", "-", "-o", OUT, "-x", "none", library], text=text)
    (found,) = unrecorded([calls], [library])
    assert (found.module, found.allocator, found.function) == (library, "jemalloc", "mallocx")
    assert unrecorded(["/usr/bin/perl"], [library]) == []


def test_files_that_are_gone_or_no_programs_say_nothing(tmp_path):
    text = tmp_path / "text"
    text.write_text("\x7fELF and no more")
    assert unrecorded([str(text), "/nonexistent", "", "[vdso]"], [""]) == []


def test_python_is_sent_to_pythonmalloc_only_where_it_reaches(tmp_path):
    hidden = "import time; held = [str(each) for each in range(400000)]; time.sleep(1)"
    done = recorded(tmp_path, "triage", "/usr/bin/python3", "-c", hidden)
    own = UnrecordedAllocator(module="/lib/libarrow.so", allocator="jemalloc", function="je_arrow_malloc")
    for allocators, reaches in (([], True), ([own], False)):
        said = [each for each in notes(done.recording, "triage", allocators) if "resident came from" in each]
        assert [("PYTHONMALLOC" in each) for each in said] == [reaches]
