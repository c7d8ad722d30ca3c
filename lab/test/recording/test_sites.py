"""Which function of a stack is said to have asked for memory."""

import pytest
from programs import compile_c
from recorded import recorded

from reap.recording.analyse.sites import telling

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


@pytest.mark.parametrize(
    "wrapper",
    [
        "malloc",
        "xrealloc",
        "g_malloc0",
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
