// ELF files as their headers describe them, whole and damaged.
#include "elf/elf_file.h"

#include <algorithm>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "elf/read_all.h"
#include "scratch_file.h"

namespace reap::native {
namespace {

using Bytes = std::vector<unsigned char>;

// By its name: see symbols_test.cpp.
const std::string this_program = std::filesystem::read_symlink("/proc/self/exe");

Bytes bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const std::string &path) {
    try {
        test::read_all(path);
    } catch (const BadElf &error) {
        return error.what();
    }
    return "";
}

TEST(ElfFile, DescribesThisProgram) {
    const ElfFile file(this_program);
    EXPECT_EQ(file.bits(), 8 * sizeof(void *));
    EXPECT_TRUE(file.kind() == ET_DYN || file.kind() == ET_EXEC);
    EXPECT_TRUE(std::filesystem::exists(file.interpreter()));
    EXPECT_TRUE(file.dynamic());
    const std::vector<std::string> needed = file.needed();
    EXPECT_NE(std::ranges::find(needed, "libc.so.6"), needed.end());
    const std::vector<std::string> versions = file.needed_versions();
    EXPECT_TRUE(std::ranges::any_of(versions, [](const auto &each) { return each.starts_with("GLIBC_2."); }));
    EXPECT_TRUE(file.has_section(".text"));
    EXPECT_FALSE(file.has_section("none"));
    EXPECT_FALSE(file.section(".text").empty());
    EXPECT_TRUE(file.section(".bss").empty());
    EXPECT_TRUE(file.section("none").empty());
    EXPECT_EQ(file.symbol_tables(true).size(), 1);
}

TEST(ElfFile, HasNamesOfItsOwnBesideThoseForOthers) {
    const ElfFile file(this_program);
    for (const SymbolTable &each : file.symbol_tables()) EXPECT_EQ(names_local_function(each), !each.dynamic);
}

TEST(ElfFile, RefusesWhatIsNone) {
    const test::ScratchFile file;
    EXPECT_EQ(refusal(file.path()), "is empty");
    EXPECT_EQ(refusal(file.write("text", 4)), "is not an ELF file");
    EXPECT_EQ(refusal(file.write("\177ELF", 4)), "is a damaged or truncated ELF file");
    EXPECT_THROW(ElfFile("/nowhere"), std::system_error);
    EXPECT_THROW(ElfFile("/dev/null"), std::system_error);
}

// The headers of sections are at the end.
TEST(ElfFile, RefusesWhatIsCutShort) {
    const test::ScratchFile file;
    const Bytes whole = bytes_of("/bin/true");
    for (size_t parts = 0; parts < 32; ++parts) {
        const Bytes part(whole.begin(),
                         whole.begin() + static_cast<ptrdiff_t>(64 + whole.size() * parts / 33));
        EXPECT_EQ(refusal(file.write(part)), "is a damaged or truncated ELF file");
    }
}

// A file whose sections all have all of its bytes.
Bytes overlapping(uint32_t type) {
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_version = EV_CURRENT;
    header.e_shoff = header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 1000;
    Bytes bytes;
    test::append(bytes, header);
    Elf64_Shdr section{};
    for (int i = 0; i < 1000; ++i) {
        test::append(bytes, section);
        section.sh_type = type;
        section.sh_size = sizeof header + 1000 * sizeof section;
    }
    return bytes;
}

// Else a small file takes all memory.
TEST(ElfFile, RefusesManySectionsOfTheSameBytes) {
    const test::ScratchFile file;
    const ElfFile opened(file.write(overlapping(SHT_SYMTAB)));
    const test::ScratchFile second;
    const ElfFile noted(second.write(overlapping(SHT_NOTE)));
    EXPECT_THROW(static_cast<void>(noted.build_id()), BadElf);
    EXPECT_THROW(static_cast<void>(noted.build_id()), BadElf) << "also when it is asked again";
    EXPECT_THROW(static_cast<void>(opened.symbol_tables()), BadElf);
    EXPECT_TRUE(opened.symbol_tables(true).empty());
}

TEST(ElfFile, ReadsOrRefusesWhatIsDamaged) {
    const test::ScratchFile file;
    const Bytes whole = bytes_of("/bin/true");
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        Bytes damaged = whole;
        for (int changes = 0; changes < 8; ++changes) {
            // Half of them in the headers: of the file and its segments, and of its sections at the end.
            const size_t near = random() % 512;
            const size_t at = random() % 2 == 0 ? random() % whole.size()
                              : near < 256      ? near
                                                : whole.size() - near;
            damaged[at] = static_cast<unsigned char>(random() % 3 == 0 ? 255 : random());
        }
        refusal(file.write(damaged));
    }
}

} // namespace
} // namespace reap::native
