// SPDX-License-Identifier: MIT
#include "perf/sample.h"

#include <cstring>
#include <ctime>

namespace reap::spawn {
namespace {

#if defined(__x86_64__)
constexpr auto stack_pointer = PERF_REG_X86_SP, pointer = PERF_REG_X86_IP;
#elif defined(__aarch64__)
constexpr auto stack_pointer = PERF_REG_ARM64_SP, pointer = PERF_REG_ARM64_PC;
#endif
static_assert(stack_pointer < pointer, "samples have registers in the order of their numbers");

} // namespace

perf_event_attr begin_attributes(std::uint32_t type, std::uint64_t config, std::uint64_t period,
                                 bool running) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.sample_period = period;
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | user_side;
    attributes.sample_regs_user = UINT64_C(1) << stack_pointer | UINT64_C(1) << pointer;
    attributes.sample_stack_user = UserSide::stack_bytes;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.disabled = running ? 0 : 1;
    attributes.enable_on_exec = running ? 0 : 1;
    attributes.inherit = 1;
    attributes.exclude_hv = 1;
    return attributes;
}

UserSide read_user_side(Fields &fields) {
    UserSide out;
    if (fields.next<std::uint64_t>() != PERF_SAMPLE_REGS_ABI_NONE) {
        out.stack_pointer = fields.next<std::uint64_t>();
        out.pointer = fields.next<std::uint64_t>();
    }
    const auto dumped = fields.next<std::uint64_t>();
    if (dumped == 0) return out;
    const unsigned char *stack = fields.skip(dumped);
    auto real = fields.next<std::uint64_t>(); // how many of these bytes are valid
    if (stack == nullptr || !fields.good()) return out;
    if (real > dumped) real = dumped;
    for (; (out.count + 1) * sizeof *out.words <= real && out.count < sizeof out.words / sizeof *out.words;
         ++out.count) {
        std::memcpy(&out.words[out.count], stack + out.count * sizeof *out.words, sizeof *out.words);
    }
    return out;
}

} // namespace reap::spawn
