#include "attach/python/interpreter.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "files/file.h"

namespace reap::native {
namespace {

constexpr int kMostStates = 4096;

// From CPython's headers: pycore_runtime.h, pycore_interp.h, pystate.h.
void place_states(PythonPlaces &at, uint64_t runtime, uint64_t version) {
    at.interpreters = runtime + 40;
    at.next_interpreter = 0;
    at.threads = version >> 16 == 0x030b ? 16 : 72;
    at.next_thread = 8;
    at.interpreter = 16;
    at.native_id = at.layout.thread_id + 8;
}

// 3.13 says itself where they are, at the beginning of its runtime (_Py_DebugOffsets).
bool read_offsets(PythonPlaces &at, uint64_t runtime, const ProcessMemory &memory) {
    constexpr uint64_t cookie = UINT64_C(0x7970677562656478); // xdebugpy
    enum : uint8_t { kCookie, kFreeThreaded = 2, kInterpreters = 5, kNext = 8, kThreads, kNative = 25 };
    std::array<uint64_t, kNative + 1> words{};
    if (!memory.read(runtime, words) || words[kCookie] != cookie || words[kFreeThreaded] != 0) return false;
    at.interpreters = runtime + words[kInterpreters];
    at.next_interpreter = static_cast<uint16_t>(words[kNext]);
    at.threads = static_cast<uint16_t>(words[kThreads]);
    return words[kNative] == at.native_id;
}

uint64_t word_at(const ProcessMemory &memory, uint64_t address) {
    uint64_t word = 0;
    return memory.read(address, word) ? word : 0;
}

// Whether a thread state that there is says that it is one of its interpreter. One that is not initialised
// has none.
bool looks_right(const PythonPlaces &at, const ProcessMemory &memory) {
    uint64_t interpreter = 0;
    if (!memory.read(at.interpreters, interpreter)) return false;
    if (interpreter == 0) return true;
    const uint64_t state = word_at(memory, interpreter + at.threads);
    return state == 0 || word_at(memory, state + at.interpreter) == interpreter;
}

// The number of a process in its own namespace.
uint64_t own_number(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with("NSpid:"))
            return std::strtoull(line.c_str() + line.find_last_of("\t "), nullptr, 10);
    }
    return static_cast<uint64_t>(process);
}

} // namespace

std::optional<PythonInterpreter> find_python(Target &target) {
    const MappedFile *file = target.file_with("_PyEval_EvalFrameDefault");
    if (file == nullptr) return std::nullopt;
    const auto found = target.addresses(*file, {"Py_Version", "_PyRuntime", "PyCode_Type", "PyUnicode_Type"});
    if (!found.contains("Py_Version")) return std::nullopt; // 3.10 or older
    PythonInterpreter python;
    const uint64_t offset = target.offset_of(*file, found.at("Py_Version"));
    (void)File(file->opened).read_at(&python.version, sizeof python.version, offset);
    const format::PythonLayout *layout = format::python_layout(python.version);
    python.unknown = REAP_UNKNOWN_VERSION;
    if (layout == nullptr || found.size() != 4) return python;
    PythonPlaces &at = python.places;
    at.layout = *layout;
    const ProcessMemory memory(target.process());
    const uint64_t runtime = found.at("_PyRuntime");
    place_states(at, runtime, python.version);
    if (uint64_t word = 0; !memory.read(runtime, word)) {
        python.unknown = REAP_UNKNOWN_ACCESS;
        return python;
    }
    if (at.layout.cframe == 0 && !read_offsets(at, runtime, memory)) return python;
    python.code_type = found.at("PyCode_Type");
    python.text_type = found.at("PyUnicode_Type");
    python.unknown = REAP_UNKNOWN_MEMORY;
    struct stat space{};
    const std::string name = "/proc/" + std::to_string(target.process()) + "/ns/pid";
    if (::stat(name.c_str(), &space) != 0 || !looks_right(at, memory)) return python;
    at.namespace_device = uint64_t{major(space.st_dev)} << 20 | minor(space.st_dev); // as the kernel has it
    at.namespace_inode = space.st_ino;
    python.unknown.reset();
    return python;
}

uint64_t kept_main_thread(const PythonInterpreter &python, pid_t process) {
    const PythonPlaces &at = python.places;
    const ProcessMemory memory(process);
    const uint64_t own = own_number(process);
    uint64_t oldest = 0;
    uint64_t interpreter = word_at(memory, at.interpreters);
    for (int steps = 0; interpreter != 0 && steps < kMostStates; ++steps) {
        uint64_t state = word_at(memory, interpreter + at.threads);
        for (; state != 0 && steps < kMostStates; ++steps) {
            oldest = word_at(memory, state + at.native_id);
            if (oldest == own) return 0;
            state = word_at(memory, state + at.next_thread);
        }
        interpreter = word_at(memory, interpreter + at.next_interpreter);
    }
    return oldest;
}

} // namespace reap::native
