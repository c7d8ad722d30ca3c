// Which file has the names of a module that a recording names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "symbols/symbols.h"
#include "trace/definitions.h"

namespace reap::native {

// Why a module has the names that it has, or none.
enum class Naming : uint8_t {
    Certain,    // of the file that was recorded
    Unchecked,  // an earlier version did not note which build it recorded, and the file changed since: may be
                // false
    OtherBuild, // the file at the path is another build: no names
    Changed,    // the module has no build id, and the file changed since the recording began: no names
    Missing,    // there is no such file: no names
    Unreadable  // its reader did not survive it: no names
};

// Where to look beside the path that the module had. Files of another build are never taken.
struct Folders {
    std::vector<std::string> sysroots; // a module's path is looked for below them
    std::vector<std::string> debug;    // folders of debug files, by build id or by name
    bool ask_servers = false;          // those of DEBUGINFOD_URLS, and the system's debug files, by build id

    [[nodiscard]] bool empty() const noexcept { return sysroots.empty() && debug.empty() && !ask_servers; }
};

// Files that the processes had, though the paths may lead elsewhere by now: (path of the module, where it can
// be opened). Of one path there may be several.
using HeldFiles = std::vector<std::pair<std::string, std::string>>;

// The files that the launcher put into a folder (--held-files): each with NUMBER.name, which has its path.
HeldFiles held_in(const std::string &folder);

std::string hexadecimal(const std::string &bytes);

class ModuleFiles {
  public:
    // `began` is when the recording began, in nanoseconds since 1970: what a file was then is not known, but
    // whether it changed since.
    ModuleFiles(Symbolizer &symbols, uint64_t began, Folders folders = {}, HeldFiles held = {});

    struct Found {
        Naming naming = Naming::Missing;
        std::string opened; // as the symbolizer knows it; empty: no file
    };
    // Looks for it once.
    const Found &of(const Module &module);

    [[nodiscard]] bool has_folders() const noexcept { return !folders_.empty(); }

    // Files that were found under a module's name and are of another build, in words.
    [[nodiscard]] const std::vector<std::string> &refused() const noexcept { return refused_; }

  private:
    Found find(const Module &module);
    bool take_held(const Module &module, std::string &opened);
    bool take_debug(const Module &module, std::string &opened);
    bool take(const Module &module, const std::string &path);
    bool changed_since(const std::string &path) const;

    Symbolizer &symbols_;
    uint64_t began_;
    Folders folders_;
    HeldFiles held_;
    std::map<std::pair<std::string, std::string>, Found> found_;
    std::vector<std::string> refused_;
};

} // namespace reap::native
