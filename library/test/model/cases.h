#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "case_lists.h"
#include "reap/core/source.h"
#include "reap/testkit/failing_source.h"
#include "reap/testkit/subject.h"

// Every layer and every composition, each as a subject of the test kit. The reference model, the sweeps, the
// misuse matrix and the fuzz targets all go through this one list, so what is added here is tested by all.

namespace reap::test {

struct Case {
    std::string name; ///< "Region/limited": the layer, and what is special
    testkit::Factory make;
    /// Whether it stands on the upstream that it is given, which then can be made to fail.
    bool fails_with_upstream = true;
    /// Whether its checked mode looks for misuse: not where pages are allocated and not objects.
    bool checks_misuse = true;
};

/// The source that cases stand on.
using Below = Ref<testkit::FailingSource<>>;

/// An object of a size and an alignment.
template <std::size_t Size, std::size_t Alignment>
struct alignas(Alignment) Plain {
    std::byte bytes[Size];
};

/// A source as a subject, which meets some requests only, and may run out where it is bounded.
template <class S>
class LimitedSubject : public testkit::SourceSubject<S> {
  public:
    template <class... Arguments>
    explicit LimitedSubject(const testkit::Limits &limits, bool bounded, Arguments &&...arguments)
        : testkit::SourceSubject<S>(std::forward<Arguments>(arguments)...), limits_(limits),
          bounded_(bounded) {}

    [[nodiscard]] testkit::Limits limits() const { return limits_; }
    [[nodiscard]] bool may_refuse(std::size_t /*size*/, std::size_t /*alignment*/) const { return bounded_; }

  private:
    testkit::Limits limits_;
    bool bounded_;
};

/// A case of a LimitedSubject over the upstream; the arguments follow the source in S's constructor.
template <class S, class... Arguments>
[[nodiscard]] Case over_upstream(std::string name, const testkit::Limits &limits, bool bounded,
                                 Arguments... arguments) {
    return {std::move(name), testkit::factory([=](testkit::FailingSource<> &upstream) {
                return LimitedSubject<S>(limits, bounded, Below(upstream), arguments...);
            })};
}

/// Whether tests are to be brief: every access is watched, which takes some ten times as long.
inline constexpr bool brief = REAP_ASAN != 0 || REAP_TSAN != 0;

/// In messages, rather than its bytes.
inline void PrintTo(const Case &one, std::ostream *out) { *out << one.name; }

/// For parametrised tests: what may be in a test's name.
inline const auto name_of = [](const auto &info) {
    std::string name = info.param.name;
    std::ranges::replace_if(name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
    return name;
};

[[nodiscard]] inline Cases all_cases() {
    Cases cases;
    add_source_cases(cases);
    add_best_fit_cases(cases);
    add_block_cases(cases);
    add_composing_cases(cases);
    add_mempool_cases(cases);
    add_obstack_cases(cases);
    add_paper_reap_cases(cases);
    add_reap_cases(cases);
    add_region_cases(cases);
    add_region_emulator_cases(cases);
    add_stack_like_cases(cases);
    add_thread_cases(cases);
    return cases;
}

} // namespace reap::test
