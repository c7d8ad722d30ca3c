#include "reap/layer/mempool.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "misuse_log.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Mempool;
using reap::Misuse;
using Kinds = std::vector<Misuse>;

/// Every byte of an object is its number.
void sign(void *object, std::size_t size, std::size_t number) {
    std::memset(object, static_cast<int>(number % 251), size);
}
bool holds(const void *object, std::size_t size, std::size_t number) {
    const auto *const bytes = static_cast<const unsigned char *>(object);
    return std::all_of(bytes, bytes + size, [&](unsigned char byte) { return byte == number % 251; });
}

struct Object {
    explicit Object(std::size_t number) noexcept { sign(bytes, sizeof bytes, number); }
    [[nodiscard]] bool holds(std::size_t number) const { return ::holds(bytes, sizeof bytes, number); }
    alignas(8) unsigned char bytes[40];
};
template <class T>
using StrictMempool = Mempool<T, reap::Ref<StrictSource>>;

static_assert(std::forward_iterator<Mempool<Object>::iterator>);
static_assert(std::forward_iterator<Mempool<Object>::const_iterator>);

/// A pool whose type is forgotten: what is done with pools of many types is compiled once.
class AnyPool {
  public:
    AnyPool() = default;
    AnyPool(const AnyPool &) = delete;
    AnyPool &operator=(const AnyPool &) = delete;
    virtual ~AnyPool() = default;
    virtual void *allocate() = 0;
    virtual void destroy(void *object) = 0;
    /// What iterators, and those of the parts, come by.
    virtual std::vector<const void *> all() const = 0;
    virtual std::vector<const void *> all_in_parts() = 0;
    [[nodiscard]] virtual bool owns(const void *address) const = 0;
    [[nodiscard]] virtual std::size_t objects_per_chunk() const = 0;
    [[nodiscard]] virtual reap::MempoolStatistics statistics() const = 0;
};

template <class T>
class PoolOf final : public AnyPool {
  public:
    PoolOf(StrictSource &source, std::size_t per_chunk) : pool_(source, per_chunk) {}
    void *allocate() override { return pool_.allocate(); }
    void destroy(void *object) override { pool_.destroy(static_cast<T *>(object)); }
    std::vector<const void *> all() const override {
        std::vector<const void *> seen;
        for (const T &object : pool_) seen.push_back(&object);
        return seen;
    }
    std::vector<const void *> all_in_parts() override {
        std::vector<const void *> seen;
        for (const auto part : pool_.parts())
            for (T &object : part) seen.push_back(&object);
        return seen;
    }
    bool owns(const void *address) const override { return pool_.owns(address); }
    std::size_t objects_per_chunk() const override { return pool_.objects_per_chunk(); }
    reap::MempoolStatistics statistics() const override { return pool_.statistics(); }

  private:
    StrictMempool<T> pool_;
};

struct Kind {
    std::size_t size;
    std::size_t alignment;
    std::unique_ptr<AnyPool> (*make)(StrictSource &source, std::size_t per_chunk);
};
template <std::size_t Size, std::size_t Alignment = 1>
constexpr Kind kind{Size, Alignment, [](StrictSource &source, std::size_t per_chunk) {
                        struct alignas(Alignment) Sized {
                            unsigned char bytes[Size];
                        };
                        return std::unique_ptr<AnyPool>(new PoolOf<Sized>(source, per_chunk));
                    }};
// Smaller than a link, beside and at powers of two, several to a block and one, a block that has no room for
// one beside its head, alignments up to 2 MB.
constexpr std::size_t large_page = std::size_t{2} << 20U;
constexpr Kind kinds[] = {kind<1>,
                          kind<9>,
                          kind<64, 64>,
                          kind<65>,
                          kind<511>,
                          kind<4097>,
                          kind<70000>,
                          kind<131072>,
                          kind<128, 128>,
                          kind<4096, 4096>,
                          kind<large_page, large_page>};

