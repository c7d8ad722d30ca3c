#include "outside/linked.h"

namespace reap::native {
namespace {

struct Family {
    std::vector<std::string> signs; // one of these tells that the file has it
    std::vector<std::string> functions;
};

const std::vector<Family> &families() {
    static const std::vector<Family> all = {
        {{"malloc"},
         {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign",
          "aligned_alloc", "valloc", "pvalloc", "free_sized", "free_aligned_sized"}},
        {{"mi_malloc", "mi_heap_malloc", "_mi_malloc_generic"}, {"mi_*", "_mi_*", "_ZL3mi_*", "_ZL4_mi_*"}},
        {{"je_malloc", "je_mallocx", "je_malloc_default", "je_arena_malloc_hard"}, {"je_*"}},
        {{"je_arrow_malloc", "je_arrow_mallocx"}, {"je_arrow_*"}},
        {{"_rjem_malloc", "_rjem_mallocx"}, {"_rjem_*", "je_*"}},
        {{"tc_malloc", "tc_newarray"}, {"tc_*", "_ZN8tcmalloc*", "_ZNK8tcmalloc*"}},
        {{"_ZN8tcmalloc*"}, {"_ZN8tcmalloc*", "_ZNK8tcmalloc*", "TCMallocInternal*"}},
        {{"sn_malloc", "sn_rust_alloc", "_ZN8snmalloc*"},
         {"sn_*", "_ZN8snmalloc*", "_ZNK8snmalloc*", "_ZZN8snmalloc*"}},
        {{"rpmalloc"},
         {"rpmalloc*", "rpcalloc", "rprealloc", "rpfree*", "rpaligned_*", "rpmemalign", "_rpmalloc_*"}},
    };
    return all;
}

} // namespace

std::vector<AddressRange> linked_allocators(Symbolizer &symbols, const std::string &path) {
    std::vector<AddressRange> found;
    for (const Family &family : families()) {
        if (symbols.functions(path, family.signs).empty()) continue;
        const std::vector<AddressRange> own = symbols.functions(path, family.functions);
        found.insert(found.end(), own.begin(), own.end());
    }
    return found;
}

} // namespace reap::native
