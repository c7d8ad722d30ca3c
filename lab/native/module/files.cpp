// What Python sees of the files that preloads write.
#include "module/files.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attach/known_functions.h"
#include "drag/samples.h"
#include "files/collections.h"
#include "files/file.h"
#include "files/litter.h"
#include "files/price.h"
#include "files/regular.h"
#include "files/requests.h"
#include "files/resident.h"
#include "glibc/process_heaps.h"
#include "module/text.h"
#include "reap_price.h"
#include "reap_requests.h"
#include "symbols/own_names.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace reap::native {
namespace {

uint32_t write_litter_file(const std::string &path, const std::vector<std::pair<uint64_t, uint64_t>> &sizes,
                           uint64_t objects, uint64_t kept, uint64_t seed, uint64_t needed_bytes,
                           uint32_t order, bool touch, bool children, uint32_t threads, uint64_t device,
                           uint64_t inode, std::optional<std::pair<uint32_t, uint64_t>> event,
                           bool over_glibc) {
    reap_litter_header header{};
    header.objects = objects;
    header.kept = kept;
    header.seed = seed;
    header.needed_bytes = needed_bytes;
    header.order = order;
    header.touch = touch ? 1 : 0;
    header.children = children ? 1 : 0;
    header.threads = threads;
    header.device = device;
    header.inode = inode;
    header.count = event ? 1 : 0;
    header.event_type = event ? event->first : 0;
    header.event_config = event ? event->second : 0;
    header.over_glibc = over_glibc ? 1 : 0;
    return write_litter(path, header, sizes);
}

void bind_litter(nb::module_ &m) {
    m.attr("LITTER_ENV") = REAP_LITTER_ENV;
    m.attr("LITTER_MOST_SIZES") = REAP_LITTER_MOST_SIZES;
    m.attr("LITTER_MOST_COUNT") = REAP_LITTER_MOST_COUNT;
    m.attr("LITTER_BEGUN") = static_cast<int>(REAP_LITTER_BEGUN);
    m.attr("LITTER_REFUSED") = static_cast<int>(REAP_LITTER_REFUSED);
    m.attr("LITTER_NO_BOOKKEEPING") = static_cast<int>(REAP_LITTER_NO_BOOKKEEPING);
    m.attr("LITTER_NO_MEMORY") = static_cast<int>(REAP_LITTER_NO_MEMORY);
    nb::class_<reap_litter_report>(m, "LitterReport", "What one thread did before it, or its program, began.")
        .def_ro("state", &reap_litter_report::state)
        .def_ro("failure", &reap_litter_report::failure)
        .def_ro("pid", &reap_litter_report::pid)
        .def_ro("thread", &reap_litter_report::thread)
        .def_ro("objects", &reap_litter_report::objects)
        .def_ro("bytes", &reap_litter_report::bytes)
        .def_ro("kept", &reap_litter_report::kept)
        .def_ro("kept_bytes", &reap_litter_report::kept_bytes)
        .def_ro("begin_ns", &reap_litter_report::begin_ns)
        .def_ro("end_ns", &reap_litter_report::end_ns)
        .def_ro("user_ns", &reap_litter_report::user_ns)
        .def_ro("system_ns", &reap_litter_report::system_ns)
        .def_ro("minor_faults", &reap_litter_report::minor_faults)
        .def_ro("major_faults", &reap_litter_report::major_faults)
        .def_ro("resident_before", &reap_litter_report::resident_before)
        .def_ro("resident_after", &reap_litter_report::resident_after)
        .def_prop_ro("events",
                     [](const reap_litter_report &report) -> std::optional<uint64_t> {
                         if (report.events == REAP_LITTER_UNCOUNTED) return std::nullopt;
                         return report.events;
                     })
        .def_ro("voluntary_switches", &reap_litter_report::voluntary_switches)
        .def_ro("involuntary_switches", &reap_litter_report::involuntary_switches)
        .def_prop_ro("beside", [](const reap_litter_report &report) { return report.beside == 1; })
        .def_prop_ro("provider", [](const reap_litter_report &report) {
            return text(field_text(report.provider, sizeof report.provider));
        });
    nb::class_<LitterReports>(m, "LitterReports", "What processes said of their littering.")
        .def_ro("lost", &LitterReports::lost)
        .def_ro("deepbind", &LitterReports::deepbind)
        .def_ro("overwritten", &LitterReports::overwritten)
        .def_ro("reports", &LitterReports::reports);
    m.def("write_litter", &write_litter_file, "path"_a, "sizes"_a, nb::kw_only(), "objects"_a, "kept"_a,
          "seed"_a, "needed_bytes"_a, "order"_a, "touch"_a, "children"_a, "threads"_a, "device"_a, "inode"_a,
          "event"_a.none(), "over_glibc"_a,
          "Makes a litter file, with room for reports; returns where they begin. Raises OSError.");
    m.def("read_litter", &read_litter, "path"_a, "offset"_a,
          "What processes reported, from this offset on. Raises BadTraceError or OSError.");
}

void bind_resident(nb::module_ &m) {
    m.attr("RESIDENT_ENV") = REAP_RESIDENT_ENV;
    m.attr("RESIDENT_TRIM_ENV") = REAP_RESIDENT_TRIM_ENV;
    nb::class_<reap_resident_walk>(m, "ResidentWalk", "What the chunks of a heap of glibc are.")
        .def_ro("stamp", &reap_resident_walk::stamp)
        .def_ro("begin", &reap_resident_walk::begin)
        .def_ro("bytes", &reap_resident_walk::bytes)
        .def_ro("resident", &reap_resident_walk::resident)
        .def_ro("live", &reap_resident_walk::live)
        .def_ro("live_blocks", &reap_resident_walk::live_blocks)
        .def_ro("untouched", &reap_resident_walk::untouched)
        .def_ro("free", &reap_resident_walk::free)
        .def_ro("whole", &reap_resident_walk::whole)
        .def_ro("whole_resident", &reap_resident_walk::whole_resident)
        .def_ro("top", &reap_resident_walk::top)
        .def_ro("top_resident", &reap_resident_walk::top_resident)
        .def_ro("largest", &reap_resident_walk::largest)
        .def_ro("above_blocks", &reap_resident_walk::above_blocks)
        .def_ro("above_bytes", &reap_resident_walk::above_bytes)
        .def_ro("used", &reap_resident_walk::used)
        .def_ro("arena", &reap_resident_walk::arena)
        .def_ro("duration", &reap_resident_walk::duration);
    nb::class_<reap_resident_around>(m, "ResidentAround", "What glibc's heaps have beside their chunks.")
        .def_ro("heaps", &reap_resident_around::heaps)
        .def_ro("unread", &reap_resident_around::unread)
        .def_ro("unread_resident", &reap_resident_around::unread_resident)
        .def_prop_ro("caches",
                     [](const reap_resident_around &around) -> std::optional<uint64_t> {
                         if (around.caches == REAP_RESIDENT_UNKNOWN) return std::nullopt;
                         return around.caches;
                     })
        .def_ro("cached", &reap_resident_around::cached)
        .def_ro("fast", &reap_resident_around::fast)
        .def_ro("mapped", &reap_resident_around::mapped)
        .def_ro("mapped_resident", &reap_resident_around::mapped_resident);
    nb::class_<LinkedAnswer>(m, "LinkedAnswer", "What an allocator said that is linked into a file.")
        .def_ro("kind", &LinkedAnswer::kind)
        .def_ro("function", &LinkedAnswer::function)
        .def_ro("values", &LinkedAnswer::values);
    nb::class_<ResidentAnswer>(m, "ResidentAnswer", "What an allocator said of its memory.")
        .def_ro("kind", &ResidentAnswer::kind)
        .def_prop_ro("provider", text_of(&ResidentAnswer::provider))
        .def_ro("function", &ResidentAnswer::function)
        .def_ro("stamp", &ResidentAnswer::stamp)
        .def_ro("stopped", &ResidentAnswer::stopped)
        .def_ro("values", &ResidentAnswer::values)
        .def_ro("walk", &ResidentAnswer::walk)
        .def_ro("others", &ResidentAnswer::others)
        .def_ro("around", &ResidentAnswer::around)
        .def_ro("linked", &ResidentAnswer::linked)
        .def_ro("token", &ResidentAnswer::token);
    nb::class_<ProcessHeaps>(m, "ProcessHeaps", "What glibc's heaps of a process are.")
        .def_ro("main", &ProcessHeaps::main)
        .def_ro("others", &ProcessHeaps::others)
        .def_ro("around", &ProcessHeaps::around)
        .def_ro("system_bytes", &ProcessHeaps::system_bytes)
        .def_ro("mapped_bytes", &ProcessHeaps::mapped_bytes);
    m.def(
        "walk_heaps",
        [](int process, unsigned minor, std::pair<uint64_t, uint64_t> data, uint64_t first_break,
           uint64_t resident, std::vector<std::pair<uint64_t, uint64_t>> mappings) {
            return walk_heaps(process, {.minor = minor,
                                        .data_begin = data.first,
                                        .data_end = data.second,
                                        .first_break = first_break,
                                        .resident = resident,
                                        .mappings = std::move(mappings)});
        },
        "process"_a, nb::kw_only(), "minor"_a, "data"_a, "first_break"_a, "resident"_a, "mappings"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Heaps of another process, whose C library is glibc 2.MINOR with that data; None where they cannot "
        "be "
        "walked.");
    m.def("read_resident", &read_resident, "path"_a,
          "What it says now; None where there is nothing, or it is being written all the time.");
    m.def("request_resident", &request_resident, "path"_a, "token"_a, "functions"_a,
          "Have the process call these functions, by kind and address, too. False where that is impossible.");
}

void bind_requests(nb::module_ &m) {
    m.attr("REQUESTS_ENV") = REAP_REQUESTS_ENV;
    nb::class_<RequestTimes>(m, "RequestTimes", "How long marked requests took.")
        .def_ro("count", &RequestTimes::count)
        .def_ro("per_second", &RequestTimes::per_second)
        .def_ro("p50_ns", &RequestTimes::p50_ns)
        .def_ro("p99_ns", &RequestTimes::p99_ns)
        .def_ro("p999_ns", &RequestTimes::p999_ns)
        .def_ro("max_ns", &RequestTimes::max_ns)
        .def_ro("unfinished", &RequestTimes::unfinished)
        .def_ro("unmatched", &RequestTimes::unmatched)
        .def_ro("lost", &RequestTimes::lost);
    m.def("create_requests", &create_requests, "path"_a, "Makes the file for one run. Raises OSError.");
    m.def("read_requests", &read_requests, "path"_a,
          "What a run left. Takes eight bytes of memory a request. Raises BadTraceError or OSError.");
}

void bind_price(nb::module_ &m) {
    m.attr("PRICE_ENV") = REAP_PRICE_ENV;
    m.attr("PRICE_BYTES_ENV") = REAP_PRICE_BYTES_ENV;
    nb::class_<reap_price_slot>(m, "PriceSlot", "What a process spent on memory ahead.")
        .def_ro("pid", &reap_price_slot::pid)
        .def_ro("touch_ns", &reap_price_slot::touch_ns)
        .def_ro("free_ns", &reap_price_slot::free_ns)
        .def_ro("touch_faults", &reap_price_slot::touch_faults)
        .def_ro("touched", &reap_price_slot::touched)
        .def_prop_ro("ended", [](const reap_price_slot &slot) { return slot.ended != 0; });
    m.def("create_price", &create_price, "path"_a, "Makes the file for one run. Raises OSError.");
    m.def("read_price", &read_price, "path"_a,
          "What processes reported; None where the program overwrote it. Raises BadTraceError or OSError.");
}

void bind_collections(nb::module_ &m) {
    nb::class_<reap_collections_slot>(m, "Collections", "What the collector of one CPython did.")
        .def_ro("pid", &reap_collections_slot::pid)
        .def_ro("count", &reap_collections_slot::count)
        .def_ro("ns", &reap_collections_slot::ns)
        .def_ro("longest_ns", &reap_collections_slot::longest_ns);
    m.def(
        "read_collections",
        [](const nb::bytes &data) { return read_collections({data.c_str(), data.size()}); }, "data"_a,
        "The slots that processes have taken, of what such a file holds.");
}

void bind_drag_samples(nb::module_ &m) {
    nb::class_<reap_drag_sample>(m, "DragSample", "One sampled object.")
        .def_ro("size", &reap_drag_sample::size)
        .def_ro("stands", &reap_drag_sample::stands)
        .def_ro("birth", &reap_drag_sample::birth)
        .def_ro("death", &reap_drag_sample::death)
        .def_ro("used", &reap_drag_sample::used)
        .def_ro("used_squares", &reap_drag_sample::used_2)
        .def_prop_ro("stack", &frames_of);
    nb::class_<DragSampleFile>(m, "DragSampleFile", "The samples of drag of one process.")
        .def_ro("pid", &DragSampleFile::pid)
        .def_prop_ro("program", text_of(&DragSampleFile::program))
        .def_ro("clock", &DragSampleFile::clock)
        .def_ro("ended", &DragSampleFile::ended)
        .def_ro("problem", &DragSampleFile::problem)
        .def_ro("seconds", &DragSampleFile::seconds)
        .def_prop_ro("modules", texts_of(&DragSampleFile::modules))
        .def_ro("samples", &DragSampleFile::samples);
    m.def("read_drag_samples", &read_drag_samples, "path"_a,
          "Reads the file of one process, whatever ended it. Raises BadTraceError, with the end of a "
          "sentence, or OSError.");
}

// Effect of a function on memory.
enum class Deed : uint8_t { Allocates, AllocatesPages, Zeroes, Resizes, Frees };

Deed deed_of(reap_call call) {
    if (format::frees(call)) return Deed::Frees;
    if (format::resizes(call)) return Deed::Resizes;
    if (call == REAP_CALL_CALLOC) return Deed::Zeroes;
    const bool pages = call == REAP_CALL_VALLOC || call == REAP_CALL_PVALLOC;
    return pages ? Deed::AllocatesPages : Deed::Allocates;
}

} // namespace

