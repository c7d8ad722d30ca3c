#include "symbols/symbols.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <elf.h>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include "files/regular.h"
#include "sandbox/calls.h"
#include "symbols/debug_files.h"
#include "symbols/reader.h"

namespace reap::native {
namespace {

constexpr size_t kAtOnce = 1024; // addresses in a request

// Maximum number of files that may end a reader: each may take as long as a request may.
constexpr int kMostFailures = 3;

using SymbolCalls =
    Calls<SymbolReader, &SymbolReader::resolve, &SymbolReader::producer, &SymbolReader::build_id,
          &SymbolReader::opens, &SymbolReader::refused, &SymbolReader::malloc_ranges, &SymbolReader::segments,
          &SymbolReader::imports, &SymbolReader::named, &SymbolReader::own_names, &SymbolReader::objects,
          &SymbolReader::function, &SymbolReader::functions>;

Sandbox::Serve begin_reader() {
    return [reader = std::make_shared<SymbolReader>()](std::string_view request) {
        return SymbolCalls::answer(*reader, request);
    };
}

bool may_have_names(int descriptor) {
    std::array<char, EI_NIDENT + sizeof(Elf64_Half)> begin{};
    if (::pread(descriptor, begin.data(), begin.size(), 0) != ssize_t{begin.size()}) return false;
    const int type = begin[EI_NIDENT] | begin[EI_NIDENT + 1]; // in either order of bytes
    return std::string_view(begin.data(), SELFMAG) == ELFMAG && type != ET_CORE;
}

} // namespace

int open_with_names(const std::string &path) {
    const int opened = open_regular(path);
    if (opened < 0 || may_have_names(opened)) return opened;
    ::close(opened);
    errno = EACCES;
    return -1;
}

Symbolizer::Symbolizer() : sandbox_(begin_reader, [this](const std::string &path) { return open(path); }) {}

// What its reader asks for. Of files that nobody has asked it about those alone that may be debug files: it
// may have been taken over.
int Symbolizer::open(const std::string &path) const {
    if (const auto adopted = adopted_.find(path); adopted != adopted_.end())
        return ::fcntl(adopted->second.get(), F_DUPFD_CLOEXEC, 0);
    return path == asked_ ? open_regular(path) : open_with_names(path);
}

template <auto kMethod, class... Arguments>
auto Symbolizer::ask(const std::string &path, const Arguments &...arguments) {
    using Result = decltype(result_of(kMethod));
    if (failed_.contains(path)) return Result{};
    if (failures_ == kMostFailures) {
        failed_.emplace(path, "other files made the reader fail");
        return Result{};
    }
    asked_ = path;
    try {
        const std::string answer = sandbox_.call(SymbolCalls::request<kMethod>(path, arguments...));
        return SymbolCalls::result<kMethod>(answer);
    } catch (const NoSandbox &none) {
        failed_.emplace(path, none.what());
    } catch (const std::runtime_error &failure) { // of the sandbox, or of its answer
        ++failures_;
        failed_.emplace(path, failure.what());
    }
    return Result{};
}

const std::vector<SourceFrame> &Symbolizer::resolve(const std::string &path, uint64_t address) {
    const auto &known = resolved_[path];
    if (!known.contains(address)) prepare(path, {address});
    return known.find(address)->second;
}

void Symbolizer::prepare(const std::string &path, const std::vector<uint64_t> &addresses) {
    auto &known = resolved_[path];
    std::vector<uint64_t> unknown;
    for (const uint64_t address : addresses) {
        if (!known.contains(address)) unknown.push_back(address);
    }
    for (size_t at = 0; at < unknown.size(); at += kAtOnce) {
        const std::vector<uint64_t> some(unknown.begin() + static_cast<ptrdiff_t>(at),
                                         unknown.begin() +
                                             static_cast<ptrdiff_t>(std::min(at + kAtOnce, unknown.size())));
        std::vector<std::vector<SourceFrame>> found = ask<&SymbolReader::resolve>(path, some);
        found.resize(some.size());
        for (size_t i = 0; i < some.size(); ++i) {
            if (found[i].empty()) found[i].emplace_back();
            known.insert_or_assign(some[i], std::move(found[i]));
        }
    }
}

std::string Symbolizer::producer(const std::string &path, uint64_t address) {
    return ask<&SymbolReader::producer>(path, address);
}

std::string Symbolizer::build_id(const std::string &path) { return ask<&SymbolReader::build_id>(path); }

std::vector<std::string> Symbolizer::refused(const std::string &path) {
    return ask<&SymbolReader::refused>(path);
}

bool Symbolizer::opens(const std::string &path) { return ask<&SymbolReader::opens>(path); }

void Symbolizer::search(const std::vector<std::string> &folders) { search_debug_files(folders); }

bool Symbolizer::adopt_by_build_id(const std::string &name, const std::string &build_id) {
    const int opened = open_by_build_id(name, build_id);
    if (opened < 0) return false;
    adopted_.erase(name);
    adopted_.emplace(name, opened);
    return this->build_id(name) == build_id;
}

std::vector<AddressRange> Symbolizer::malloc_ranges(const std::string &path) {
    return ask<&SymbolReader::malloc_ranges>(path);
}

const std::vector<Segment> &Symbolizer::segments(const std::string &path) {
    const auto [entry, fresh] = segments_.try_emplace(path);
    if (fresh) entry->second = ask<&SymbolReader::segments>(path);
    return entry->second;
}

const std::map<uint64_t, std::string> &Symbolizer::imports(const std::string &path) {
    const auto [entry, fresh] = imports_.try_emplace(path);
    if (fresh) entry->second = ask<&SymbolReader::imports>(path);
    return entry->second;
}

uint64_t Symbolizer::address_at(const std::string &path, uint64_t offset) {
    for (const Segment &segment : segments(path)) {
        if (offset >= segment.offset && offset - segment.offset < segment.size)
            return segment.address + (offset - segment.offset);
    }
    return offset;
}

uint64_t Symbolizer::code_mapped_at(const std::string &path, uint64_t offset) {
    constexpr uint64_t page = 4096;
    for (const Segment &segment : segments(path)) {
        const uint64_t begin = segment.offset / page * page;
        if (segment.is_code && offset >= begin && offset - begin < segment.offset - begin + segment.size)
            return segment.address - segment.offset + offset;
    }
    return address_at(path, offset);
}

uint64_t Symbolizer::offset_at(const std::string &path, uint64_t address) {
    for (const Segment &segment : segments(path)) {
        if (address >= segment.address && address - segment.address < segment.size)
            return segment.offset + (address - segment.address);
    }
    return address;
}

std::string Symbolizer::imported(const std::string &path, uint64_t slot) {
    const std::map<uint64_t, std::string> &known = imports(path);
    const auto found = known.find(slot);
    return found != known.end() ? found->second : std::string();
}

std::vector<uint64_t> Symbolizer::slots(const std::string &path, const std::string &name) {
    std::vector<uint64_t> found;
    for (const auto &[slot, imported] : imports(path)) {
        if (imported == name) found.push_back(slot);
    }
    return found;
}

std::vector<std::pair<std::string, AddressRange>> Symbolizer::named(const std::string &path,
                                                                    const std::vector<std::string> &names) {
    return ask<&SymbolReader::named>(path, names);
}

std::vector<OwnNames> Symbolizer::own_names(const std::string &path) {
    return ask<&SymbolReader::own_names>(path);
}

std::map<std::string, uint64_t> Symbolizer::objects(const std::string &path,
                                                    const std::vector<std::string> &names) {
    return ask<&SymbolReader::objects>(path, names);
}

std::string Symbolizer::function(const std::string &path, uint64_t address) {
    return ask<&SymbolReader::function>(path, address);
}

std::vector<AddressRange> Symbolizer::functions(const std::string &path,
                                                const std::vector<std::string> &names) {
    return ask<&SymbolReader::functions>(path, names);
}

} // namespace reap::native
