#include "symbols/own_names.h"

#include <algorithm>
#include <array>
#include <set>

namespace reap::native {
namespace {

constexpr std::array<std::string_view, 3> kOfJemalloc = {"mallocx", "rallocx", "mallctl"};
// Of functions inside jemalloc, which have other arguments: je_large_malloc, do_rallocx.
constexpr std::array<std::string_view, 4> kInsideJemalloc = {"large_", "arena_", "bootstrap_", "do_"};
constexpr std::array<std::string_view, 4> kOfMimalloc = {"malloc", "malloc_aligned", "heap_malloc", "free"};
constexpr std::array<std::string_view, 4> kOfSnmalloc = {"malloc", "alloc", "rust_malloc", "rust_alloc"};

// The prefix in front of one of these; nothing where the name ends in none.
template <size_t kCount>
std::optional<std::string_view> before(std::string_view name,
                                       const std::array<std::string_view, kCount> &ends) {
    for (const std::string_view end : ends) {
        if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    }
    return std::nullopt;
}

bool is_of_mimalloc(std::string_view prefix) {
    return prefix == "mi_" || (prefix.size() > 4 && prefix.ends_with("_mi_"));
}

bool is_inside_jemalloc(std::string_view prefix) {
    return std::ranges::any_of(kInsideJemalloc, [prefix](auto end) { return prefix.ends_with(end); });
}

bool is_of_jemalloc(std::string_view prefix) {
    return prefix.ends_with('_') &&
           (prefix.find("je_") != std::string_view::npos || prefix.find("rjem_") != std::string_view::npos);
}

} // namespace

std::optional<OwnNames> own_names_of(std::string_view function) {
    if (function == "tc_malloc") return OwnNames{"tcmalloc", "tc_"};
    if (function == "rpmalloc") return OwnNames{"rpmalloc", "rp"};
    if (function.starts_with("sn_")) {
        const std::string_view rest = function.substr(3);
        if (std::ranges::find(kOfSnmalloc, rest) != kOfSnmalloc.end()) return OwnNames{"snmalloc", "sn_"};
    }
    if (const auto prefix = before(function, kOfJemalloc)) {
        if (is_inside_jemalloc(*prefix)) return std::nullopt;
        return OwnNames{"jemalloc", std::string(*prefix)};
    }
    for (const std::string_view end : kOfMimalloc) {
        if (!function.ends_with(end)) continue;
        const std::string_view prefix = function.substr(0, function.size() - end.size());
        if (is_of_mimalloc(prefix)) return OwnNames{"mimalloc", std::string(prefix)};
    }
    if (function.ends_with("malloc")) {
        const std::string_view prefix = function.substr(0, function.size() - 6);
        if (is_of_jemalloc(prefix) && !is_inside_jemalloc(prefix))
            return OwnNames{"jemalloc", std::string(prefix)};
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> own_names_among(std::string_view strings) {
    std::set<std::pair<std::string, std::string>> found;
    while (!strings.empty()) {
        const std::string_view name = strings.substr(0, strings.find('\0'));
        if (const auto own = own_names_of(name)) found.emplace(name, own->allocator);
        strings.remove_prefix(std::min(name.size() + 1, strings.size()));
    }
    return {found.begin(), found.end()};
}

} // namespace reap::native
