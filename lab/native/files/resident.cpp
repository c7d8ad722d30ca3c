#include "files/resident.h"

#include <array>
#include <cstring>
#include <span>
#include <system_error>

#include "files/file.h"

namespace reap::native {
namespace {

constexpr int kTries = 20;

struct Kind {
    const char *name;
    std::array<const char *, REAP_RESIDENT_VALUES> values; // null behind the last
};

// In the order of enum reap_resident_kind.
constexpr Kind kKinds[] = {
    {"", {}},
    {"glibc", {"arena", "mapped", "used", "free", "fastbins", "top"}},
    {"jemalloc",
     {"allocated", "active", "metadata", "resident", "mapped", "retained", "dirty", "muzzy", "thread_caches",
      "background_thread"}},
    {"tcmalloc",
     {"allocated", "heap", "free", "unmapped", "thread_caches", "central_cache", "transfer_cache"}},
    {"mimalloc", {"committed", "most_committed"}},
};
static_assert(std::size(kKinds) == REAP_RESIDENT_MIMALLOC + 1);

ResidentAnswer answer_of(const reap_resident &said) {
    const Kind &kind = kKinds[said.kind];
    ResidentAnswer out;
    out.kind = kind.name;
    out.provider = field_text(said.provider, sizeof said.provider);
    out.stamp = said.stamp;
    out.stopped = said.stopped == 1;
    for (size_t i = 0; said.stamp != 0 && i < kind.values.size() && kind.values[i] != nullptr; ++i) {
        if (said.values[i] != REAP_RESIDENT_UNKNOWN) out.values[kind.values[i]] = said.values[i];
    }
    if (said.walk.stamp != 0) out.walk = said.walk;
    if (said.walk.stamp != 0 && said.around.known == 1) {
        out.others = said.others;
        out.around = said.around;
    }
    return out;
}

bool read(const std::string &path, reap_resident &out) {
    return File(path).read_at(&out, sizeof out, 0) == sizeof out;
}

} // namespace

std::optional<ResidentAnswer> read_resident(const std::string &path) {
    try {
        for (int i = 0; i < kTries; ++i) {
            reap_resident said{};
            reap_resident again{};
            if (!read(path, said) || !read(path, again)) continue;
            if (std::memcmp(&said, &again, sizeof said) != 0 || said.magic != REAP_RESIDENT_MAGIC ||
                said.version != REAP_RESIDENT_VERSION || said.sequence % 2 != 0 ||
                said.kind >= std::size(kKinds))
                continue;
            return answer_of(said);
        }
        return std::nullopt;
    } catch (const std::system_error &) { // it is gone, with its process
        return std::nullopt;
    } catch (const BadTrace &) { // somebody else's
        return std::nullopt;
    }
}

} // namespace reap::native
