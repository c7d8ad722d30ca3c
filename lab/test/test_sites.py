"""Which function of a stack is said to have asked for memory."""

import pytest

from reap.analysis.sites import telling


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
