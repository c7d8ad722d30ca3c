#include "outside/places.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "outside/linked.h"

namespace reap::native {
namespace {

// C++ runtimes: operator new and delete are the allocator's front door, whatever they call.
const std::vector<std::string> &operator_names() {
    static const std::vector<std::string> names = {
        "_Znwm",
        "_Znam",
        "_ZnwmRKSt9nothrow_t",
        "_ZnamRKSt9nothrow_t",
        "_ZnwmSt11align_val_t",
        "_ZdlPv",
        "_ZdaPv",
        "_ZdlPvm",
        "_ZdaPvm",
        "_ZdlPvSt11align_val_t",
    };
    return names;
}

constexpr int kMostGenerations = 64;

// In order, each beyond the one before, so that an address is looked up by halving.
std::vector<AddressRange> in_order(std::vector<AddressRange> ranges) {
    std::ranges::sort(ranges, {}, &AddressRange::begin);
    std::vector<AddressRange> out;
    for (const AddressRange &range : ranges) {
        if (!out.empty() && range.begin <= out.back().end) {
            out.back().end = std::max(out.back().end, range.end);
        } else {
            out.push_back(range);
        }
    }
    return out;
}

bool is_libc(const std::string &name) { return name.starts_with("libc.so") || name.starts_with("libc-2"); }

// Whether a name is this one, or begins as it says before a last *.
bool matches(const std::string &name, const std::string &pattern) {
    return pattern.ends_with('*') ? name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
                                  : name == pattern;
}

} // namespace

std::string base_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

Places::Places(const Definitions &definitions, Symbolizer &symbols, const Allocators &allocators)
    : definitions_(definitions), symbols_(symbols),
      providers_(allocators.files.begin(), allocators.files.end()), functions_(allocators.functions) {
    for (const ImageInfo &image : definitions.images()) {
        // A program that brings its own malloc is more than that: its functions tell.
        if (!image.provider.empty() && image.provider != image.executable) providers_.insert(image.provider);
        images_by_pid_[image.pid].push_back(image.number);
    }
}

void Places::map(uint32_t pid, Mapping mapping) {
    std::vector<Mapping> &known = mappings_[pid];
    // The same is told again where a running process is looked at more than once.
    for (const Mapping &old : std::views::reverse(known)) {
        if (mapping.start >= old.end || mapping.end <= old.start) continue;
        if (old.start == mapping.start && old.end == mapping.end && old.path == mapping.path) return;
        break;
    }
    if (serves_malloc(pid, mapping) && providers_.insert(mapping.path).second) ranges_.erase(mapping.path);
    known.push_back(std::move(mapping));
}

// The loader names a library as it was asked for, which is often a link; the kernel names the file.
bool Places::serves_malloc(uint32_t pid, const Mapping &mapping) const {
    const auto images = images_by_pid_.find(pid);
    return images != images_by_pid_.end() && std::ranges::any_of(images->second, [&](uint32_t image) {
               const Module *module = definitions_.module(image, mapping.start);
               return module != nullptr && providers_.contains(module->path);
           });
}

const Mapping *Places::mapping(uint32_t pid, uint64_t pointer) const {
    for (int generation = 0; generation < kMostGenerations; ++generation) {
        const auto known = mappings_.find(pid);
        if (known != mappings_.end()) {
            for (const Mapping &mapping : std::views::reverse(known->second)) {
                if (pointer >= mapping.start && pointer < mapping.end) return &mapping;
            }
        }
        const auto parent = parents_.find(pid);
        if (parent == parents_.end()) return nullptr;
        pid = parent->second;
    }
    return nullptr;
}

std::optional<Place> Places::find(uint32_t pid, uint64_t pointer) {
    if (pointer < 4096) return std::nullopt;
    if (const Mapping *known = mapping(pid, pointer)) {
        const uint64_t offset = known->offset + (pointer - known->start);
        return Place{known->path, symbols_.address_at(known->path, offset), offset};
    }
    const auto images = images_by_pid_.find(pid);
    if (images == images_by_pid_.end()) return std::nullopt;
    for (const uint32_t image : std::views::reverse(images->second)) {
        if (const Module *module = definitions_.module(image, pointer)) {
            return Place{module->path, pointer - module->bias, kNoOffset};
        }
    }
    return std::nullopt;
}

bool Places::in_allocator(const Place &place) {
    const auto [entry, fresh] = ranges_.try_emplace(place.path);
    if (fresh) entry->second = in_order(ranges_of(place.path));
    const auto after = std::ranges::upper_bound(entry->second, place.address, {}, &AddressRange::begin);
    return after != entry->second.begin() && place.address < std::prev(after)->end;
}

std::vector<AddressRange> Places::ranges_of(const std::string &path) {
    const std::string name = base_name(path);
    if (is_libc(name)) return symbols_.malloc_ranges(path);
    if (name.starts_with("libstdc++") || name.starts_with("libc++")) {
        return symbols_.functions(path, operator_names());
    }
    const bool serves = std::any_of(providers_.begin(), providers_.end(), [&](const std::string &provider) {
        return matches(name, base_name(provider));
    });
    if (serves) return {{0, UINT64_MAX}}; // a file of its own: all of it is the allocator
    std::vector<AddressRange> linked = linked_allocators(symbols_, path);
    if (functions_.empty()) return linked;
    const std::vector<AddressRange> named = symbols_.functions(path, functions_);
    linked.insert(linked.end(), named.begin(), named.end());
    return linked;
}

bool Places::called_by_allocator(uint32_t pid, const Place &place, const std::vector<uint64_t> &stack) {
    if (in_allocator(place)) return true;
    // A program that is linked statically has allocator and wrappers both.
    if (!is_libc(base_name(place.path)) && ranges_[place.path].empty()) return false;
    return std::any_of(stack.begin(), stack.end(), [&](uint64_t word) {
        const std::optional<Place> caller = find(pid, word);
        return caller && in_allocator(*caller);
    });
}

bool Places::fills_for_allocator(uint32_t pid, const Place &place, const std::vector<uint64_t> &stack,
                                 const std::string &recorder) {
    if (stack.empty() || in_allocator(place)) return false;
    // Without debug symbols the variants of memset and memcpy have no names.
    const std::string name = symbols_.function(place.path, place.address);
    const bool fills =
        name.find("memset") != std::string::npos || name.find("memmove") != std::string::npos ||
        name.find("memcpy") != std::string::npos || (name.empty() && is_libc(base_name(place.path)));
    const std::optional<Place> caller = fills ? find(pid, stack.front()) : std::nullopt;
    if (!caller) return false;
    if (in_allocator(*caller) || caller->path.ends_with(recorder)) return true;
    return code_.called_before(symbols_, caller->path, caller->address).ends_with("calloc");
}

std::set<std::string> Places::files() const {
    std::set<std::string> out;
    for (const auto &[pid, mappings] : mappings_) {
        for (const Mapping &mapping : mappings) out.insert(mapping.path);
    }
    return out;
}

} // namespace reap::native
