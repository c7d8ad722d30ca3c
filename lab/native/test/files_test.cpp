// Concern: what preloads wrote is read as it was written; a file that is cut short, damaged or none gives
// what is sound of it or one clear error.
#include "files/collections.h"
#include "files/file.h"
#include "files/litter.h"
#include "files/requests.h"
#include "files/resident.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#include "drag/samples.h"
#include "elf/named.h"
#include "reap_requests.h"
#include "scratch_file.h"
#include "symbols/own_names.h"

namespace {

using namespace reap::native;
using reap::test::append;
using reap::test::ScratchFile;

reap_litter_report littering() {
    reap_litter_report report{};
    report.state = REAP_LITTER_DONE;
    report.pid = 7;
    report.objects = 20000;
    report.events = REAP_LITTER_UNCOUNTED;
    std::strcpy(report.provider, "libc.so.6");
    return report;
}

void write_at(const std::string &path, const void *bytes, size_t size, size_t offset) {
    const Descriptor file(::open(path.c_str(), O_WRONLY));
    ASSERT_EQ(::pwrite(file.get(), bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
}

// A litter file with two sizes, and `reports` in its first slots.
uint32_t litter_with(const std::string &path, const std::vector<reap_litter_report> &reports,
                     uint32_t asked) {
    reap_litter_header header{};
    header.objects = 100;
    header.kept = 1;
    header.threads = 1;
    const uint32_t offset = write_litter(path, header, {{16, 2}, {64, 1}});
    write_at(path, &asked, sizeof asked, offsetof(reap_litter_header, next_report));
    const uint32_t deepbind = 3;
    write_at(path, &deepbind, sizeof deepbind, offsetof(reap_litter_header, deepbind));
    if (!reports.empty()) write_at(path, reports.data(), reports.size() * sizeof(reap_litter_report), offset);
    return offset;
}

TEST(LitterReports, AreReadAsTheyWereWritten) {
    const ScratchFile file;
    const uint32_t offset = litter_with(file.path(), {littering(), {}, littering()}, 3);
    EXPECT_EQ(offset, sizeof(reap_litter_header) + 2 * sizeof(reap_litter_size));
    const LitterReports said = read_litter(file.path(), offset);
    EXPECT_FALSE(said.overwritten);
    EXPECT_EQ(said.deepbind, 3u);
    EXPECT_EQ(said.lost, 0u);
    ASSERT_EQ(said.reports.size(), 2u); // the slot between was never begun
    EXPECT_EQ(said.reports[1].objects, 20000u);
}

TEST(LitterReports, ThoseWithoutRoomAreCounted) {
    const ScratchFile file;
    const uint32_t offset = litter_with(file.path(), {littering()}, 1030);
    const LitterReports said = read_litter(file.path(), offset);
    EXPECT_EQ(said.lost, 6u);
    EXPECT_EQ(said.reports.size(), 1u);
}

TEST(LitterReports, OfAFileThatWasWrittenOverOrCutShortNoneIsBelieved) {
    for (const auto damage : {0, 1, 2, 3}) {
        const ScratchFile file;
        reap_litter_report strange = littering();
        if (damage == 0) strange.state = 4;
        if (damage == 1) strange.failure = 0xeeeeeeee;
        if (damage == 2) strange.beside = 2;
        if (damage == 3) strange.resident_after = UINT64_C(1) << 60;
        const uint32_t offset = litter_with(file.path(), {littering(), strange}, 2);
        const LitterReports said = read_litter(file.path(), offset);
        EXPECT_TRUE(said.overwritten) << damage;
        EXPECT_TRUE(said.reports.empty()) << damage;
    }
    const ScratchFile file;
    const uint32_t offset = litter_with(file.path(), {littering(), littering()}, 2);
    for (const size_t size :
         {offset + 2 * sizeof(reap_litter_report) - 1, size_t{offset}, size_t{10}, size_t{0}}) {
        ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(size)), 0);
        EXPECT_TRUE(read_litter(file.path(), offset).overwritten) << size;
    }
    EXPECT_THROW(read_litter("/dev/null", 0), BadTrace);
    EXPECT_THROW(read_litter("/no/such/file", 0), std::system_error);
}

reap_resident resident() {
    reap_resident said{};
    said.magic = REAP_RESIDENT_MAGIC;
    said.version = REAP_RESIDENT_VERSION;
    said.kind = REAP_RESIDENT_GLIBC;
    said.sequence = 2;
    said.stamp = 99;
    for (uint64_t i = 0; i < REAP_RESIDENT_VALUES; ++i) said.values[i] = i + 1;
    std::strcpy(said.provider, "/lib/libc.so.6");
    return said;
}

TEST(ResidentFile, IsReadAsItWasWritten) {
    const ScratchFile file;
    reap_resident written = resident();
    auto said = read_resident(file.write(&written, sizeof written));
    ASSERT_TRUE(said);
    EXPECT_EQ(said->kind, "glibc");
    EXPECT_EQ(said->provider, "/lib/libc.so.6");
    EXPECT_EQ(said->stamp, 99u);
    EXPECT_FALSE(said->stopped);
    EXPECT_EQ(said->values,
              (std::map<std::string, uint64_t>{
                  {"arena", 1}, {"mapped", 2}, {"used", 3}, {"free", 4}, {"fastbins", 5}, {"top", 6}}));
    EXPECT_FALSE(said->walk);
    written.walk.stamp = 5;
    written.walk.begin = 2;
    said = read_resident(file.write(&written, sizeof written));
    ASSERT_TRUE(said && said->walk);
    EXPECT_EQ(said->walk->begin, 2u);
    EXPECT_FALSE(said->others || said->around) << "the arenas were not found";
    written.around.known = 1;
    written.around.heaps = 3;
    written.others.live = 4;
    said = read_resident(file.write(&written, sizeof written));
    ASSERT_TRUE(said && said->others && said->around);
    EXPECT_EQ(said->others->live, 4u);
    EXPECT_EQ(said->around->heaps, 3u);
}

TEST(ResidentFile, WhatAnAllocatorWouldNotSayIsMissing) {
    const ScratchFile file;
    reap_resident written = resident();
    written.kind = REAP_RESIDENT_JEMALLOC;
    written.values[1] = REAP_RESIDENT_UNKNOWN;
    auto said = read_resident(file.write(&written, sizeof written));
    ASSERT_TRUE(said);
    EXPECT_FALSE(said->values.contains("active"));
    EXPECT_EQ(said->values.size(), 9u);
    written.stamp = 0; // not asked yet
    said = read_resident(file.write(&written, sizeof written));
    ASSERT_TRUE(said);
    EXPECT_TRUE(said->values.empty());
}

TEST(ResidentFile, TakesARequestAndHasTheAnswers) {
    const ScratchFile file;
    reap_resident written = resident();
    written.token = 7;
    written.linked[0] = {.function = 0x1000, .kind = REAP_RESIDENT_MIMALLOC, .unused = 0, .values = {5, 6}};
    written.linked[1].kind = 99; // of no function: nothing
    const std::string &path = file.write(&written, sizeof written);
    EXPECT_TRUE(request_resident(path, 7, {{"jemalloc", 0x2000}, {"unknown", 1}, {"tcmalloc", 0x3000}}));
    const auto said = read_resident(path);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->token, 7u);
    ASSERT_EQ(said->linked.size(), 1u);
    EXPECT_EQ(said->linked[0].kind, "mimalloc");
    EXPECT_EQ(said->linked[0].function, 0x1000u);
    EXPECT_EQ(said->linked[0].values.at("committed"), 5u);
    reap_resident now{};
    ASSERT_EQ(File(path).read_at(&now, sizeof now, 0), sizeof now);
    EXPECT_EQ(now.request.token, 7u);
    EXPECT_EQ(now.request.sequence, 2u);
    ASSERT_EQ(now.request.count, 2u);
    EXPECT_EQ(now.request.functions[1], 0x3000u);
    EXPECT_EQ(now.request.kinds[1], static_cast<uint32_t>(REAP_RESIDENT_TCMALLOC));
    written.magic = 1;
    EXPECT_FALSE(request_resident(file.write(&written, sizeof written), 7, {}));
    EXPECT_FALSE(request_resident("/dev/null", 7, {}));
    EXPECT_FALSE(request_resident("/no/such/file", 7, {}));
}

