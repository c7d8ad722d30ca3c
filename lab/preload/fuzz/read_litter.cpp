// Fuzzes the litter file: an invalid file is rejected; an accepted one can be executed with any allocator,
// even one that fails, and leaves the reported number of blocks allocated.
//
// The first bytes are fields of the header, so that the fuzzer gets past the magic number; the rest is the
// remaining file. One byte selects whether the file is the unmodified input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unistd.h>
#include <vector>

#include "litter.h"
#include "litter_file.h"

namespace {

using namespace reap::preload;

constexpr uint64_t kMostObjects = 2000; // more would only take longer
constexpr size_t kLargest = 8192;       // larger requests fail

std::set<void *> in_use;

void expect(bool condition) {
    if (!condition) abort();
}

void *allocate(size_t size) {
    void *block = size <= kLargest ? malloc(size) : nullptr;
    if (block != nullptr) in_use.insert(block);
    return block;
}

void release(void *block) {
    expect(in_use.erase(block) == 1);
    free(block);
}

// One file for all inputs; not a link in /proc, because the preload follows no links.
class File {
  public:
    File() : descriptor_(mkstemp(path_)) { expect(descriptor_ >= 0); }
    ~File() {
        unlink(path_);
        close(descriptor_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    const char *write(const std::vector<unsigned char> &bytes) {
        const auto size = static_cast<ssize_t>(bytes.size());
        expect(ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, bytes.data(), bytes.size(), 0) == size);
        return path_;
    }

  private:
    char path_[32] = "/dev/shm/reap-fuzz-XXXXXX";
    int descriptor_;
};

std::vector<unsigned char> file_of(const uint8_t *data, size_t size) {
    std::vector<unsigned char> bytes(data, data + size);
    if (size < sizeof(reap_litter_header) || data[0] % 4 == 0) return bytes;
    reap_litter_header header;
    std::memcpy(&header, data, sizeof header);
    header.magic = REAP_LITTER_MAGIC;
    header.version = REAP_LITTER_VERSION;
    if (data[0] % 4 > 1) { // likely to be valid: sizes that fit the file
        const size_t room = size - sizeof header;
        header.size_count = static_cast<uint32_t>(room / sizeof(reap_litter_size) / 2);
        header.report_offset =
            static_cast<uint32_t>(sizeof header + header.size_count * sizeof(reap_litter_size));
        header.report_slots =
            static_cast<uint32_t>((size - header.report_offset) / sizeof(reap_litter_report));
        header.threads = std::max(header.threads, 1u);
        header.kept = std::min(header.kept, header.objects);
        header.order %= 3;
    }
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

void litter_by(const LitterFile &file) {
    const reap_litter_header &header = file.header();
    const uint64_t objects = std::min(header.objects, kMostObjects);
    const LitterPlan plan{file.sizes(),     header.size_count,
                          objects,          std::min(header.kept, objects / 8),
                          header.seed,      static_cast<reap_litter_order>(header.order),
                          header.touch != 0};
    const LitterResult result = litter(plan, {allocate, release, [] {}});
    const bool failed = result.failure != REAP_LITTER_NO_FAILURE;
    expect(in_use.size() == result.kept);
    expect(result.kept == (failed ? 0 : plan.kept));
    expect(result.objects == (failed ? 0 : objects));
    for (void *block : in_use) free(block);
    in_use.clear();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static File written;
    LitterFile file;
    if (!file.open(written.write(file_of(data, size)))) return 0;
    litter_by(file);
    for (uint32_t i = 0; i < std::min(file.header().report_slots, 64u); ++i) {
        reap_litter_report *report = file.next_report();
        if (report == nullptr) break; // the header may have begun with slots taken
        std::memset(report, 1, sizeof *report);
    }
    file.close();
    return 0;
}
