#include "build_id.h"

#include <cstring>
#include <elf.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace reap::preload {
namespace {

struct Memory {
    uint64_t start;
    uint64_t end;

    // The first `most` bytes at `address`, or fewer; how many.
    size_t read(uint64_t address, uint8_t *out, size_t most) const noexcept {
        if (address < start || address >= end) return 0;
        const size_t bytes = end - address < most ? end - address : most;
        iovec to{out, bytes};
        iovec from{reinterpret_cast<void *>(address), bytes};
        const long got = syscall(SYS_process_vm_readv, getpid(), &to, 1UL, &from, 1UL, 0UL);
        return got > 0 ? static_cast<size_t>(got) : 0;
    }
};

constexpr size_t padded(size_t bytes) noexcept { return (bytes + 3) & ~size_t{3}; }

// The build id in a segment of notes; `length` becomes 0 where it has none.
const uint8_t *find_in(const uint8_t *notes, size_t bytes, size_t &length) noexcept {
    constexpr char kOwner[] = "GNU";
    size_t at = 0;
    while (bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, notes + at, sizeof head);
        at += sizeof head;
        if (head.n_namesz > bytes || head.n_descsz > bytes) break;
        const size_t content = at + padded(head.n_namesz);
        if (content > bytes || head.n_descsz > bytes - content) break;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof kOwner &&
            memcmp(notes + at, kOwner, sizeof kOwner) == 0) {
            length = head.n_descsz;
            return notes + content;
        }
        at = content + padded(head.n_descsz);
        if (at > bytes) break;
    }
    length = 0;
    return nullptr;
}

} // namespace

size_t read_build_id(uint64_t start, uint64_t end, uint64_t bias, uint8_t *out) noexcept {
    constexpr size_t kPage = 4096;
    static uint8_t headers[kPage];
    static uint8_t notes[kPage];
    const Memory memory{start, end};
    const size_t had = memory.read(start, headers, sizeof headers);
    Elf64_Ehdr file;
    if (had < sizeof file) return 0;
    memcpy(&file, headers, sizeof file);
    if (memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(Elf64_Phdr)) return 0;
    uint64_t at = file.e_phoff;
    for (unsigned left = file.e_phnum; left != 0 && at <= had - sizeof(Elf64_Phdr);
         --left, at += sizeof(Elf64_Phdr)) {
        Elf64_Phdr segment;
        memcpy(&segment, headers + at, sizeof segment);
        if (segment.p_type != PT_NOTE) continue;
        const size_t most = segment.p_memsz < sizeof notes ? segment.p_memsz : sizeof notes;
        size_t length = 0;
        const uint8_t *const id = find_in(notes, memory.read(segment.p_vaddr + bias, notes, most), length);
        if (length == 0 || length > kMostBuildId) continue;
        memcpy(out, id, length);
        return length;
    }
    return 0;
}

} // namespace reap::preload
