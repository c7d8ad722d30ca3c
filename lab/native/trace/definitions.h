// The names behind the numbers of a trace: process images, modules, frames of stacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/block_reader.h"
#include "trace/kept_names.h"
#include "trace/record_reader.h"

namespace reap::native {

struct Module {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t bias = 0; // what the loader added to the addresses of the file
    std::string path;
    std::string build_id;    // as bytes; empty: none is known
    bool identified = false; // the recorder looked for one: those of earlier versions do not
    uint64_t own = 0;        // bits of enum reap_own
};

struct Frame {
    uint64_t address = 0; // a return address
    uint32_t parent = 0;  // frame id, 0: this is the outermost
    uint32_t modules = 0; // how many modules of its image were defined before it
};

// A line of Python code.
struct PythonLocation {
    std::string function;
    std::string file;
    uint32_t line = 0; // 0: none
};

// Code that was compiled at run time: [start, end).
struct CompiledCode {
    uint64_t start = 0;
    uint64_t end = 0;
    std::string name;
};

// An interpreter whose functions are not in stacks.
struct UnknownInterpreter {
    uint32_t pid = 0;
    uint64_t version = 0; // as PY_VERSION_HEX
    uint64_t reason = 0;  // enum reap_unknown_code
};

// A map of code compiled at run time that was not taken, or not whole.
struct RefusedMap {
    uint32_t pid = 0;
    uint64_t reason = 0; // enum reap_refused_map
};

struct ImageInfo {
    uint32_t number = 0;
    uint32_t pid = 0;
    uint32_t ppid = 0;
    uint64_t process_start = 0;
    int64_t parent = -1; // the image it was forked from
    uint32_t flags = 0;  // enum reap_image_flags
    uint64_t first_ticks = 0;
    std::string executable;
    std::string provider; // the file that serves malloc
    std::vector<std::string> command;
    std::vector<Module> modules;
    std::vector<Frame> frames;          // by id - first_frame
    std::vector<PythonLocation> python; // by number - first_python
    uint32_t first_python = 1;          // as first_frame
    std::vector<CompiledCode> compiled; // by start
    uint32_t first_frame = 1;           // a forked image goes on counting where its parent was
};

// A process of the tree of which nothing is recorded.
struct UnrecordedProcess {
    uint32_t pid;
    uint64_t reason; // enum reap_unrecorded
    std::string executable;
    uint32_t image = 0; // that says so; the launcher is none
};

// All definitions of a trace. Memory is bounded by the number of distinct frames.
class Definitions {
  public:
    explicit Definitions(BlockFile &file, BlockReader::File state = BlockReader::File::Whole);

    // Reads what was committed to a growing file since. Takes what `BlockReader::next` does for each image.
    void update();
    // Reads what is left of an image to which nothing more is committed; from then on it is as in a whole
    // file.
    void close(uint32_t image);

    [[nodiscard]] const std::vector<ImageInfo> &images() const noexcept { return images_; }

    // The place of an image in `images()`, or -1.
    [[nodiscard]] int64_t find(uint32_t number) const noexcept;

    // The frame with this id as `image` knows it, its own or inherited by fork; null if undefined.
    [[nodiscard]] const Frame *frame(uint32_t image, uint32_t id) const noexcept;

    // The module that `address` lies in as `image` sees it; null if none is known. The latest: a library that
    // was closed may have given its place to another.
    [[nodiscard]] const Module *module(uint32_t image, uint64_t address) const noexcept;

    // The module that a frame of `image` lies in: the latest that was defined before it.
    [[nodiscard]] const Module *module_of(uint32_t image, uint32_t frame) const noexcept;

    // The Python code of a frame as `image` knows it; null if the frame is native or the code undefined.
    [[nodiscard]] const PythonLocation *python(uint32_t image, uint64_t address) const noexcept;

    // The code compiled at run time that `address` lies in as `image` has it; null if none is known.
    [[nodiscard]] const CompiledCode *compiled(uint32_t image, uint64_t address) const noexcept;

    [[nodiscard]] const std::vector<UnknownInterpreter> &unknown() const noexcept { return unknown_; }

    [[nodiscard]] const std::vector<RefusedMap> &refused_maps() const noexcept { return refused_maps_; }

    // The names that the trace has itself.
    [[nodiscard]] const KeptNames &kept() const noexcept { return kept_; }

    // How many numbers stacks of this image can have.
    [[nodiscard]] uint32_t frame_limit(uint32_t image) const noexcept;

    // What the processes themselves say of others that they started without the recorder; and of those that
    // they started with it, the ones of which nothing came.
    [[nodiscard]] std::vector<UnrecordedProcess> unrecorded() const;

  private:
    void read(BlockReader &blocks);
    // False where it makes no sense.
    void note_unrecorded(UnrecordedProcess process);
    bool read_piece(ImageInfo &image, const std::vector<unsigned char> &piece);
    void read_code(ImageInfo &image, RecordReader &fields);
    ImageInfo &image_of(const BlockInfo &block);

    BlockFile &file_;
    BlockReader::File state_;
    size_t seen_ = 0;                        // blocks of the file
    std::map<uint32_t, BlockReader> unread_; // by image
    std::unordered_set<uint32_t> closed_;    // images
    std::vector<ImageInfo> images_;
    std::vector<UnrecordedProcess> unrecorded_;
    std::vector<UnknownInterpreter> unknown_;
    std::vector<RefusedMap> refused_maps_;
    KeptNames kept_;
    std::unordered_map<uint32_t, size_t> places_;
};

} // namespace reap::native
