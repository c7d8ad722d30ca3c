// The folder that the kit is: made by `reap record --kit`, and copied as a whole.
#pragma once

#include <string>

namespace reap::kit {

struct Folder {
    std::string launcher;
    std::string recorder;
};

// The one that this program is in. Throws Refusal where a part is missing or cannot be used from there.
Folder own_folder();

} // namespace reap::kit
