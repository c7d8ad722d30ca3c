#include "outside/kernel_names.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace reap::native {

KernelNames::KernelNames() {
    std::FILE *file = std::fopen("/proc/kallsyms", "re");
    if (file == nullptr) return;
    char line[1024];
    while (std::fgets(line, sizeof line, file) != nullptr) {
        char *at = line;
        const uint64_t address = std::strtoull(line, &at, 16); // ADDRESS TYPE NAME [MODULE]
        if (address == 0 || std::strlen(at) < 4) continue;
        const char type = at[1];
        const std::string name(at + 3, std::strcspn(at + 3, " \t\n"));
        if (type == 't' || type == 'T' || type == 'w' || type == 'W') functions_.emplace_back(address, name);
    }
    std::fclose(file);
    std::sort(functions_.begin(), functions_.end());
}

const KernelNames &KernelNames::here() {
    static const KernelNames names;
    return names;
}

const std::string &KernelNames::at(uint64_t address) const {
    static const std::string none;
    const auto after =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](uint64_t value, const auto &entry) { return value < entry.first; });
    return address == 0 || after == functions_.begin() ? none : std::prev(after)->second;
}

} // namespace reap::native
