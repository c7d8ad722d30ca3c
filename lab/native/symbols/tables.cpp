#include "symbols/tables.h"

#include <cstring>
#include <elf.h>
#include <libelf.h>
#include <memory>

#include "files/file.h"
#include "files/regular.h"

namespace reap::native {
namespace {

struct EndsElf {
    void operator()(Elf *elf) const noexcept { elf_end(elf); }
};

std::string_view bytes_of(Elf_Scn *section) {
    const Elf_Data *data = section != nullptr ? elf_rawdata(section, nullptr) : nullptr;
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char *>(data->d_buf), data->d_size};
}

} // namespace

void each_symbol_table(const std::string &path, const std::function<void(const SymbolTable &)> &see) {
    const Descriptor file(open_regular(path));
    if (file.get() < 0) return;
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, EndsElf> elf(elf_begin(file.get(), ELF_C_READ, nullptr));
    if (!elf || elf64_getehdr(elf.get()) == nullptr) return;
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        if (header == nullptr || (header->sh_type != SHT_SYMTAB && header->sh_type != SHT_DYNSYM)) continue;
        const std::string_view strings = bytes_of(elf_getscn(elf.get(), header->sh_link));
        see({bytes_of(section), strings, header->sh_type == SHT_DYNSYM});
    }
}

void each_defined_function(const SymbolTable &table, const std::function<void(std::string_view name)> &see) {
    std::string_view rest = table.symbols;
    for (; rest.size() >= sizeof(Elf64_Sym); rest.remove_prefix(sizeof(Elf64_Sym))) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, rest.data(), sizeof symbol);
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
        if (symbol.st_name >= table.strings.size()) continue;
        const std::string_view name = table.strings.substr(symbol.st_name);
        see(name.substr(0, name.find('\0')));
    }
}

} // namespace reap::native
