// The program of geometry-pass with Blender's own linear allocator (BLI_linear_allocator), built alone. It is
// built twice: the naive variant has its large_buffer_threshold at 0, as in ISMM 2026, Table 4, so that each
// array is a buffer of its own.

#include <cstddef>
#include <optional>

#include "BLI_linear_allocator.hh"
#include "common/programs/tubes.h"

namespace {

/// It cannot be reset: each pass has its own, as each evaluation of nodes in Blender.
class Memory {
  public:
    Memory() { reset(); }
    void *allocate(std::size_t size, std::size_t alignment) {
        return memory_->allocate(static_cast<std::int64_t>(size), static_cast<std::int64_t>(alignment));
    }
    void reset() { memory_.emplace(); }

  private:
    std::optional<blender::LinearAllocator<>> memory_;
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 3000};
    if (!workload::read(count, words, options)) return 2;
    Memory memory;
    tubes::build(memory, options.scale);
}
