#include <cstddef>

#include <google/protobuf/arena.h>

#include "../registry.h"

namespace {

class ProtobufArena {
  public:
    static constexpr bool frees_all = true;

    explicit ProtobufArena(std::size_t /*bytes*/) {}

    /// The public way to raw bytes; they are aligned to 8.
    void *allocate(std::size_t size) { return google::protobuf::Arena::CreateArray<char>(&arena_, size); }
    void free_one(void * /*object*/, std::size_t /*size*/) {}
    void free_all() { arena_.Reset(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    google::protobuf::Arena arena_;
};

const bool known = bench::add<ProtobufArena>("protobuf arena");

} // namespace
