#include "attach/process/tree.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "trace/process.h"

namespace reap::native {
namespace {

// Each thread has its own: /proc/PID/task/TID/children.
std::vector<pid_t> children(pid_t process) {
    std::vector<pid_t> found;
    std::error_code gone;
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    for (std::filesystem::directory_iterator thread(folder, gone), end; !gone && thread != end;
         thread.increment(gone)) {
        std::ifstream file(thread->path() / "children");
        for (pid_t child = 0; file >> child;) found.push_back(child);
    }
    return found;
}

} // namespace

std::vector<TreeProcess> descendants(pid_t root) {
    std::vector<TreeProcess> found;
    std::vector<pid_t> parents{root};
    for (size_t at = 0; at < parents.size(); ++at) {
        for (const pid_t child : children(parents[at])) {
            const std::optional<ProcessStat> stat = stat_of(static_cast<uint32_t>(child));
            if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
            found.push_back({child, parents[at], stat->start});
            parents.push_back(child);
        }
    }
    return found;
}

} // namespace reap::native
