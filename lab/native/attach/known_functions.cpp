#include "attach/known_functions.h"

#include <span>
#include <string_view>

namespace reap::native {
namespace {

struct NamedFunction {
    const char *name; // without its prefix
    KnownFunction known;
};

#define REAP_NAMED(allocator, name, call, arguments) {#name, {REAP_CALL_##call, arguments}},

constexpr NamedFunction kC[] = {REAP_C_FUNCTIONS(REAP_NAMED, C)};
constexpr NamedFunction kJemalloc[] = {REAP_JEMALLOC_FUNCTIONS(REAP_NAMED)};
constexpr NamedFunction kMimalloc[] = {REAP_MIMALLOC_FUNCTIONS(REAP_NAMED)};
constexpr NamedFunction kTcmalloc[] = {REAP_TCMALLOC_FUNCTIONS(REAP_NAMED)};
constexpr NamedFunction kSnmalloc[] = {REAP_SNMALLOC_FUNCTIONS(REAP_NAMED)};
constexpr NamedFunction kRpmalloc[] = {REAP_RPMALLOC_FUNCTIONS(REAP_NAMED)};

// operator new and new[], delete and delete[]: plain, sized, nothrow, aligned
constexpr NamedFunction kOperators[] = {
    REAP_NAMED(CXX, _Znwm, NEW, "!s")                               //
    REAP_NAMED(CXX, _Znam, NEW, "!s")                               //
    REAP_NAMED(CXX, _ZnwmRKSt9nothrow_t, NEW, "s-")                 //
    REAP_NAMED(CXX, _ZnamRKSt9nothrow_t, NEW, "s-")                 //
    REAP_NAMED(CXX, _ZnwmSt11align_val_t, NEW, "!sa")               //
    REAP_NAMED(CXX, _ZnamSt11align_val_t, NEW, "!sa")               //
    REAP_NAMED(CXX, _ZnwmSt11align_val_tRKSt9nothrow_t, NEW, "sa-") //
    REAP_NAMED(CXX, _ZnamSt11align_val_tRKSt9nothrow_t, NEW, "sa-") //
    REAP_NAMED(CXX, _ZdlPv, DELETE, "p")                            //
    REAP_NAMED(CXX, _ZdaPv, DELETE, "p")                            //
    REAP_NAMED(CXX, _ZdlPvm, DELETE, "p-")                          //
    REAP_NAMED(CXX, _ZdaPvm, DELETE, "p-")                          //
    REAP_NAMED(CXX, _ZdlPvRKSt9nothrow_t, DELETE, "p-")             //
    REAP_NAMED(CXX, _ZdaPvRKSt9nothrow_t, DELETE, "p-")             //
    REAP_NAMED(CXX, _ZdlPvSt11align_val_t, DELETE, "p-")            //
    REAP_NAMED(CXX, _ZdaPvSt11align_val_t, DELETE, "p-")            //
    REAP_NAMED(CXX, _ZdlPvmSt11align_val_t, DELETE, "p--")          //
    REAP_NAMED(CXX, _ZdaPvmSt11align_val_t, DELETE, "p--")          //
};

// Functions that an allocator has: jemalloc's stand beside C's, also where it has no prefix.
std::span<const NamedFunction> functions_of(std::string_view allocator) {
    if (allocator == "mimalloc") return kMimalloc;
    if (allocator == "tcmalloc") return kTcmalloc;
    if (allocator == "snmalloc") return kSnmalloc;
    if (allocator == "rpmalloc") return kRpmalloc;
    if (allocator == "jemalloc" || allocator.empty()) return kJemalloc;
    return {};
}

} // namespace

std::map<std::string, KnownFunction> known_functions(const OwnNames &own) {
    std::map<std::string, KnownFunction> known;
    const auto add = [&](std::span<const NamedFunction> functions, const std::string &prefix) {
        for (const NamedFunction &each : functions) known.emplace(prefix + each.name, each.known);
    };
    add(functions_of(own.allocator), own.prefix);
    add(kC, own.prefix);
    if (own.allocator.empty()) add(kOperators, {});
    return known;
}

} // namespace reap::native
