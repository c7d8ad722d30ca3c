#pragma once

#include <vector>

#include "reap/core/annotate.h"
#include "reap/core/misuse.h"

/// While it lives, misuse is written down here instead of ending the program.
class MisuseLog {
  public:
    MisuseLog() {
        reports().clear();
        before_ =
            reap::set_misuse_handler([](const reap::MisuseReport &report) { reports().push_back(report); });
    }
    ~MisuseLog() { reap::set_misuse_handler(before_); }
    MisuseLog(const MisuseLog &) = delete;
    MisuseLog &operator=(const MisuseLog &) = delete;

    /// What was reported, in order; forgotten by this call.
    static std::vector<reap::Misuse> take() {
        std::vector<reap::Misuse> kinds;
        for (const auto &report : reports()) kinds.push_back(report.what);
        reports().clear();
        return kinds;
    }
    static std::vector<reap::MisuseReport> &reports() {
        static std::vector<reap::MisuseReport> all;
        return all;
    }

  private:
    reap::MisuseHandler before_;
};

/// Writes a byte that may be closed to the program, so that what finds it is the layer and no tool.
__attribute__((no_sanitize("address", "undefined"))) inline void write_anyway(void *address,
                                                                              unsigned char value) {
#if REAP_MEMCHECK
    VALGRIND_DISABLE_ERROR_REPORTING;
#endif
    *static_cast<volatile unsigned char *>(address) = value;
#if REAP_MEMCHECK
    VALGRIND_ENABLE_ERROR_REPORTING;
#endif
}
