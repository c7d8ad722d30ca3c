// An ELF file of any class and byte order as its headers describe it, by libelf. For hostile files of any
// size: an ElfFile has one of these in a sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "files/file.h"

struct Elf; // of libelf

namespace reap::native {

// The file is no ELF file, or is damaged. The message is the end of a sentence about it.
class BadElf : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct ElfSection {
    std::string name;
    uint64_t type; // of SHT_*
    uint64_t flags;
    uint64_t address;
    uint64_t offset; // of its bytes in the file
    uint64_t size;   // 0 where it has none there
    uint64_t link;   // number of the section that it refers to
    uint64_t number;

    static auto fields(auto &of) {
        return std::tie(of.name, of.type, of.flags, of.address, of.offset, of.size, of.link, of.number);
    }
};

struct ElfFacts {
    int bits = 0;
    unsigned machine = 0; // of EM_*
    unsigned kind = 0;    // of ET_*
    std::string interpreter;
    bool dynamic = false;
    uint64_t base = 0;
    std::vector<ElfSection> sections;

    static auto fields(auto &of) {
        return std::tie(of.bits, of.machine, of.kind, of.interpreter, of.dynamic, of.base, of.sections);
    }
};

// Reads at most as many bytes as the file has and 4 GiB, though its sections overlap. All throw BadElf.
class ParsedElf {
  public:
    static constexpr uint64_t kMostBytes = uint64_t{4} << 30;

    explicit ParsedElf(int file);

    [[nodiscard]] const ElfFacts &facts() const noexcept { return facts_; }
    [[nodiscard]] std::vector<std::string> needed() const;
    [[nodiscard]] std::vector<std::string> needed_versions() const;
    [[nodiscard]] std::string build_id() const;

  private:
    struct EndsElf {
        void operator()(Elf *elf) const noexcept;
    };

    void read_segments(uint64_t size);
    void read_sections();
    [[nodiscard]] std::string_view bytes_of(size_t section) const;
    [[nodiscard]] std::string_view text_at(size_t strings, size_t offset) const;

    int file_;
    std::unique_ptr<Elf, EndsElf> elf_;
    ElfFacts facts_;
    uint64_t notes_ = 0;            // bytes of the segments of notes
    mutable std::set<size_t> read_; // sections whose bytes libelf holds
    mutable uint64_t left_ = 0;     // bytes that may still be read
};

} // namespace reap::native
