#include "elf/elf_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "files/regular.h"
#include "sandbox/calls.h"
#include "sandbox/sandbox.h"

namespace reap::native {
namespace {

constexpr const char *kCutShort = "is a damaged or truncated ELF file";

// An answer, or why there is none: what a BadElf says.
template <class Value>
using OrBad = std::pair<std::string, Value>;

int copy_of(int descriptor) { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

class ElfReader {
  public:
    // Takes the descriptor.
    explicit ElfReader(int file) : file_(file) {}

    OrBad<ElfFacts> facts() { return parsed(&ParsedElf::facts); }
    OrBad<std::vector<std::string>> needed() { return parsed(&ParsedElf::needed); }
    OrBad<std::vector<std::string>> needed_versions() { return parsed(&ParsedElf::needed_versions); }
    OrBad<std::string> build_id() { return parsed(&ParsedElf::build_id); }

  private:
    template <class Value>
    OrBad<std::decay_t<Value>> parsed(Value (ParsedElf::*method)() const) {
        try {
            return {{}, (ParsedElf(file_.get()).*method)()};
        } catch (const BadElf &bad) {
            return {bad.what(), {}};
        }
    }

    Descriptor file_;
};

using ElfCalls = Calls<ElfReader, &ElfReader::facts, &ElfReader::needed, &ElfReader::needed_versions,
                       &ElfReader::build_id>;

// All files of this process have one sandbox, which takes them in turn.
class ElfSandbox {
  public:
    template <auto kMethod>
    auto ask(const Descriptor &file) {
        const std::scoped_lock alone(asking_);
        if (failures_ == kMostFailures) throw BadElf("is not read: others made their reader fail");
        file_ = file.get();
        try {
            return ElfCalls::result<kMethod>(sandbox_.call(ElfCalls::request<kMethod>()));
        } catch (const NoSandbox &none) {
            throw BadElf(std::string("cannot be read: ") + none.what());
        } catch (const std::runtime_error &failure) { // of the sandbox, or of its answer
            ++failures_;
            throw BadElf(std::string("cannot be read: ") + failure.what());
        }
    }

    static ElfSandbox &shared() {
        static ElfSandbox one;
        return one;
    }

  private:
    static Sandbox::Serve begin() {
        return [](std::string_view request) {
            ElfReader reader(open_for_reader("the file that is asked about"));
            return ElfCalls::answer(reader, request);
        };
    }

    // Maximum number of files that may end a reader, and of seconds that a request may take.
    static constexpr int kMostFailures = 3;
    static constexpr std::chrono::seconds kMostTime{10};

    std::mutex asking_;
    int file_ = -1;
    int failures_ = 0;
    Sandbox sandbox_{begin, [this](const std::string &) { return copy_of(file_); }, {.time = kMostTime}};
};

template <auto kMethod>
auto ask(const Descriptor &file, bool trusted) {
    auto [bad, value] =
        trusted ? (ElfReader(copy_of(file.get())).*kMethod)() : ElfSandbox::shared().ask<kMethod>(file);
    if (!bad.empty()) throw BadElf(bad);
    return value;
}

// Whether root alone can have written it: not in a container, whose files are found below /proc. What the
// system's packages have installed needs no sandbox, which costs some 10 ms of CPU time.
bool is_roots(const std::string &path, const struct stat &status) {
    return !path.starts_with("/proc/") && status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void check_magic(int file) {
    std::array<char, SELFMAG> begin{};
    const ssize_t got = ::pread(file, begin.data(), begin.size(), 0);
    if (got < 0) throw std::system_error(errno, std::generic_category());
    if (got == 0) throw BadElf("is empty");
    if (got != SELFMAG || std::memcmp(begin.data(), ELFMAG, SELFMAG) != 0) throw BadElf("is not an ELF file");
}

} // namespace

ElfFile::ElfFile(const std::string &path) : file_(open_regular(path)) {
    if (file_.get() < 0) throw std::system_error(errno, std::generic_category());
    check_magic(file_.get());
    struct stat status{};
    if (::fstat(file_.get(), &status) != 0) throw std::system_error(errno, std::generic_category());
    // A sparse file is longer than what it has.
    left_ = std::min(static_cast<uint64_t>(status.st_size), ParsedElf::kMostBytes);
    trusted_ = is_roots(path, status);
    facts_ = ask<&ElfReader::facts>(file_, trusted_);
}

bool ElfFile::has_section(std::string_view name) const {
    return std::ranges::any_of(facts_.sections, [name](const ElfSection &each) { return each.name == name; });
}

std::string_view ElfFile::section(std::string_view name) const {
    const auto found =
        std::ranges::find_if(facts_.sections, [name](const ElfSection &each) { return each.name == name; });
    return found == facts_.sections.end() ? std::string_view() : bytes_of(*found);
}

std::vector<std::pair<uint64_t, std::string_view>> ElfFile::code() const {
    std::vector<std::pair<uint64_t, std::string_view>> found;
    for (const ElfSection &each : facts_.sections)
        if ((each.flags & SHF_EXECINSTR) != 0) found.emplace_back(each.address, bytes_of(each));
    return found;
}

std::vector<SymbolTable> ElfFile::symbol_tables(bool dynamic_only) const {
    std::vector<SymbolTable> found;
    for (const ElfSection &each : facts_.sections) {
        const bool dynamic = each.type == SHT_DYNSYM;
        if (facts_.bits != 64 || (!dynamic && (each.type != SHT_SYMTAB || dynamic_only))) continue;
        const auto strings = std::ranges::find_if(
            facts_.sections, [&each](const ElfSection &other) { return other.number == each.link; });
        found.push_back({bytes_of(each),
                         strings == facts_.sections.end() ? std::string_view() : bytes_of(*strings),
                         dynamic});
    }
    return found;
}

std::vector<std::string> ElfFile::needed() const { return ask<&ElfReader::needed>(file_, trusted_); }

std::vector<std::string> ElfFile::needed_versions() const {
    return ask<&ElfReader::needed_versions>(file_, trusted_);
}

std::string ElfFile::build_id() const { return ask<&ElfReader::build_id>(file_, trusted_); }

std::string_view ElfFile::bytes_of(const ElfSection &section) const {
    if (const auto known = read_.find(section.number); known != read_.end()) return known->second;
    if (section.size > left_) throw BadElf(kCutShort);
    left_ -= section.size;
    std::string bytes(section.size, '\0');
    for (size_t at = 0; at < bytes.size();) {
        const ssize_t got = ::pread(file_.get(), bytes.data() + at, bytes.size() - at,
                                    static_cast<off_t>(section.offset + at));
        if (got <= 0) throw BadElf(kCutShort);
        at += static_cast<size_t>(got);
    }
    return read_.emplace(section.number, std::move(bytes)).first->second;
}

} // namespace reap::native
