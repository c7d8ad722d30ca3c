#include "attach/target.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <span>
#include <string_view>
#include <unistd.h>

#include "attach/failure.h"
#include "attach/probe/entry.h"
#include "attach/probe/program.h"
#include "attach/process/linked.h"
#include "attach/process/mappings.h"
#include "files/file.h"
#include "files/regular.h"

namespace reap::native {
namespace {

std::string folder_of(pid_t process) { return "/proc/" + std::to_string(process); }

// Whether this is glibc's loader; musl's is its C library, too.
bool is_loader(const std::string &path) { return path.find("/ld-linux") != std::string::npos; }

constexpr size_t kEntryBytes = 64; // enough to choose where in a function its probe stands
constexpr size_t kMostCode = 4096; // of one function that is looked at

// Bytes of a file from an offset on.
std::vector<unsigned char> code_at(const std::string &path, uint64_t offset, size_t size) {
    std::vector<unsigned char> code(size);
    code.resize(File(path).read_at(code.data(), code.size(), offset));
    return code;
}

enum class Kind : uint8_t { Allocates, Reallocates, Frees };

Kind kind_of(const AllocatorFunction &function) {
    if (format::frees(function.call)) return Kind::Frees;
    return format::resizes(function.call) ? Kind::Reallocates : Kind::Allocates;
}

// Code of functions, by where in the process they begin: of each as much as there is of it, and enough of its
// file to choose where its probe stands.
class Codes {
  public:
    explicit Codes(const std::vector<AllocatorFunction> &functions) {
        for (const AllocatorFunction &each : functions) {
            const size_t size = std::clamp<uint64_t>(each.end - each.begin, kEntryBytes, kMostCode);
            codes_[each.begin] = code_at(each.opened, each.offset, size);
        }
    }
    [[nodiscard]] std::span<const unsigned char> entry(const AllocatorFunction &function) const {
        return first(function, kEntryBytes);
    }
    [[nodiscard]] std::span<const unsigned char> body(const AllocatorFunction &function) const {
        return first(function, function.end - function.begin);
    }

  private:
    [[nodiscard]] std::span<const unsigned char> first(const AllocatorFunction &function, size_t size) const {
        const std::span code(codes_.at(function.begin));
        return code.first(std::min(code.size(), size));
    }

    std::map<uint64_t, std::vector<unsigned char>> codes_;
};

// Whether another of `functions` counts the calls of this one, since it jumps there and does nothing else
// that allocates.
bool leads_to_another(const AllocatorFunction &function, const std::vector<AllocatorFunction> &functions,
                      const Codes &codes) {
    const int64_t distance = jump_distance(codes.entry(function));
    if (distance != 0 &&
        is_stub(code_at(function.opened, function.offset + static_cast<uint64_t>(distance), kEntryBytes)))
        return true;
    return std::any_of(functions.begin(), functions.end(), [&](const AllocatorFunction &other) {
        const auto to = static_cast<int64_t>(other.begin - function.begin);
        return to != 0 &&
               (to == distance || (kind_of(other) == kind_of(function) && jumps(codes.body(function), to)));
    });
}

// Ranges of the functions that call this one, relative to where its probe stands.
std::vector<AddressRange> callers_of(const AllocatorFunction &function,
                                     const std::vector<AllocatorFunction> &functions, const Codes &codes,
                                     size_t skipped) {
    std::vector<AddressRange> found;
    for (const AllocatorFunction &other : functions) {
        if (other.begin == function.begin || other.path != function.path) continue;
        if (!calls(codes.body(other), static_cast<int64_t>(function.begin - other.begin))) continue;
        const uint64_t probe = function.begin + skipped;
        found.push_back({other.begin - probe, other.end - probe});
    }
    return found;
}

bool same_mappings(const std::vector<FileMapping> &a, const std::vector<FileMapping> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const FileMapping &one, const FileMapping &other) {
                          return one.start == other.start && one.end == other.end && one.path == other.path;
                      });
}

} // namespace

