#include "outside/linked.h"

#include <map>
#include <set>

#include "symbols/own_names.h"

namespace reap::native {
namespace {

using Names = std::vector<std::string>;

const Names kMalloc = {"malloc",       "free",     "calloc",         "realloc",
                       "reallocarray", "memalign", "posix_memalign", "aligned_alloc",
                       "valloc",       "pvalloc",  "free_sized",     "free_aligned_sized"};
const Names kUnprefixed = {"mallocx", "rallocx",  "xallocx", "sallocx",
                           "dallocx", "sdallocx", "nallocx", "mallctl*"};

struct Inner {
    Names signs; // one of these tells that the file has it, whatever else of it was inlined or renamed
    Names functions;
};

// What an allocator has beside the functions that begin with its prefix.
const std::map<std::string, Inner> &inner() {
    static const std::map<std::string, Inner> all = {
        {"jemalloc", {{"je_malloc_default", "je_arena_malloc_hard"}, {"je_*"}}},
        {"mimalloc", {{"_mi_malloc_generic"}, {"mi_*", "_mi_*", "_ZL3mi_*", "_ZL4_mi_*"}}},
        {"tcmalloc",
         {{"tc_newarray", "_ZN8tcmalloc*"},
          {"tc_*", "_ZN8tcmalloc*", "_ZNK8tcmalloc*", "TCMallocInternal*"}}},
        {"snmalloc", {{"_ZN8snmalloc*"}, {"sn_*", "_ZN8snmalloc*", "_ZNK8snmalloc*", "_ZZN8snmalloc*"}}},
        {"rpmalloc",
         {{}, {"rpmalloc*", "rpcalloc", "rprealloc", "rpfree*", "rpaligned_*", "rpmemalign", "_rpmalloc_*"}}},
    };
    return all;
}

} // namespace

std::vector<AddressRange> linked_allocators(Symbolizer &symbols, const std::string &path) {
    std::set<std::string> names;
    const auto add = [&names](const Names &more) { names.insert(more.begin(), more.end()); };
    if (!symbols.functions(path, {"malloc"}).empty()) add(kMalloc);
    for (const OwnNames &own : symbols.own_names(path)) {
        if (own.prefix.empty())
            add(kUnprefixed);
        else if (own.allocator != "rpmalloc")
            names.insert(own.prefix + '*');
        add(inner().at(own.allocator).functions);
    }
    for (const auto &[allocator, each] : inner()) {
        if (!symbols.functions(path, each.signs).empty()) add(each.functions);
    }
    return symbols.functions(path, {names.begin(), names.end()});
}

} // namespace reap::native
