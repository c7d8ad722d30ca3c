#include "names/perf_maps.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "files/regular.h"
#include "names/appender.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {
namespace {

constexpr size_t kLongestName = 4096;
// Of a map as much is read: that of a JVM with 100,000 functions has 10 MB.
constexpr uint64_t kMostBytes = UINT64_C(256) << 20;

std::string map_of(const std::string &folder, uint32_t pid) {
    return folder + "/perf-" + std::to_string(pid) + ".map";
}

struct Map {
    std::unique_ptr<FILE, int (*)(FILE *)> file{nullptr, std::fclose}; // null where there is none to trust
    uint64_t refused = 0; // enum reap_refused_map; 0: it is whole, or there is none
};

// The map of a process. `start` is that of the run, in seconds.
Map open_map(const std::string &folder, uint32_t pid, double start) {
    Map map;
    const int descriptor = open_regular(map_of(folder, pid), Links::Folders);
    if (descriptor < 0) {
        map.refused = errno == ENOENT ? 0 : REAP_REFUSED_FOREIGN;
        return map;
    }
    struct stat found{};
    const bool ours = ::fstat(descriptor, &found) == 0 && (::geteuid() == 0 || found.st_uid == ::geteuid());
    // One that is older is of another process that had the number.
    const bool now = ours && static_cast<double>(found.st_mtim.tv_sec) >= std::floor(start);
    if (!ours) map.refused = REAP_REFUSED_FOREIGN;
    if (now && static_cast<uint64_t>(found.st_size) > kMostBytes) map.refused = REAP_REFUSED_LONG;
    if (now) map.file.reset(::fdopen(descriptor, "r"));
    if (map.file == nullptr) ::close(descriptor);
    return map;
}

bool take_hexadecimal(std::string_view &line, uint64_t &value) {
    if (line.starts_with("0x")) line.remove_prefix(2);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
    if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
    line.remove_prefix(static_cast<size_t>(end - line.data()) + 1);
    return true;
}

// A terminal obeys control characters.
std::string plain(std::string_view name) {
    std::string out(name.substr(0, kLongestName));
    std::ranges::replace_if(
        out, [](char each) { return static_cast<unsigned char>(each) < ' ' || each == 0x7f; }, '?');
    return out;
}

// A line of a map that some of the addresses lie in.
struct Line {
    uint64_t start;
    uint64_t size;
    std::string name;
};

std::vector<Line> lines_of(FILE *map, const std::vector<uint64_t> &addresses) {
    std::vector<Line> lines;
    std::vector<char> text(kLongestName + 64);
    uint64_t read = 0;
    bool begins = true; // else it is the rest of a line that is too long
    while (read < kMostBytes && std::fgets(text.data(), static_cast<int>(text.size()), map) != nullptr) {
        std::string_view line(text.data());
        const bool whole = line.ends_with('\n'); // else it fills the buffer, perhaps with zeros
        read += whole ? line.size() : text.size();
        if (whole) line.remove_suffix(1);
        uint64_t start = 0;
        uint64_t size = 0;
        if (std::exchange(begins, whole) && take_hexadecimal(line, start) && take_hexadecimal(line, size)) {
            const auto at = std::lower_bound(addresses.begin(), addresses.end(), start);
            if (at != addresses.end() && *at - start < size) lines.push_back({start, size, plain(line)});
        }
    }
    return lines;
}

// The names of the addresses that a map has; the last line that an address lies in holds. Takes each address
// once, however many lines lie over it.
std::map<uint64_t, std::string> names_of(FILE *map, const std::vector<uint64_t> &addresses) {
    const std::vector<Line> lines = lines_of(map, addresses);
    std::vector<size_t> next(addresses.size() + 1); // the first without a name from each on, or one before
    std::iota(next.begin(), next.end(), size_t{0});
    const auto first_from = [&next](size_t at) {
        while (next[at] != at) at = next[at] = next[next[at]];
        return at;
    };
    std::map<uint64_t, std::string> names;
    for (const Line &line : std::views::reverse(lines)) {
        const auto begin = std::lower_bound(addresses.begin(), addresses.end(), line.start);
        size_t at = first_from(static_cast<size_t>(begin - addresses.begin()));
        for (; at < addresses.size() && addresses[at] - line.start < line.size; at = first_from(at)) {
            names.emplace(addresses[at], line.name);
            next[at] = at + 1;
        }
    }
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
        struct stat found{};
        return ::lstat(map_of(folder, pid).c_str(), &found) == 0;
    });
    if (!has_map) return 0;
    const Definitions definitions(trace);
    const double start = static_cast<double>(trace.header().start_unix_ns) * 1e-9 - trace.part().lead;
    uint64_t named = 0;
    bool added = false;
    Appender out(path, trace);
    for (const ImageInfo &image : definitions.images()) {
        const std::vector<uint64_t> addresses = unmapped(definitions, image);
        const Map map = addresses.empty() ? Map() : open_map(folder, image.pid, start);
        if (map.file == nullptr && map.refused == 0) continue;
        out.begin_image(image);
        if (map.refused != 0) {
            out.add(REAP_TAG_CODE, LongFields().number(REAP_CODE_REFUSED).number(map.refused));
            added = true;
        }
        if (map.file == nullptr) continue;
        for (const auto &[address, name] : names_of(map.file.get(), addresses)) {
            out.add(REAP_TAG_CODE,
                    LongFields().number(REAP_CODE_COMPILED).number(address).number(1).text(name));
            ++named;
        }
    }
    if (added || named != 0) out.publish();
    return named;
}

} // namespace reap::native
