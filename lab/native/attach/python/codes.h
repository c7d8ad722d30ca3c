// What the code objects of a running CPython say of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attach/probe/program.h"
#include "attach/python/interpreter.h"
#include "attach/python/memory.h"

namespace reap::native {

struct PythonCode {
    uint64_t begin = 0; // its first instruction
    int32_t first_line = 0;
    std::string function;
    std::string file;
    std::vector<unsigned char> lines;

    [[nodiscard]] uint32_t line_of(uint64_t instruction) const noexcept;
};

class PythonCodes {
  public:
    PythonCodes(const PythonInterpreter &python, pid_t process);

    // Reads the code of a frame that was just sampled, if it is not known. What is read has the digest that
    // the program of the probe made when the thread executed it: other code that lies there now is not taken
    // for it. Null where it is gone.
    const PythonCode *find(const SampledFrame &frame);
    // Nothing that was read was of the type that it should be.
    [[nodiscard]] bool refused() const noexcept { return known_.empty() && mistyped_ >= kMostMistyped; }

  private:
    static constexpr int kMostMistyped = 16; // one by one they may come of code that was just freed
    struct Object;
    bool read_lines(uint64_t address, Object &out) const;
    bool read_text(uint64_t address, Object &out) const;
    bool read(uint64_t address, uint64_t digest, PythonCode &out);

    format::PythonLayout layout_;
    uint64_t code_type_;
    uint64_t text_type_;
    ProcessMemory memory_;
    std::map<std::pair<uint64_t, uint64_t>, PythonCode> known_; // by address and digest
    int mistyped_ = 0;
};

} // namespace reap::native
