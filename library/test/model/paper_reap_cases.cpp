#include "../../bench/contender/paper_reap.h"

#include <cstddef>

#include "cases.h"

// The historical reference of the benchmark: what is compared has to be right as well.

namespace reap::test {
namespace {

class PaperReapSubject {
  public:
    static constexpr bool told_sizes = false;

    explicit PaperReapSubject(testkit::FailingSource<> &upstream) : reap_(Below(upstream)) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if (!is_alignment(alignment) || alignment > 8) return {};
        return {reap_.try_allocate(size), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) { reap_.deallocate(data); }
    void reset() { reap_.reset(); }
    [[nodiscard]] static testkit::Limits limits() {
        return {.largest = std::size_t{1} << 30, .largest_alignment = 8};
    }

  private:
    bench::paper::Reap<Below> reap_;
};

} // namespace

void add_paper_reap_cases(Cases &cases) {
    cases.push_back({.name = "Reap-of-2002",
                     .make = testkit::factory(
                         [](testkit::FailingSource<> &upstream) { return PaperReapSubject(upstream); }),
                     .checks_misuse = false});
}

} // namespace reap::test
