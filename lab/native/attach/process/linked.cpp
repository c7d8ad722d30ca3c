#include "attach/process/linked.h"

#include <set>
#include <string_view>

#include "attach/failure.h"
#include "attach/process/mappings.h"
#include "elf/tables.h"
#include "symbols/own_names.h"

namespace reap::native {
namespace {

// Defined by CPython, which has mimalloc in it and uses it only where it is asked to.
constexpr char kCpython[] = "PyMem_RawMalloc";
constexpr char kMalloc[] = "malloc";
constexpr char kOfMimalloc[] = "mi_malloc"; // exported, it is called as malloc is

} // namespace

std::vector<OwnNames> names_linked_into(const std::string &path, bool executable) {
    std::set<OwnNames> found;
    bool is_python = false;
    bool serves_others = false;
    bool has_malloc = false;
    each_symbol_table(path, [&](const SymbolTable &table) {
        each_defined_function(table, [&](std::string_view name) {
            is_python = is_python || name == kCpython;
            has_malloc = has_malloc || name == kMalloc;
            serves_others =
                serves_others || (table.dynamic && !executable && (name == kMalloc || name == kOfMimalloc));
            const auto own = own_names_of(name);
            if (own && !own->prefix.empty()) found.insert(*own);
        });
    });
    if (serves_others) return {};
    if (is_python) std::erase_if(found, [](const OwnNames &own) { return own.allocator == "mimalloc"; });
    if (found.empty() && executable && has_malloc) found.emplace();
    return {found.begin(), found.end()};
}

const std::vector<OwnNames> &LinkedFiles::names(pid_t process, const std::string &identity,
                                                const std::string &path, const std::string &opened) {
    const std::pair key(identity, is_executed(process, path));
    const std::scoped_lock held(reading_);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_.emplace(key, names_linked_into(opened, key.second)).first->second;
}

std::vector<LinkedFile> LinkedFiles::in(pid_t process) {
    std::vector<FileMapping> mappings;
    try {
        mappings = read_mappings(process);
    } catch (const AttachFailure &) {
        return {};
    }
    std::set<LinkedFile> found;
    for (const FileMapping &mapping : mappings) {
        if (!mapping.executable) continue;
        const std::string opened = openable(process, mapping);
        for (const OwnNames &own : names(process, mapping.identity, mapping.path, opened))
            found.insert({mapping.path, own.allocator});
    }
    return {found.begin(), found.end()};
}

} // namespace reap::native