Target::Target(pid_t process) : process_(process) {
    update();
    if (files_.empty()) throw AttachFailure("process", ESRCH); // a thread of the kernel, or ending
    const Descriptor executable(open_regular(files_.front().opened));
    if (executable.get() < 0 && (errno == EACCES || errno == EPERM)) throw AttachFailure("process", errno);
}

bool Target::update() {
    std::vector<FileMapping> now = read_mappings(process_);
    if (now.empty() || same_mappings(now, mappings_)) return false;
    mappings_ = std::move(now);
    files_.clear();
    for (FileMapping &mapping : mappings_) {
        if (!mapping.executable) continue;
        mapping.opened = openable(process_, mapping);
        const uint64_t address = symbols_.code_mapped_at(mapping.opened, mapping.offset);
        files_.push_back({mapping.path, mapping.opened, mapping.identity, mapping.start, mapping.end,
                          mapping.offset, mapping.start - address, symbols_.build_id(mapping.opened)});
    }
    return true;
}

bool Target::has(const std::vector<AllocatorFunction> &functions) const noexcept {
    return std::any_of(functions.begin(), functions.end(), [this](const AllocatorFunction &function) {
        const MappedFile *file = file_at(function.begin);
        return file != nullptr && file->path == function.path;
    });
}

size_t Target::probed_at(uint64_t address, const std::vector<AllocatorFunction> &functions) const noexcept {
    const MappedFile *file = file_at(address);
    if (file == nullptr) return functions.size();
    const uint64_t offset = file->offset + (address - file->start);
    const auto found =
        std::find_if(functions.begin(), functions.end(), [&](const AllocatorFunction &function) {
            return function.offset == offset && function.path == file->path;
        });
    return static_cast<size_t>(found - functions.begin());
}

const MappedFile *Target::file_at(uint64_t address) const noexcept {
    for (const MappedFile &file : files_) {
        if (file.has(address)) return &file;
    }
    return nullptr;
}

