// Allocators with names of their own for malloc and its like, such as `_rjem_malloc`: by any prefix that a
// build gives them.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reap::native {

struct OwnNames {
    std::string allocator; // jemalloc, mimalloc, tcmalloc, snmalloc or rpmalloc
    std::string prefix; // in front of "malloc" and its like; may be empty of jemalloc, which has mallocx, too

    static auto fields(auto &names) { return std::tie(names.allocator, names.prefix); }
    friend auto operator<=>(const OwnNames &, const OwnNames &) = default;
};

// Allocator that has a function of this name for allocating, with its prefix; nothing where it is no
// allocator's own. One that only looks like it, such as `my_je_malloc`, is taken for one.
std::optional<OwnNames> own_names_of(std::string_view function);

// Names of such functions in a table of strings as the file has it, each with its allocator.
std::vector<std::pair<std::string, std::string>> own_names_among(std::string_view strings);

} // namespace reap::native
