#include "names/module_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace reap::native {
namespace {

bool is_regular(const std::string &path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

uint64_t nanoseconds(const timespec &time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// Names that it may have in a folder of debug files: the debug file's, then the file's.
std::vector<std::string> named_by_id(const std::string &folder, const std::string &build_id) {
    const std::string id = hexadecimal(build_id);
    if (id.size() <= 2) return {};
    const std::string name = folder + "/.build-id/" + id.substr(0, 2) + '/' + id.substr(2);
    return {name + ".debug", name};
}

} // namespace

HeldFiles held_in(const std::string &folder) {
    constexpr std::string_view kSuffix = ".name";
    HeldFiles held;
    std::error_code failed;
    // The operator ++ of a loop over a range would throw.
    using Entries = std::filesystem::directory_iterator;
    for (Entries entry(folder, failed); entry != Entries(); entry.increment(failed)) {
        const std::string path = entry->path().string();
        if (!path.ends_with(kSuffix)) continue;
        std::ifstream file(path);
        held.emplace_back(std::string(std::istreambuf_iterator<char>(file), {}),
                          path.substr(0, path.size() - kSuffix.size()));
    }
    std::sort(held.begin(), held.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    return held;
}

std::string hexadecimal(const std::string &bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const char each : bytes) {
        const auto byte = static_cast<unsigned char>(each);
        out.push_back(digits[byte >> 4]);
        out.push_back(digits[byte & 15]);
    }
    return out;
}

ModuleFiles::ModuleFiles(Symbolizer &symbols, uint64_t began, Folders folders, HeldFiles held)
    : symbols_(symbols), began_(began), folders_(std::move(folders)), held_(std::move(held)) {
    Symbolizer::search(folders_.debug);
}

const ModuleFiles::Found &ModuleFiles::of(const Module &module) {
    const auto [entry, fresh] = found_.try_emplace({module.path, module.build_id});
    if (fresh) entry->second = find(module);
    return entry->second;
}

ModuleFiles::Found ModuleFiles::find(const Module &module) {
    std::string opened;
    if (take_held(module, opened) || take_debug(module, opened)) return {Naming::Certain, opened};
    for (const std::string &root : folders_.sysroots) {
        const std::string path = root + '/' + module.path;
        if (is_regular(path) && take(module, path)) return {Naming::Certain, path};
    }
    // What is open meanwhile as /proc/self/fd/3 is another file here.
    const bool there = !module.path.starts_with("/proc/") && is_regular(module.path);
    const bool opens = there && symbols_.opens(module.path);
    Naming why = symbols_.failed().contains(module.path) ? Naming::Unreadable : Naming::Missing;
    if (opens) {
        const std::string id = symbols_.build_id(module.path);
        const bool changed = module.build_id.empty() && changed_since(module.path);
        if (!module.build_id.empty() ? id == module.build_id : !changed)
            return {Naming::Certain, module.path};
        if (!module.identified) return {Naming::Unchecked, module.path};
        why = module.build_id.empty() && id.empty() ? Naming::Changed : Naming::OtherBuild;
    }
    if (!folders_.ask_servers || module.build_id.empty()) return {why, {}};
    // Debug files of the system are not left to elfutils, which would parse them in this process.
    for (const std::string &path : named_by_id("/usr/lib/debug", module.build_id))
        if (is_regular(path) && take(module, path)) return {Naming::Certain, path};
    const std::string name = "build-id:" + hexadecimal(module.build_id);
    const NetworkAllowed asked;
    return symbols_.adopt_by_build_id(name, module.build_id) ? Found{Naming::Certain, name} : Found{why, {}};
}

bool ModuleFiles::take_held(const Module &module, std::string &opened) {
    for (const auto &[path, file] : held_) {
        if (path != module.path || !symbols_.opens(file)) continue;
        if (!module.build_id.empty() && symbols_.build_id(file) != module.build_id) continue;
        opened = file;
        return true;
    }
    return false;
}

bool ModuleFiles::take_debug(const Module &module, std::string &opened) {
    const std::string base = module.path.substr(module.path.rfind('/') + 1);
    for (const std::string &folder : folders_.debug) {
        std::vector<std::string> candidates = named_by_id(folder, module.build_id);
        for (const std::string &name : {module.path, base}) {
            std::string plain = folder;
            plain.append("/").append(name);
            candidates.push_back(plain + ".debug");
            candidates.push_back(std::move(plain));
        }
        for (const std::string &path : candidates) {
            if (!is_regular(path) || !take(module, path)) continue;
            opened = path;
            return true;
        }
    }
    return false;
}

// A file that the user has named. Where the module has no build id, it is the user who knows.
bool ModuleFiles::take(const Module &module, const std::string &path) {
    if (!symbols_.opens(path)) return false;
    if (module.build_id.empty() || symbols_.build_id(path) == module.build_id) return true;
    refused_.push_back(path);
    return false;
}

// The time of a change cannot be set by a program, that of the content can.
bool ModuleFiles::changed_since(const std::string &path) const {
    struct stat found{};
    return ::stat(path.c_str(), &found) != 0 ||
           std::max(nanoseconds(found.st_ctim), nanoseconds(found.st_mtim)) > began_;
}

} // namespace reap::native
