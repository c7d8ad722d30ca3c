#include "litter_file.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {
namespace {

// Whether everything that the header refers to is within `length` bytes, and no computation overflows.
bool is_valid(const reap_litter_header &header, uint64_t length) noexcept {
    if (header.magic != REAP_LITTER_MAGIC || header.version != REAP_LITTER_VERSION) return false;
    if (header.size_count > REAP_LITTER_MOST_SIZES || header.threads == 0) return false;
    if (header.order > REAP_LITTER_REVERSED) return false;
    if (header.kept > header.objects || header.objects > REAP_LITTER_MOST_COUNT) return false;
    if (header.report_offset < sizeof header + header.size_count * sizeof(reap_litter_size)) return false;
    if (header.report_offset % alignof(reap_litter_report) != 0) return false;
    if (header.report_offset + uint64_t{header.report_slots} * sizeof(reap_litter_report) > length) {
        return false;
    }
    const auto *sizes = reinterpret_cast<const reap_litter_size *>(&header + 1);
    uint64_t total = 0;
    for (uint32_t i = 0; i < header.size_count; ++i) {
        if (sizes[i].count == 0 || sizes[i].count > REAP_LITTER_MOST_COUNT - total) return false;
        total += sizes[i].count;
    }
    return header.objects == 0 || total > 0;
}

} // namespace

bool LitterFile::open(const char *path) noexcept {
    const int descriptor = open_shared(path);
    if (descriptor < 0) return false;
    const long length = syscall(SYS_lseek, descriptor, 0, SEEK_END);
    void *memory = MAP_FAILED;
    if (length >= static_cast<long>(sizeof(reap_litter_header))) {
        memory =
            mmap(nullptr, static_cast<size_t>(length), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    close_quietly(descriptor);
    if (memory == MAP_FAILED) return false;
    auto *header = static_cast<reap_litter_header *>(memory);
    if (!is_valid(*header, static_cast<uint64_t>(length))) {
        munmap(memory, static_cast<size_t>(length));
        return false;
    }
    header_ = header;
    length_ = static_cast<uint64_t>(length);
    return true;
}

void LitterFile::close() noexcept {
    munmap(header_, length_);
    header_ = nullptr;
}

reap_litter_report *LitterFile::next_report() const noexcept {
    const uint32_t slot = __atomic_fetch_add(&header_->next_report, 1, __ATOMIC_RELAXED);
    if (slot >= header_->report_slots) return nullptr;
    auto *first = reinterpret_cast<unsigned char *>(header_) + header_->report_offset;
    return reinterpret_cast<reap_litter_report *>(first) + slot;
}

} // namespace reap::preload
