#include "attach/recording.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "files/regular.h"
#include "reap_encode.h"
#include "trace/checksum.h"
#include "trace/process.h"
#include "trace/writer.h"

namespace reap::native {
namespace {

// The fields of a long record.
class Body {
  public:
    Body &number(uint64_t value) {
        unsigned char buffer[format::kMaxVarint];
        bytes_.insert(bytes_.end(), buffer, format::put_varint(buffer, value));
        return *this;
    }
    Body &text(const std::string &value) {
        number(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        return *this;
    }
    [[nodiscard]] std::vector<unsigned char> record(reap_tag tag) const {
        std::vector<unsigned char> out{static_cast<unsigned char>(tag)};
        const Body length = Body().number(bytes_.size());
        out.insert(out.end(), length.bytes_.begin(), length.bytes_.end());
        out.insert(out.end(), bytes_.begin(), bytes_.end());
        return out;
    }

  private:
    std::vector<unsigned char> bytes_;
};

std::string read_all(const std::string &path) {
    const std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

bool read_header(const Descriptor &file, reap_file_header &header) {
    return ::pread(file.get(), &header, sizeof header, 0) == sizeof header;
}

} // namespace

bool samples_by_timer(const std::string &path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    reap_file_header header{};
    return read_header(file, header) && header.sampler == REAP_SAMPLER_TIMER;
}

AttachedFile::AttachedFile(std::string path, bool from_start, bool beside)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CLOEXEC)),
      how_(from_start ? REAP_ATTACHED_FROM_START : REAP_ATTACHED_RUNNING) {
    if (file_.get() < 0 || !read_header(file_, own_))
        throw std::system_error(errno, std::generic_category(), path_);
    if (beside) {
        void *memory = ::mmap(nullptr, sizeof own_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path_);
        header_ = static_cast<reap_file_header *>(memory);
    } else {
        header_->attached = how_;
    }
}

reap_file_header &AttachedFile::shared() {
    struct stat status{};
    if (header_ != &own_ &&
        (::fstat(file_.get(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof own_)))
        throw std::system_error(EIO, std::generic_category(), path_);
    return *header_;
}

void AttachedFile::mark() {
    if (header_ != &own_) shared().beside = how_;
}

uint64_t AttachedFile::loads() const noexcept {
    // Read, not by the mapping: of a file that the program truncated an access would end this process.
    reap_file_header header{};
    if (!read_header(file_, header)) return 0;
    return uint64_t{header.next_image} + header.loads;
}

AttachedFile::~AttachedFile() {
    if (header_ != &own_) ::munmap(header_, sizeof own_);
}

uint16_t AttachedFile::kind_of(reap_block_kind kind) const noexcept {
    return static_cast<uint16_t>(header_ == &own_ ? kind : kind | REAP_BLOCK_BESIDE);
}

void AttachedFile::begin() {
    if (header_ != &own_) return; // it began when it was created
    const std::scoped_lock held(changing_);
    own_.start_ticks = own_.start_monotonic_ns = ticks_now(REAP_CLOCK_MONOTONIC_NS);
    timespec today{};
    clock_gettime(CLOCK_REALTIME, &today);
    own_.start_unix_ns =
        static_cast<uint64_t>(today.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(today.tv_nsec);
    write_header();
}

void AttachedFile::end(uint64_t time_ns) {
    if (header_ != &own_) return; // it ends when it is completed
    const std::scoped_lock held(changing_);
    own_.end_ticks = own_.end_monotonic_ns = time_ns;
    write_header();
}

uint32_t AttachedFile::add_image() {
    const std::scoped_lock held(changing_);
    return __atomic_fetch_add(&shared().next_image, 1, __ATOMIC_RELAXED);
}

uint32_t AttachedFile::take_block(reap_block_kind kind) {
    const std::scoped_lock held(changing_);
    reap_file_header &header = shared();
    const bool full =
        header.max_blocks != 0 && __atomic_load_n(&header.next_block, __ATOMIC_RELAXED) >= header.max_blocks;
    if (kind == REAP_BLOCK_COUNTS || !full)
        return __atomic_fetch_add(&header.next_block, 1, __ATOMIC_RELAXED);
    if (header_ != &own_) return 0; // the recorders' own end is what the header has
    if (own_.stop_reason == REAP_STOP_NONE) {
        own_.stop_reason = REAP_STOP_SIZE;
        own_.stop_ticks = ticks_now(REAP_CLOCK_MONOTONIC_NS);
    }
    ++own_.stop_count;
    return 0;
}

void AttachedFile::write(uint32_t block, size_t offset, const void *data, size_t bytes) {
    write_all(file_, data, bytes, uint64_t{block} * REAP_BLOCK_BYTES + offset, path_);
}

void AttachedFile::hold(const MappedFile &file) {
    constexpr size_t most = 256;
    const std::scoped_lock locked(changing_);
    const bool known = std::ranges::any_of(held_, [&file](const HeldFile &held) {
        return held.path == file.path && held.build_id == file.build_id;
    });
    if (known || held_.size() == most) return;
    const int descriptor = open_regular(file.opened);
    if (descriptor >= 0)
        held_.push_back({file.path, file.build_id, std::make_shared<Descriptor>(descriptor)});
}

void AttachedFile::summarise(uint32_t image, const AttachSummary &summary) {
    const std::scoped_lock held(changing_);
    summaries_[image] = summary;
    AttachSummary all{};
    for (const auto &[number, each] : summaries_) {
        all.windows += each.windows;
        all.window_ns += each.window_ns;
        all.watched_ns += each.watched_ns;
        all.window_cpu_ns += each.window_cpu_ns;
        all.watched_cpu_ns += each.watched_cpu_ns;
        all.calls += each.calls;
        all.cost_ns += each.cost_ns;
        all.lost += each.lost;
        all.slowed += each.slowed;
        all.broken += each.broken;
        all.unsampled += each.unsampled;
    }
    own_.attach = all;
    shared().attach = all;
    write_header();
}

void AttachedFile::write_header() {
    if (header_ == &own_) write_all(file_, &own_, sizeof own_, 0, path_);
}

AttachedRecording::AttachedRecording(AttachedFile &file, pid_t process, const std::string &provider,
                                     uint32_t parent)
    : file_(file), image_(file.add_image()), pid_(static_cast<uint32_t>(process)), by_size_(REAP_EXACT_SIZES),
      large_objects_(REAP_LARGE_BINS), large_bytes_(REAP_LARGE_BINS) {
    put_image(provider, parent);
}

void AttachedRecording::put_image(const std::string &provider, uint32_t parent) {
    const std::string folder = "/proc/" + std::to_string(pid_);
    const ProcessStat stat = stat_of(pid_).value_or(ProcessStat{});
    std::string command = read_all(folder + "/cmdline");
    command.resize(command.find_last_not_of('\0') + 1); // one that wrote its title over it leaves many
    process_start_ = stat.start;
    char executable[PATH_MAX];
    const ssize_t length = ::readlink((folder + "/exe").c_str(), executable, sizeof executable);
    append(definitions_, Body()
                             .number(parent)
                             .number(stat.parent)
                             .number(0)
                             .text(std::string(executable, static_cast<size_t>(std::max<ssize_t>(length, 0))))
                             .text(provider)
                             .text(command)
                             .record(REAP_TAG_IMAGE));
}

void AttachedRecording::map(const std::vector<MappedFile> &files) {
    for (const MappedFile &file : files) {
        if (!mapped_.emplace(std::pair(file.start, file.path), true).second) continue;
        append(definitions_, Body()
                                 .number(mapped_.size())
                                 .number(file.start)
                                 .number(file.end)
                                 .number(file.bias)
                                 .text(file.path)
                                 .text(file.build_id)
                                 .record(REAP_TAG_MODULE));
        file_.hold(file);
    }
}

uint32_t AttachedRecording::python(const std::string &function, const std::string &file, uint32_t line) {
    append(definitions_, Body()
                             .number(REAP_CODE_PYTHON)
                             .number(++locations_)
                             .number(line)
                             .text(function)
                             .text(file)
                             .record(REAP_TAG_CODE));
    return locations_;
}

void AttachedRecording::note_python(uint64_t version, reap_unknown_code why) {
    append(definitions_, Body().number(REAP_CODE_UNKNOWN).number(version).number(why).record(REAP_TAG_CODE));
}

uint32_t AttachedRecording::stack(const std::vector<uint64_t> &callers) {
    uint32_t parent = 0;
    for (size_t at = callers.size(); at-- > 0;) {
        const auto next = static_cast<uint32_t>(frames_.size() + 1);
        const auto [known, fresh] = frames_.emplace(std::pair(parent, callers[at]), next);
        if (fresh) {
            append(definitions_,
                   Body().number(next).number(callers[at]).number(parent).record(REAP_TAG_FRAME));
        }
        parent = known->second;
    }
    return parent;
}

void AttachedRecording::add(const SampledCall &call) {
    const uint64_t start = file_.start();
    const double weight = std::max(call.weight * REAP_WEIGHT_UNIT, 1.0);
    append(events_, Body()
                        .number(call.time_ns > start ? call.time_ns - start : 0)
                        .number(call.call)
                        .number(call.size)
                        .number(0) // address
                        .number(call.stack)
                        .number(0) // period
                        .number(0) // duration
                        .number(rounded(weight))
                        .number(0)
                        .number(0)
                        .record(REAP_TAG_SAMPLE));
    calls_[call.call] += call.weight;
    if (call.fresh) fresh_reallocs_ += call.weight;
    if (call.size < REAP_EXACT_SIZES) {
        by_size_[call.size] += call.weight;
    } else {
        const unsigned bin = format::large_bin(call.size);
        large_objects_[bin] += call.weight;
        large_bytes_[bin] += call.weight * static_cast<double>(call.size);
    }
}

void AttachedRecording::add_frees(reap_call call, double count) { calls_[call] += count; }

void AttachedRecording::put_counts() {
    reap_counts counts{};
    const double reallocs = calls_[REAP_CALL_REALLOC] + calls_[REAP_CALL_REALLOCARRAY];
    for (size_t call = 0; call < REAP_CALLS; ++call) {
        if (call != REAP_CALL_MALLOC && call != REAP_CALL_FREE) counts.calls[call] = rounded(calls_[call]);
    }
    counts.fresh_reallocs = rounded(fresh_reallocs_);
    counts.frees = rounded(calls_[REAP_CALL_FREE] + calls_[REAP_CALL_DELETE] + reallocs - fresh_reallocs_);
    for (size_t size = 0; size < REAP_EXACT_SIZES; ++size) counts.by_size[size] = rounded(by_size_[size]);
    for (size_t bin = 0; bin < REAP_LARGE_BINS; ++bin) {
        counts.large_objects[bin] = rounded(large_objects_[bin]);
        counts.large_bytes[bin] = rounded(large_bytes_[bin]);
    }
    const auto *bytes = reinterpret_cast<const unsigned char *>(&counts);
    counts_.payload.assign(bytes, bytes + sizeof counts);
    counts_.written = 0;
    if (counts_.index == 0) counts_.index = file_.take_block(counts_.kind);
}

void AttachedRecording::append(Stream &stream, const std::vector<unsigned char> &record) {
    if (full_) return;
    if (stream.index == 0 || stream.payload.size() + record.size() > REAP_PAYLOAD_BYTES) {
        const uint32_t next = file_.take_block(stream.kind);
        full_ = next == 0;
        if (full_) return;
        if (stream.index != 0) {
            write_block(stream, true);
            ++stream.sequence;
        }
        stream.payload.clear();
        stream.written = 0;
        stream.index = next;
    }
    stream.payload.insert(stream.payload.end(), record.begin(), record.end());
}

void AttachedRecording::write_block(Stream &stream, bool seal) {
    const size_t bytes = stream.payload.size() - stream.written;
    if (stream.index == 0 || (bytes == 0 && !seal)) return;
    file_.write(stream.index, REAP_BLOCK_HEADER_BYTES + stream.written,
                stream.payload.data() + stream.written, bytes);
    stream.written = stream.payload.size();
    reap_block_header head{};
    head.magic = REAP_BLOCK_MAGIC;
    head.kind = file_.kind_of(stream.kind);
    head.flags = seal ? REAP_BLOCK_SEALED : 0;
    head.pid = pid_;
    head.process_start = process_start_;
    head.image = image_;
    head.sequence = stream.sequence;
    head.base_ticks = file_.start();
    head.committed = static_cast<uint32_t>(stream.payload.size());
    if (seal) head.checksum = checksum(stream.payload.data(), stream.payload.size(), head.image);
    file_.write(stream.index, 0, &head, sizeof head);
}

void AttachedRecording::flush() { write_all_blocks(false); }
void AttachedRecording::finish() { write_all_blocks(true); }

void AttachedRecording::write_all_blocks(bool seal) {
    put_counts();
    // Definitions first: who reads meanwhile finds those of each event.
    for (Stream *stream : {&definitions_, &events_, &counts_}) write_block(*stream, seal);
    file_.summarise(image_, summary_);
}

} // namespace reap::native
