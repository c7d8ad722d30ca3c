#include "trace/perf_maps.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "trace/appender.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {
namespace {

constexpr size_t kLongestName = 4096;

std::string map_of(const std::string &folder, uint32_t pid) {
    return folder + "/perf-" + std::to_string(pid) + ".map";
}

// The open map of a process; null where there is none to trust. `start` is that of the run, in seconds.
FILE *open_map(const std::string &folder, uint32_t pid, double start) {
    const int descriptor =
        ::open(map_of(folder, pid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return nullptr;
    struct stat found{};
    const bool sound = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
                       (::geteuid() == 0 || found.st_uid == ::geteuid()) &&
                       static_cast<double>(found.st_mtim.tv_sec) >= std::floor(start);
    FILE *const file = sound ? ::fdopen(descriptor, "r") : nullptr;
    if (file == nullptr) ::close(descriptor);
    return file;
}

bool take_hexadecimal(std::string_view &line, uint64_t &value) {
    if (line.starts_with("0x")) line.remove_prefix(2);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
    if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
    line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
    return true;
}

// The names of the addresses that a map has.
std::map<uint64_t, std::string> names_of(FILE *map, const std::vector<uint64_t> &addresses) {
    std::map<uint64_t, std::string> names;
    char *text = nullptr;
    size_t room = 0;
    for (ssize_t length; (length = ::getline(&text, &room, map)) > 0;) {
        std::string_view line(text, static_cast<size_t>(length));
        if (line.ends_with('\n')) line.remove_suffix(1);
        uint64_t start = 0;
        uint64_t size = 0;
        if (!take_hexadecimal(line, start) || !take_hexadecimal(line, size)) continue;
        for (auto at = std::lower_bound(addresses.begin(), addresses.end(), start);
             at != addresses.end() && *at - start < size; ++at)
            names[*at] = line.substr(0, kLongestName);
    }
    std::free(text);
    return names;
}

// Addresses of calls in an image's stacks that are in no module, in order.
std::vector<uint64_t> unmapped(const Definitions &definitions, const ImageInfo &image) {
    std::vector<uint64_t> found;
    for (size_t at = 0; at < image.frames.size(); ++at) {
        const uint64_t address = image.frames[at].address;
        if (address == 0 || (address & REAP_PYTHON_FRAME) != 0) continue;
        const auto id = static_cast<uint32_t>(image.first_frame + at);
        if (definitions.module_of(image.number, id) == nullptr) found.push_back(address - 1);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

} // namespace

uint64_t keep_perf_maps(const std::string &path, const std::string &folder) {
    BlockFile trace(path);
    // Its processes still write to it, or nobody can.
    if (!is_complete(trace)) return 0;
    std::set<uint32_t> processes;
    for (const BlockInfo &block : trace.blocks()) {
        if (block.head.kind == REAP_BLOCK_DEFINITIONS) processes.insert(block.head.pid);
    }
    // Few programs write maps: the others' definitions need not be decoded.
    const bool has_map = std::any_of(processes.begin(), processes.end(), [&folder](uint32_t pid) {
        return ::access(map_of(folder, pid).c_str(), F_OK) == 0;
    });
    if (!has_map) return 0;
    const Definitions definitions(trace);
    const double start = static_cast<double>(trace.header().start_unix_ns) * 1e-9 - trace.part().lead;
    uint64_t named = 0;
    Appender out(path, trace);
    for (const ImageInfo &image : definitions.images()) {
        const std::vector<uint64_t> addresses = unmapped(definitions, image);
        FILE *const map = addresses.empty() ? nullptr : open_map(folder, image.pid, start);
        if (map == nullptr) continue;
        out.begin_image(image);
        for (const auto &[address, name] : names_of(map, addresses)) {
            out.add(REAP_TAG_CODE,
                    LongFields().number(REAP_CODE_COMPILED).number(address).number(1).text(name));
            ++named;
        }
        std::fclose(map);
    }
    if (named != 0) out.publish();
    return named;
}

} // namespace reap::native
