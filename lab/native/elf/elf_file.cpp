#include "elf/elf_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "files/regular.h"

namespace reap::native {
namespace {

constexpr const char *kDamaged = "is a damaged or truncated ELF file";
constexpr size_t kMostNames = 4096;
constexpr uint64_t kMostBytes = uint64_t{4} << 30;

uint64_t size_of(int file) {
    struct stat status;
    if (::fstat(file, &status) != 0) throw std::system_error(errno, std::generic_category());
    return static_cast<uint64_t>(status.st_size);
}

void check_magic(int file) {
    std::array<char, SELFMAG> begin{};
    const ssize_t got = ::pread(file, begin.data(), begin.size(), 0);
    if (got < 0) throw std::system_error(errno, std::generic_category());
    if (got == 0) throw BadElf("is empty");
    if (got != SELFMAG || std::memcmp(begin.data(), ELFMAG, SELFMAG) != 0) throw BadElf("is not an ELF file");
}

bool within(uint64_t offset, uint64_t length, uint64_t size) {
    return offset <= size && length <= size - offset;
}

// The text at an offset of a file up to its zero byte, or to the end of its segment.
std::string text_of(int file, const GElf_Phdr &segment) {
    std::string text(std::min<uint64_t>(segment.p_filesz, PATH_MAX), '\0');
    const ssize_t got = ::pread(file, text.data(), text.size(), static_cast<off_t>(segment.p_offset));
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text.substr(0, text.find('\0'));
}

} // namespace

void ElfFile::EndsElf::operator()(Elf *elf) const noexcept { elf_end(elf); }

ElfFile::ElfFile(const std::string &path) : file_(open_regular(path)) {
    if (file_.get() < 0) throw std::system_error(errno, std::generic_category());
    check_magic(file_.get());
    elf_version(EV_CURRENT);
    elf_.reset(elf_begin(file_.get(), ELF_C_READ, nullptr));
    GElf_Ehdr header;
    if (!elf_ || gelf_getehdr(elf_.get(), &header) == nullptr) throw BadElf(kDamaged);
    bits_ = gelf_getclass(elf_.get()) == ELFCLASS64 ? 64 : 32;
    machine_ = header.e_machine;
    kind_ = header.e_type;
    // libelf takes a table that lies beyond the end of the file for an empty one.
    const uint64_t size = size_of(file_.get());
    const size_t segment_size = gelf_fsize(elf_.get(), ELF_T_PHDR, 1, EV_CURRENT);
    const size_t section_size = gelf_fsize(elf_.get(), ELF_T_SHDR, 1, EV_CURRENT);
    if (!within(header.e_phoff, header.e_phnum * segment_size, size) ||
        !within(header.e_shoff, header.e_shnum * section_size, size))
        throw BadElf(kDamaged);
    left_ = std::min(size, kMostBytes); // a sparse file is longer than what it has
    read_segments(size);
    read_sections();
}

void ElfFile::read_segments(uint64_t size) {
    size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0) throw BadElf(kDamaged);
    bool mapped = false;
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) throw BadElf(kDamaged);
        if (segment.p_type == PT_INTERP) interpreter_ = text_of(file_.get(), segment);
        dynamic_ = dynamic_ || segment.p_type == PT_DYNAMIC;
        if (segment.p_type == PT_NOTE && within(segment.p_offset, segment.p_filesz, size))
            notes_ += segment.p_filesz;
        if (segment.p_type != PT_LOAD) continue;
        if (!within(segment.p_offset, segment.p_filesz, size)) throw BadElf(kDamaged);
        if (!mapped) base_ = segment.p_vaddr;
        mapped = true;
    }
}

void ElfFile::read_sections() {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) != 0) names = SHN_UNDEF;
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) throw BadElf(kDamaged);
        sections_.push_back({text_at(names, header.sh_name), elf_ndxscn(section), header.sh_type,
                             header.sh_flags, header.sh_addr, header.sh_link});
    }
}

bool ElfFile::has_section(std::string_view name) const {
    return std::ranges::any_of(sections_, [name](const Section &each) { return each.name == name; });
}

std::string_view ElfFile::section(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(),
                                    [name](const Section &each) { return each.name == name; });
    return found == sections_.end() ? std::string_view() : bytes_of(found->index);
}

