#include "attach/process/waiting.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace reap::native {

double Waiting::seconds() {
    std::map<long, double> now;
    std::error_code gone;
    const std::string folder = "/proc/" + std::to_string(process_) + "/task";
    for (std::filesystem::directory_iterator thread(folder, gone), end; !gone && thread != end;
         thread.increment(gone)) {
        std::ifstream file(thread->path() / "schedstat");
        uint64_t ran_ns = 0;
        uint64_t waited_ns = 0;
        if (!(file >> ran_ns >> waited_ns)) continue;
        const long id = std::strtol(thread->path().filename().c_str(), nullptr, 10);
        now[id] = static_cast<double>(waited_ns) * 1e-9;
    }
    if (now.empty()) return -1;
    for (const auto &[id, waited] : now) {
        const auto before = last_.find(id);
        if (before != last_.end()) {
            seconds_ += std::max(waited - before->second, 0.0);
        } else if (begun_) {
            seconds_ += waited;
        }
    }
    begun_ = true;
    last_ = std::move(now);
    return seconds_;
}

} // namespace reap::native
