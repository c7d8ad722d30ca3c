// Names of functions and lines of files, which are read in a sandbox. Asks no network, but where a
// NetworkAllowed lives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "files/file.h"
#include "sandbox/sandbox.h"
#include "symbols/own_names.h"

namespace reap::native {

struct SourceFrame {
    std::string function; // demangled; empty when unknown
    std::string file;
    int line = 0;
    bool inlined = false;

    static auto fields(auto &frame) {
        return std::tie(frame.function, frame.file, frame.line, frame.inlined);
    }
};

struct AddressRange {
    uint64_t begin;
    uint64_t end;

    static auto fields(auto &range) { return std::tie(range.begin, range.end); }
};

// What is loaded of a file.
struct Segment {
    uint64_t offset;
    uint64_t address;
    uint64_t size;
    bool is_code;

    static auto fields(auto &segment) {
        return std::tie(segment.offset, segment.address, segment.size, segment.is_code);
    }
};

// Permission for elfutils to ask the debuginfod servers of DEBUGINFOD_URLS for what it does not find, as long
// as the object lives. For one thread at a time.
class NetworkAllowed {
  public:
    NetworkAllowed();
    ~NetworkAllowed();
    NetworkAllowed(const NetworkAllowed &) = delete;
    NetworkAllowed &operator=(const NetworkAllowed &) = delete;
};

// Opens, for a reader that asks for it by itself, a regular ELF file of code or of debug information. Returns
// -1 with errno. A core dump is neither, and has the memory of a process, which may be another user's.
int open_with_names(const std::string &path);

// Opens each file once. A file that is gone, or is no ELF, has no names; nor has one that its reader did not
// survive. Nothing throws.
class Symbolizer {
  public:
    Symbolizer();

    // The function at `address` (as in the file, without load bias) and those it was inlined into, innermost
    // first; at least one frame, perhaps without a name. Each address is looked up once.
    const std::vector<SourceFrame> &resolve(const std::string &path, uint64_t address);
    // Looks up addresses that `resolve` will be asked for: many together cost 3 us each, and one alone 20.
    void prepare(const std::string &path, const std::vector<uint64_t> &addresses);

    // The compiler of the code at `address`, with its options where it notes them (DW_AT_producer);
    // empty where no unit of DWARF says it.
    std::string producer(const std::string &path, uint64_t address);

    // The GNU build id of a file, as bytes; empty where it has none or cannot be read. Reads headers alone.
    std::string build_id(const std::string &path);
    // Whether there is an ELF file at `path`.
    bool opens(const std::string &path);

    // Makes symbolizers that have not been asked for anything look for debug files in these folders, too, as
    // elfutils does in /usr/lib/debug.
    static void search(const std::vector<std::string> &folders);

    // Lets `name` stand, from now on, for the debug file, or the file, with this build id, which elfutils
    // asks servers for. False where it finds none.
    bool adopt_by_build_id(const std::string &name, const std::string &build_id);

    // Range of the general allocator's own code in a libc: from its first helper to its last function.
    // glibc compiles malloc.c into one stretch; without debug symbols its beginning is taken to be the end of
    // the exported function before it. Addresses as in the file; empty when the file exports no malloc.
    std::vector<AddressRange> malloc_ranges(const std::string &path);

    // The address (as symbols have it) of a byte at this offset in the file.
    uint64_t address_at(const std::string &path, uint64_t offset);

    // The same for the begin of a mapping of code: its first page may have the end of another segment, too,
    // as in files linked by lld.
    uint64_t code_mapped_at(const std::string &path, uint64_t offset);

    // Offset in the file of a byte at this address; the same number where no segment has it.
    uint64_t offset_at(const std::string &path, uint64_t address);

    // The function whose address the dynamic linker writes to `slot`, as relocations have it; empty if none.
    std::string imported(const std::string &path, uint64_t slot);

    // Slots to which the dynamic linker writes the address of this function.
    std::vector<uint64_t> slots(const std::string &path, const std::string &name);

    // The functions of these exact (mangled) names that the file defines, and where they are.
    std::vector<std::pair<std::string, AddressRange>> named(const std::string &path,
                                                            const std::vector<std::string> &names);

    // Allocators with names of their own whose functions a file defines. Empty without symbols.
    std::vector<OwnNames> own_names(const std::string &path);

    // The variables of these exact names that the file defines, and where they are.
    std::map<std::string, uint64_t> objects(const std::string &path, const std::vector<std::string> &names);

    // The function at `address`, demangled; empty where no symbol covers it. Faster than `resolve`.
    std::string function(const std::string &path, uint64_t address);

    // The ranges of functions with these exact (mangled) names; one that ends in * stands for all that begin
    // so.
    std::vector<AddressRange> functions(const std::string &path, const std::vector<std::string> &names);

    // Debug files that were found under the names that the file gives, and not taken, as they are of another
    // build; each once.
    std::vector<std::string> refused(const std::string &path);

    // Files that could not be read, as their reader did not survive it or none could be started, and why: as
    // the end of a sentence about each.
    [[nodiscard]] const std::map<std::string, std::string> &failed() const noexcept { return failed_; }

  private:
    template <auto Method, class... Arguments>
    auto ask(const std::string &path, const Arguments &...arguments);
    int open(const std::string &path) const;
    const std::vector<Segment> &segments(const std::string &path);
    const std::map<uint64_t, std::string> &imports(const std::string &path);

    Sandbox sandbox_;
    std::string asked_; // the file that is asked about
    std::map<std::string, std::string> failed_;
    int failures_ = 0; // of readers: where none could be started no file is to blame
    std::map<std::string, Descriptor> adopted_;
    std::map<std::string, std::vector<Segment>> segments_;
    std::map<std::string, std::map<uint64_t, std::string>> imports_;
    std::map<std::string, std::unordered_map<uint64_t, std::vector<SourceFrame>>> resolved_;
};

} // namespace reap::native
