#include "kernel_names.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace reap::native {

void KernelNames::read() {
    if (read_) return;
    read_ = true;
    std::FILE *file = std::fopen("/proc/kallsyms", "re");
    if (file == nullptr) return;
    char line[1024];
    while (std::fgets(line, sizeof line, file) != nullptr) {
        uint64_t address = 0;
        char type = 0;
        char name[512];
        if (std::sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) != 3 || address == 0) continue;
        if (type == 't' || type == 'T' || type == 'w' || type == 'W') functions_.emplace_back(address, name);
    }
    std::fclose(file);
    std::sort(functions_.begin(), functions_.end());
}

const std::string &KernelNames::at(uint64_t address) {
    static const std::string none;
    read();
    const auto after =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](uint64_t value, const auto &entry) { return value < entry.first; });
    return address == 0 || after == functions_.begin() ? none : std::prev(after)->second;
}

bool KernelNames::known() {
    read();
    return !functions_.empty();
}

} // namespace reap::native
