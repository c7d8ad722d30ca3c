#include "reap/core/typed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "misuse_log.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/face/unique.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/obstack.h"
#include "reap/layer/reap.h"
#include "reap/layer/region.h"
#include "reap/layer/region_emulator.h"
#include "reap/layer/stack_like.h"
#include "speaker.h"
#include "strict_source.h"

namespace {

using reap::Misuse;
using reap::Obstack;
using reap::Reap;
using reap::Region;
using reap::RegionEmulator;
using reap::SizedReap;

struct alignas(128) Line {
    std::string *said = nullptr;
    int number = 7;
    Line() = default;
    explicit Line(std::string &text) : said(&text) {}
    Line(const Line &) = delete;
    Line &operator=(const Line &) = delete;
    ~Line() {
        if (said != nullptr) *said += '.';
    }
};

/// Counts what lives; the constructor of the third throws.
struct Counted {
    static inline int live = 0;
    static inline std::string ended;
    char letter = static_cast<char>('a' + live);
    Counted() {
        if (live == 2) throw std::runtime_error("the third");
        ++live;
    }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    ~Counted() {
        --live;
        ended += letter;
    }
};
struct Trivial {
    static inline int made = 0;
    Trivial() {
        if (++made > 2) throw std::runtime_error("the third");
    }
};

/// Where malloc chooses the addresses.
template <class Layer>
constexpr bool is_emulated = std::is_same_v<Layer, RegionEmulator<>>;

template <class Layer>
class TypedLayer : public testing::Test {
  protected:
    Layer layer_;
};
using TypedLayers =
    testing::Types<Region<>, Region<reap::CachedPages, 8>, Reap<>, SizedReap<>, Obstack<>, RegionEmulator<>>;
TYPED_TEST_SUITE(TypedLayer, TypedLayers);

TYPED_TEST(TypedLayer, AllocatesMemoryForObjects) {
    auto &layer = this->layer_;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
        (void)layer.allocate(1);
        Line *const lines = layer.template allocate<Line>(count);
        EXPECT_EQ(reap::padding_at(lines, alignof(Line)), 0U);
        std::fill_n(reinterpret_cast<char *>(lines), count * sizeof(Line), 'x');
        Line *const more = layer.template try_allocate<Line>(count);
        ASSERT_NE(more, nullptr);
        EXPECT_EQ(reap::padding_at(more, alignof(Line)), 0U);
        EXPECT_NE(more, lines);
        layer.template deallocate<Line>(more, count);
        if (!is_emulated<TypeParam> && !reap::hardened) { // where it waits in quarantine
            EXPECT_EQ(layer.template allocate<Line>(count), more) << "what was last freed";
        }
    }
    layer.template deallocate<Line>(nullptr, 1);
}

TYPED_TEST(TypedLayer, AllocatesNoMoreThanAnyArrayHas) {
    if (REAP_ASAN && !reap::checked && is_emulated<TypeParam>)
        GTEST_SKIP() << "AddressSanitizer's malloc ends the program";
    auto &layer = this->layer_;
    // Those that wrap, to a small size among others, and those that could be, but are too large.
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 8 + 1, SIZE_MAX / 8 + 2, SIZE_MAX / 16 + 1}) {
        EXPECT_THROW((void)layer.template allocate<std::uint64_t>(count), std::bad_array_new_length);
        EXPECT_THROW((void)layer.template create_array<std::uint64_t>(count), std::bad_array_new_length);
        EXPECT_THROW((void)layer.template create_array<std::string>(count), std::bad_array_new_length);
        EXPECT_EQ(layer.template try_allocate<std::uint64_t>(count), nullptr);
    }
    EXPECT_THROW((void)layer.template allocate<char>(reap::max_object), std::bad_alloc);
    EXPECT_THROW((void)layer.template create_array<std::string>(reap::max_object / sizeof(std::string)),
                 std::bad_alloc);
    EXPECT_EQ(layer.template try_allocate<char>(reap::max_object), nullptr);
    EXPECT_NE(layer.template try_allocate<char>(1), nullptr) << "it goes on";
}

