#include "names/names.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "names/addresses.h"

namespace reap::native {

const std::vector<SourceFrame> &ModuleNames::resolve(const Module &module, uint64_t address) {
    std::string key = module.path;
    key.push_back('\0');
    key.append(module.build_id);
    const auto [entry, fresh] = resolved_[std::move(key)].try_emplace(address);
    if (!fresh) return entry->second;
    // Where the user names folders, what is found there says more.
    const auto has_name = [](const SourceFrame &frame) { return !frame.function.empty(); };
    if (files_.has_folders() && files_.of(module).naming == Naming::Certain)
        entry->second = look_up(module, address);
    if (std::ranges::none_of(entry->second, has_name)) {
        std::vector<SourceFrame> known = kept(module, address);
        if (!known.empty()) entry->second = std::move(known);
    }
    if (entry->second.empty()) entry->second = look_up(module, address);
    if (entry->second.empty()) entry->second.emplace_back();
    return entry->second;
}

std::vector<SourceFrame> ModuleNames::look_up(const Module &module, uint64_t address) {
    const ModuleFiles::Found &found = files_.of(module);
    return found.opened.empty() ? std::vector<SourceFrame>() : symbols_.resolve(found.opened, address);
}

std::vector<SourceFrame> ModuleNames::kept(const Module &module, uint64_t address) const {
    const KeptNames &names = definitions_.kept();
    const KeptModule *const known = names.module(module.path, module.build_id);
    if (known == nullptr) return {};
    const auto found = known->find(address);
    if (found == known->end()) return {};
    std::vector<SourceFrame> out;
    for (const KeptFrame &frame : std::span(names.frames(found->second.first), found->second.second)) {
        out.push_back({std::string(names.string(frame.function)), std::string(names.string(frame.file)),
                       static_cast<int>(frame.line), frame.inlined});
    }
    return out;
}

std::vector<UncertainModule> ModuleNames::uncertain() {
    // The kernel's vDSO has no file.
    const auto has_file = [](const Module &module) { return module.path.find('/') != std::string::npos; };
    std::map<std::string, Naming> found;
    for (const ModuleAddresses &each : addresses_of(definitions_)) {
        const Module &module = *each.module;
        const KeptModule *const kept = definitions_.kept().module(module.path, module.build_id);
        const auto named = [kept](uint64_t address) { return kept != nullptr && kept->contains(address); };
        std::vector<uint64_t> unnamed = each.addresses;
        std::erase_if(unnamed, named);
        if (!has_file(module) || unnamed.empty()) continue;
        const ModuleFiles::Found &file = files_.of(module);
        if (!file.opened.empty()) symbols_.prepare(file.opened, unnamed);
        const Naming naming = symbols_.failed().contains(file.opened) ? Naming::Unreadable : file.naming;
        if (naming != Naming::Certain) found.insert_or_assign(module.path, naming);
    }
    std::vector<UncertainModule> out;
    out.reserve(found.size());
    for (const auto &[path, naming] : found) out.push_back({path, naming});
    return out;
}

} // namespace reap::native