void expect_room_for_as_many_as_asked(const Kind &kind, std::size_t per_chunk) {
    StrictSource source;
    const auto pool = kind.make(source, per_chunk);
    EXPECT_EQ(pool->objects_per_chunk(), per_chunk);
    std::map<const void *, std::size_t> live;
    const std::size_t chunks = 3;
    for (std::size_t number = 0; number < chunks * per_chunk; ++number) {
        void *const object = pool->allocate();
        sign(object, kind.size, number);
        ASSERT_EQ(reap::padding_at(object, kind.alignment), 0U);
        ASSERT_TRUE(live.emplace(object, number).second);
        ASSERT_EQ(source.blocks(), number / per_chunk + 1);
    }
    EXPECT_EQ(pool->statistics().live, chunks * per_chunk);
    EXPECT_EQ(pool->statistics().chunks, chunks);
    EXPECT_EQ(pool->statistics().held, source.bytes());
    std::vector<const void *> seen = pool->all();
    std::vector<const void *> in_parts = pool->all_in_parts();
    EXPECT_EQ(seen.size(), live.size());
    for (const void *object : seen) {
        ASSERT_TRUE(live.contains(object));
        ASSERT_TRUE(holds(object, kind.size, live[object]));
        ASSERT_TRUE(pool->owns(object));
    }
    std::sort(seen.begin(), seen.end());
    std::sort(in_parts.begin(), in_parts.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(in_parts, seen);
}

TEST(Mempool, HasRoomForAsManyAsAsked) {
    for (const Kind &kind : kinds) {
        for (const std::size_t per_chunk : {1UL, 2UL, 7UL, 64UL, 65UL, 1000UL}) {
            if (kind.size * per_chunk > std::size_t{reap::checked ? 2 : 20} << 20U) continue;
            SCOPED_TRACE(testing::Message() << kind.size << " bytes, " << per_chunk << " to a chunk");
            expect_room_for_as_many_as_asked(kind, per_chunk);
        }
    }
}

TEST(Mempool, UsesThePlaceThatWasFreedLast) {
    if (reap::hardened) GTEST_SKIP() << "what is freed waits in quarantine";
    for (const Kind &kind : kinds) {
        SCOPED_TRACE(kind.size);
        StrictSource source;
        const auto pool = kind.make(source, 2);
        void *const first = pool->allocate();
        void *const second = pool->allocate();
        void *const third = pool->allocate();
        sign(second, kind.size, 2);
        pool->destroy(first);
        pool->destroy(third);
        pool->destroy(nullptr);
        EXPECT_TRUE(holds(second, kind.size, 2));
        EXPECT_EQ(pool->allocate(), third);
        EXPECT_EQ(pool->allocate(), first);
        EXPECT_EQ(pool->statistics().live, 3U);
    }
}

TEST(Mempool, ChoosesChunksOfSixtyFourKilobytes) {
    StrictSource source;
    StrictMempool<Object> pool{source};
    (void)pool.create(1U);
    EXPECT_LE(source.bytes(), 65536U);
    EXPECT_GT(source.bytes(), 60000U);
}

TEST(Mempool, TakesLittleWhereAChunkIsOneObject) {
    StrictSource source;
    StrictMempool<Object> pool{source, 1};
    for (int i = 0; i < 100; ++i) (void)pool.create(1U);
    EXPECT_EQ(source.blocks(), 100U);
    if (!reap::checked) {
        EXPECT_LE(source.bytes(), 100U * 80);
    }
}

template <std::size_t Size>
struct OfSize {
    std::byte bytes[Size];
};
template <class... Objects>
void expect_one_of_each() {
    const auto expect_one = []<class T>(const T *) {
        Mempool<T> pool;
        T *const object = pool.create();
        std::memset(object, 1, sizeof(T));
        pool.destroy(object);
    };
    (expect_one(static_cast<const Objects *>(nullptr)), ...);
}

// Where a power of two has room for an object, it need not have room for what stands in front of it.
TEST(Mempool, ServesObjectsOfEverySizeAroundAPowerOfTwo) {
    constexpr std::size_t kb = 1024;
    expect_one_of_each<OfSize<64 * kb - 24>, OfSize<64 * kb>, OfSize<64 * kb + 1>, OfSize<128 * kb - 32>,
                       OfSize<128 * kb - 24>, OfSize<128 * kb>, OfSize<128 * kb + 1>, OfSize<1024 * kb>>();
}

TEST(Mempool, RefusesChunksThatCannotBe) {
    EXPECT_THROW(Mempool<Object>(0), std::invalid_argument);
    EXPECT_THROW(Mempool<Object>(SIZE_MAX), std::invalid_argument);
    EXPECT_THROW(Mempool<char>(SIZE_MAX / 16), std::invalid_argument);
    Mempool<Object> large(std::size_t{1} << 45U); // 64-bit addresses, but no machine has that
    EXPECT_EQ(large.try_create(1U), nullptr);
    EXPECT_THROW((void)large.create(1U), std::bad_alloc);
}

TEST(Mempool, AllocatesWithNoValue) {
    Mempool<std::array<int, 5>> pool;
    auto *const object = pool.allocate();
    object->fill(3);
    EXPECT_EQ(pool.begin()->at(4), 3);
    pool.deallocate(object);
    auto *const next = pool.try_allocate();
    EXPECT_TRUE(next == object || reap::hardened); // where it waits in quarantine
}

TEST(Mempool, RunsDestructors) {
    std::string said;
    {
        Mempool<Speaker> pool;
        (void)pool.create(said, 'a');
        auto *const object = pool.create(said, 'b');
        pool.destroy(object);
        EXPECT_EQ(said, "b");
        pool.clear();
        EXPECT_EQ(said, "ba");
        pool.clear();
        EXPECT_EQ(said, "ba");
        (void)pool.create(said, 'c');
    }
    EXPECT_EQ(said, "bac");
}

TEST(Mempool, LeavesNothingWhenAConstructorThrows) {
    struct Thrower {
        explicit Thrower(bool throws) {
            if (throws) throw std::runtime_error("no");
        }
        std::string text;
    };
    Mempool<Thrower> pool;
    EXPECT_THROW((void)pool.create(true), std::runtime_error);
    EXPECT_EQ(pool.statistics().live, 0U);
    Thrower *const object = pool.create(false);
    EXPECT_THROW((void)pool.try_create(true), std::runtime_error);
    pool.destroy(object);
    const Thrower *const next = pool.create(false);
    EXPECT_TRUE(next == object || reap::hardened); // where it waits in quarantine
    EXPECT_EQ(pool.statistics().live, 1U);
}

TEST(Mempool, KeepsChunksAsAsked) {
    StrictSource source;
    StrictMempool<Object> pool{source, 100};
    for (std::size_t number = 0; number < 1000; ++number) (void)pool.create(number);
    const std::size_t all = source.bytes();
    const std::size_t calls = source.calls();
    pool.clear();
    EXPECT_EQ(pool.begin(), pool.end());
    EXPECT_EQ(source.bytes(), all);
    EXPECT_EQ(pool.statistics().spare, all);
    for (std::size_t number = 0; number < 1000; ++number) (void)pool.create(number);
    EXPECT_EQ(source.calls(), calls);
    pool.clear(all / 2);
    EXPECT_LE(source.bytes(), all / 2);
    EXPECT_GT(source.bytes(), 0U);
    (void)pool.create(1U);
    pool.clear(reap::keep_none);
    EXPECT_EQ(source.bytes(), 0U);
    (void)pool.create(1U);
}

TEST(Mempool, WritesNothingIntoLiveObjects) {
    Mempool<Object> pool;
    // Among them what Blender's BLI_mempool would take for a free place.
    const char freeword[] = "eerf";
    for (int number = 0; number < 1000; ++number) {
        Object *const object = pool.create(static_cast<std::size_t>(number));
        for (std::size_t at = 0; at < sizeof(Object); at += 4) std::memcpy(object->bytes + at, freeword, 4);
    }
    for (int round = 0; round < 100; ++round) {
        pool.destroy(&*pool.begin());
        for (const Object &object : pool) ASSERT_EQ(std::memcmp(object.bytes + 36, freeword, 4), 0);
    }
    EXPECT_EQ(pool.statistics().live, 900U);
}

TEST(Mempool, IteratesOverEachOrderOfFreeing) {
    for (const std::size_t per_chunk : {1UL, 3UL, 100UL}) {
        for (std::size_t count = 1; count <= 7; ++count) {
            StrictSource source;
            StrictMempool<Object> pool{source, per_chunk};
            std::vector<std::size_t> order(count);
            std::iota(order.begin(), order.end(), 0);
            do {
                std::vector<Object *> objects;
                std::set<const Object *> live;
                for (std::size_t number = 0; number < count; ++number) {
                    objects.push_back(pool.create(number));
                    live.insert(objects.back());
                }
                ASSERT_EQ(live.size(), count);
                for (const std::size_t which : order) {
                    ASSERT_TRUE(objects[which]->holds(which));
                    pool.destroy(objects[which]);
                    live.erase(objects[which]);
                    std::set<const Object *> seen;
                    for (const Object &object : std::as_const(pool)) seen.insert(&object);
                    ASSERT_EQ(seen, live);
                }
            } while (std::next_permutation(order.begin(), order.end()));
            const std::size_t waiting = reap::hardened ? REAP_QUARANTINE : 0;
            EXPECT_LE(source.blocks(), (count + waiting + per_chunk - 1) / per_chunk);
        }
    }
}

// Walks while objects come and go, and holds what is seen against the promise: whoever lives all the way is
// seen once, whoever is gone is not seen, nobody is seen twice unless the place had another object meanwhile.
TEST(Mempool, IteratesWhileObjectsComeAndGo) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto below = [&](std::size_t bound) { return random() % bound; };
        constexpr std::size_t chunk_sizes[] = {1, 5, 100, 1000};
        StrictSource source;
        StrictMempool<Object> pool{source, chunk_sizes[seed % 4]};
        std::map<Object *, std::size_t> live; // and each one's number
        std::vector<Object *> list;
        std::size_t next = 0;
        const auto add = [&] {
            Object *const object = pool.create(next);
            ASSERT_TRUE(live.emplace(object, next++).second);
            list.push_back(object);
        };
        const auto remove = [&](std::size_t which) {
            Object *const object = std::exchange(list[which], list.back());
            list.pop_back();
            ASSERT_TRUE(object->holds(live[object]));
            pool.destroy(object);
            live.erase(object);
        };
        for (std::size_t number = 0; number < 400; ++number) add();
        for (int round = 0; round < 6; ++round) {
            const std::map<Object *, std::size_t> before = live;
            const std::size_t changes = below(5);
            std::set<std::size_t> seen;
            for (Object &object : pool) {
                ASSERT_TRUE(live.contains(&object));
                ASSERT_TRUE(object.holds(live[&object]));
                ASSERT_TRUE(seen.insert(live[&object]).second) << "seen twice";
                if (below(4) == 0) {
                    const auto which = std::find(list.begin(), list.end(), &object) - list.begin();
                    remove(static_cast<std::size_t>(which));
                }
                for (std::size_t change = 0; change < changes; ++change) {
                    if (below(2) == 0) {
                        add();
                    } else if (!list.empty()) {
                        remove(below(list.size()));
                    }
                }
            }
            for (const auto &[object, number] : before) {
                const auto found = live.find(object);
                if (found != live.end() && found->second == number) {
                    ASSERT_TRUE(seen.contains(number)) << "not seen";
                }
            }
            EXPECT_EQ(pool.statistics().live, live.size());
        }
    }
}