std::vector<std::pair<uint64_t, std::string_view>> ElfFile::code() const {
    std::vector<std::pair<uint64_t, std::string_view>> found;
    for (const Section &each : sections_)
        if ((each.flags & SHF_EXECINSTR) != 0) found.emplace_back(each.address, bytes_of(each.index));
    return found;
}

std::vector<SymbolTable> ElfFile::symbol_tables(bool dynamic_only) const {
    std::vector<SymbolTable> found;
    for (const Section &each : sections_) {
        const bool dynamic = each.type == SHT_DYNSYM;
        if (bits_ != 64 || (!dynamic && (each.type != SHT_SYMTAB || dynamic_only))) continue;
        found.push_back({bytes_of(each.index), bytes_of(each.link), dynamic});
    }
    return found;
}

std::vector<std::string> ElfFile::needed() const {
    std::vector<std::string> libraries;
    for (const Section &each : sections_) {
        if (each.type != SHT_DYNAMIC || bytes_of(each.index).empty()) continue;
        Elf_Data *data = elf_getdata(elf_getscn(elf_.get(), each.index), nullptr);
        GElf_Dyn entry;
        for (int i = 0; gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i)
            if (entry.d_tag == DT_NEEDED && libraries.size() < kMostNames)
                libraries.emplace_back(text_at(each.link, entry.d_un.d_val));
    }
    return libraries;
}

std::vector<std::string> ElfFile::needed_versions() const {
    std::vector<std::string> versions;
    for (const Section &each : sections_) {
        if (each.type != SHT_GNU_verneed || bytes_of(each.index).empty()) continue;
        Elf_Data *data = elf_getdata(elf_getscn(elf_.get(), each.index), nullptr);
        const uint64_t size = data != nullptr ? std::min<uint64_t>(data->d_size, INT_MAX) : 0;
        // Lists run forward, but those of a hostile file all through the same bytes.
        GElf_Verneed library;
        for (uint64_t at = 0; at < size && gelf_getverneed(data, static_cast<int>(at), &library) != nullptr;
             at += library.vn_next) {
            GElf_Vernaux version;
            for (uint64_t of = at + library.vn_aux;
                 versions.size() < kMostNames && of < size &&
                 gelf_getvernaux(data, static_cast<int>(of), &version) != nullptr;
                 of += version.vna_next) {
                versions.emplace_back(text_at(each.link, version.vna_name));
                if (version.vna_next == 0) break;
            }
            if (library.vn_next == 0) break;
        }
    }
    return versions;
}

std::string ElfFile::build_id() const {
    // libelf reads all notes, each as often as they overlap, and of a file without sections those of
    // segments.
    for (const Section &each : sections_)
        if (each.type == SHT_NOTE) static_cast<void>(bytes_of(each.index));
    if (sections_.empty() && notes_ > left_) throw BadElf(kDamaged);
    const void *bytes = nullptr;
    const ssize_t length = dwelf_elf_gnu_build_id(elf_.get(), &bytes);
    return length > 0 ? std::string(static_cast<const char *>(bytes), static_cast<size_t>(length)) : "";
}

std::string_view ElfFile::bytes_of(size_t section) const {
    Elf_Scn *found = section != SHN_UNDEF ? elf_getscn(elf_.get(), section) : nullptr;
    GElf_Shdr header;
    if (found == nullptr || gelf_getshdr(found, &header) == nullptr || header.sh_type == SHT_NOBITS)
        return {};
    if (!read_.contains(section)) {
        if (header.sh_size > left_) throw BadElf(kDamaged);
        left_ -= header.sh_size;
        read_.insert(section);
    }
    const Elf_Data *data = elf_rawdata(found, nullptr);
    if (data == nullptr) throw BadElf(kDamaged);
    if (data->d_buf == nullptr) return {};
    return {static_cast<const char *>(data->d_buf), data->d_size};
}

std::string_view ElfFile::text_at(size_t strings, size_t offset) const {
    const std::string_view all = bytes_of(strings);
    const std::string_view text = all.substr(std::min(offset, all.size()), PATH_MAX);
    return text.substr(0, text.find('\0'));
}

} // namespace reap::native
