#include "elf/parsed.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <elfutils/libdwelf.h>

namespace reap::native {
namespace {

constexpr const char *kDamaged = "is a damaged or truncated ELF file";
constexpr size_t kMostNames = 4096;

uint64_t size_of(int file) {
    struct stat status;
    if (::fstat(file, &status) != 0) throw std::system_error(errno, std::generic_category());
    return static_cast<uint64_t>(status.st_size);
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

void ParsedElf::EndsElf::operator()(Elf *elf) const noexcept { elf_end(elf); }

ParsedElf::ParsedElf(int file) : file_(file) {
    elf_version(EV_CURRENT);
    elf_.reset(elf_begin(file_, ELF_C_READ, nullptr));
    GElf_Ehdr header;
    if (!elf_ || gelf_getehdr(elf_.get(), &header) == nullptr) throw BadElf(kDamaged);
    facts_.bits = gelf_getclass(elf_.get()) == ELFCLASS64 ? 64 : 32;
    facts_.machine = header.e_machine;
    facts_.kind = header.e_type;
    // libelf takes a table that lies beyond the end of the file for an empty one.
    const uint64_t size = size_of(file_);
    const size_t segment_size = gelf_fsize(elf_.get(), ELF_T_PHDR, 1, EV_CURRENT);
    const size_t section_size = gelf_fsize(elf_.get(), ELF_T_SHDR, 1, EV_CURRENT);
    if (!within(header.e_phoff, header.e_phnum * segment_size, size) ||
        !within(header.e_shoff, header.e_shnum * section_size, size))
        throw BadElf(kDamaged);
    left_ = std::min(size, kMostBytes); // a sparse file is longer than what it has
    read_segments(size);
    read_sections();
}

void ParsedElf::read_segments(uint64_t size) {
    size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0) throw BadElf(kDamaged);
    bool mapped = false;
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf_.get(), static_cast<int>(i), &segment) == nullptr) throw BadElf(kDamaged);
        if (segment.p_type == PT_INTERP) facts_.interpreter = text_of(file_, segment);
        facts_.dynamic = facts_.dynamic || segment.p_type == PT_DYNAMIC;
        if (segment.p_type == PT_NOTE && within(segment.p_offset, segment.p_filesz, size))
            notes_ += segment.p_filesz;
        if (segment.p_type != PT_LOAD) continue;
        if (!within(segment.p_offset, segment.p_filesz, size)) throw BadElf(kDamaged);
        if (!mapped) facts_.base = segment.p_vaddr;
        mapped = true;
    }
}

void ParsedElf::read_sections() {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) != 0) names = SHN_UNDEF;
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) throw BadElf(kDamaged);
        const bool has_bytes = header.sh_type != SHT_NOBITS;
        facts_.sections.push_back({std::string(text_at(names, header.sh_name)), header.sh_type,
                                   header.sh_flags, header.sh_addr, header.sh_offset,
                                   has_bytes ? header.sh_size : 0, header.sh_link, elf_ndxscn(section)});
    }
}

std::vector<std::string> ParsedElf::needed() const {
    std::vector<std::string> libraries;
    for (const ElfSection &each : facts_.sections) {
        if (each.type != SHT_DYNAMIC || bytes_of(each.number).empty()) continue;
        Elf_Data *data = elf_getdata(elf_getscn(elf_.get(), each.number), nullptr);
        GElf_Dyn entry;
        for (int i = 0; gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i)
            if (entry.d_tag == DT_NEEDED && libraries.size() < kMostNames)
                libraries.emplace_back(text_at(each.link, entry.d_un.d_val));
    }
    return libraries;
}

std::vector<std::string> ParsedElf::needed_versions() const {
    std::vector<std::string> versions;
    for (const ElfSection &each : facts_.sections) {
        if (each.type != SHT_GNU_verneed || bytes_of(each.number).empty()) continue;
        Elf_Data *data = elf_getdata(elf_getscn(elf_.get(), each.number), nullptr);
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

std::string ParsedElf::build_id() const {
    // libelf reads all notes, each as often as they overlap, and of a file without sections those of
    // segments.
    for (const ElfSection &each : facts_.sections)
        if (each.type == SHT_NOTE) static_cast<void>(bytes_of(each.number));
    if (facts_.sections.empty() && notes_ > left_) throw BadElf(kDamaged);
    const void *bytes = nullptr;
    const ssize_t length = dwelf_elf_gnu_build_id(elf_.get(), &bytes);
    return length > 0 ? std::string(static_cast<const char *>(bytes), static_cast<size_t>(length)) : "";
}

std::string_view ParsedElf::bytes_of(size_t section) const {
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

std::string_view ParsedElf::text_at(size_t strings, size_t offset) const {
    const std::string_view all = bytes_of(strings);
    const std::string_view text = all.substr(std::min(offset, all.size()), PATH_MAX);
    return text.substr(0, text.find('\0'));
}

} // namespace reap::native