TEST(ResidentFile, WhatIsNoneSaysNothing) {
    const ScratchFile file;
    const reap_resident written = resident();
    for (const size_t size : {size_t{0}, size_t{8}, sizeof written - 1})
        EXPECT_FALSE(read_resident(file.write(&written, size))) << size;
    const auto with = [&](auto change) {
        reap_resident other = written;
        change(other);
        return read_resident(file.write(&other, sizeof other));
    };
    EXPECT_TRUE(with([](reap_resident &) {}));
    EXPECT_FALSE(with([](reap_resident &each) { each.sequence = 3; })); // it is being written
    EXPECT_FALSE(with([](reap_resident &each) { each.magic = 1; }));
    EXPECT_FALSE(with([](reap_resident &each) { each.version = REAP_RESIDENT_VERSION - 1; }));
    EXPECT_FALSE(with([](reap_resident &each) { each.kind = REAP_RESIDENT_SNMALLOC + 1; }));
    EXPECT_FALSE(read_resident("/dev/null"));
    EXPECT_FALSE(read_resident("/no/such/file"));
    // A provider without an end.
    const auto said =
        with([](reap_resident &each) { std::memset(each.provider, 'x', sizeof each.provider); });
    ASSERT_TRUE(said);
    EXPECT_EQ(said->provider.size(), sizeof written.provider);
}

