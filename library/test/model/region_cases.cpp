#include "reap/layer/region.h"

#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cases.h"
#include "reap/source/chunk_cache.h"
#include "reap/testkit/subject.h"

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::no_mark;
using testkit::Object;

/// What was made with a destructor, in order: the youngest is to go first.
class Order {
  public:
    /// Ends when its region says so, and sees whether that is its turn.
    class Member {
      public:
        explicit Member(Order &order) : order_(&order), number_(order.alive_) { ++order.alive_; }
        Member(const Member &) = delete;
        Member &operator=(const Member &) = delete;
        ~Member() {
            --order_->alive_;
            if (order_->alive_ != number_) order_->right_ = false;
        }

      private:
        Order *order_;
        std::size_t number_;
    };

    [[nodiscard]] std::size_t alive() const noexcept { return alive_; }
    [[nodiscard]] bool right() const noexcept { return right_; }

  private:
    std::size_t alive_ = 0;
    bool right_ = true;
};

/// A region by all that it has. Now and then an object comes out of another region that is spliced in, and
/// something with a destructor is made.
template <class R>
class RegionSubject {
  public:
    RegionSubject(FailingSource<> &upstream, const RegionOptions &options, bool splices)
        : upstream_(upstream), region_(Below(upstream), options), splices_(splices) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (++turn_ % 16 == 0) make_something();
        if (splices_ && turn_ % 32 == 29) {
            R other(Below(upstream_), region_.options());
            (void)other.try_allocate(turn_ % 1000);
            void *const data = other.try_allocate(size, alignment);
            if (data != nullptr) region_.splice(other);
            return {data, size + (size == 0)};
        }
        return {region_.try_allocate(size, alignment), size + (size == 0)};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        return {region_.allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        region_.deallocate(data, size, alignment);
    }
    bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t /*alignment*/) {
        return region_.resize(data, old_size, new_size);
    }
    bool owns(const void *address) { return region_.owns(address); }

    std::size_t mark() {
        try {
            marks_.push_back({region_.mark(), order_.alive()});
        } catch (const std::bad_alloc &) {
            return no_mark;
        }
        return marks_.size() - 1;
    }
    bool rewind(std::size_t number) {
        if (!region_.rewind(marks_[number].mark)) return false;
        wrong_ |= order_.alive() != marks_[number].alive;
        return true;
    }
    void reset() {
        // Nothing, something, and all that can be kept, by turns.
        const std::size_t keeps[] = {keep_none, std::size_t{20000}, keep_all};
        const std::size_t keep = keeps[turn_ % 3];
        region_.reset(keep);
        wrong_ |= order_.alive() != 0 || region_.statistics().held > keep ||
                  region_.statistics().large_objects != 0;
    }

    std::string inspect(std::span<const Object> live) {
        const RegionStatistics now = region_.statistics();
        std::size_t bytes = 0;
        for (const Object &object : live) bytes += object.size;
        if (wrong_ || !order_.right()) return "destructors did not run as they have to, or too much was kept";
        const std::size_t given = upstream_.outstanding_bytes();
        const bool limited = region_.options().limit != RegionOptions{}.limit;
        if (now.held > given || (now.held < given && !limited))
            return "it holds something else than its source gave";
        if (now.used + now.spare > now.held || now.used < bytes) return "the statistics do not add up";
        if (!splices_ && now.held > region_.options().limit) return "it holds more than its limit";
        return {};
    }
    bool may_refuse(std::size_t /*size*/, std::size_t /*alignment*/) {
        return region_.options().limit != RegionOptions{}.limit;
    }

  private:
    struct Place {
        typename R::Mark mark;
        std::size_t alive;
    };

    void make_something() {
        try {
            (void)region_.template create<Order::Member>(order_);
        } catch (const std::bad_alloc &) {
            // The source fails at times; then there is one destructor less to run.
            return;
        }
    }

    FailingSource<> &upstream_;
    Order order_;
    R region_;
    std::vector<Place> marks_;
    bool splices_;
    bool wrong_ = false;
    std::size_t turn_ = 0;
};

