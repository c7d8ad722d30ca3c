#include "reap/face/c/common.h"

#include <atomic>

#include "reap/core/misuse.h"
#include "reap/core/mode.h"

namespace {

static_assert(static_cast<int>(reap::Misuse::overflow) == REAP_MISUSE_OVERFLOW);
static_assert(static_cast<int>(reap::Misuse::stale_mark) == REAP_MISUSE_STALE_MARK);
static_assert(static_cast<int>(reap::Misuse::corruption) == REAP_MISUSE_CORRUPTION);

std::atomic<reap_misuse_handler> handler;

void tell(const reap::MisuseReport &report) {
    const auto told = handler.load();
    if (told == nullptr) reap::abort_on_misuse(report);
    told(static_cast<reap_misuse>(report.what), report.address, report.size, report.layer);
}

} // namespace

void reap_set_misuse_handler(reap_misuse_handler new_handler) {
    handler = new_handler;
    reap::set_misuse_handler(new_handler == nullptr ? nullptr : tell);
}

const char *reap_version() { return REAP_VERSION; }

bool reap_is_checked() { return reap::checked; }
