"""Which function of a stack is said to have asked for memory."""

import subprocess

import pytest
from building import OUT, compiled
from programs import compile_c
from recorded import recorded

from reap.recording.analyse.frames import Frame, plain
from reap.recording.analyse.sites import DEEPEST, index_of, lines_of, sites, telling, via

PLUGIN = "#include <stdlib.h>\nvoid *NAME(int n) { void *volatile p = malloc(n); return p; }\n"
HOST = r"""
    #include <dlfcn.h>
    #include <stdlib.h>
    int main(int count, char **words) {
        for (int i = 1; i + 1 < count; i += 2) {
            void *plugin = dlopen(words[i], RTLD_NOW);
            void *(*make)(int) = dlsym(plugin, words[i + 1]);
            for (int k = 0; k < 1000; k++) free(make(100 * i));
            dlclose(plugin);
        }
        return 0;
    }"""


def test_sites_of_a_library_that_was_closed_keep_their_names(tmp_path):
    """The next one comes to lie in its place."""
    words = []
    for name in ("plugin_a_parse", "plugin_b_parse", "plugin_c_parse"):
        flags = ["-g", "-O1", "-fno-builtin", "-shared", "-fPIC", f"-DNAME={name}"]
        words += [compile_c(f"lib{name}.so", PLUGIN, flags), name]
    done = recorded(tmp_path, "full", compile_c("closes", HOST, ["-g", "-O1", "-fno-builtin"]), *words)
    seen = {site.function: site.objects for site in done.profile.sites}
    assert [seen.get(name) for name in words[1::2]] == [1000, 1000, 1000], seen


def test_a_function_of_two_names_has_its_public_one(tmp_path):
    """Debug information has the one that the library uses within itself, as __printf."""
    text = """
        #include <stdlib.h>
        __attribute__((noinline)) void *__make_text(int size) { return (char *)malloc(size) + 1; }
        void *make_text(int size) __attribute__((alias("__make_text")));
        int main(void) { for (int i = 0; i < 100; i++) free((char *)make_text(10) - 1); return 0; }"""
    done = recorded(tmp_path, "full", compile_c("aliases", text, ["-g", "-O1", "-fno-builtin"]))
    assert "make_text" in {site.function for site in done.profile.sites}


@pytest.mark.parametrize(
    "wrapper",
    [
        "malloc",
        "xrealloc",
        "g_malloc0",
        "mi_new_nothrow",
        "mi_heap_alloc_new",
        "mi_malloc_aligned",
        "_rjem_mallocx",
        "CRYPTO_zalloc",
        "operator new(unsigned long)",
        "std::vector<int>::reserve(unsigned long)",
        "AllocateHeap(unsigned long, MEMFLAGS, AllocFailStrategy::AllocFailEnum)",
        "v8::internal::AllocWithRetry(unsigned long, v8::PageAllocator*)",
    ],
)
def test_who_only_passes_a_request_on_is_no_site(wrapper: str) -> None:
    chain = [("/x", 1, wrapper, "", 0, False), ("/x", 2, "Parser::read(char const*)", "", 0, False)]
    assert telling(chain) == chain[1]
    assert telling(chain[:1]) == chain[0]


@pytest.mark.parametrize("function", ["allocate_seats(int)", "Heap::grow()", "main", "", "std_reader"])
def test_whose_name_only_looks_like_it_is_one(function: str) -> None:
    chain = [("/x", 1, function, "", 0, False), ("/x", 2, "main", "", 0, False)]
    assert telling(chain) == chain[0]


def frame(function: str, file: str = "", module: str = "/home/u/program", line: int = 7) -> Frame:
    return (module, 16, function, file, line if file else 0, False)


RUST = "/rustc/59807616e1a5/library/"
MAIN = frame("words::main", "/home/u/src/words.rs")
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
NUMPY = "/home/u/venv/lib/python3.11/site-packages/numpy/_core/_multi.cpython-311-x86_64-linux-gnu.so"
PYTHON = "/usr/bin/python3.11"


