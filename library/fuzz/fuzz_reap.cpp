#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return reap::test::fuzz(data, size, reap::test::add_reap_cases, "Reap");
}
