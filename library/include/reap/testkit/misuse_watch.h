#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "reap/core/misuse.h"
#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::testkit {

/// Collects the reports of checked mode while it lives, instead of ending the program. At most one at a time.
class MisuseWatch {
  public:
    MisuseWatch() {
        take();
        before_ = set_misuse_handler([](const MisuseReport &report) {
            const std::scoped_lock lock(mutex_);
            said_.push_back(report);
            any_ = true;
        });
    }
    MisuseWatch(const MisuseWatch &) = delete;
    MisuseWatch &operator=(const MisuseWatch &) = delete;
    ~MisuseWatch() { set_misuse_handler(before_); }

    [[nodiscard]] static bool any() noexcept { return any_; }
    /// The reports since the last call.
    static std::vector<MisuseReport> take() {
        const std::scoped_lock lock(mutex_);
        any_ = false;
        return std::exchange(said_, {});
    }
    /// The same in words.
    static std::string take_words() {
        std::string all;
        for (const auto &report : take()) {
            all += std::string(all.empty() ? "" : ", ") + report.layer + ": " + reap::to_string(report.what);
        }
        return all;
    }

  private:
    static inline std::mutex mutex_;
    static inline std::vector<MisuseReport> said_;
    static inline std::atomic<bool> any_ = false;
    MisuseHandler before_;
};

} // namespace reap::inline REAP_MODE::testkit