@pytest.mark.parametrize(
    ("chain", "site", "called"),
    [
        # Rust's library by its files, inlined or not, with what it is built with; not what a program chose.
        (
            [
                frame("<alloc::alloc::Global>::alloc_impl_runtime", RUST + "alloc.rs"),
                frame("hashbrown::raw::RawTable<T,A>::reserve_rehash", "/rust/deps/hashbrown-0.16/raw.rs"),
                frame("alloc::vec::Vec<T,A>::push", "/root/lib/rustlib/src/rust/library/vec.rs"),
                MAIN,
            ],
            3,
            "alloc::vec::Vec::push",
        ),
        ([frame("hashbrown::raw::grow", "/root/.cargo/registry/src/hashbrown-0.15/src/raw.rs"), MAIN], 0, ""),
        # By names, where no file is known.
        ([frame("<alloc::vec::Vec<T> as core::clone::Clone>::clone"), MAIN], 1, "alloc::vec::Vec::clone"),
        ([frame("<str>::repeat"), MAIN], 1, "str::repeat"),
        ([frame("<words::Tree as core::clone::Clone>::clone"), MAIN], 0, ""),
        ([frame("<alloc::vec::Vec<T> as words::Grow>::grow"), MAIN], 0, ""),
        # C++ has namespaces of these names, and its own templates with types of the library.
        ([frame("core::Engine::load(char const*)"), frame("main")], 0, ""),
        ([frame("void process<std::vector<int> >(int)"), frame("main")], 0, ""),
        ([frame("std::vector<int> made<int>(int)"), frame("main")], 0, ""),
        ([frame("other()", "/usr/include/c++/12/bits/stl_vector.h"), frame("main")], 0, ""),
        ([frame("push_back", "/usr/include/c++/12/bits/stl_vector.h"), frame("main")], 1, "push_back"),
        # All of it inlined into Rust's library.
        (
            [
                frame("alloc::vec::from_elem"),
                frame("std::sys::backtrace::__rust_begin_short_backtrace"),
                frame("core::ops::function::FnOnce::call_once{{vtable.shim}}"),
                frame("<std::sys::thread::unix::Thread>::new::thread_start", RUST + "std/src/sys/thread.rs"),
                frame("start_thread", module=LIBC),
            ],
            1,
            "alloc::vec::from_elem",
        ),
        ([frame("std::vector<int>::reserve(unsigned long)"), frame("_start")], 0, ""),
        # Libraries without symbols, and C's.
        (
            [frame("", module="/opt/libdraw.so.2"), frame("draw", module="/opt/libdraw.so.2"), frame("main")],
            1,
            "libdraw.so.2",
        ),
        ([frame("", module="/opt/libdraw.so.2"), frame("clone", module=LIBC)], 0, ""),
        ([frame("__fopen_internal", module=LIBC), frame("fopen", module=LIBC), frame("main")], 2, "fopen"),
        ([frame("", module=LIBC), frame("fopen", module=LIBC)], 1, "libc.so.6"),
        # The program's own code without symbols.
        ([frame(""), frame("xmlParse", module="/usr/lib/libxml2.so.2"), frame("")], 0, ""),
        # Lines of Python, whatever is between.
        (
            [
                frame("PyDataMem_UserNEW", module=NUMPY),
                frame("", module=NUMPY),
                frame("PyObject_Vectorcall", module=PYTHON),
                ("", 1, "large", "/home/u/sites.py", 5, False),
                ("", 2, "<module>", "/home/u/sites.py", 7, False),
            ],
            3,
            "numpy",
        ),
        ([frame("_PyLong_New", module=PYTHON), ("", 1, "large", "/home/u/sites.py", 5, False)], 1, ""),
        ([frame("PyDataMem_NEW", module=NUMPY), frame("PyArray_NewFromDescr", module=NUMPY)], 1, ""),
        # What cgo, D and OCaml add to a program.
        (
            [
                frame("make"),
                frame("_cgo_4e1d4cb8b4a5_Cfunc_make"),
                frame("runtime.asmcgocall.abi0", "/go/src/asm.s"),
            ],
            0,
            "",
        ),
        (
            [
                frame("_cgo_4e1d4cb8b4a5_Cfunc__Cmalloc"),
                frame("runtime.asmcgocall.abi0", "/go/src/asm.s"),
                frame("main.fill", "/home/u/main.go"),
            ],
            2,
            "runtime.asmcgocall.abi0",
        ),
        (
            [frame("core.memory.GC.malloc(ulong)"), frame("_d_newclass"), frame("main.Tree.grow(int)")],
            2,
            "_d_newclass",
        ),
        ([frame("caml_alloc_shr"), frame("caml_make_vect"), frame("camlMain__fill_12")], 2, "caml_make_vect"),
    ],
)
def test_the_site_is_the_users_line(chain: list[Frame], site: int, called: str) -> None:
    assert index_of(chain) == site
    assert via(chain, site) == called


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", "std::operator"),
        ("Foo::operator std::string()", "Foo::operator"),
        ("(anonymous namespace)::foo(int)", "{anonymous}::foo"),
        ("alloc::str::<impl str>::repeat", "alloc::str::repeat"),
        ("<core::iter::Map<words::Iter, fn(i32) -> i32> as core::Iter>::fold", "core::iter::Map::fold"),
        ("<", "<"),
    ],
)
def test_names_without_their_types(function: str, name: str) -> None:
    assert plain(function) == name


