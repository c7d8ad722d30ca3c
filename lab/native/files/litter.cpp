#include "files/litter.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "files/file.h"

namespace reap::native {
namespace {

constexpr uint32_t kSlots = 1024;

// No time in nanoseconds and no size in bytes is as large.
constexpr uint64_t kMostNumber = UINT64_C(1) << 60;

bool is_sound(const reap_litter_report &report) {
    const std::array numbers = {report.objects,      report.bytes,           report.kept,
                                report.kept_bytes,   report.begin_ns,        report.end_ns,
                                report.user_ns,      report.system_ns,       report.minor_faults,
                                report.major_faults, report.resident_before, report.resident_after};
    return report.beside < 2 && report.state <= REAP_LITTER_FAILED &&
           report.failure <= REAP_LITTER_NO_MEMORY &&
           *std::max_element(numbers.begin(), numbers.end()) < kMostNumber;
}

} // namespace

uint32_t write_litter(const std::string &path, reap_litter_header header,
                      const std::vector<std::pair<uint64_t, uint64_t>> &sizes) {
    header.magic = REAP_LITTER_MAGIC;
    header.version = REAP_LITTER_VERSION;
    header.size_count = static_cast<uint32_t>(sizes.size());
    header.report_offset = static_cast<uint32_t>(sizeof header + sizes.size() * sizeof(reap_litter_size));
    header.report_slots = kSlots;
    std::vector<unsigned char> bytes(header.report_offset);
    std::memcpy(bytes.data(), &header, sizeof header);
    size_t at = sizeof header;
    for (const auto &[size, count] : sizes) {
        const reap_litter_size entry{size, count};
        std::memcpy(bytes.data() + at, &entry, sizeof entry);
        at += sizeof entry;
    }
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) throw std::system_error(errno, std::generic_category(), path);
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t wrote = ::write(file.get(), bytes.data() + done, bytes.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) throw std::system_error(errno, std::generic_category(), path);
        done += static_cast<size_t>(wrote);
    }
    const size_t whole = bytes.size() + kSlots * sizeof(reap_litter_report);
    const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(whole));
    if (error != 0) throw std::system_error(error, std::generic_category(), path);
    return header.report_offset;
}

LitterReports read_litter(const std::string &path, uint32_t offset) {
    const File file(path);
    LitterReports out;
    reap_litter_header header{};
    if (file.read_at(&header, sizeof header, 0) != sizeof header) return out;
    std::vector<reap_litter_report> reports(std::min(header.next_report, kSlots));
    const size_t length = reports.size() * sizeof(reap_litter_report);
    if (file.read_at(reports.data(), length, offset) != length) return out;
    if (!std::all_of(reports.begin(), reports.end(), is_sound)) return out;
    std::erase_if(reports, [](const reap_litter_report &each) { return each.state == REAP_LITTER_UNUSED; });
    out.lost = header.next_report - std::min(header.next_report, kSlots);
    out.deepbind = header.deepbind;
    out.overwritten = false;
    out.reports = std::move(reports);
    return out;
}

} // namespace reap::native