TYPED_TEST(TypedLayer, CreatesArrays) {
    auto &layer = this->layer_;
    std::string said;
    const std::uint64_t *const zeros = layer.template create_array<std::uint64_t>(1000);
    EXPECT_TRUE(std::all_of(zeros, zeros + 1000, [](std::uint64_t number) { return number == 0; }));
    const int *const sevens = layer.template create_array<int>(5, 7);
    EXPECT_EQ(std::vector<int>(sevens, sevens + 5), std::vector<int>(5, 7));

    (void)layer.template create<Speaker>(said, 'a');
    Line *const lines = layer.template create_array<Line>(3, said);
    EXPECT_EQ(reap::padding_at(lines, alignof(Line)), 0U);
    for (int at = 0; at < 3; ++at) EXPECT_EQ(lines[at].number, 7);
    (void)layer.template create<Speaker>(said, 'b');
    EXPECT_NE(layer.template create_array<Line>(0, said), nullptr);
    EXPECT_NE(layer.template create_array<int>(0), nullptr);
    const void *const none = layer.template create_array<std::string>(0);
    EXPECT_NE(layer.allocate(1, alignof(std::string)), none) << "an array of none has an address of its own";
    layer.reset();
    EXPECT_EQ(said, "b...a") << "the youngest first";
    layer.reset();
    EXPECT_EQ(said, "b...a");
}

TYPED_TEST(TypedLayer, DestroysTheLastElementFirst) {
    Counted::live = 0;
    Counted::ended.clear();
    (void)this->layer_.template create_array<Counted>(2);
    this->layer_.reset();
    EXPECT_EQ(Counted::ended, "ba");
}

TYPED_TEST(TypedLayer, LeavesNothingOfAnArrayWhoseConstructorThrows) {
    auto &layer = this->layer_;
    Counted::live = 0;
    Counted::ended.clear();
    void *const before = layer.allocate(8, alignof(std::max_align_t));
    EXPECT_THROW((void)layer.template create_array<Counted>(5), std::runtime_error);
    EXPECT_EQ(Counted::live, 0);
    EXPECT_EQ(Counted::ended, "ba");
    Trivial::made = 0;
    EXPECT_THROW((void)layer.template create_array<Trivial>(5), std::runtime_error);
    void *const after = layer.allocate(8, alignof(std::max_align_t));
    if (!is_emulated<TypeParam> && !reap::hardened) {
        const auto distance =
            reinterpret_cast<std::uintptr_t>(after) - reinterpret_cast<std::uintptr_t>(before);
        EXPECT_LE(distance, reap::checked ? 256U : 16U) << "where the array was";
    }
    layer.reset();
    EXPECT_EQ(Counted::ended, "ba") << "nothing is left to be destroyed";
}

TEST(Typed, ServesAnyLayer) {
    StrictSource source;
    long *const numbers = reap::allocate<long>(source, 10);
    EXPECT_EQ(source.bytes(), 10 * sizeof(long));
    reap::deallocate<long>(source, numbers, 10);
    EXPECT_EQ(source.blocks(), 0U);
    reap::deallocate<long>(source, nullptr, 10);
    EXPECT_THROW((void)reap::allocate<long>(source, SIZE_MAX / 4), std::bad_array_new_length);
    EXPECT_EQ(reap::try_allocate<long>(source, SIZE_MAX / 4), nullptr);
    source.fail_after(0);
    EXPECT_THROW((void)reap::allocate<long>(source, 1), StrictFailure);
    EXPECT_EQ(reap::try_allocate<long>(source, 1), nullptr);
    source.fail_never();
    {
        Region region{source};
        source.fail_after(0);
        EXPECT_THROW((void)region.allocate<long>(1), StrictFailure);
        EXPECT_THROW((void)region.create_array<std::string>(1), StrictFailure);
        EXPECT_EQ(region.try_allocate<long>(1), nullptr);
    }

    reap::StackLike stack;
    Line *const lines = reap::allocate<Line>(stack, 3);
    EXPECT_EQ(reap::padding_at(lines, alignof(Line)), 0U);
    reap::deallocate<Line>(stack, lines, 3);
    reap::FixedBlock<> blocks(32);
    EXPECT_TRUE(blocks.owns(reap::allocate<int>(blocks, 8)));
    EXPECT_EQ(reap::try_allocate<int>(blocks, 9), nullptr) << "larger than its blocks";
}