/// Regions in a region: each mark begins a new child, and all objects are the youngest child's.
class NestedRegions {
  public:
    explicit NestedRegions(FailingSource<> &upstream) : parent_(Below(upstream)) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (!has_child() && !add_child()) return {};
        return {children_.back()->try_allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        const auto owner = std::ranges::find_if(children_, [data](auto *child) { return child->owns(data); });
        if (owner != children_.end())
            (*owner)->deallocate(data, size, alignment);
        else
            parent_.deallocate(data, size, alignment); // null, or nobody's: the region says what of it
    }
    bool owns(const void *address) {
        return std::ranges::any_of(children_, [address](auto *child) { return child->owns(address); });
    }
    std::size_t mark() {
        try {
            marks_.push_back({parent_.mark(), children_.size()});
        } catch (const std::bad_alloc &) {
            return no_mark;
        }
        floor_ = children_.size();
        return marks_.size() - 1;
    }
    bool rewind(std::size_t number) {
        if (!parent_.rewind(marks_[number].mark)) return false;
        children_.resize(marks_[number].children);
        floor_ = children_.size();
        return true;
    }
    void reset() {
        parent_.reset();
        children_.clear();
        floor_ = 0;
    }

  private:
    using Parent = Region<Below>;
    struct Place {
        Parent::Mark mark;
        std::size_t children;
    };

    /// Whether one was made since the last mark: an older one would keep what is to be rewound.
    [[nodiscard]] bool has_child() const noexcept { return children_.size() > floor_; }
    bool add_child() {
        try {
            children_.push_back(&parent_.nest({.first_chunk = 1000}));
        } catch (const std::bad_alloc &) {
            return false;
        }
        return true;
    }

    Parent parent_;
    std::vector<Parent::Nested *> children_;
    std::vector<Place> marks_;
    std::size_t floor_ = 0;
};

template <class R = Region<Below>>
Case region(std::string name, const RegionOptions &options = {}, bool splices = false) {
    return {std::move(name), testkit::factory([options, splices](FailingSource<> &upstream) {
                return RegionSubject<R>(upstream, options, splices);
            })};
}

/// A region on something that stands on the upstream.
template <class Base>
class Stacked {
  public:
    explicit Stacked(FailingSource<> &upstream) : base_(Below(upstream)), region_(Ref<Base>(base_)) {}
    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return region_.try_allocate(size, alignment);
    }
    void *allocate(std::size_t size, std::size_t alignment) { return region_.allocate(size, alignment); }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        region_.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept { return region_.owns(address); }
    void reset() noexcept { region_.reset(); }

  private:
    Base base_;
    Region<Ref<Base>> region_;
};

template <class Base>
Case stacked(std::string name) {
    return {std::move(name), testkit::factory([](FailingSource<> &upstream) {
                return testkit::SourceSubject<Stacked<Base>>(upstream);
            })};
}

} // namespace

void add_region_cases(Cases &cases) {
    cases.push_back(region("Region"));
    cases.push_back(region("Region/spliced", {}, true));
    cases.push_back(region("Region/limited", {.limit = 100000}));
    cases.push_back(region("Region/limited-spliced", {.limit = 60000}, true));
    cases.push_back(region("Region/forwarding", {.large_object = 0}));
    cases.push_back(region("Region/small-chunks",
                           {.first_chunk = 1, .growth = 0, .largest_chunk = 1, .large_object = 500}));
    cases.push_back(
        region("Region/steep",
               {.first_chunk = 100, .growth = 1000, .largest_chunk = 3000000, .large_object = 3000}, true));
    cases.push_back(region<Region<Below, 1>>("Region/granule-1"));
    cases.push_back(region<Region<Below, 8>>("Region/granule-8", {.first_chunk = 777}, true));
    cases.push_back(region<Region<Below, 64>>("Region/granule-64"));
    cases.push_back(region<Region<Below, 4096>>("Region/granule-4096"));
    cases.push_back({"Region/nested",
                     testkit::factory([](FailingSource<> &upstream) { return NestedRegions(upstream); })});
    cases.push_back(
        {"Region/default", testkit::factory([] { return testkit::SourceSubject<Region<>>(); }), false});
    cases.push_back(stacked<ChunkCache<Below>>("Region-on-ChunkCache"));
    cases.push_back(stacked<Region<Below>>("Region-on-Region"));
}

} // namespace reap::test