// Finds it by what the dynamic linker has written into the tables of the executable and its libraries.
const MappedFile *Target::bound_provider() {
    const Descriptor memory(::open((folder_of(process_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (memory.get() < 0) return nullptr;
    for (const MappedFile &file : files_) {
        for (const uint64_t slot : symbols_.slots(file.opened, "malloc")) {
            uint64_t bound = 0;
            const auto at = static_cast<off_t>(file.bias + slot);
            if (::pread(memory.get(), &bound, sizeof bound, at) != sizeof bound) continue;
            const MappedFile *to = file_at(bound);
            // A slot that was not bound yet leads back into its own file, and one to an executable that is
            // not position-independent perhaps to a stub there.
            if (to != nullptr && to != &file && !is_loader(to->path) &&
                !symbols_.named(to->opened, {"malloc"}).empty())
                return to;
        }
    }
    return nullptr;
}

// Finds it by names otherwise: the executable's own, else one that is no C library, else the C library.
const MappedFile *Target::likely_provider() {
    const MappedFile *found = nullptr;
    for (const MappedFile &file : files_) {
        if (is_loader(file.path) || symbols_.named(file.opened, {"malloc"}).empty()) continue;
        const bool is_libc = !symbols_.named(file.opened, {"__libc_start_main"}).empty();
        if (&file == &files_.front() || !is_libc) return &file;
        found = &file;
    }
    return found;
}

// Prefixes of the allocators that the file has under names of their own; reads each file once.
const std::vector<OwnNames> &Target::own_names(const MappedFile &file) {
    const auto known = own_.find(file.opened);
    if (known != own_.end()) return known->second;
    std::vector<OwnNames> found = symbols_.own_names(file.opened);
    std::erase_if(found, [&](const OwnNames &own) { return own.prefix.empty(); });
    return own_.emplace(file.opened, std::move(found)).first->second;
}

void Target::add_functions(const MappedFile &file, const OwnNames &own,
                           std::vector<AllocatorFunction> &found) {
    const std::map<std::string, KnownFunction> wanted = known_functions(own);
    std::vector<std::string> names;
    names.reserve(wanted.size());
    for (const auto &[name, known] : wanted) names.push_back(name);
    // In glibc, also where it is linked statically, realloc of a null pointer jumps to malloc, which counts
    // it.
    const bool jumps = !symbols_.named(file.opened, {"gnu_get_libc_version", "__libc_setup_tls"}).empty();
    for (const auto &[name, range] : symbols_.named(file.opened, names)) {
        const KnownFunction &known = wanted.at(name);
        if (format::place_of(known.arguments, 't') >= 0) continue; // a probe cannot say how long the text is
        AllocatorFunction function;
        function.call = known.call;
        function.arguments = known.arguments;
        function.skip_null = format::place_of(known.arguments, 'p') == 0 &&
                             (format::frees(known.call) || (known.call == REAP_CALL_REALLOC && jumps));
        function.path = file.path;
        function.opened = file.opened;
        function.offset = symbols_.offset_at(file.opened, range.begin);
        function.begin = file.bias + range.begin;
        function.end = file.bias + range.end;
        const bool inside = file.has(function.begin);
        const bool again = std::any_of(found.begin(), found.end(), [&](const AllocatorFunction &other) {
            return other.begin == function.begin;
        });
        if (inside && !again) found.push_back(function);
    }
}

const MappedFile *Target::file_with(const std::string &function) {
    for (const MappedFile &file : files_) {
        if (!symbols_.named(file.opened, {function}).empty()) return &file;
    }
    return nullptr;
}

std::map<std::string, uint64_t> Target::addresses(const MappedFile &file,
                                                  const std::vector<std::string> &names) {
    std::map<std::string, uint64_t> found = symbols_.objects(file.opened, names);
    for (auto &[name, address] : found) address += file.bias;
    return found;
}

uint64_t Target::offset_of(const MappedFile &file, uint64_t address) {
    return symbols_.offset_at(file.opened, address - file.bias);
}

std::vector<AllocatorFunction> Target::functions(std::string &provider, LinkedFiles *linked) {
    std::vector<AllocatorFunction> found;
    const MappedFile *serving = bound_provider();
    if (serving == nullptr) serving = likely_provider();
    const bool reached = linked != nullptr && serving != nullptr && !is_executed(process_, serving->path);
    if (serving != nullptr && !reached) {
        provider = serving->path;
        add_functions(*serving, {}, found);
    }
    for (const MappedFile &file : files_) {
        if (reached && file.path == serving->path) continue; // its malloc calls them, and is recorded
        const std::vector<OwnNames> &names =
            linked != nullptr ? linked->names(process_, file.identity, file.path, file.opened)
                              : own_names(file);
        for (const OwnNames &own : names) {
            if (own.prefix.empty()) continue; // of the executable, which serves malloc
            if (provider.empty()) provider = file.path;
            add_functions(file, own, found);
        }
    }
    const std::vector<AllocatorFunction> all = found;
    const Codes codes(all);
    std::erase_if(found, [&](const AllocatorFunction &each) { return leads_to_another(each, all, codes); });
    // Cuts what only a strange process has: hundreds of functions, of a dozen allocators.
    if (found.size() > kMostProbes) found.resize(kMostProbes);
    for (AllocatorFunction &function : found) {
        const bool arguments =
            format::place_of(function.arguments, 's') > 0 || format::place_of(function.arguments, 'n') > 0;
        const ProbeSpot spot = cheapest_spot(codes.entry(function), arguments);
        function.callers = callers_of(function, found, codes, spot.skipped);
        function.offset += spot.skipped;
        function.emulated = spot.emulated;
        function.around = around_probe(codes.entry(function).subspan(spot.skipped), spot.emulated);
        for (AddressRange &range : function.around) {
            range.begin += function.begin + spot.skipped;
            range.end += function.begin + spot.skipped;
        }
    }
    const bool allocates = std::any_of(
        found.begin(), found.end(), [](const AllocatorFunction &each) { return !format::frees(each.call); });
    if (!allocates) throw AttachFailure("symbols", 0, files_.front().path);
    return found;
}

} // namespace reap::native
