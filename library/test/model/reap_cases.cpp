#include "reap/layer/reap.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cases.h"
#include "reap/source/superblocks.h"
#include "reap/testkit/subject.h"

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::no_mark;
using testkit::Object;

/// Superblocks as small as can be: there are more of them then. Reap/default has the usual ones.
constexpr std::size_t window = std::size_t{128} << 10;

/// A reap by all that it has. Some objects are freed without their sizes, some are reallocated to where they
/// are, and now and then something with a destructor is made and ended.
template <class R>
class ReapSubject {
    static constexpr bool keeps_sizes = requires(R &reap, void *object) { reap.deallocate(object); };

  public:
    template <class From>
    ReapSubject(From source, const ReapOptions &options) : reap_(source, options), options_(options) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (++turn_ % 16 == 0) make_something();
        if (turn_ % 2 == 0) return reap_.try_allocate_at_least(size, alignment);
        return {reap_.try_allocate(size, alignment), size + (size == 0)};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        return {reap_.allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        if constexpr (keeps_sizes) {
            if (turn_ % 3 == 0) return reap_.deallocate(data);
        }
        reap_.deallocate(data, size, alignment);
    }
    bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment) {
        if constexpr (keeps_sizes)
            return reap_.resize(data, new_size);
        else
            return reap_.resize(data, old_size, new_size, alignment);
    }
    Allocation reallocate(void *data, std::size_t /*old_size*/, std::size_t new_size, std::size_t alignment)
        requires keeps_sizes
    {
        return {reap_.try_reallocate(data, new_size, alignment), new_size + (new_size == 0)};
    }
    bool owns(const void *address) { return reap_.owns(address); }

    std::size_t mark() {
        try {
            marks_.push_back({reap_.mark(), made_.size()});
        } catch (const std::bad_alloc &) {
            return no_mark;
        }
        return marks_.size() - 1;
    }
    bool rewind(std::size_t number) {
        if (!reap_.rewind(marks_[number].mark)) return false;
        // What was made before the mark may have been ended since; what was made after it has to be.
        std::erase_if(made_, [](Member *member) { return member == nullptr; });
        wrong_ |= alive_ != made_.size();
        return true;
    }
    void reset() {
        const std::size_t keeps[] = {keep_none, std::size_t{20000}, keep_all};
        const std::size_t keep = keeps[turn_ % 3];
        reap_.reset(keep);
        wrong_ |= alive_ != 0 || reap_.statistics().held > keep || reap_.statistics().large_objects != 0;
    }

    std::string inspect(std::span<const Object> live) {
        if (++turn_ % 4 == 0) reap_.trim(turn_ % 8 == 0 ? keep_none : std::size_t{100000});
        if (wrong_) return "destructors did not run as they have to, or too much was kept";
        if (!reap_.check()) return "what it knows of its memory does not fit together";
        const ReapStatistics now = reap_.statistics();
        std::size_t bytes = 0;
        for (const Object &object : live) bytes += object.size;
        if (now.held > options_.limit) return "it holds more than its limit";
        if (now.live < bytes || now.live + now.free + now.spare > now.held)
            return "the statistics do not add up";
        if (now.largest_hole > now.free) return "its largest hole is larger than all that is free";
        if constexpr (keeps_sizes) return inspect_walk(live);
        return {};
    }
    std::string inspect_walk(std::span<const Object> live) {
        std::map<const void *, std::size_t> seen;
        reap_.for_each([&](const void *object, std::size_t size) { seen[object] = size; });
        if (seen.size() != live.size() + alive_) return "it walks over more or fewer objects than there are";
        for (const Object &object : live) {
            const auto found = seen.find(object.data);
            if (found == seen.end() || found->second < object.size) return "it walks past an object";
            if (reap_.usable_size(object.data) != found->second) return "it gives an object two sizes";
        }
        return {};
    }
    bool may_refuse(std::size_t /*size*/, std::size_t /*alignment*/) {
        return options_.limit != ReapOptions{}.limit;
    }

  private:
    /// Ends when its reap says so.
    class Member {
      public:
        explicit Member(ReapSubject &subject) : subject_(&subject) {
            ++subject_->alive_;
            subject_->made_.push_back(this);
        }
        Member(const Member &) = delete;
        Member &operator=(const Member &) = delete;
        ~Member() {
            --subject_->alive_;
            std::ranges::replace(subject_->made_, this, nullptr);
        }

      private:
        ReapSubject *subject_;
    };
    struct Place {
        typename R::Mark mark;
        std::size_t made;
    };

    void make_something() {
        if (turn_ % 48 == 0 && !made_.empty()) {
            Member *const member = made_[turn_ % made_.size()];
            if (member != nullptr) reap_.destroy(member);
            return;
        }
        try {
            (void)reap_.template create<Member>(*this);
        } catch (const std::bad_alloc &) {
            return; // the source fails at times
        }
    }

    std::vector<Member *> made_;
    std::size_t alive_ = 0;
    R reap_;
    ReapOptions options_;
    std::vector<Place> marks_;
    bool wrong_ = false;
    std::size_t turn_ = 0;
};

