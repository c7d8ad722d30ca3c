#include "program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "elf/elf_file.h"
#include "elf/named.h"
#include "refusal.h"

namespace reap::kit {
namespace {

namespace fs = std::filesystem;
using native::ElfFile;

// The kernel follows as many scripts that interpret scripts.
constexpr int kLongestChain = 5;
// And reads as many bytes of one.
constexpr int kFirstLine = 256;

Refusal cannot(const std::string &what, const std::string &hint) { return {what, hint, kNotExecutable}; }

void require_executable(const std::string &path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            throw Refusal(path + " does not exist", "check the path", kNotFound);
        throw cannot(path + " cannot be reached: " + std::strerror(errno), "ask for access to its folders");
    }
    if (!S_ISREG(found.st_mode)) throw cannot(path + " is not a regular file", "name a program");
    if (::access(path.c_str(), X_OK) == 0) return;
    struct statvfs system{};
    if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0)
        throw cannot(path + " is on a file system that is mounted noexec", "copy it to another one");
    throw cannot(path + " is not executable", "chmod +x it, or name its interpreter first");
}

void require_interpreter(const std::string &path, const std::string &script) {
    try {
        require_executable(path);
    } catch (const Refusal &refusal) {
        throw Refusal(script + " asks for the interpreter " + path +
                          ", which cannot be used: " + refusal.what(),
                      "install the interpreter, or correct the first line of the script", refusal.code());
    }
}

// The words of a first line that begins with #!; none for what is no script.
std::vector<std::string> interpreter_of(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw cannot(path + " cannot be read, so that what it needs is not known", "make it readable");
    std::string line(kFirstLine, '\0');
    file.read(line.data(), kFirstLine);
    line.resize(static_cast<size_t>(file.gcount()));
    line.resize(std::min(line.find('\n'), line.size()));
    if (!line.starts_with("#!")) return {};
    std::istringstream rest(line.substr(2));
    std::vector<std::string> words;
    for (std::string word; rest >> word;) words.push_back(word);
    if (words.empty())
        throw cannot(path + " begins with #! but names no interpreter", "write it on the first line");
    return words;
}

// Program that `env [-S] [NAME=VALUE]... PROGRAM` starts; empty where other options may choose another.
std::string started_by_env(const std::vector<std::string> &words) {
    const auto first = words.begin() + (words.size() > 1 && words[1] == "-S" ? 2 : 1);
    const auto program = std::find_if(
        first, words.end(), [](const std::string &word) { return word.find('=') == std::string::npos; });
    return program == words.end() || program->starts_with('-') ? "" : *program;
}

// The ELF file behind a script.
std::string follow(std::string image) {
    for (int i = 0; i < kLongestChain; ++i) {
        const std::vector<std::string> words = interpreter_of(image);
        if (words.empty()) return image;
        require_interpreter(words[0], image);
        image = words[0];
        if (fs::path(image).filename() != "env") continue;
        if (const std::string program = started_by_env(words); !program.empty())
            image = find_program(program);
    }
    throw cannot(image + " is a script of a script of a script: too many to follow", "name the interpreter");
}

ElfFile opened(const std::string &image) {
    try {
        return ElfFile(image);
    } catch (const native::BadElf &error) {
        throw cannot(image + " " + error.what(), "name a program, or a script that begins with #!");
    }
}

// Whoever executes it gets its rights, and the loader ignores preloads then.
bool has_privilege(const std::string &image) {
    struct stat found{};
    if (::stat(image.c_str(), &found) != 0) return false;
    const bool identity = ((found.st_mode & S_ISUID) != 0 && found.st_uid != ::getuid()) ||
                          ((found.st_mode & S_ISGID) != 0 && found.st_gid != ::getgid());
    char unused = 0;
    const bool capabilities =
        ::getxattr(image.c_str(), "security.capability", &unused, 0) > 0 && ::getuid() != 0;
    return identity || capabilities;
}

