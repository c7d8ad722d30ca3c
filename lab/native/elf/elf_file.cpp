#include "elf/elf_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
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

// In the sandbox.
class ElfReader {
  public:
    OrBad<ElfFacts> facts() { return parsed(&ParsedElf::facts); }
    OrBad<std::vector<std::string>> needed() { return parsed(&ParsedElf::needed); }
    OrBad<std::vector<std::string>> needed_versions() { return parsed(&ParsedElf::needed_versions); }
    OrBad<std::string> build_id() { return parsed(&ParsedElf::build_id); }

  private:
    template <class Value>
    static OrBad<std::decay_t<Value>> parsed(Value (ParsedElf::*method)() const) {
        const Descriptor file(open_for_reader("the file that is asked about"));
        try {
            return {{}, (ParsedElf(file.get()).*method)()};
        } catch (const BadElf &bad) {
            return {bad.what(), {}};
        }
    }
};

using ElfCalls = Calls<ElfReader, &ElfReader::facts, &ElfReader::needed, &ElfReader::needed_versions,
                       &ElfReader::build_id>;

// All files of this process have one sandbox, which takes them in turn.
class ElfSandbox {
  public:
    template <auto kMethod>
    auto ask(const Descriptor &file) {
        const std::scoped_lock alone(asking_);
        file_ = file.get();
        try {
            auto [bad, value] = ElfCalls::result<kMethod>(sandbox_.call(ElfCalls::request<kMethod>()));
            if (bad.empty()) return value;
            throw BadElf(bad);
        } catch (const SandboxFailure &) {
            throw BadElf("made its reader fail, or took it too long");
        } catch (const BadMessage &) {
            throw BadElf("made its reader fail");
        }
    }

    static ElfSandbox &shared() {
        static ElfSandbox one;
        return one;
    }

  private:
    static Sandbox::Serve begin() {
        return [](std::string_view request) {
            ElfReader reader;
            return ElfCalls::answer(reader, request);
        };
    }

    std::mutex asking_;
    int file_ = -1;
    Sandbox sandbox_{begin, [this](const std::string &) { return ::fcntl(file_, F_DUPFD_CLOEXEC, 0); }};
};

uint64_t length_of(int file) {
    struct stat status;
    if (::fstat(file, &status) != 0) throw std::system_error(errno, std::generic_category());
    return static_cast<uint64_t>(status.st_size);
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
    left_ =
        std::min(length_of(file_.get()), ParsedElf::kMostBytes); // a sparse file is longer than what it has
    facts_ = ElfSandbox::shared().ask<&ElfReader::facts>(file_);
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

std::vector<std::string> ElfFile::needed() const {
    return ElfSandbox::shared().ask<&ElfReader::needed>(file_);
}

std::vector<std::string> ElfFile::needed_versions() const {
    return ElfSandbox::shared().ask<&ElfReader::needed_versions>(file_);
}

std::string ElfFile::build_id() const { return ElfSandbox::shared().ask<&ElfReader::build_id>(file_); }

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
