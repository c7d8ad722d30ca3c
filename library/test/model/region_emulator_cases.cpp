#include "reap/layer/region_emulator.h"

#include <cstddef>
#include <span>
#include <string>

#include "cases.h"

namespace reap::test {
namespace {

/// Freed as an obstack is.
template <class Source>
class EmulatorSubject {
  public:
    static constexpr bool frees_younger = true;
    static constexpr bool told_sizes = false;

    explicit EmulatorSubject(Source source) : region_(source) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        return {region_.try_allocate(size, alignment), size + (size == 0)};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        return {region_.allocate(size, alignment), size + (size == 0)};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) { region_.free_from(data); }
    void reset() { region_.reset(); }
    std::string inspect(std::span<const testkit::Object> live) {
        return region_.statistics().objects == live.size() ? ""
                                                           : "it holds other objects than those that live";
    }

  private:
    RegionEmulator<Source> region_;
};

} // namespace

void add_region_emulator_cases(Cases &cases) {
    cases.push_back({"RegionEmulator", testkit::factory([](testkit::FailingSource<> &upstream) {
                         return EmulatorSubject<Below>(upstream);
                     })});
    // What is written to memory that malloc has back is malloc's to find.
    cases.push_back({.name = "RegionEmulator/malloc",
                     .make = testkit::factory(
                         [](testkit::FailingSource<> &) { return EmulatorSubject<Malloc>(Malloc{}); }),
                     .fails_with_upstream = false,
                     .checks_misuse = false});
    cases.push_back(over_upstream<RegionEmulator<Below>>("RegionEmulator/source", {}, false));
}

} // namespace reap::test