TEST(Mempool, EndsAnIterationThatAlwaysCreates) {
    Mempool<Object> pool;
    for (std::size_t number = 0; number < 500; ++number) (void)pool.create(number);
    std::size_t steps = 0;
    for ([[maybe_unused]] const Object &object : pool) {
        (void)pool.create(1U);
        ASSERT_LT(++steps, 100000U);
    }
    EXPECT_GE(steps, 500U);
}

/// Creates, destroys and clears, as the seed says. Returns how many calls were refused.
unsigned use(StrictMempool<Object> &pool, unsigned seed, unsigned steps) {
    std::mt19937 random(seed);
    std::vector<std::pair<Object *, std::size_t>> live;
    unsigned refused = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        if (random() % 3 != 0) {
            if (Object *const object = pool.try_create(step); object == nullptr) {
                ++refused;
            } else {
                live.emplace_back(object, step);
            }
        } else if (!live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            EXPECT_TRUE(live.back().first->holds(live.back().second));
            pool.destroy(live.back().first);
            live.pop_back();
        }
        if (random() % 200 == 0) {
            pool.clear(random() % 10000);
            live.clear();
        }
    }
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::distance(pool)), live.size());
    for (const auto &[object, number] : live) {
        EXPECT_TRUE(object->holds(number));
        pool.destroy(object);
    }
    return refused;
}

