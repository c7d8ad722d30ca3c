// The instructions around a sampled address, as the program's file has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "block_file.h"

namespace reap::native {

inline constexpr int64_t kNoCall = -2;      // what lies before is no system call
inline constexpr int64_t kUnknownCall = -1; // it is one, by a number that the code does not name

// Tells system calls from their code, because the kernel does not say which one a sample lies in.
class Code {
  public:
    // The number of the system call that returns to this byte of a file, or one of the two above. x86-64.
    int64_t call_before(const std::string &path, uint64_t offset);

  private:
    std::map<std::string, std::unique_ptr<Descriptor>> files_;
    std::map<std::pair<std::string, uint64_t>, int64_t> known_;
};

} // namespace reap::native