def test_callers_are_a_tree_of_shares() -> None:
    def chain(*callers: str) -> list[Frame]:
        return [frame("make", "/u/a.c"), *(frame(name, "/u/a.c") for name in callers), frame("_start")]

    stacks = {
        1: (60.0, chain("left", "std::sort(int)", "run", "main")),
        2: (30.0, chain("left", "left", "left", "test", "main")),
        3: (8.0, chain("right", "main")),
        4: (2.0, chain("seldom", "main")),
    }
    found = sites(
        [(0, at, size, size, 0, 0, 0, 0) for at, (size, _) in stacks.items()], lambda _, at: stacks[at][1]
    )
    assert len(found) == 1
    assert [(each.depth, each.function, each.bytes) for each in found[0].callers] == [
        (1, "left", 90.0),
        (2, "run", 60.0),
        (3, "main", 60.0),
        (2, "test", 30.0),
        (3, "main", 30.0),
        (1, "right", 8.0),
        (2, "main", 8.0),
    ]


def test_a_deep_stack_shows_its_outermost_functions() -> None:
    shown = lines_of([frame(f"f{at}") for at in range(1000)])
    assert len(shown) == DEEPEST + 1
    assert shown[0].startswith("f0 ")
    assert "... 960 more ..." in shown
    assert shown[-1].startswith("f999 ")


HIDDEN = """
#include <stdlib.h>
static __attribute__((noinline)) void *inner(int n) { void *volatile p = malloc(n); return p; }
void *draw(int n) { void *volatile p = inner(n); return p; }
"""


def test_a_library_without_symbols_is_named_by_what_it_exports(tmp_path):
    path = tmp_path / "libdraw.so"
    words = ["gcc", "-x", "c", "-O1", "-shared", "-fPIC", "-", "-o", path, "-Wl,-soname,libdraw.so", "-s"]
    subprocess.run(words, input=HIDDEN, text=True, check=True)
    text = """
        #include <stdio.h>
        #include <stdlib.h>
        void *draw(int);
        int main(void) { for (int i = 0; i < 100; i++) free(draw(500)); fclose(fopen("/dev/null", "r")); }
    """
    flags = ["-g", "-O1", f"-L{tmp_path}", "-ldraw", f"-Wl,-rpath,{tmp_path}"]
    program = compiled("draws", ["gcc", "-x", "c", "-", "-o", OUT, *flags], text=text)
    found = {site.function: site for site in recorded(tmp_path, "full", program).profile.sites}
    assert (found["draw"].objects, found["draw"].via) == (100, "libdraw.so")
    assert "fopen" in found["main"].via
    assert [caller.function for caller in found["draw"].callers] == ["main"]