TEST(Mempool, SurvivesEachFailureOfItsSource) {
    for (const std::size_t failures : {std::size_t{1}, SIZE_MAX}) {
        for (std::size_t good = 0;; ++good) {
            SCOPED_TRACE(good);
            StrictSource source;
            StrictMempool<Object> pool{source, 10};
            source.fail_after(good, failures);
            const unsigned refused = use(pool, 5, 500);
            const bool reached = source.calls() > good;
            if (!reap::hardened) { // which has what waits in quarantine
                EXPECT_EQ(refused > 0, reached);
            }
            source.fail_never();
            EXPECT_EQ(use(pool, 6, 300), 0U);
            if (!reached) break;
        }
    }
}

TEST(Mempool, PassesOnWhatItsSourceThrows) {
    StrictSource source;
    StrictMempool<Object> pool{source};
    source.fail_after(0);
    EXPECT_THROW((void)pool.create(1U), StrictFailure);
    EXPECT_EQ(pool.try_create(1U), nullptr);
    EXPECT_EQ(pool.begin(), pool.end());
}

class CheckedMempool : public testing::Test {
  protected:
    void SetUp() override {
        if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    }

    MisuseLog log_;
    Mempool<Object> pool_{10};
};

TEST_F(CheckedMempool, FindsWritesOutsideObjects) {
    Object *const first = pool_.create(1U);
    Object *const second = pool_.create(2U);
    write_anyway(first + 1, 1);
    pool_.destroy(first);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    write_anyway(second->bytes - 1, 1);
    pool_.clear();
    EXPECT_EQ(MisuseLog::take(), Kinds({Misuse::underflow, Misuse::overflow}));
}

