#include "reap/face/c/common.h"

#include <atomic>

#include "reap/core/misuse.h"
#include "reap/core/mode.h"

namespace {

// The enumerators have the same values, and C has all of them.
static_assert(static_cast<int>(reap::Misuse::overflow) == REAP_MISUSE_OVERFLOW);
static_assert(static_cast<int>(reap::Misuse::underflow) == REAP_MISUSE_UNDERFLOW);
static_assert(static_cast<int>(reap::Misuse::use_after_free) == REAP_MISUSE_USE_AFTER_FREE);
static_assert(static_cast<int>(reap::Misuse::use_after_rewind) == REAP_MISUSE_USE_AFTER_REWIND);
static_assert(static_cast<int>(reap::Misuse::use_after_reset) == REAP_MISUSE_USE_AFTER_RESET);
static_assert(static_cast<int>(reap::Misuse::double_free) == REAP_MISUSE_DOUBLE_FREE);
static_assert(static_cast<int>(reap::Misuse::foreign_free) == REAP_MISUSE_FOREIGN_FREE);
static_assert(static_cast<int>(reap::Misuse::wrong_size) == REAP_MISUSE_WRONG_SIZE);
static_assert(static_cast<int>(reap::Misuse::stale_mark) == REAP_MISUSE_STALE_MARK);
static_assert(static_cast<int>(reap::Misuse::interior_free) == REAP_MISUSE_INTERIOR_FREE);
static_assert(static_cast<int>(reap::Misuse::corruption) == REAP_MISUSE_CORRUPTION);
static_assert(static_cast<int>(reap::Misuse::skipped_destructor) == REAP_MISUSE_SKIPPED_DESTRUCTOR);
static_assert(reap::last_misuse == reap::Misuse::skipped_destructor);

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
