#include "names/addresses.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace reap::native {

std::vector<ModuleAddresses> addresses_of(const Definitions &definitions) {
    std::vector<ModuleAddresses> out;
    std::map<std::pair<std::string, std::string>, size_t> by_build;
    std::unordered_map<const Module *, size_t> places; // a program has few modules, and many frames
    for (const ImageInfo &image : definitions.images()) {
        for (size_t at = 0; at < image.frames.size(); ++at) {
            const uint64_t address = image.frames[at].address;
            if (address == 0 || (address & REAP_PYTHON_FRAME) != 0) continue;
            const auto id = static_cast<uint32_t>(image.first_frame + at);
            const Module *const module = definitions.module_of(image.number, id);
            if (module == nullptr) continue;
            const auto [place, fresh] = places.try_emplace(module);
            if (fresh) {
                const auto [build, added] =
                    by_build.try_emplace({module->path, module->build_id}, out.size());
                if (added) out.push_back({module, {}});
                place->second = build->second;
            }
            out[place->second].addresses.push_back(address - 1 - module->bias);
        }
    }
    for (ModuleAddresses &each : out) {
        std::ranges::sort(each.addresses);
        const auto rest = std::ranges::unique(each.addresses);
        each.addresses.erase(rest.begin(), rest.end());
    }
    return out;
}

} // namespace reap::native
