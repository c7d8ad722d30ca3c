#include "symbols/demangle.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

#include <libiberty/demangle.h>

namespace reap::native {

std::string demangle(const char *name) {
    if (name == nullptr) return {};
    if (*name != '_') return name;
    const auto plain = [](char *made) {
        return std::unique_ptr<char, decltype(&std::free)>(made, std::free);
    };
    if (const auto rust = plain(rust_demangle(name, 0))) return rust.get();
    if (const auto d = plain(dlang_demangle(name, 0))) return d.get();
    int status = 0;
    const auto cxx = plain(abi::__cxa_demangle(name, nullptr, nullptr, &status));
    return status == 0 && cxx ? cxx.get() : name;
}

} // namespace reap::native
