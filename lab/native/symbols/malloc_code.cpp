// Where in a C library its malloc is.
#include <algorithm>
#include <set>

#include "symbols/opened.h"

namespace reap::native {
namespace {

// The functions of malloc.c that every glibc exports.
const std::set<std::string> &malloc_exports() {
    static const std::set<std::string> names = {
        "malloc",
        "free",
        "calloc",
        "realloc",
        "memalign",
        "aligned_alloc",
        "valloc",
        "pvalloc",
        "malloc_trim",
        "mallinfo",
        "malloc_usable_size",
        "mallinfo2",
        "malloc_stats",
        "posix_memalign",
        "malloc_info",
        "mallopt",
        "cfree",
    };
    return names;
}

} // namespace

std::vector<AddressRange> SymbolReader::malloc_ranges(const std::string &path) {
    const std::vector<Files::Symbol> &symbols = files_->symbols(path);
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    bool has_private = false;
    for (const Files::Symbol &symbol : symbols) {
        if (malloc_exports().contains(symbol.name) && symbol.end > symbol.begin) {
            begin = std::min(begin, symbol.begin);
            end = std::max(end, symbol.end);
        }
        has_private = has_private || symbol.name == "_int_malloc";
    }
    if (end == 0) return {};
    // Functions of 40 KB between them mean that this is no glibc; then trust nothing but the exports.
    if (end - begin > 65536) {
        const std::vector<std::string> names(malloc_exports().begin(), malloc_exports().end());
        return functions(path, names);
    }
    const std::set<std::string> helpers = {"malloc_printerr", "int_mallinfo",       "munmap_chunk",
                                           "unlink_chunk",    "malloc_consolidate", "_int_free",
                                           "_int_malloc",     "sysmalloc"};
    uint64_t before = 0;
    uint64_t first_helper = begin;
    for (const Files::Symbol &symbol : symbols) {
        const std::string base = symbol.name.substr(0, symbol.name.find('.'));
        if (helpers.contains(base) && symbol.begin < begin && begin - symbol.begin < 65536) {
            first_helper = std::min(first_helper, symbol.begin);
        }
        if (symbol.end <= begin) before = std::max(before, symbol.end);
    }
    if (has_private) return {{first_helper, end}};
    return {{begin - before < 65536 ? before : begin, end}};
}

} // namespace reap::native
