// The instructions around a sampled address, as the program's file has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "symbols/symbols.h"
#include "trace/block_file.h"

namespace reap::native {

inline constexpr int64_t kNoCall = -2;      // what lies before is no system call
inline constexpr int64_t kUnknownCall = -1; // it is one, by a number that the code does not name

// Tells system calls from their code, because the kernel does not say which one a sample lies in.
class Code {
  public:
    // The number of the system call that returns to this byte of a file, or one of the two above. x86-64.
    int64_t call_before(const std::string &path, uint64_t offset);

    // The function that a call which returns to this byte calls by its name: in the same file, or through the
    // table that the dynamic linker fills. Empty where that cannot be told. `address` as symbols have it.
    // x86-64.
    const std::string &called_before(Symbolizer &symbols, const std::string &path, uint64_t address);

  private:
    bool read(const std::string &path, uint64_t offset, unsigned char *out, size_t count);
    std::string find_called(Symbolizer &symbols, const std::string &path, uint64_t address);

    std::map<std::string, std::unique_ptr<Descriptor>> files_;
    std::map<std::pair<std::string, uint64_t>, int64_t> known_;
    std::map<std::pair<std::string, uint64_t>, std::string> called_;
};

} // namespace reap::native