// The file of request times with one block of `requests` behind the first.
std::vector<unsigned char> requests_file(const std::vector<reap_request> &requests, uint64_t open = 0) {
    std::vector<unsigned char> bytes;
    append(bytes, reap_requests_file{REAP_REQUESTS_MAGIC, 2, 4, 5, 6});
    bytes.resize(REAP_REQUESTS_BLOCK_BYTES);
    const auto block = std::make_unique<reap_requests_block>();
    block->magic = REAP_REQUESTS_BLOCK_MAGIC;
    block->count = requests.size();
    block->open = open;
    std::copy(requests.begin(), requests.end(), block->requests);
    append(bytes, *block);
    return bytes;
}

TEST(RequestTimes, AreThoseOfTheRequests) {
    const ScratchFile file;
    std::vector<reap_request> requests;
    for (uint64_t i = 1; i <= 1000; ++i) requests.push_back({i * 1000000, i * 1000000 + i});
    const RequestTimes times = read_requests(file.write(requests_file(requests, 77)));
    EXPECT_EQ(times.count, 1000u);
    EXPECT_EQ(times.p50_ns, 500u);
    EXPECT_EQ(times.p99_ns, 990u);
    EXPECT_EQ(times.p999_ns, 999u);
    EXPECT_EQ(times.max_ns, 1000u);
    EXPECT_NEAR(times.per_second, 1001.0, 0.01);
    EXPECT_EQ(times.lost, 4u);
    EXPECT_EQ(times.unmatched, 5u);
    EXPECT_EQ(times.unfinished, 7u); // and the thread that is in a request
}

TEST(RequestTimes, WhatMakesNoSenseIsLeftOut) {
    const ScratchFile file;
    EXPECT_EQ(read_requests(file.write(requests_file({{5, 4}, {1, 3}}))).count, 1u);
    std::vector<unsigned char> bytes = requests_file({{1, 3}});
    bytes[REAP_REQUESTS_BLOCK_BYTES + offsetof(reap_requests_block, count) + 7] = 0xee;
    EXPECT_EQ(read_requests(file.write(bytes)).count, 0u);
    bytes = requests_file({{1, 3}});
    bytes[REAP_REQUESTS_BLOCK_BYTES] ^= 1; // the block's magic number
    EXPECT_EQ(read_requests(file.write(bytes)).count, 0u);
    bytes = requests_file({{1, 3}});
    bytes[0] ^= 1;
    EXPECT_EQ(read_requests(file.write(bytes)).lost, 0u);
    for (const size_t size : {size_t{0}, size_t{8}, size_t{65536}, size_t{2 * 65536 - 1}}) {
        bytes = requests_file({{1, 3}});
        bytes.resize(size);
        EXPECT_EQ(read_requests(file.write(bytes)).count, 0u) << size;
    }
    EXPECT_THROW(read_requests("/dev/null"), BadTrace);
    EXPECT_THROW(read_requests("/no/such/file"), std::system_error);
}