TEST_F(CheckedMempool, FindsWhatADestructorWritesOutsideItsObject) {
    struct Careless {
        ~Careless() { write_anyway(this + 1, 1); }
        long room = 0;
    };
    Mempool<Careless> pool;
    pool.destroy(pool.create());
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::overflow});
    pool.clear();
    MisuseLog::take();
}

TEST_F(CheckedMempool, FindsWritesToFreedObjects) {
    Object *const object = pool_.create(1U);
    pool_.destroy(object);
    write_anyway(object->bytes + 5, 1);
    EXPECT_EQ(pool_.create(1U), object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    pool_.destroy(object);
    write_anyway(object->bytes + 5, 1);
    pool_.clear();
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_free});
    write_anyway(object->bytes + 5, 1);
    EXPECT_EQ(pool_.create(1U), object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::use_after_reset});
}

TEST_F(CheckedMempool, FindsWrongFrees) {
    Object *const object = pool_.create(1U);
    pool_.destroy(reinterpret_cast<Object *>(object->bytes - 64)); // in front of the first place
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    pool_.destroy(object);
    pool_.destroy(object);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
    Object stranger(3);
    pool_.destroy(&stranger);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    std::vector<Object *> objects;
    objects.reserve(50);
    for (std::size_t number = 0; number < 50; ++number) objects.push_back(pool_.create(number));
    pool_.destroy(reinterpret_cast<Object *>(objects[20]->bytes + 16));
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::foreign_free});
    pool_.clear();
    pool_.destroy(objects[20]);
    EXPECT_EQ(MisuseLog::take(), Kinds{Misuse::double_free});
}

TEST_F(CheckedMempool, FindsNothingWhereNothingIs) {
    std::vector<Object *> objects;
    for (int round = 0; round < 5; ++round) {
        for (std::size_t number = 0; number < 300; ++number) objects.push_back(pool_.create(number));
        for (std::size_t number = 0; number < 300; number += 2) pool_.destroy(objects[number]);
        objects.clear();
        pool_.clear(5000);
    }
    EXPECT_EQ(MisuseLog::take(), Kinds{});
}

} // namespace
