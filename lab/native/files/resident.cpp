#include "files/resident.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

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
    {"snmalloc", {"committed", "most_committed"}},
};
static_assert(std::size(kKinds) == REAP_RESIDENT_SNMALLOC + 1);

std::map<std::string, uint64_t> named(const Kind &kind, const uint64_t *values) {
    std::map<std::string, uint64_t> out;
    for (size_t i = 0; i < kind.values.size() && kind.values[i] != nullptr; ++i) {
        if (values[i] != REAP_RESIDENT_UNKNOWN) out[kind.values[i]] = values[i];
    }
    return out;
}

ResidentAnswer answer_of(const reap_resident &said) {
    const Kind &kind = kKinds[said.kind];
    ResidentAnswer out;
    out.kind = kind.name;
    out.provider = field_text(said.provider, sizeof said.provider);
    out.function = said.function;
    out.stamp = said.stamp;
    out.stopped = said.stopped == 1;
    if (said.stamp != 0) out.values = named(kind, said.values);
    for (const reap_resident_linked &each : said.linked) {
        if (each.function == 0 || each.kind >= std::size(kKinds)) continue;
        out.linked.push_back({kKinds[each.kind].name, each.function, named(kKinds[each.kind], each.values)});
    }
    out.token = said.token;
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

bool request_resident(const std::string &path, uint64_t token,
                      const std::vector<std::pair<std::string, uint64_t>> &functions) {
    const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    reap_resident said{};
    // One name alone: a program that root runs as another user could give somebody else's file this name.
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_nlink != 1 || pread(file.get(), &said, sizeof said, 0) != sizeof said ||
        said.magic != REAP_RESIDENT_MAGIC || said.version != REAP_RESIDENT_VERSION)
        return false;
    reap_resident_request request{};
    request.token = token;
    request.sequence = (said.request.sequence | 1) + 1;
    for (const auto &[name, address] : functions) {
        const auto kind = std::ranges::find(kKinds, name, &Kind::name);
        if (kind == std::end(kKinds) || request.count == REAP_RESIDENT_LINKED) continue;
        request.functions[request.count] = address;
        request.kinds[request.count++] = static_cast<uint32_t>(kind - std::begin(kKinds));
    }
    const auto at = static_cast<off_t>(offsetof(reap_resident, request));
    constexpr off_t kSequence = offsetof(reap_resident_request, sequence);
    const uint32_t odd = request.sequence - 1;
    const uint32_t even = request.sequence;
    request.sequence = odd;
    return pwrite(file.get(), &odd, sizeof odd, at + kSequence) == sizeof odd &&
           pwrite(file.get(), &request, sizeof request, at) == sizeof request &&
           pwrite(file.get(), &even, sizeof even, at + kSequence) == sizeof even;
}

} // namespace reap::native
