// The files that a SymbolReader has opened, each with what was read of it. Of its own sources alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <elfutils/libdwfl.h>

#include "symbols/reader.h"
#include "symbols/scopes.h"
#include "symbols/units.h"

namespace reap::native {

struct SymbolReader::Files {
    struct Symbol {
        std::string name;
        uint64_t begin;
        uint64_t end;
    };
    struct File {
        Dwfl *dwfl = nullptr;
        Dwfl_Module *module = nullptr;
        bool tried = false;
        bool listed = false;
        std::vector<Symbol> symbols;
        Scopes scopes;
        Units units;
        ~File() {
            if (dwfl != nullptr) dwfl_end(dwfl);
        }
    };
    std::map<std::string, File> open;

    Dwfl_Module *module(const std::string &path);
    // Takes the descriptor.
    static void report(File &file, const std::string &path, int descriptor);

    // Function symbols, by address. Exported ones alone where there is no debug file.
    const std::vector<Symbol> &symbols(const std::string &path);
    std::vector<Segment> segments(const std::string &path);
    std::map<uint64_t, std::string> imports(const std::string &path);
    // The variables of these names.
    std::map<std::string, uint64_t> objects(const std::string &path, const std::vector<std::string> &names);
};

} // namespace reap::native
