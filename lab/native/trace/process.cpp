#include "trace/process.h"

#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace reap::native {

std::optional<ProcessStat> stat_of(uint32_t pid) {
    const std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::ostringstream all;
    all << file.rdbuf();
    const std::string text = all.str();
    std::istringstream fields(text.substr(text.rfind(')') + 1)); // behind the name, which may hold anything
    ProcessStat found;
    std::string other;
    fields >> found.state >> found.parent; // fields 3 and 4
    for (int i = 5; i < 22; ++i) fields >> other;
    uint64_t pages = 0;
    if (!(fields >> found.start >> other >> pages)) return std::nullopt;
    found.resident = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    return found;
}

bool is_running(uint32_t pid, uint64_t start) {
    const std::optional<ProcessStat> found = stat_of(pid);
    return found && found->state != 'Z' && found->state != 'X' && (start == 0 || found->start - start <= 1);
}

} // namespace reap::native
