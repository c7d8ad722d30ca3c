// A folder for temporary files, while a program is recorded.
#pragma once

#include <string>

namespace reap::kit {

class Scratch {
  public:
    // Throws Refusal where none can be made.
    Scratch();
    // Removes it with all that is in it.
    ~Scratch();
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    // An empty folder for the launcher's --held-files.
    [[nodiscard]] const std::string &held() const noexcept { return held_; }

    // The path, or a link to it where it has a character that the loader splits LD_PRELOAD at, or expands.
    [[nodiscard]] std::string without_separators(const std::string &path);

    // Leaves that link where it is, for programs that are started later.
    void keep_link() noexcept { kept_ = linked_; }

  private:
    std::string folder_;
    std::string held_;
    bool linked_ = false;
    bool kept_ = false;
};

} // namespace reap::kit
