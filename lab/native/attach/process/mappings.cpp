#include "attach/process/mappings.h"

#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <unistd.h>

#include "attach/failure.h"

namespace reap::native {
namespace {

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

// False for a line of a mapping that is of no file.
bool parse(const std::string &line, Mapping &mapping) {
    char rights[5] = {};
    char device[16] = {};
    uint64_t inode = 0;
    int at = 0;
    const int fields =
        std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %15s %" SCNu64 " %n",
                    &mapping.start, &mapping.end, rights, &mapping.offset, device, &inode, &at);
    if (fields != 6 || inode == 0) return false;
    mapping.executable = rights[2] == 'x';
    mapping.identity = device + (' ' + std::to_string(inode));
    mapping.path = line.substr(static_cast<size_t>(at));
    if (mapping.path.ends_with(kDeleted))
        mapping.path.resize(mapping.path.size() - std::string_view(kDeleted).size());
    return true;
}

} // namespace

std::vector<Mapping> read_mappings(pid_t process) {
    std::ifstream file(folder_of(process) + "/maps");
    if (!file) throw AttachFailure("process", errno);
    std::vector<Mapping> found;
    std::string line;
    while (std::getline(file, line)) {
        Mapping mapping;
        if (parse(line, mapping)) found.push_back(std::move(mapping));
    }
    if (file.bad()) throw AttachFailure("process", errno != 0 ? errno : EACCES);
    return found;
}

std::string openable(pid_t process, const Mapping &mapping) {
    char range[64];
    std::snprintf(range, sizeof range, "/map_files/%" PRIx64 "-%" PRIx64, mapping.start, mapping.end);
    std::string held = folder_of(process) + range;
    if (::access(held.c_str(), R_OK) == 0) return held;
    return folder_of(process) + "/root" + mapping.path;
}

bool is_executed(pid_t process, const std::string &path) {
    char link[PATH_MAX];
    const ssize_t length = ::readlink((folder_of(process) + "/exe").c_str(), link, sizeof link);
    if (length <= 0) return false;
    const std::string_view executable(link, static_cast<size_t>(length));
    return executable == path || executable == path + kDeleted;
}

} // namespace reap::native
