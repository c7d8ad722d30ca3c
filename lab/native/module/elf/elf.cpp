// ELF files, as Python sees them.
#include "module/elf/elf.h"

#include <array>
#include <cstdint>
#include <elf.h>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "elf/elf_file.h"
#include "elf/named.h"
#include "elf/tables.h"
#include "module/text.h"
#include "symbols/own_names.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

constexpr std::array kMachines = {
    std::pair(EM_386, "386"),
    std::pair(EM_68K, "68K"),
    std::pair(EM_MIPS, "MIPS"),
    std::pair(EM_PPC, "PPC"),
    std::pair(EM_PPC64, "PPC64"),
    std::pair(EM_S390, "S390"),
    std::pair(EM_ARM, "ARM"),
    std::pair(EM_SPARCV9, "SPARCV9"),
    std::pair(EM_IA_64, "IA_64"),
    std::pair(EM_X86_64, "X86_64"),
    std::pair(EM_AARCH64, "AARCH64"),
    std::pair(EM_RISCV, "RISCV"),
    std::pair(EM_LOONGARCH, "LOONGARCH"),
};
constexpr std::array kKinds = {"NONE", "REL", "EXEC", "DYN", "CORE"};

std::string machine_of(const ElfFile &file) {
    for (const auto &[number, name] : kMachines)
        if (file.machine() == static_cast<unsigned>(number)) return name;
    return std::to_string(file.machine());
}

std::string kind_of(const ElfFile &file) {
    return file.kind() < kKinds.size() ? kKinds[file.kind()] : std::to_string(file.kind());
}

// A file as Python holds it: a table keeps its file open.
struct Opened {
    std::shared_ptr<const ElfFile> file;
};

struct OpenedTable {
    std::shared_ptr<const ElfFile> file;
    SymbolTable table;
};

nb::bytes bytes(std::string_view data) { return nb::bytes(data.data(), data.size()); }

std::vector<OpenedTable> tables_of(const Opened &opened, bool dynamic_only) {
    std::vector<OpenedTable> tables;
    for (const SymbolTable &each : opened.file->symbol_tables(dynamic_only))
        tables.push_back({opened.file, each});
    return tables;
}

auto functions_of(const OpenedTable &opened, const std::vector<std::string> &names) {
    NamedSymbols found = named_symbols(opened.table.symbols, opened.table.strings, names);
    return std::pair(std::move(found.defined), std::move(found.undefined));
}

auto defined_in(const OpenedTable &opened) {
    std::vector<std::tuple<nb::str, unsigned, uint64_t>> found;
    each_defined_symbol(opened.table, [&found](std::string_view name, unsigned type, uint64_t value) {
        found.emplace_back(text(std::string(name)), type, value);
    });
    return found;
}

auto code_of(const Opened &opened) {
    std::vector<std::pair<uint64_t, nb::bytes>> found;
    for (const auto &[address, code] : opened.file->code()) found.emplace_back(address, bytes(code));
    return found;
}

void bind_table(nb::module_ &m) {
    nb::class_<OpenedTable>(m, "SymbolTable", "A table of an ELF file's 64-bit symbols.")
        .def_prop_ro(
            "dynamic", [](const OpenedTable &opened) { return opened.table.dynamic; },
            "Whether it has what others can find; else all that the file defines.")
        .def_prop_ro(
            "strings", [](const OpenedTable &opened) { return bytes(opened.table.strings); },
            "The names, each with a NUL behind it.")
        .def_prop_ro(
            "local_functions", [](const OpenedTable &opened) { return names_local_function(opened.table); },
            "Whether it names functions that no other source may call, which stripping takes away.")
        .def("functions", &functions_of, "names"_a,
             "The functions of these names that it defines, with addresses, and those that it wants.")
        .def("defined", &defined_in, "Name, type (as STT_FUNC) and address of each symbol that it defines.")
        .def(
            "own_names", [](const OpenedTable &opened) { return own_names_among(opened.table.strings); },
            "`own_names` of its names.");
}

} // namespace

void bind_elf(nb::module_ &m) {
    const nb::exception<BadElf> bad_elf(m, "BadElfError", PyExc_ValueError);
    m.attr("FUNCTION") = STT_FUNC;
    m.attr("RESOLVED_FUNCTION") = STT_GNU_IFUNC;
    bind_table(m);
    nb::class_<Opened>(m, "ElfFile",
                       "An ELF file of any machine, opened as by `open_regular`. It and its methods raise "
                       "BadElfError, with the end of a sentence about the file, or OSError.")
        .def(
            "__init__",
            [](Opened *self, const nb::bytes &path) {
                new (self) Opened{std::make_shared<const ElfFile>(std::string(path.c_str(), path.size()))};
            },
            "path"_a)
        .def_prop_ro("bits", [](const Opened &opened) { return opened.file->bits(); })
        .def_prop_ro(
            "machine", [](const Opened &opened) { return machine_of(*opened.file); },
            "As X86_64; the number of one that is not common.")
        .def_prop_ro(
            "kind", [](const Opened &opened) { return kind_of(*opened.file); }, "REL, EXEC, DYN or CORE.")
        .def_prop_ro(
            "interpreter", [](const Opened &opened) { return text(opened.file->interpreter()); },
            "Path of the loader; empty for a static program and for most libraries.")
        .def_prop_ro(
            "dynamic", [](const Opened &opened) { return opened.file->dynamic(); },
            "Whether it has a dynamic section.")
        .def_prop_ro(
            "base", [](const Opened &opened) { return opened.file->base(); },
            "Address of the first segment that is mapped.")
        .def(
            "has_section",
            [](const Opened &opened, const std::string &name) { return opened.file->has_section(name); },
            "name"_a)
        .def(
            "section",
            [](const Opened &opened, const std::string &name) { return bytes(opened.file->section(name)); },
            "name"_a, "Bytes of the first section of this name; empty where there is none.")
        .def("code", &code_of, "Addresses and bytes of the sections with code.")
        .def("symbol_tables", &tables_of, nb::kw_only(), "dynamic_only"_a = false,
             "Tables of its symbols, or that one alone which has what others can find.")
        .def(
            "needed", [](const Opened &opened) { return texts(opened.file->needed()); },
            "Libraries that it needs.")
        .def(
            "needed_versions", [](const Opened &opened) { return texts(opened.file->needed_versions()); },
            "Versions that it needs of them, such as GLIBC_2.17.")
        .def(
            "build_id", [](const Opened &opened) { return bytes(opened.file->build_id()); },
            "The build's identity, by which debug files are found; empty where it has none.");
}

} // namespace reap::native