// No count is taken from the type of a pointer: so deallocate(pointer, size) keeps its meaning.
template <class Layer>
concept DeducesCount = requires(Layer &layer, Line *lines) { reap::deallocate(layer, lines, 1); };
static_assert(!DeducesCount<Region<>>);
static_assert(noexcept(std::declval<Region<> &>().try_allocate<int>(1)));
static_assert(noexcept(reap::try_allocate<int>(std::declval<Region<> &>(), 1)));

TEST(Typed, ArraysEndWhenARegionIsRewound) {
    const auto in = [](auto &layer) {
        std::string said;
        (void)layer.template create_array<Line>(1, said);
        const auto mark = layer.mark();
        (void)layer.template create_array<Line>(2, said);
        (void)layer.template create<Speaker>(said, 'b');
        EXPECT_TRUE(layer.rewind(mark));
        EXPECT_EQ(said, "b..");
        layer.reset();
        EXPECT_EQ(said, "b...");
    };
    Region region;
    in(region);
    Reap reap;
    in(reap);
}

TEST(Typed, ArraysEndWhenTheyAreFreedFrom) {
    const auto in = [](auto &layer) {
        std::string said;
        (void)layer.template create_array<Line>(1, said);
        Line *const lines = layer.template create_array<Line>(2, said);
        (void)layer.template create<Speaker>(said, 'b');
        EXPECT_TRUE(layer.free_from(lines));
        EXPECT_EQ(said, "b..");
        int *const numbers = layer.template create_array<int>(100);
        EXPECT_TRUE(layer.free_from(numbers));
        if (!is_emulated<std::remove_cvref_t<decltype(layer)>>) {
            EXPECT_EQ(layer.template create_array<int>(100), numbers);
        }
        layer.reset();
        EXPECT_EQ(said, "b...");
    };
    Obstack obstack;
    in(obstack);
    RegionEmulator emulator;
    in(emulator);
}

TEST(Typed, AReapDestroysArrays) {
    const auto in = [](auto &layer) {
        std::string said;
        layer.destroy_array(static_cast<Line *>(nullptr), 3);
        layer.destroy_array(static_cast<int *>(nullptr), 3);
        const std::size_t before = layer.statistics().live;
        Line *const first = layer.template create_array<Line>(2, said);
        Line *const none = layer.template create_array<Line>(0, said);
        Line *const large = layer.template create_array<Line>(100'000, said);
        (void)layer.template create<Speaker>(said, 'b');
        int *const numbers = layer.template create_array<int>(100, 7);
        int *const no_numbers = layer.template create_array<int>(0);
        layer.destroy_array(first, 2);
        EXPECT_EQ(said, "..");
        layer.destroy_array(none, 0);
        EXPECT_EQ(said, "..");
        layer.destroy_array(numbers, 100);
        layer.destroy_array(no_numbers, 0);
        layer.destroy_array(large, 100'000);
        EXPECT_EQ(said.size(), 100'002U);
        EXPECT_TRUE(layer.check());
        layer.reset();
        EXPECT_EQ(said.size(), 100'003U);
        EXPECT_EQ(layer.statistics().live, before);
    };
    Reap reap;
    in(reap);
    SizedReap sized;
    in(sized);
}

TEST(CheckedTyped, FindsArraysThatAreDestroyedAsTheyAreNot) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    std::string said;
    Reap reap;
    Line *const lines = reap.create_array<Line>(2, said);
    reap.destroy_array(lines, 3);
    EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::wrong_size});
    reap.deallocate(lines);
    EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::skipped_destructor});
    EXPECT_EQ(said, "");
    reap.destroy_array(lines, 2);
    reap.destroy_array(lines, 2);
    EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::double_free});
    EXPECT_EQ(said, "..");

    std::string *const texts = reap.create_array<std::string>(2);
    for (std::size_t at = 0; at < 8; ++at) // behind them is what runs their destructors
        write_anyway(reinterpret_cast<std::byte *>(texts + 2) + at, 0x41);
    reap.destroy_array(texts, 2);
    EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::corruption});
}

TEST(CheckedTyped, FindsWhatIsWrittenBehindAnArrayOfARegion) {
    if (!reap::checked) GTEST_SKIP() << "only in checked mode";
    const MisuseLog log;
    Region region;
    std::string *const texts = region.create_array<std::string>(2);
    write_anyway(texts + 2, 0x41);
    region.reset();
    EXPECT_EQ(MisuseLog::take(), std::vector{Misuse::overflow});
}

// Uses-allocator construction.

