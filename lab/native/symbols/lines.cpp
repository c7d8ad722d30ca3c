// Functions at an address by DWARF, inlined ones too, with their lines and the compiler.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "symbols/debug_files.h"
#include "symbols/demangle.h"
#include "symbols/opened.h"

namespace reap::native {

std::string SymbolReader::producer(const std::string &path, uint64_t address) {
    Dwfl_Module *file = files_->module(path);
    load_debug_file(file);
    if (file == nullptr) return {};
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(file, address, &bias);
    if (unit == nullptr) unit = files_->open[path].units.at(file, address, &bias);
    if (unit == nullptr) return {};
    Dwarf_Die functions = functions_of(file, unit);
    Dwarf_Attribute memory;
    const char *name = dwarf_formstring(dwarf_attr(&functions, DW_AT_producer, &memory));
    return name != nullptr ? name : "";
}

std::vector<SourceFrame> SymbolReader::look_up(const std::string &path, uint64_t address) {
    std::vector<SourceFrame> frames;
    Dwfl_Module *file = files_->module(path);
    load_debug_file(file);
    if (file == nullptr) return {SourceFrame{}};

    Files::File &held = files_->open[path];
    SourceFrame here;
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(file, address, &bias);
    Dwarf_Die functions{};
    std::vector<Dwarf_Die> scopes;
    if (unit != nullptr) {
        functions = functions_of(file, unit);
        scopes = held.scopes.at(&functions, address - bias);
    }
    if (scopes.empty()) { // no unit, or one that lies around another that .debug_aranges does not list
        Dwarf_Addr its_bias = 0;
        if (Dwarf_Die *listed = held.units.at(file, address, &its_bias)) {
            unit = listed;
            bias = its_bias;
            functions = functions_of(file, unit);
            scopes = held.scopes.at(&functions, address - bias);
        }
    }
    if (Dwarf_Line *line = unit != nullptr ? dwarf_getsrc_die(unit, address - bias) : nullptr) {
        const char *name = dwarf_linesrc(line, nullptr, nullptr);
        if (name != nullptr && dwarf_lineno(line, &here.line) == 0) here.file = name;
    }
    for (Dwarf_Die &scope : scopes) {
        const int tag = dwarf_tag(&scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        Dwarf_Attribute memory;
        Dwarf_Attribute *linkage = dwarf_attr_integrate(&scope, DW_AT_linkage_name, &memory);
        const char *mangled = linkage != nullptr ? dwarf_formstring(linkage) : nullptr;
        const char *plain = dwarf_diename(&scope);
        here.function = mangled != nullptr ? demangle(mangled) : plain != nullptr ? plain : "";
        here.inlined = tag == DW_TAG_inlined_subroutine;
        frames.push_back(here);
        if (tag == DW_TAG_subprogram) break;
        // The next frame is the caller, at the line where this one was inlined.
        here = SourceFrame{};
        Dwarf_Word call_line = 0;
        if (dwarf_formudata(dwarf_attr(&scope, DW_AT_call_line, &memory), &call_line) == 0) {
            here.line = static_cast<int>(call_line);
        }
        Dwarf_Word call_file = 0;
        Dwarf_Files *files = nullptr;
        if (dwarf_formudata(dwarf_attr(&scope, DW_AT_call_file, &memory), &call_file) == 0 &&
            dwarf_getsrcfiles(&functions, &files, nullptr) == 0) {
            if (const char *name = dwarf_filesrc(files, call_file, nullptr, nullptr)) here.file = name;
        }
    }
    if (!frames.empty() && frames.back().function.starts_with("__")) {
        // The public name of a library's function: printf and not __printf.
        std::string exported = function(path, address);
        if (!exported.empty() && frames.back().function.ends_with(exported))
            frames.back().function = std::move(exported);
    }
    if (frames.empty() || frames.back().function.empty()) {
        here.function = function(path, address);
        if (frames.empty()) {
            frames.push_back(here);
        } else {
            frames.back().function = here.function;
        }
    }
    return frames;
}

} // namespace reap::native
