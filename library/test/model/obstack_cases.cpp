#include "reap/layer/obstack.h"

#include <cstddef>
#include <new>
#include <span>
#include <string>

#include "cases.h"

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::Object;

/// An obstack; some of the objects are grown piece by piece.
template <std::size_t Granule>
class ObstackSubject {
  public:
    static constexpr bool frees_younger = true;
    static constexpr bool told_sizes = false;

    ObstackSubject(FailingSource<> &upstream, const ObstackOptions &options)
        : upstream_(upstream), stack_(Below(upstream), options) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (++turn_ % 8 == 3 && alignment <= Granule && is_alignment(alignment) && size > 0)
            return grown(size);
        return {stack_.try_allocate(size, alignment), size + (size == 0)};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        return {stack_.allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) { stack_.free_from(data); }
    bool owns(const void *address) { return stack_.owns(address); }
    void reset() {
        const std::size_t keeps[] = {keep_all, keep_none, std::size_t{10000}};
        stack_.reset(keeps[turn_ % 3]);
        if (turn_ % 5 == 0) stack_.trim();
    }
    std::string inspect(std::span<const Object> /*live*/) {
        const auto now = stack_.statistics();
        const bool limited = bounded();
        if (now.held > upstream_.outstanding_bytes() ||
            (!limited && now.held != upstream_.outstanding_bytes()))
            return "it holds something else than its source gave";
        if (now.held > stack_.options().limit) return "it holds more than its limit";
        return {};
    }
    bool may_refuse(std::size_t /*size*/, std::size_t /*alignment*/) { return bounded(); }

  private:
    [[nodiscard]] bool bounded() const { return stack_.options().limit != ObstackOptions{}.limit; }

    Allocation grown(std::size_t size) {
        for (std::size_t done = 0; done < size;) {
            const std::size_t part = std::min(size - done, size / 3 + 1);
            if (stack_.try_blank(part) == nullptr) {
                stack_.drop();
                return {};
            }
            done += part;
        }
        return {stack_.finish(), size};
    }

    FailingSource<> &upstream_;
    Obstack<Below, Granule> stack_;
    std::size_t turn_ = 0;
};

template <std::size_t Granule = alignof(std::max_align_t)>
Case obstack(std::string name, const ObstackOptions &options = {}) {
    return {std::move(name), testkit::factory([options](FailingSource<> &upstream) {
                return ObstackSubject<Granule>(upstream, options);
            })};
}

} // namespace

void add_obstack_cases(Cases &cases) {
    cases.push_back(obstack("Obstack"));
    cases.push_back(obstack<1>("Obstack/granule-1", {.first_chunk = 100}));
    cases.push_back(obstack<64>("Obstack/granule-64", {.first_chunk = 1, .growth = 1, .largest_chunk = 1}));
    cases.push_back(obstack("Obstack/limited", {.limit = 50000}));
    cases.push_back(over_upstream<Obstack<Below>>("Obstack/source", {}, false));
}

} // namespace reap::test
