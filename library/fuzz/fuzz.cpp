#include "fuzz.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../test/model/cases.h"
#include "reap/testkit/operation.h"
#include "reap/testkit/reference_model.h"

namespace reap::test {

int fuzz(const std::uint8_t *data, std::size_t size, void (*add)(Cases &), std::string_view layer) {
    static const Cases cases = [add, layer] {
        Cases all;
        add(all);
        std::erase_if(all, [layer](const Case &one) { return !one.name.starts_with(layer); });
        if (all.empty()) std::abort();
        return all;
    }();
    if (size == 0) return 0;
    const Case &one = cases[data[0] % cases.size()];
    std::vector<testkit::Operation> operations;
    testkit::for_each_operation({data + 1, size - 1}, [&operations](const testkit::Operation &operation) {
        operations.push_back(operation);
        return true;
    });
    std::size_t step = 0;
    const std::string wrong = testkit::live_through(one.make, operations, step);
    if (wrong.empty()) return 0;
    std::fprintf(stderr, "%s: %s\n  at step %zu of\n", one.name.c_str(), wrong.c_str(), step);
    for (const auto &operation : operations) std::fprintf(stderr, "    %s\n", to_string(operation).c_str());
    std::abort();
}

} // namespace reap::test
