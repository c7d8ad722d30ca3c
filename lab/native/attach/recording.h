// Writes what was seen of running processes into a trace.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "files/file.h"
#include "reap_trace.h"

namespace reap::native {

// An allocation that stands for `weight` of them.
struct SampledCall {
    reap_call call = REAP_CALL_MALLOC;
    uint32_t stack = 0;
    uint64_t time_ns = 0;
    uint64_t size = 0;
    double weight = 1;
    bool fresh = false; // a realloc of nothing
};

// A file that was mapped as code, and is held open: it may be deleted or replaced meanwhile.
struct HeldFile {
    std::string path; // of the module
    std::string build_id;
    std::shared_ptr<Descriptor> file;
};

using AttachSummary = decltype(reap_file_header::attach);

// Whether recorders that write to the file at `path` sample time by a timer of their own.
bool samples_by_timer(const std::string &path);

// The file, shared by the recordings of several processes, each in a thread of its own. Throws
// std::system_error where it cannot be written.
class AttachedFile {
  public:
    // `path` is a trace that was just created, with CLOCK_MONOTONIC; or with `beside` one that recorders in
    // the processes write to meanwhile. `from_start`: the process has executed none of its program before.
    AttachedFile(std::string path, bool from_start, bool beside);
    ~AttachedFile();
    AttachedFile(const AttachedFile &) = delete;
    AttachedFile &operator=(const AttachedFile &) = delete;

    // A process is watched from now on: beside a recorder the header says so.
    void mark();
    // The time that the recording covers begins now, or ended at this time of CLOCK_MONOTONIC.
    void begin();
    void end(uint64_t time_ns);
    [[nodiscard]] uint64_t start() const noexcept { return own_.start_monotonic_ns; }
    // The kind of its blocks, as their heads have it.
    [[nodiscard]] uint16_t kind_of(reap_block_kind kind) const noexcept;

    // The number of a new process image.
    uint32_t add_image();
    // A block of its own, by its number; 0 where the file has reached its limit. One for counters ignores
    // that.
    uint32_t take_block(reap_block_kind kind);
    void write(uint32_t block, size_t offset, const void *data, size_t bytes);
    // Sum of the images that have begun and the libraries that were about to be opened in the processes of
    // recorders; changes when there may be new files of code.
    [[nodiscard]] uint64_t loads() const noexcept;
    // What the header says of the windows of an image.
    void summarise(uint32_t image, const AttachSummary &summary);
    // Opens the file of a module and keeps it open, each build once.
    void hold(const MappedFile &file);
    [[nodiscard]] const std::vector<HeldFile> &held() const noexcept { return held_; }
    // Of all images together.
    [[nodiscard]] AttachSummary summary() const noexcept { return own_.attach; }

  private:
    // The header, which recorders write to meanwhile if it is mapped. Throws std::system_error if the program
    // has truncated the file: an access would end this process.
    reap_file_header &shared();
    void write_header();

    std::string path_;
    Descriptor file_;
    reap_attached how_;
    std::mutex changing_;
    reap_file_header own_{};
    reap_file_header *header_ = &own_;            // of a file that others write to, too, it is mapped
    std::map<uint32_t, AttachSummary> summaries_; // by image
    std::vector<HeldFile> held_;
};

// One process image, as if all were of one thread. The file can be read at any time: what is added to a block
// is written before its head says so, and a block is sealed when nothing more comes. Throws what the file
// throws.
class AttachedRecording {
  public:
    // `parent` is the image by whose process this one was made, and one more; 0: none that is known.
    AttachedRecording(AttachedFile &file, pid_t process, const std::string &provider, uint32_t parent);

    // Its number.
    [[nodiscard]] uint32_t image() const noexcept { return image_; }
    // Files that were not told before.
    void map(const std::vector<MappedFile> &files);
    // A line of Python code as a location of frames; and why there are none of an interpreter.
    uint32_t python(const std::string &function, const std::string &file, uint32_t line);
    void note_python(uint64_t version, reap_unknown_code why);
    // The number of a stack; return addresses and locations of Python, innermost first.
    uint32_t stack(const std::vector<uint64_t> &callers);
    void add(const SampledCall &call);
    void add_frees(reap_call call, double count);
    // Writes what has been added, and the header.
    void flush();
    // The same, and nothing more comes.
    void finish();

    // What the header says of the windows.
    AttachSummary &summary() noexcept { return summary_; }

  private:
    // A block that is being filled, as often as one is full.
    struct Stream {
        reap_block_kind kind;
        uint32_t index = 0; // 0: none yet
        uint32_t sequence = 0;
        std::vector<unsigned char> payload;
        size_t written = 0; // bytes of it
    };

    void append(Stream &stream, const std::vector<unsigned char> &record);
    void write_block(Stream &stream, bool seal);
    void write_all_blocks(bool seal);
    void put_counts();
    void put_image(const std::string &provider, uint32_t parent);

    AttachedFile &file_;
    uint32_t image_;
    uint32_t pid_;
    uint64_t process_start_ = 0;
    AttachSummary summary_{};
    Stream definitions_{REAP_BLOCK_DEFINITIONS, 0, 0, {}, 0};
    Stream events_{REAP_BLOCK_EVENTS, 0, 0, {}, 0};
    Stream counts_{REAP_BLOCK_COUNTS, 0, 0, {}, 0};
    bool full_ = false;                                        // the file is: the counters go on
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> frames_; // by parent and address
    std::map<std::pair<uint64_t, std::string>, bool> mapped_;
    uint32_t locations_ = 0;
    std::array<double, REAP_CALLS> calls_{};
    double fresh_reallocs_ = 0;
    std::vector<double> by_size_;
    std::vector<double> large_objects_;
    std::vector<double> large_bytes_;
};

} // namespace reap::native
