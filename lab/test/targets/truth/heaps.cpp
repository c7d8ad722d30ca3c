// A program with first-class heaps of mimalloc, which is linked into it: no other allocator frees their
// blocks.
#include "modes.h"

#include <cstdint>
#include <cstdio>
#include <iterator>

extern "C" struct mi_heap_s *mi_heap_new();
extern "C" void *mi_heap_malloc(mi_heap_s *heap, std::size_t size);
extern "C" void mi_free(void *block);

namespace {

// Requests whose blocks come from one heap. Cured, each request has those of the one before.
void requests(double scale) {
    enum { BLOCKS = 1000 };
    static char *blocks[BLOCKS];
    mi_heap_s *const heap = mi_heap_new();
    std::uint64_t sum = 0;
    for (long turn = static_cast<long>(60000 * scale); turn > 0; turn--) {
        for (std::size_t at = 0; at < BLOCKS; at++) {
            if (blocks[at] == nullptr)
                blocks[at] = static_cast<char *>(mi_heap_malloc(heap, 16 + at * 7 % 200));
            blocks[at][0] = static_cast<char>(at & 63);
        }
        for (auto &block : blocks) {
            sum += static_cast<std::uint64_t>(block[0]);
            if (cured) continue;
            mi_free(block);
            block = nullptr;
        }
    }
    std::printf("%lu\n", sum);
}

} // namespace

int main(int count, char **words) {
    static const mode modes[] = {{"requests", requests}};
    return run_mode(modes, std::size(modes), count, words);
}
