#include "trace/process.h"

#include <fstream>
#include <sstream>
#include <string>

namespace reap::native {

bool is_running(uint32_t pid, uint64_t start) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return false;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string field;
    std::string state;
    for (int number = 3; number <= 22; ++number) {
        if (!(rest >> field)) return false;
        if (number == 3) state = field;
    }
    return state != "Z" && state != "X" && (start == 0 || std::stoull(field) - start <= 1);
}

} // namespace reap::native