template <class T, class Layer = Region<>>
using VectorOf = std::vector<T, reap::StlAllocator<T, Layer>>;
using Text = std::basic_string<char, std::char_traits<char>, reap::StlAllocator<char>>;

TYPED_TEST(TypedLayer, IsTheAllocatorOfWhatItCreates) {
    auto &layer = this->layer_;
    using Numbers = VectorOf<int, TypeParam>;
    const auto is_here = [&](const Numbers &numbers) {
        return numbers.get_allocator().resource() == nullptr && &numbers.get_allocator().layer() == &layer;
    };
    EXPECT_TRUE(is_here(*layer.template create<Numbers>()));
    const Numbers *const numbers = layer.template create<Numbers>(1000U, 7);
    EXPECT_TRUE(is_here(*numbers));
    EXPECT_EQ(*numbers, Numbers(1000, 7, layer));
    EXPECT_TRUE(is_here(*layer.template create<Numbers>(*numbers)));
    Numbers elsewhere{1, 2, 3};
    EXPECT_FALSE(is_here(elsewhere));
    const Numbers *const copy = layer.template create<Numbers>(elsewhere);
    EXPECT_TRUE(is_here(*copy));
    const Numbers *const moved = layer.template create<Numbers>(std::move(elsewhere));
    EXPECT_TRUE(is_here(*moved));
    EXPECT_EQ(moved->size(), 3U);
    const Numbers *const array = layer.template create_array<Numbers>(3, 10U);
    for (std::size_t at = 0; at < 3; ++at) EXPECT_TRUE(is_here(array[at]) && array[at].size() == 10);

    // The caller's choice stands.
    TypeParam other;
    EXPECT_EQ(&layer.template create<Numbers>(other)->get_allocator().layer(), &other);
    EXPECT_EQ(&layer.template create<Numbers>(10U, 7, other)->get_allocator().layer(), &other);
    EXPECT_NE(
        layer.template create<Numbers>(reap::StlAllocator<char, TypeParam>())->get_allocator().resource(),
        nullptr);
    // Of another layer's type.
    using Foreign = VectorOf<int, StrictSource>;
    EXPECT_NE(layer.template create<Foreign>()->get_allocator().resource(), nullptr);
    layer.reset();
}

/// Takes its allocator in front.
struct TakesFirst {
    using allocator_type = reap::StlAllocator<char>;
    TakesFirst() = default;
    explicit TakesFirst(int value) : number(value) {}
    TakesFirst(std::allocator_arg_t /*tag*/, const allocator_type &given, int value = 0)
        : number(value), allocator(given) {}
    // Would be ambiguous, were it asked for.
    TakesFirst(int value, const allocator_type & /*last*/) : number(-value) {}
    int number = 0;
    allocator_type allocator;
};
/// Has an allocator and is not told which.
struct TakesNone {
    using allocator_type = reap::StlAllocator<char>;
    explicit TakesNone(int value) : number(value) {}
    int number;
};
/// Says that it does not use one.
struct Refuses {
    using allocator_type = reap::StlAllocator<char>;
    explicit Refuses(int value) : number(value) {}
    Refuses(int value, const allocator_type & /*last*/) : number(-value) {}
    int number;
};
/// Keeps another's allocator as a value.
struct Keeps {
    using allocator_type = reap::StlAllocator<char>;
    explicit Keeps(allocator_type given = {}, allocator_type mine = {}) : value(given), allocator(mine) {}
    allocator_type value;
    allocator_type allocator;
};

} // namespace

template <class Allocator>
struct std::uses_allocator<Refuses, Allocator> : std::false_type {};

