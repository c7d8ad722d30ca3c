// An ELF file of any class and byte order as its headers describe it. For hostile files of any size: read by
// read calls alone, at most as many bytes as it has and 4 GiB, though its sections overlap; nothing is looked
// for elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/file.h"

struct Elf; // of libelf

namespace reap::native {

// The file is no ELF file, or is damaged. The message is the end of a sentence about it.
class BadElf : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SymbolTable {
    std::string_view symbols; // as the file has them; of type Elf64_Sym where the file is of 64 bits
    std::string_view strings; // their names
    bool dynamic = false;     // what the loader binds calls to
};

class ElfFile {
  public:
    // Throws std::system_error where it cannot be opened, and BadElf; a file that is cut short is damaged.
    explicit ElfFile(const std::string &path);

    [[nodiscard]] int bits() const noexcept { return bits_; }
    [[nodiscard]] unsigned machine() const noexcept { return machine_; } // of EM_*
    [[nodiscard]] unsigned kind() const noexcept { return kind_; }       // of ET_*
    // Path of the loader; empty for a static program and for most libraries.
    [[nodiscard]] const std::string &interpreter() const noexcept { return interpreter_; }
    [[nodiscard]] bool dynamic() const noexcept { return dynamic_; }
    // Address of the first segment that is mapped.
    [[nodiscard]] uint64_t base() const noexcept { return base_; }
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
    struct Section {
        std::string_view name;
        size_t index;
        uint64_t type;
        uint64_t flags;
        uint64_t address;
        size_t link;
    };
    struct EndsElf {
        void operator()(Elf *elf) const noexcept;
    };

    void read_segments(uint64_t size);
    void read_sections();
    [[nodiscard]] std::string_view bytes_of(size_t section) const;
    [[nodiscard]] std::string_view text_at(size_t strings, size_t offset) const;

    Descriptor file_;
    std::unique_ptr<Elf, EndsElf> elf_;
    int bits_ = 0;
    unsigned machine_ = 0;
    unsigned kind_ = 0;
    std::string interpreter_;
    bool dynamic_ = false;
    uint64_t base_ = 0;
    uint64_t notes_ = 0; // bytes of the segments of notes
    std::vector<Section> sections_;
    mutable std::set<size_t> read_; // sections whose bytes libelf holds
    mutable uint64_t left_ = 0;     // bytes that may still be read
};

} // namespace reap::native
