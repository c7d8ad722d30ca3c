// The program of mesh-sculptor with Blender's own mempools (BLI_mempool), built alone. The naive variant is
// that of ISMM 2026, Table 4: each object by itself, and a hash set of the live ones.

#include <new>
#include <utility>

#include "BLI_mempool.h"
#include "common/programs/live_set.h"
#include "common/programs/mesh.h"

namespace {

/// One of Blender's mempools with chunks of 512 objects, as its meshes have, to be iterated over.
template <class T>
class Pool {
  public:
    Pool() = default;
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool() { BLI_mempool_destroy(pool_); }

    template <class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        return ::new (BLI_mempool_alloc(pool_)) T(std::forward<Arguments>(arguments)...);
    }
    void destroy(T *object) { BLI_mempool_free(pool_, object); }

    class Iterator {
      public:
        explicit Iterator(BLI_mempool *pool) {
            BLI_mempool_iternew(pool, &place_);
            ++*this;
        }
        T &operator*() const { return *object_; }
        Iterator &operator++() {
            object_ = static_cast<T *>(BLI_mempool_iterstep(&place_));
            return *this;
        }
        bool operator!=(std::nullptr_t) const { return object_ != nullptr; }

      private:
        BLI_mempool_iter place_{};
        T *object_ = nullptr;
    };
    [[nodiscard]] Iterator begin() { return Iterator(pool_); }
    [[nodiscard]] std::nullptr_t end() const { return nullptr; }

  private:
    BLI_mempool *pool_ = BLI_mempool_create(sizeof(T), 0, 512, BLI_MEMPOOL_ALLOW_ITER);
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 200};
    if (!workload::read(count, words, options)) return 2;
    options.naive ? mesh::sculpt<LiveSet>(options.scale) : mesh::sculpt<Pool>(options.scale);
}
