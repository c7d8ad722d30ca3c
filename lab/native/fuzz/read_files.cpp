// The readers of what preloads write against hostile files: whatever the bytes, none crashes or takes more
// memory than they justify.
//
// The first byte is which reader gets the rest. A second decides whether what marks such a file is put right,
// so that the fuzzer gets past it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "../test/scratch_file.h"
#include "drag/samples.h"
#include "elf/named.h"
#include "files/collections.h"
#include "files/file.h"
#include "files/litter.h"
#include "files/price.h"
#include "files/requests.h"
#include "files/resident.h"
#include "reap_requests.h"

namespace {

using namespace reap::native;

std::vector<unsigned char> bytes;

void put(size_t offset, uint64_t value, size_t size) {
    if (offset + size <= bytes.size()) std::memcpy(bytes.data() + offset, &value, size);
}

void expect(bool condition) {
    if (!condition) __builtin_trap();
}

void read_litter_file(const reap::test::ScratchFile &file, bool) {
    const LitterReports said = read_litter(file.write(bytes), sizeof(reap_litter_header));
    expect(said.reports.empty() || !said.overwritten);
    expect(said.reports.size() <= bytes.size() / sizeof(reap_litter_report));
}

void read_resident_file(const reap::test::ScratchFile &file, bool right) {
    if (right) {
        put(offsetof(reap_resident, magic), REAP_RESIDENT_MAGIC, 8);
        put(offsetof(reap_resident, version), REAP_RESIDENT_VERSION, 4);
        put(offsetof(reap_resident, sequence), 2, 4);
    }
    const auto said = read_resident(file.write(bytes));
    expect(!said || said->values.size() <= REAP_RESIDENT_VALUES);
}

void read_price_file(const reap::test::ScratchFile &file, bool right) {
    if (right) { // the slots begin with the input, with as many claimed
        const std::vector<unsigned char> slots = bytes;
        bytes.assign(sizeof(reap_price_file), 0);
        const size_t size = std::min(slots.size(), sizeof(reap_price_file::slots));
        std::copy_n(slots.begin(), size, bytes.begin() + offsetof(reap_price_file, slots));
        put(offsetof(reap_price_file, magic), REAP_PRICE_MAGIC, 8);
        put(offsetof(reap_price_file, next_slot), size / sizeof(reap_price_slot), 8);
    }
    const auto said = read_price(file.write(bytes));
    expect(!said || said->size() <= REAP_PRICE_SLOTS);
    for (const reap_price_slot &slot : said.value_or(std::vector<reap_price_slot>())) expect(slot.ended <= 1);
}

void read_requests_file(const reap::test::ScratchFile &file, bool right) {
    if (right) { // two blocks, of which the second begins with the input's second half
        const size_t half = bytes.size() / 2;
        const std::vector<unsigned char> second(bytes.begin() + static_cast<ptrdiff_t>(half), bytes.end());
        bytes.resize(2 * size_t{REAP_REQUESTS_BLOCK_BYTES});
        std::copy_n(second.begin(), std::min<size_t>(second.size(), REAP_REQUESTS_BLOCK_BYTES),
                    bytes.begin() + REAP_REQUESTS_BLOCK_BYTES);
        put(0, REAP_REQUESTS_MAGIC, 8);
        put(REAP_REQUESTS_BLOCK_BYTES, REAP_REQUESTS_BLOCK_MAGIC, 8);
    }
    const RequestTimes times = read_requests(file.write(bytes));
    expect(times.count <= bytes.size() / sizeof(reap_request));
    expect(times.p50_ns <= times.p99_ns && times.p99_ns <= times.p999_ns && times.p999_ns <= times.max_ns);
}

void read_samples_file(const reap::test::ScratchFile &file, bool right) {
    if (right) { // the header is mostly names: the rows come of the input's second half
        const size_t half = bytes.size() / 2;
        const std::vector<unsigned char> rows(bytes.begin() + static_cast<ptrdiff_t>(half), bytes.end());
        bytes.resize(sizeof(reap_drag_samples));
        bytes.insert(bytes.end(), rows.begin(), rows.end());
        put(offsetof(reap_drag_samples, magic), REAP_DRAG_SAMPLES_MAGIC, 8);
    }
    const DragSampleFile said = read_drag_samples(file.write(bytes));
    expect(said.samples.size() <= bytes.size() / sizeof(reap_drag_sample));
    for (const reap_drag_sample &each : said.samples) expect(frames_of(each).size() <= REAP_DRAG_FRAMES);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    static const reap::test::ScratchFile file;
    bytes.assign(data + 2, data + size);
    const std::string_view text(reinterpret_cast<const char *>(data + 2), size - 2);
    const bool right = data[1] % 4 != 0;
    try {
        switch (data[0] % 7) {
        case 0:
            read_litter_file(file, right);
            break;
        case 1:
            read_resident_file(file, right);
            break;
        case 2:
            read_requests_file(file, right);
            break;
        case 3:
            read_samples_file(file, right);
            break;
        case 4:
            read_price_file(file, right);
            break;
        case 5:
            expect(read_collections(text).size() <= text.size() / sizeof(reap_collections_slot));
            break;
        default:
            named_symbols(text.substr(0, text.size() / 2), text.substr(text.size() / 2), {"malloc", "a", ""});
        }
    } catch (const BadTrace &) { // what is none is refused
    }
    return 0;
}