TEST(RequestTimes, AFileThatIsMadeIsEmpty) {
    const ScratchFile file;
    create_requests(file.path());
    const File made(file.path());
    EXPECT_EQ(made.size(), REAP_REQUESTS_BLOCK_BYTES);
    reap_requests_file header{};
    ASSERT_EQ(made.read_at(&header, sizeof header, 0), sizeof header);
    EXPECT_EQ(header.magic, REAP_REQUESTS_MAGIC);
    EXPECT_EQ(header.next_block, 1u);
    EXPECT_EQ(read_requests(file.path()).count, 0u);
    EXPECT_THROW(create_requests("/no/such/file"), std::system_error);
}

TEST(Collections, OfProcessesThatHaveASlot) {
    const reap_collections_slot slots[] = {{7, 3, 1000, 600}, {0, 9, 9, 9}, {8, -1, 2, 2}, {9, 1, 5, 5}};
    const std::string bytes(reinterpret_cast<const char *>(slots), sizeof slots);
    std::vector<reap_collections_slot> found = read_collections(bytes);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].ns, 1000);
    EXPECT_EQ(found[1].pid, 9);
    EXPECT_EQ(read_collections(bytes.substr(0, bytes.size() - 1)).size(), 1u);
    EXPECT_TRUE(read_collections("").empty());
}

std::vector<unsigned char> samples_file(const std::vector<reap_drag_sample> &samples, uint64_t rows) {
    const auto header = std::make_unique<reap_drag_samples>();
    header->magic = REAP_DRAG_SAMPLES_MAGIC;
    header->pid = 7;
    header->rows = rows;
    header->clock = 1000;
    header->spent_ns = 1500000000;
    header->ended = 1;
    std::strcpy(header->program, "/bin/true");
    std::memcpy(header->module, "/bin/true\0/lib/a\0cut", 20);
    header->modules = 20;
    std::vector<unsigned char> bytes;
    append(bytes, *header);
    for (const reap_drag_sample &each : samples) append(bytes, each);
    return bytes;
}

reap_drag_sample sample(uint64_t size, uint64_t stands, uint64_t birth) {
    reap_drag_sample out{};
    out.size = size;
    out.stands = stands;
    out.birth = birth;
    out.used = 0.5;
    out.frames[0] = 11;
    out.frames[1] = 12;
    return out;
}

TEST(DragSamples, AreReadAsTheyWereWritten) {
    const ScratchFile file;
    const DragSampleFile said =
        read_drag_samples(file.write(samples_file({sample(8, 16, 10), sample(9, 9, 1000)}, 2)));
    EXPECT_EQ(said.pid, 7u);
    EXPECT_EQ(said.program, "/bin/true");
    EXPECT_EQ(said.seconds, 1.5);
    EXPECT_EQ(said.problem, "");
    EXPECT_TRUE(said.ended);
    EXPECT_EQ(said.modules, (std::vector<std::string>{"/bin/true", "/lib/a"})); // the third has no end
    ASSERT_EQ(said.samples.size(), 2u);
    EXPECT_EQ(said.samples[1].birth, 1000u);
    EXPECT_EQ(frames_of(said.samples[0]), (std::vector<uint64_t>{11, 12}));
}

TEST(DragSamples, RowsThatMakeNoSenseAreLeftOut) {
    const ScratchFile file;
    const std::vector<reap_drag_sample> rows = {sample(0, 16, 10), sample(17, 16, 10), sample(8, 16, 1001),
                                                sample(8, 16, 1000)};
    EXPECT_EQ(read_drag_samples(file.write(samples_file(rows, 4))).samples.size(), 1u);
}

TEST(DragSamples, OfAFileThatIsCutShortWhatIsThere) {
    const ScratchFile file;
    std::vector<unsigned char> bytes = samples_file({sample(8, 16, 10), sample(8, 16, 11)}, UINT64_MAX);
    EXPECT_EQ(read_drag_samples(file.write(bytes)).samples.size(), 2u);
    bytes.pop_back();
    EXPECT_EQ(read_drag_samples(file.write(bytes)).samples.size(), 1u);
    bytes.resize(sizeof(reap_drag_samples));
    EXPECT_TRUE(read_drag_samples(file.write(bytes)).samples.empty());
    bytes.pop_back();
    EXPECT_THROW(read_drag_samples(file.write(bytes)), BadTrace);
    EXPECT_EQ(read_drag_samples(file.write({})).pid, 0u); // killed before its file had a length
    EXPECT_EQ(read_drag_samples(file.write(std::vector<unsigned char>(sizeof(reap_drag_samples)))).pid, 0u);
}

