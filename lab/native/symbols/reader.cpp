#include "symbols/reader.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <elfutils/libdwelf.h>

#include "symbols/debug_files.h"
#include "symbols/demangle.h"
#include "symbols/opened.h"

namespace reap::native {

SymbolReader::SymbolReader() : files_(std::make_unique<Files>()) { forbid_network(); }
SymbolReader::~SymbolReader() = default;

std::vector<std::vector<SourceFrame>> SymbolReader::resolve(const std::string &path,
                                                            const std::vector<uint64_t> &addresses) {
    std::vector<std::vector<SourceFrame>> found;
    found.reserve(addresses.size());
    for (const uint64_t address : addresses) found.push_back(look_up(path, address));
    return found;
}

std::string SymbolReader::build_id(const std::string &path) {
    Dwfl_Module *const file = files_->module(path);
    GElf_Addr bias = 0;
    Elf *const elf = file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
    const void *bits = nullptr;
    const ssize_t length = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
    return length > 0 ? std::string(static_cast<const char *>(bits), static_cast<size_t>(length))
                      : std::string();
}

std::vector<std::string> SymbolReader::refused(const std::string &path) { return refused_debug_files(path); }

bool SymbolReader::opens(const std::string &path) { return files_->module(path) != nullptr; }

std::vector<Segment> SymbolReader::segments(const std::string &path) { return files_->segments(path); }

std::map<uint64_t, std::string> SymbolReader::imports(const std::string &path) {
    return files_->imports(path);
}

std::vector<std::pair<std::string, AddressRange>> SymbolReader::named(const std::string &path,
                                                                      const std::vector<std::string> &names) {
    const std::set<std::string> wanted(names.begin(), names.end());
    std::vector<std::pair<std::string, AddressRange>> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        if (wanted.contains(symbol.name))
            found.emplace_back(symbol.name, AddressRange{symbol.begin, symbol.end});
    }
    return found;
}

std::vector<OwnNames> SymbolReader::own_names(const std::string &path) {
    std::set<OwnNames> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        if (auto own = own_names_of(symbol.name)) found.insert(std::move(*own));
    }
    return {found.begin(), found.end()};
}

std::map<std::string, uint64_t> SymbolReader::objects(const std::string &path,
                                                      const std::vector<std::string> &names) {
    return files_->objects(path, names);
}

std::string SymbolReader::function(const std::string &path, uint64_t address) {
    // By a search of our own: elfutils goes through all symbols, of which a runtime has hundreds of
    // thousands.
    const std::vector<Files::Symbol> &symbols = files_->symbols(path);
    const auto behind = [address](const Files::Symbol &symbol) { return symbol.begin <= address; };
    auto at = std::partition_point(symbols.begin(), symbols.end(), behind);
    const Files::Symbol *found = nullptr;
    constexpr int most_aliases = 16; // of one function; and ends of functions that lie within others
    for (int step = 0; step < most_aliases && at != symbols.begin(); ++step) {
        const Files::Symbol &symbol = *--at;
        if (found != nullptr && symbol.begin != found->begin) break;
        const bool unsized = symbol.end == symbol.begin && step == 0; // written by hand
        if (!unsized && address >= symbol.end) continue;
        // The plain one of several names: brk and not __brk.
        if (found == nullptr || symbol.name.size() < found->name.size()) found = &symbol;
    }
    return found != nullptr ? demangle(found->name.c_str()) : std::string();
}

std::vector<AddressRange> SymbolReader::functions(const std::string &path,
                                                  const std::vector<std::string> &names) {
    std::set<std::string> exact;
    std::vector<std::string> beginnings;
    for (const std::string &name : names) {
        if (name.ends_with('*')) {
            beginnings.push_back(name.substr(0, name.size() - 1));
        } else {
            exact.insert(name);
        }
    }
    std::vector<AddressRange> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        const bool wanted =
            exact.contains(symbol.name) ||
            std::any_of(beginnings.begin(), beginnings.end(),
                        [&](const std::string &beginning) { return symbol.name.starts_with(beginning); });
        if (wanted && symbol.end > symbol.begin) found.push_back({symbol.begin, symbol.end});
    }
    return found;
}

} // namespace reap::native
