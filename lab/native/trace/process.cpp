#include "trace/process.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>

namespace reap::native {
namespace {

namespace fs = std::filesystem;

// Lists of processes that are read at most, as others start meanwhile.
constexpr int kRounds = 20;
// Reads of an environment that is empty for the moment in which a program is executed.
constexpr int kAgain = 3;

std::string whole_text(const std::string &path) {
    const std::ifstream file(path);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

std::string environment_of(const std::string &folder) {
    std::string text;
    std::error_code kernels_own;
    for (int i = 0; i < kAgain && text.empty() && !kernels_own; ++i) {
        text = whole_text(folder + "/environ");
        (void)fs::read_symlink(folder + "/exe", kernels_own);
    }
    return '\0' + text + '\0';
}

} // namespace

std::optional<ProcessStat> stat_of(uint32_t pid) {
    const std::string text = whole_text("/proc/" + std::to_string(pid) + "/stat");
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

std::vector<std::string> started_with(const std::string &variable) {
    const std::string wanted = '\0' + variable + '\0';
    std::set<int> known;
    std::map<int, std::string> found;
    for (size_t before = 1, round = 0; round < kRounds && known.size() != before; ++round) {
        before = known.size();
        std::error_code failed;
        // The operator ++ of a loop over a range would throw.
        for (fs::directory_iterator entry("/proc", failed); entry != fs::directory_iterator();
             entry.increment(failed)) {
            const std::string digits = entry->path().filename().string();
            int number = 0;
            std::from_chars(digits.data(), digits.data() + digits.size(), number);
            if (number == 0 || !known.insert(number).second) continue;
            const std::string folder = entry->path().string();
            if (environment_of(folder).find(wanted) == std::string::npos) continue;
            std::string name = whole_text(folder + "/comm");
            if (name.ends_with('\n')) name.pop_back();
            if (!name.empty()) found[number] = name + " (pid " + std::to_string(number) + ")";
        }
    }
    std::vector<std::string> names;
    names.reserve(found.size());
    for (const auto &[number, name] : found) names.push_back(name);
    return names;
}

} // namespace reap::native
