// An ELF file of any class and byte order as its headers describe it, which are parsed in a sandbox, but
// where root alone can have written them. For hostile files of any size: read by read calls alone, at most as
// many bytes as it has and 4 GiB, though its sections overlap; nothing is looked for elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/parsed.h"
#include "files/file.h"

namespace reap::native {

struct SymbolTable {
    std::string_view symbols; // as the file has them; of type Elf64_Sym where the file is of 64 bits
    std::string_view strings; // their names
    bool dynamic = false;     // what the loader binds calls to
};

class ElfFile {
  public:
    // Throws std::system_error where it cannot be opened, and BadElf; a file that is cut short is damaged.
    explicit ElfFile(const std::string &path);

    [[nodiscard]] int bits() const noexcept { return facts_.bits; }
    [[nodiscard]] unsigned machine() const noexcept { return facts_.machine; } // of EM_*
    [[nodiscard]] unsigned kind() const noexcept { return facts_.kind; }       // of ET_*
    // Path of the loader; empty for a static program and for most libraries.
    [[nodiscard]] const std::string &interpreter() const noexcept { return facts_.interpreter; }
    [[nodiscard]] bool dynamic() const noexcept { return facts_.dynamic; }
    // Address of the first segment that is mapped.
    [[nodiscard]] uint64_t base() const noexcept { return facts_.base; }
    [[nodiscard]] bool has_section(std::string_view name) const;

    // The following throw BadElf, too: where a section lies beyond the end of the file, or many overlap.

    // Bytes of the first section of this name; empty where there is none, or it has none in this file.
    [[nodiscard]] std::string_view section(std::string_view name) const;
    // Addresses and bytes of the sections with code.
    [[nodiscard]] std::vector<std::pair<uint64_t, std::string_view>> code() const;
    // Tables of 64-bit symbols, or that one alone which is dynamic. Views last as long as this object.
    [[nodiscard]] std::vector<SymbolTable> symbol_tables(bool dynamic_only = false) const;
    // Libraries that it needs, at most 4,096.
    [[nodiscard]] std::vector<std::string> needed() const;
    // Versions that it needs of them, such as GLIBC_2.17, at most 4,096.
    [[nodiscard]] std::vector<std::string> needed_versions() const;
    // Bytes of the build's identity; empty where it has none.
    [[nodiscard]] std::string build_id() const;

  private:
    [[nodiscard]] std::string_view bytes_of(const ElfSection &section) const;

    Descriptor file_;
    bool trusted_ = false;
    ElfFacts facts_;
    mutable std::map<uint64_t, std::string> read_; // bytes of sections, by their numbers
    mutable uint64_t left_ = 0;                    // bytes that may still be read
};

} // namespace reap::native