void bind_files(nb::module_ &m) {
    m.attr("ALLOCATES") = static_cast<int>(Deed::Allocates);
    m.attr("ALLOCATES_PAGES") = static_cast<int>(Deed::AllocatesPages);
    m.attr("ZEROES") = static_cast<int>(Deed::Zeroes);
    m.attr("RESIZES") = static_cast<int>(Deed::Resizes);
    m.attr("FREES") = static_cast<int>(Deed::Frees);
    bind_litter(m);
    bind_resident(m);
    bind_requests(m);
    bind_price(m);
    bind_collections(m);
    bind_drag_samples(m);
    m.def(
        "open_regular",
        [](const nb::bytes &path) {
            const int opened = open_regular({path.c_str(), path.size()});
            if (opened < 0) throw std::system_error(errno, std::generic_category());
            return opened;
        },
        "path"_a,
        "Opens a regular file for reading; returns the descriptor. Another user's link leads to their files "
        "alone. Raises OSError: ELOOP for such a link, EINVAL for what is no regular file.");
    m.def(
        "own_names",
        [](const nb::bytes &strings) { return own_names_among({strings.c_str(), strings.size()}); },
        "strings"_a,
        "(function, allocator) of the names in an ELF file's table of strings by which allocators with "
        "functions "
        "of their own allocate, under any prefix: jemalloc, mimalloc, tcmalloc, snmalloc, rpmalloc.");
    m.def(
        "known_functions",
        [](const std::string &allocator) {
            std::map<std::string, std::pair<int, std::string>> found;
            for (const auto &[name, known] : known_functions({allocator, {}}))
                found.emplace(name, std::pair(static_cast<int>(deed_of(known.call)), known.arguments));
            return found;
        },
        "allocator"_a,
        "Functions by which an allocator allocates and frees, without their prefix: what each does, and its "
        "arguments as in reap_own_functions.h. Of no allocator: those of C, and operators of C++.");
}

} // namespace reap::native
