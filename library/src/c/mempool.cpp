#include "reap/face/c/mempool.h"

#include <array>
#include <cstddef>
#include <utility>

#include "face.h"
#include "reap/face/json.h"
#include "reap/layer/mempool.h"

namespace c = reap::c;

/// A pool whose element size is known here at compile time, and to C at run time.
struct reap_mempool {
    reap_mempool() = default;
    reap_mempool(const reap_mempool &) = delete;
    reap_mempool &operator=(const reap_mempool &) = delete;
    virtual ~reap_mempool() = default;
    virtual void *allocate() noexcept = 0;
    virtual void deallocate(void *element) noexcept = 0;
    virtual void clear(std::size_t keep) noexcept = 0;
    virtual bool each(bool (*visit)(void *, void *), void *argument) = 0;
    [[nodiscard]] virtual bool owns(const void *address) const noexcept = 0;
    [[nodiscard]] virtual reap::MempoolStatistics statistics() const noexcept = 0;
};

namespace {

template <std::size_t Size>
struct alignas(Size % 16 == 0 ? 16 : 8) Element {
    std::byte bytes[Size];
};

template <std::size_t Size>
class Pool final : public reap_mempool {
    using Layer = reap::Mempool<Element<Size>, c::CSource>;

  public:
    Pool(const c::CSource &source, std::size_t elements_per_chunk)
        : layer_(source, elements_per_chunk == 0 ? Layer::default_objects_per_chunk() : elements_per_chunk) {}

    void *allocate() noexcept override { return layer_.try_allocate(); }
    void deallocate(void *element) noexcept override {
        layer_.deallocate(static_cast<Element<Size> *>(element));
    }
    void clear(std::size_t keep) noexcept override { layer_.clear(keep); }
    bool each(bool (*visit)(void *, void *), void *argument) override {
        for (Element<Size> &element : layer_) {
            if (!visit(&element, argument)) return false;
        }
        return true;
    }
    [[nodiscard]] bool owns(const void *address) const noexcept override { return layer_.owns(address); }
    [[nodiscard]] reap::MempoolStatistics statistics() const noexcept override { return layer_.statistics(); }

  private:
    Layer layer_;
};

/// The available element sizes: multiples of 8 up to 64, then four per doubling.
constexpr std::size_t size_count = 24;
constexpr std::size_t size_of(std::size_t number) {
    if (number < 8) return 8 * (number + 1);
    const std::size_t doubling = (number - 8) / 4;
    return ((number - 8) % 4 + 5) * (std::size_t{16} << doubling);
}
static_assert(size_of(7) == 64 && size_of(8) == 80 && size_of(11) == 128 && size_of(size_count - 1) == 1024);

using Maker = reap_mempool *(*)(const reap_mempool_options &);
template <std::size_t Size>
reap_mempool *make(const reap_mempool_options &options) {
    return c::make<Pool<Size>>(c::CSource(options.source), options.elements_per_chunk);
}
template <std::size_t... Numbers>
constexpr std::array<Maker, size_count> makers(std::index_sequence<Numbers...> /*all*/) {
    return {make<size_of(Numbers)>...};
}

} // namespace

reap_mempool *reap_mempool_create(const reap_mempool_options *options) {
    static constexpr auto make_of_size = makers(std::make_index_sequence<size_count>());
    reap_mempool_options known = REAP_MEMPOOL_OPTIONS_INIT;
    if (!c::read_options(options, known) || !c::is_whole(known.source) || known.element_size == 0)
        return c::refuse(EINVAL);
    for (std::size_t number = 0; number < size_count; ++number) {
        if (known.element_size <= size_of(number)) return make_of_size[number](known);
    }
    return c::refuse(EINVAL);
}

void reap_mempool_destroy(reap_mempool *pool) { c::end(pool); }

void *reap_mempool_allocate(reap_mempool *pool) { return c::answer(pool->allocate()); }

void reap_mempool_deallocate(reap_mempool *pool, void *element) { pool->deallocate(element); }

void reap_mempool_clear(reap_mempool *pool, size_t keep) { pool->clear(keep); }

bool reap_mempool_each(reap_mempool *pool, bool (*visit)(void *element, void *argument), void *argument) {
    return pool->each(visit, argument);
}

bool reap_mempool_owns(const reap_mempool *pool, const void *address) { return pool->owns(address); }

void reap_mempool_get_statistics(const reap_mempool *pool, reap_mempool_statistics *statistics) {
    const auto found = pool->statistics();
    c::write_figures({sizeof(reap_mempool_statistics), found.held, found.live, found.chunks, found.spare},
                     statistics);
}

size_t reap_mempool_statistics_json(const reap_mempool *pool, char *buffer, size_t size) {
    return reap::to_json(pool->statistics(), buffer, size);
}