TEST(DragSamples, WhatIsNoneIsRefused) {
    const ScratchFile file;
    std::vector<unsigned char> bytes = samples_file({}, 0);
    bytes[0] ^= 1;
    EXPECT_THROW(read_drag_samples(file.write(bytes)), BadTrace);
    bytes = samples_file({}, 0);
    bytes[offsetof(reap_drag_samples, problem)] = 4;
    EXPECT_THROW(read_drag_samples(file.write(bytes)), BadTrace);
    EXPECT_THROW(read_drag_samples("/dev/null"), BadTrace);
    EXPECT_THROW(read_drag_samples("/no/such/file"), std::system_error);
}

TEST(NamedSymbols, AreFunctionsDefinedAndWanted) {
    const std::string strings("\0malloc\0my_free\0calloc\0", 23);
    std::vector<unsigned char> table;
    const auto add = [&](uint32_t name, unsigned type, uint16_t section) {
        // As the ABI has it: name, info, other, section, value, size.
        append(table, name);
        append(table, static_cast<unsigned char>(type));
        append(table, static_cast<unsigned char>(0));
        append(table, section);
        append(table, uint64_t{0x1000} + name);
        table.resize(table.size() + 8);
    };
    add(1, 2, 7);     // malloc, a function
    add(8 + 3, 2, 0); // free, the end of my_free: wanted
    add(16, 1, 7);    // calloc, an object
    add(0xffffffff, 2, 7);
    const std::string_view bytes(reinterpret_cast<const char *>(table.data()), table.size());
    const NamedSymbols found = named_symbols(bytes, strings, {"malloc", "free", "calloc", "none"});
    EXPECT_EQ(found.defined, (std::map<std::string, uint64_t>{{"malloc", 0x1001}}));
    EXPECT_EQ(found.undefined, std::vector<std::string>{"free"});
    EXPECT_TRUE(named_symbols(bytes.substr(0, 23), strings, {"malloc"}).defined.empty());
    EXPECT_TRUE(named_symbols(bytes, "", {"malloc"}).defined.empty());
}

TEST(OwnNames, AreKnownUnderAnyPrefix) {
    const std::pair<const char *, OwnNames> known[] = {
        {"_rjem_malloc", {"jemalloc", "_rjem_"}},
        {"je_arrow_mallocx", {"jemalloc", "je_arrow_"}},
        {"app_je_malloc", {"jemalloc", "app_je_"}},
        {"duckdb_mallocx", {"jemalloc", "duckdb_"}},
        {"mallocx", {"jemalloc", ""}},
        {"mi_malloc_aligned", {"mimalloc", "mi_"}},
        {"app_mi_free", {"mimalloc", "app_mi_"}},
        {"tc_malloc", {"tcmalloc", "tc_"}},
        {"sn_rust_alloc", {"snmalloc", "sn_"}},
        {"rpmalloc", {"rpmalloc", "rp"}},
    };
    for (const auto &[name, own] : known) EXPECT_EQ(own_names_of(name), own) << name;
    for (const char *name : {"malloc", "my_malloc", "node_malloc", "mi_version", "emi_malloc", "sn_", "free",
                             "", "_rjem_je_large_malloc", "je_arena_malloc", "do_rallocx"})
        EXPECT_EQ(own_names_of(name), std::nullopt) << name;
}

TEST(OwnNames, AmongStrings) {
    const std::string strings("\0main\0_rjem_malloc\0mi_free\0cut", 30);
    const std::vector<std::pair<std::string, std::string>> found = {{"_rjem_malloc", "jemalloc"},
                                                                    {"mi_free", "mimalloc"}};
    EXPECT_EQ(own_names_among(strings), found);
    EXPECT_TRUE(own_names_among("").empty());
}

} // namespace
