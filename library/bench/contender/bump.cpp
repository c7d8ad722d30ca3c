#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../registry.h"

// The baseline: what a programmer writes by hand who has buffers that are large enough, and no more wishes.

namespace {

constexpr std::size_t buffer_bytes = std::size_t{192} << 20;

char *make_buffer() {
    void *const pages = mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        std::perror("bench: no pages for the bump pointer");
        std::exit(1);
    }
    return static_cast<char *>(pages);
}

/// The buffer of a region that is alone: it cannot be used while there is another.
class OneBuffer {
  public:
    [[nodiscard]] char *begin() const { return buffer; }

  private:
    static inline char *const buffer = make_buffer();
};

/// The buffer of a region among others, from a list of those that are not in use. Threads were not thought
/// of.
class ListedBuffer {
  public:
    ListedBuffer() : buffer_(spare) {
        if (buffer_ == nullptr) [[unlikely]]
            buffer_ = ::new (make_buffer()) Buffer{nullptr};
        spare = buffer_->next;
    }
    ~ListedBuffer() {
        buffer_->next = spare;
        spare = buffer_;
    }
    ListedBuffer(const ListedBuffer &) = delete;
    ListedBuffer &operator=(const ListedBuffer &) = delete;

    [[nodiscard]] char *begin() const { return reinterpret_cast<char *>(buffer_ + 1); }

  private:
    struct alignas(16) Buffer {
        Buffer *next;
    };
    static inline Buffer *spare = nullptr;
    Buffer *buffer_;
};

template <class Buffer>
class Bump {
  public:
    static constexpr bool frees_all = true;

    explicit Bump(std::size_t /*bytes*/) : next_(buffer_.begin()), end_(next_ + buffer_bytes - 16) {}

    void *allocate(std::size_t size) {
        size = rounded(size);
        if (size > static_cast<std::size_t>(end_ - next_)) return nullptr;
        void *const object = next_;
        next_ += size;
        return object;
    }
    void free_one(void * /*object*/, std::size_t /*size*/) {}
    void free_all() { next_ = buffer_.begin(); }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        char *const begin = static_cast<char *>(object);
        if (begin + rounded(size) != next_ || rounded(larger) > static_cast<std::size_t>(end_ - begin))
            return bench::allocate_copy_free(*this, object, size, larger);
        next_ = begin + rounded(larger);
        return object;
    }

  private:
    static std::size_t rounded(std::size_t size) { return (size + 15) & ~std::size_t{15}; }

    Buffer buffer_;
    char *next_;
    char *end_;
};

const bool known = bench::add<Bump<ListedBuffer>>("bump") && bench::add<Bump<OneBuffer>>("bump, one buffer");

} // namespace
