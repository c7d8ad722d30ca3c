#include "symbols/symbols.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <elfutils/libdwelf.h>

#include "symbols/debug_files.h"
#include "symbols/demangle.h"
#include "symbols/opened.h"

namespace reap::native {

Symbolizer::Symbolizer() : files_(std::make_unique<Files>()) { forbid_network(); }
Symbolizer::~Symbolizer() = default;

const std::vector<SourceFrame> &Symbolizer::resolve(const std::string &path, uint64_t address) {
    const auto [entry, fresh] = files_->open[path].resolved.try_emplace(address);
    if (fresh) entry->second = look_up(path, address);
    return entry->second;
}

std::string Symbolizer::build_id(const std::string &path) {
    Dwfl_Module *const file = files_->module(path);
    GElf_Addr bias = 0;
    Elf *const elf = file != nullptr ? dwfl_module_getelf(file, &bias) : nullptr;
    const void *bits = nullptr;
    const ssize_t length = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
    return length > 0 ? std::string(static_cast<const char *>(bits), static_cast<size_t>(length))
                      : std::string();
}

void Symbolizer::search(const std::vector<std::string> &folders) { search_debug_files(folders); }

bool Symbolizer::opens(const std::string &path) { return files_->module(path) != nullptr; }

// Takes the descriptor.
bool Symbolizer::adopt(const std::string &name, int descriptor) {
    files_->open.erase(name);
    Files::File &file = files_->open[name];
    Files::report(file, name, descriptor);
    return file.module != nullptr;
}

uint64_t Symbolizer::address_at(const std::string &path, uint64_t offset) {
    for (const Files::Segment &segment : files_->segments(path)) {
        if (offset >= segment.offset && offset - segment.offset < segment.size)
            return segment.address + (offset - segment.offset);
    }
    return offset;
}

uint64_t Symbolizer::code_mapped_at(const std::string &path, uint64_t offset) {
    constexpr uint64_t page = 4096;
    for (const Files::Segment &segment : files_->segments(path)) {
        const uint64_t begin = segment.offset / page * page;
        if (segment.is_code && offset >= begin && offset - begin < segment.offset - begin + segment.size)
            return segment.address - segment.offset + offset;
    }
    return address_at(path, offset);
}

uint64_t Symbolizer::offset_at(const std::string &path, uint64_t address) {
    for (const Files::Segment &segment : files_->segments(path)) {
        if (address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address);
    }
    return address;
}

std::string Symbolizer::imported(const std::string &path, uint64_t slot) {
    const std::map<uint64_t, std::string> &imports = files_->imports(path);
    const auto found = imports.find(slot);
    return found != imports.end() ? found->second : std::string();
}

std::vector<uint64_t> Symbolizer::slots(const std::string &path, const std::string &name) {
    std::vector<uint64_t> found;
    for (const auto &[slot, imported] : files_->imports(path)) {
        if (imported == name) found.push_back(slot);
    }
    return found;
}

std::vector<std::pair<std::string, AddressRange>> Symbolizer::named(const std::string &path,
                                                                    const std::vector<std::string> &names) {
    const std::set<std::string> wanted(names.begin(), names.end());
    std::vector<std::pair<std::string, AddressRange>> found;
    for (const Files::Symbol &symbol : files_->symbols(path)) {
        if (wanted.contains(symbol.name))
            found.emplace_back(symbol.name, AddressRange{symbol.begin, symbol.end});
    }
    return found;
}

void Symbolizer::each_function(const std::string &path,
                               const std::function<void(const std::string &name)> &see) {
    for (const Files::Symbol &symbol : files_->symbols(path)) see(symbol.name);
}

std::map<std::string, uint64_t> Symbolizer::objects(const std::string &path,
                                                    const std::vector<std::string> &names) {
    return files_->objects(path, names);
}

std::string Symbolizer::function(const std::string &path, uint64_t address) {
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

std::vector<AddressRange> Symbolizer::functions(const std::string &path,
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

bool Symbolizer::adopt_by_build_id(const std::string &name, const std::string &build_id) {
    const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl(dwfl_begin(&kFindDebugFiles), dwfl_end);
    if (!dwfl || build_id.empty()) return false;
    dwfl_report_begin(dwfl.get());
    // Where it lies does not matter: it is never looked into.
    Dwfl_Module *const wanted = dwfl_report_module(dwfl.get(), name.c_str(), 4096, 8192);
    const auto *bits = reinterpret_cast<const unsigned char *>(build_id.data());
    if (wanted == nullptr || dwfl_module_report_build_id(wanted, bits, build_id.size(), 0) != 0) return false;
    dwfl_report_end(dwfl.get(), nullptr, nullptr);
    char *found = nullptr;
    int descriptor =
        dwfl_standard_find_debuginfo(wanted, nullptr, name.c_str(), 0, nullptr, nullptr, 0, &found);
    Elf *elf = nullptr;
    if (descriptor < 0) descriptor = dwfl_build_id_find_elf(wanted, nullptr, name.c_str(), 0, &found, &elf);
    std::free(found);
    if (elf != nullptr) elf_end(elf);
    return descriptor >= 0 && adopt(name, descriptor) && this->build_id(name) == build_id;
}

} // namespace reap::native
