#include <cstddef>

#include <llvm/Support/Allocator.h>

#include "../registry.h"

namespace {

class LlvmBump {
  public:
    static constexpr bool frees_all = true;

    explicit LlvmBump(std::size_t /*bytes*/) {}

    void *allocate(std::size_t size) { return allocator_.Allocate(size, llvm::Align(16)); }
    void free_one(void * /*object*/, std::size_t /*size*/) {}
    void free_all() { allocator_.Reset(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    llvm::BumpPtrAllocator allocator_;
};

const bool known = bench::add<LlvmBump>("llvm bump");

} // namespace
