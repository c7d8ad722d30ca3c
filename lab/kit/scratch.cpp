#include "scratch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "refusal.h"

namespace reap::kit {
namespace {

namespace fs = std::filesystem;

constexpr char kHint[] = "TMPDIR=FOLDER names another folder for temporary files";

std::string make_folder() {
    std::error_code failed;
    std::string name = fs::temp_directory_path(failed) / "reap-record-XXXXXX";
    if (failed || ::mkdtemp(name.data()) == nullptr)
        throw Refusal("no temporary folder can be made: " +
                          (failed ? failed.message() : name + ": " + std::strerror(errno)),
                      kHint);
    return name;
}

} // namespace

Scratch::Scratch() : folder_(make_folder()), held_(folder_ + "/modules") {
    if (::mkdir(held_.c_str(), 0700) != 0)
        throw Refusal("no temporary folder can be made: " + std::string(std::strerror(errno)), kHint);
}

Scratch::~Scratch() {
    std::error_code ignored;
    fs::remove_all(kept_ ? held_ : folder_, ignored);
}

std::string Scratch::without_separators(const std::string &path) {
    constexpr char kSeparators[] = " \t\n:$";
    if (path.find_first_of(kSeparators) == std::string::npos) return path;
    std::string link = folder_ + "/" + fs::path(path).filename().string();
    if (link.find_first_of(kSeparators) != std::string::npos || ::symlink(path.c_str(), link.c_str()) != 0)
        throw Refusal("the recorder cannot be preloaded from " + path, kHint);
    linked_ = true;
    return link;
}

} // namespace reap::kit