// The version of glibc that the recorder needs and the C library of a program lacks; empty where it has all,
// or is not beside its loader.
std::string lacking(const std::string &loader, const ElfFile &recorder) {
    std::error_code failed;
    const fs::path library = fs::canonical(loader, failed).parent_path() / "libc.so.6";
    if (failed || !fs::exists(library, failed)) return "";
    const ElfFile libc(library);
    const std::string_view names = libc.section(".dynstr");
    if (names.empty()) return "";
    for (const std::string &version : recorder.needed_versions()) {
        const std::string with_ends = '\0' + version + '\0';
        if (names.find(with_ends) == std::string_view::npos) return version;
    }
    return "";
}

// With a sanitizer that brings its own malloc, as a library or linked in. Others may refer to one, weakly.
bool is_sanitized(const ElfFile &program) {
    constexpr std::array kLibraries = {"libasan.so", "libhwasan.so",     "liblsan.so",
                                       "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"};
    const std::vector<std::string> starts = {"__asan_init", "__hwasan_init", "__lsan_init", "__msan_init",
                                             "__tsan_init"};
    for (const std::string &needed : program.needed())
        for (const char *const library : kLibraries)
            if (needed.starts_with(library)) return true;
    const std::vector<native::SymbolTable> tables = program.symbol_tables();
    return std::any_of(tables.begin(), tables.end(), [&starts](const native::SymbolTable &table) {
        return !native::named_symbols(table.symbols, table.strings, starts).defined.empty();
    });
}

} // namespace

std::string find_program(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        require_executable(name);
        return fs::absolute(name);
    }
    const char *path = std::getenv("PATH");
    const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
    std::string refused;
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const fs::path folder = end > at ? folders.substr(at, end - at) : ".";
        const std::string found = fs::absolute(folder / name);
        std::error_code failed;
        if (fs::is_regular_file(found, failed)) {
            if (::access(found.c_str(), X_OK) == 0) return found;
            if (refused.empty()) refused = found;
        }
        at = end + 1;
    }
    if (!refused.empty()) require_executable(refused);
    throw Refusal(name + ": no such command in PATH",
                  "check the spelling, or give its path (./" + name + " for one in this folder)", kNotFound);
}

void require_recordable(const std::string &program, const std::string &recorder) {
    const std::string image = follow(program);
    const ElfFile own(recorder);
    const ElfFile file = opened(image);
    if (file.machine() != own.machine() || file.bits() != own.bits())
        throw cannot(image + " is a program for another machine", "make a kit on such a machine");
    const std::string &loader = file.interpreter();
    if (loader.empty()) {
        // The loader itself, which was given a program to run.
        if (fs::path(image).filename().string().starts_with("ld-linux")) return;
        throw cannot(image + " is statically linked: nothing can be preloaded into it",
                     "link it dynamically, or watch it from outside, as root: reap record --via uprobe");
    }
    if (loader.find("ld-musl") != std::string::npos)
        throw cannot(image + " is built for the musl C library; the recorder is for glibc",
                     "build it for glibc, or watch it from outside, as root: reap record --via uprobe");
    if (!fs::exists(loader))
        throw cannot(image + " asks for the loader " + loader + ", which is not installed",
                     "install the C library that the program was built for");
    if (const std::string version = lacking(loader, own); !version.empty())
        throw cannot(image + " runs with a C library that lacks " + version + ", which the recorder needs",
                     "make the kit by reap from its wheel, whose recorder needs glibc 2.17");
    if (is_sanitized(file))
        throw cannot(image + " is built with a sanitizer, which brings its own malloc and must come first",
                     "build it without -fsanitize, as its users have it");
    if (has_privilege(image))
        throw cannot(image + " is set-user-ID, set-group-ID or has file capabilities: the loader ignores "
                             "preloads",
                     "record a copy without the privilege: cp " + image + " /tmp/");
}

} // namespace reap::kit
