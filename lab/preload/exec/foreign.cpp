#include "foreign.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {
namespace {

constexpr int kMaxInterpreters = 5; // as many as the kernel follows
constexpr size_t kHead = 4096;
constexpr const char *kLoader = "ld-linux-x86-64.so.2";

// The word after #! at the start of a script, null-terminated; null if the file is not a script.
const char *interpreter_of(char *head, size_t length) noexcept {
    if (length < 3 || head[0] != '#' || head[1] != '!') return nullptr;
    head[length] = '\0';
    char *begin = head + 2 + strspn(head + 2, " \t");
    begin[strcspn(begin, " \t\n")] = '\0';
    return *begin != '\0' ? begin : nullptr;
}

// Classifies a program for this CPU architecture by the loader that it requests.
Kind kind_by_loader(int file, const char *head, size_t length) noexcept {
    Elf64_Ehdr header{};
    memcpy(&header, head, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const uint64_t at = header.e_phoff + uint64_t{i} * header.e_phentsize;
        Elf64_Phdr part{};
        if (at + sizeof part > length) return Kind::Ours; // unusual: leave it alone
        memcpy(&part, head + at, sizeof part);
        if (part.p_type != PT_INTERP) continue;
        char loader[256];
        const size_t most = part.p_filesz < sizeof loader - 1 ? part.p_filesz : sizeof loader - 1;
        const long got = syscall(SYS_pread64, file, loader, most, part.p_offset);
        if (got <= 0) return Kind::Ours;
        loader[got] = '\0';
        const char *slash = strrchr(loader, '/');
        return strcmp(slash != nullptr ? slash + 1 : loader, kLoader) == 0 ? Kind::Ours : Kind::Foreign;
    }
    return Kind::Static;
}

} // namespace

Kind kind_of(int directory, const char *path) noexcept {
    const ErrnoGuard keep;
    char head[kHead + 1];
    for (int i = 0; i < kMaxInterpreters; ++i) {
        const long file = syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) return Kind::Ours;
        const auto number = static_cast<int>(file);
        const long got = syscall(SYS_pread64, number, head, kHead, 0L);
        const size_t length = got > 0 ? static_cast<size_t>(got) : 0;
        Kind kind = Kind::Ours;
        const bool elf = length >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0;
        if (elf) {
            Elf64_Ehdr header{};
            memcpy(&header, head, sizeof header);
            const bool here = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
            kind = here ? kind_by_loader(number, head, length) : Kind::Foreign;
        }
        close_quietly(number);
        const char *next = elf ? nullptr : interpreter_of(head, length);
        if (next == nullptr) return kind;
        path = next; // points into `head`, which is overwritten only after the open
        directory = AT_FDCWD;
    }
    return Kind::Ours;
}

} // namespace reap::preload
