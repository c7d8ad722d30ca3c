#include "attach/process/mappings.h"

#include <cerrno>
#include <charconv>
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

// A line of /proc/PID/maps from left to right. After a field that is missing or no number it has failed.
class Fields {
  public:
    explicit Fields(std::string_view line) noexcept : rest_(line) {}

    [[nodiscard]] bool failed() const noexcept { return failed_; }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

    std::string_view next(char end) noexcept {
        const size_t length = rest_.find(end);
        if (length == std::string_view::npos) return fail();
        const std::string_view field = rest_.substr(0, length);
        rest_.remove_prefix(length + 1);
        return field;
    }
    uint64_t number(char end, int base) noexcept {
        const std::string_view field = next(end);
        uint64_t value = 0;
        const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), value, base);
        if (error != std::errc() || last != field.data() + field.size()) fail();
        return value;
    }

  private:
    std::string_view fail() noexcept {
        failed_ = true;
        return rest_ = {};
    }

    std::string_view rest_;
    bool failed_ = false;
};

// Whether `see`, which gets each line in turn, ended it by true.
template <class See>
bool any_line(pid_t process, See see) {
    std::ifstream file(folder_of(process) + "/maps");
    if (!file) throw AttachFailure("process", errno);
    for (std::string line; std::getline(file, line);) {
        if (see(line)) return true;
    }
    if (file.bad()) throw AttachFailure("process", errno != 0 ? errno : EACCES);
    return false;
}

// False for a line of a mapping that is of no file.
bool parse(const std::string &line, FileMapping &mapping) {
    Fields fields(line);
    mapping.start = fields.number('-', 16);
    mapping.end = fields.number(' ', 16);
    const std::string_view rights = fields.next(' ');
    mapping.offset = fields.number(' ', 16);
    const std::string_view device = fields.next(' ');
    const uint64_t inode = fields.number(' ', 10);
    if (fields.failed() || inode == 0 || rights.size() < 3) return false;
    mapping.executable = rights[2] == 'x';
    mapping.identity = std::string(device) + (' ' + std::to_string(inode));
    const size_t path = fields.rest().find_first_not_of(' ');
    if (path == std::string_view::npos) return false;
    mapping.path = fields.rest().substr(path);
    if (mapping.path.ends_with(kDeleted))
        mapping.path.resize(mapping.path.size() - std::string_view(kDeleted).size());
    return true;
}

} // namespace

std::vector<FileMapping> read_mappings(pid_t process) {
    std::vector<FileMapping> found;
    any_line(process, [&found](const std::string &line) {
        FileMapping mapping;
        if (parse(line, mapping)) found.push_back(std::move(mapping));
        return false;
    });
    return found;
}

uint64_t stack_end(pid_t process) {
    uint64_t end = 0;
    any_line(process, [&end](const std::string &line) {
        if (!line.ends_with("[stack]")) return false;
        Fields fields(line);
        fields.number('-', 16);
        end = fields.number(' ', 16);
        return true;
    });
    return end;
}

std::string openable(pid_t process, const FileMapping &mapping) {
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