/// A reap over superblocks that are somebody else's. Its source can be copied, and so the plain reap's slow
/// path works on a copy of its state.
using BelowShared = Superblocks<Below, window>;
struct HasSuperblocks {
    explicit HasSuperblocks(FailingSource<> &upstream) : superblocks(Below(upstream)) {}
    BelowShared superblocks;
};
template <class R>
class SharingSubject : private HasSuperblocks, public ReapSubject<R> {
  public:
    SharingSubject(FailingSource<> &upstream, const ReapOptions &options)
        : HasSuperblocks(upstream), ReapSubject<R>(Shared<BelowShared>(this->superblocks), options) {}
};

/// Reaps in a reap: each mark begins a new child, and all objects are the youngest child's.
class NestedReaps {
  public:
    explicit NestedReaps(FailingSource<> &upstream) : parent_(Below(upstream)) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (children_.size() <= floor_ && !add_child()) return {};
        return {children_.back()->try_allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        const auto owner = std::ranges::find_if(children_, [data](auto *child) { return child->owns(data); });
        if (owner != children_.end())
            (*owner)->deallocate(data, size, alignment);
        else
            parent_.deallocate(data, size, alignment); // null, or nobody's: the reap says what of it
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
        // By their parent, or earlier.
        if (children_.size() % 2 == 1) {
            parent_.destroy(children_.back());
        }
        parent_.reset();
        children_.clear();
        floor_ = 0;
    }

  private:
    using Parent = Reap<Below, 8, window>;
    struct Place {
        Parent::Mark mark;
        std::size_t children;
    };
    bool add_child() {
        try {
            children_.push_back(&parent_.nest());
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

template <std::size_t Granule = 8, Sizes S = Sizes::kept>
Case reap(std::string name, const ReapOptions &options = {}) {
    return {std::move(name), testkit::factory([options](FailingSource<> &upstream) {
                return ReapSubject<Reap<Below, Granule, window, S>>(Below(upstream), options);
            })};
}
template <std::size_t Granule = 8, Sizes S = Sizes::kept>
Case sharing_reap(std::string name, const ReapOptions &options = {}) {
    return {std::move(name), testkit::factory([options](FailingSource<> &upstream) {
                return SharingSubject<Reap<Shared<BelowShared>, Granule, window, S>>(upstream, options);
            })};
}

} // namespace

void add_reap_cases(Cases &cases) {
    cases.push_back(reap("Reap"));
    cases.push_back(reap<16>("Reap/granule-16"));
    cases.push_back(reap<16, Sizes::told>("SizedReap"));
    cases.push_back(reap<16, Sizes::told>(
        "SizedReap/small-chunks", {.growth = 0, .largest_chunk = 1, .large_object = 4000, .limit = 200000}));
    cases.push_back(reap("Reap/limited", {.limit = 100000}));
    cases.push_back(reap("Reap/small-chunks", {.growth = 0, .largest_chunk = 1, .large_object = 4000}));
    cases.push_back(reap("Reap/runs", {.largest_run = 4096}));
    cases.push_back(reap<16, Sizes::told>("SizedReap/runs", {.largest_run = 4096}));
    cases.push_back(reap("Reap/large-objects", {.large_object = 0}));
    cases.push_back(sharing_reap("Reap/shared-superblocks"));
    cases.push_back(sharing_reap("Reap/shared-superblocks-limited", {.limit = 100000}));
    cases.push_back(sharing_reap<16, Sizes::told>("SizedReap/shared-superblocks", {.limit = 200000}));
    cases.push_back(
        {"Reap/nested", testkit::factory([](FailingSource<> &upstream) { return NestedReaps(upstream); })});
    cases.push_back(
        {"Reap/default", testkit::factory([] { return testkit::SourceSubject<Reap<>>(); }), false});
}

} // namespace reap::test
