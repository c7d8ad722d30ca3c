#include "folder.h"

#include <filesystem>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

#include "refusal.h"

namespace reap::kit {
namespace {

constexpr char kWhole[] = "copy the whole folder that reap record --kit made";

std::string part(const std::filesystem::path &folder, const char *name, int needed) {
    const std::string path = folder / name;
    if (::access(path.c_str(), F_OK) != 0) throw Refusal("a part of the kit is missing: " + path, kWhole);
    struct statvfs system{};
    if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0)
        throw Refusal(path + " is on a file system that is mounted noexec", "copy the kit to another one");
    if (::access(path.c_str(), needed) != 0)
        throw Refusal(path + " may not be used by this user", "chmod -R a+rX the kit");
    return path;
}

} // namespace

Folder own_folder() {
    std::error_code failed;
    const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed) throw Refusal("/proc is not mounted", "mount -t proc proc /proc");
    const std::filesystem::path folder = own.parent_path();
    return {part(folder, "reap-spawn", R_OK | X_OK), part(folder, "libreap-record.so", R_OK)};
}

} // namespace reap::kit