namespace {

TEST(Typed, PassesAnAllocatorAsTheTypeTakesIt) {
    Region region;
    const TakesFirst *const first = region.create<TakesFirst>(3);
    EXPECT_EQ(&first->allocator.layer(), &region);
    EXPECT_EQ(first->number, 3);
    EXPECT_EQ(&region.create<TakesFirst>()->allocator.layer(), &region);
    EXPECT_EQ(&region.create_array<TakesFirst>(2, 3)[1].allocator.layer(), &region);
    Region other;
    EXPECT_EQ(&region.create<TakesFirst>(std::allocator_arg, other)->allocator.layer(), &other);
    EXPECT_EQ(region.create<TakesFirst>(3, other)->number, -3);
    EXPECT_EQ(region.create<TakesNone>(3)->number, 3);
    EXPECT_EQ(region.create<Refuses>(3)->number, 3);
    const Keeps *const keeps = region.create<Keeps>(other);
    EXPECT_EQ(&keeps->value.layer(), &other);
    EXPECT_NE(keeps->allocator.resource(), nullptr) << "one that is given may be a value or the allocator";
    EXPECT_EQ(*region.create<int>(3), 3);
}

TEST(Typed, PassesAnAllocatorToWhatIsUnique) {
    Reap reap;
    using Numbers = VectorOf<int, Reap<>>;
    {
        const auto numbers = reap::make_unique<Numbers>(reap, 1000U, 7);
        EXPECT_TRUE(reap.owns(numbers->data()));
        const auto array = reap::make_unique<Numbers[]>(reap, 2);
        array[1].push_back(7);
        EXPECT_TRUE(reap.owns(array[1].data()));
        const auto grid = reap::make_unique<int[][3]>(reap, 2);
        EXPECT_EQ(grid[1][2], 0);
    }
    EXPECT_EQ(reap.statistics().live, 0U);
}

/// Nothing comes from the default resource while it lives.
class NoDefaultResource {
  public:
    NoDefaultResource() : before_(std::pmr::set_default_resource(std::pmr::null_memory_resource())) {}
    NoDefaultResource(const NoDefaultResource &) = delete;
    NoDefaultResource &operator=(const NoDefaultResource &) = delete;
    ~NoDefaultResource() { std::pmr::set_default_resource(before_); }

  private:
    std::pmr::memory_resource *before_;
};

TYPED_TEST(TypedLayer, IsTheResourceOfWhatItsResourceCreates) {
    using Words = std::pmr::vector<std::pmr::string>;
    const std::string text(100, 'x');
    const NoDefaultResource none;
    std::pmr::monotonic_buffer_resource other(std::pmr::new_delete_resource());
    reap::PmrResource<TypeParam> resource; // its end destroys them all
    Words *const words = resource.template create<Words>();
    for (int turn = 0; turn < 100; ++turn) words->emplace_back(text);
    EXPECT_EQ(words->get_allocator().resource(), &resource);
    EXPECT_EQ(words->back().get_allocator().resource(), &resource);
    const auto *const texts = resource.template create_array<std::pmr::string>(3, text);
    for (std::size_t at = 0; at < 3; ++at) EXPECT_EQ(texts[at].get_allocator().resource(), &resource);
    const Words *const copy = resource.template create<Words>(*words);
    EXPECT_EQ(copy->get_allocator().resource(), &resource);
    if constexpr (requires { resource.layer().owns(words); }) {
        EXPECT_TRUE(resource.layer().owns(words));
        EXPECT_TRUE(resource.layer().owns(words->data()));
        EXPECT_TRUE(resource.layer().owns(words->back().data()));
        EXPECT_TRUE(resource.layer().owns(texts[2].data()));
        EXPECT_TRUE(resource.layer().owns(copy->back().data()));
    }
    EXPECT_EQ(*resource.template create<int>(3), 3);
    // The layer's own allocator, too, and the caller's choice.
    using Numbers = VectorOf<int, TypeParam>;
    EXPECT_EQ(&resource.template create<Numbers>(3U, 7)->get_allocator().layer(), &resource.layer());
    EXPECT_EQ(resource.template create<Words>(&other)->get_allocator().resource(), &other);
    EXPECT_EQ(resource.template create<Words>(Words::allocator_type(&other))->get_allocator().resource(),
              &other);
}

TEST(Typed, ALayerCreatesByAResourceThatRefersToIt) {
    const NoDefaultResource none;
    Reap reap;
    reap::PmrResource resource{reap};
    auto *const text = resource.create<std::pmr::string>(100U, 'x');
    EXPECT_TRUE(reap.owns(text->data()));
    auto *const texts = resource.create_array<std::pmr::string>(2, *text);
    EXPECT_TRUE(reap.owns(texts[1].data()));
    reap.destroy_array(texts, 2);
    reap.destroy(text);
    EXPECT_EQ(reap.statistics().live, 0U);
    // A layer is no resource, so what takes one has the default.
    EXPECT_EQ(reap.create<std::pmr::string>()->get_allocator().resource(), std::pmr::null_memory_resource());
}

} // namespace
