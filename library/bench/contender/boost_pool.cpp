#include <array>
#include <cstddef>
#include <optional>

#include <boost/pool/pool.hpp>

#include "../registry.h"

namespace {

/// A pool for each multiple of 16 bytes, made when it is first needed: Boost.Pool's chunks have one size.
class BoostPools {
  public:
    static constexpr bool frees_all = true;

    explicit BoostPools(std::size_t /*bytes*/) {}

    void *allocate(std::size_t size) { return pool(size).malloc(); }
    void free_one(void *object, std::size_t size) { pool(size).free(object); }
    void free_all() {
        for (std::optional<boost::pool<>> &pool : pools_) {
            if (!pool) continue;
            pool->purge_memory();
            pool->set_next_size(
                first_chunks); // purge_memory leaves it doubled: a few turns later memory runs out
        }
    }
    void *grow_last(void *object, std::size_t size, std::size_t larger) {
        return bench::allocate_copy_free(*this, object, size, larger);
    }

  private:
    static constexpr std::size_t first_chunks = 32; // boost's default
    static constexpr std::size_t largest = 1024;

    boost::pool<> &pool(std::size_t size) {
        std::optional<boost::pool<>> &found = pools_[(size - 1) / 16];
        if (!found) [[unlikely]]
            found.emplace((size + 15) / 16 * 16, first_chunks);
        return *found;
    }

    std::array<std::optional<boost::pool<>>, largest / 16> pools_;
};

const bool known = bench::add<BoostPools>("boost pool");

} // namespace
