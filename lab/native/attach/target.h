// A running process: what it maps, and the functions by which it allocates.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attach/known_functions.h"
#include "attach/process/linked.h"
#include "attach/process/mappings.h"
#include "reap_trace.h"
#include "symbols/symbols.h"

namespace reap::native {

// A file that is mapped as code, where it lies.
struct MappedFile {
    std::string path;
    std::string opened;
    std::string identity; // see FileMapping
    uint64_t start = 0;   // of its code
    uint64_t end = 0;
    uint64_t offset = 0;  // in the file, of its code
    uint64_t bias = 0;    // what the loader added to the addresses of the file
    std::string build_id; // as bytes; empty: it has none

    [[nodiscard]] bool has(uint64_t address) const noexcept { return address >= start && address < end; }
};

struct AllocatorFunction {
    reap_call call = REAP_CALL_MALLOC;
    const char *arguments = ""; // see reap_own_functions.h
    bool skip_null = false; // a call with a null first argument allocates and frees nothing, or another does
    std::string path;       // of the file, as the process knows it
    std::string opened;     // and as this process can open it
    uint64_t offset = 0;    // in the file, of the instruction to probe
    uint64_t begin = 0;     // in the process
    uint64_t end = 0;
    bool emulated = false;             // the kernel emulates that instruction: the probe costs less
    std::vector<AddressRange> around;  // see around_probe; in the process
    std::vector<AddressRange> callers; // others of them that call it; see ProbeKind
};

class Target {
  public:
    // Throws AttachFailure where there is no such process or it may not be looked at.
    explicit Target(pid_t process);

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    [[nodiscard]] const std::vector<MappedFile> &files() const noexcept { return files_; }
    // Reads the mappings again; whether they differ. Those of a process that has ended stay.
    bool update();
    // Whether any of the functions is still where it was found: else another program is executed now.
    [[nodiscard]] bool has(const std::vector<AllocatorFunction> &functions) const noexcept;
    // Number of the function that has its probe at this address, wherever its file is mapped; their count:
    // none has.
    [[nodiscard]] size_t probed_at(uint64_t address,
                                   const std::vector<AllocatorFunction> &functions) const noexcept;

    // The file that defines this function; null: none does.
    const MappedFile *file_with(const std::string &function);
    // Where in the process a file has what is of these names, as far as it has them; and in the file.
    std::map<std::string, uint64_t> addresses(const MappedFile &file, const std::vector<std::string> &names);
    uint64_t offset_of(const MappedFile &file, uint64_t address);

    // The functions of the allocator that the process uses, each address once. Throws AttachFailure where no
    // file has any. `provider` becomes the path of the file that serves malloc.
    // With `linked` those alone that no preload gets in front of: in the executable, or with names of their
    // own.
    std::vector<AllocatorFunction> functions(std::string &provider, LinkedFiles *linked);

  private:
    [[nodiscard]] const MappedFile *file_at(uint64_t address) const noexcept;
    const MappedFile *bound_provider();
    const MappedFile *likely_provider();
    const std::vector<OwnNames> &own_names(const MappedFile &file);
    void add_functions(const MappedFile &file, const OwnNames &own, std::vector<AllocatorFunction> &found);

    pid_t process_;
    std::vector<FileMapping> mappings_;
    std::vector<MappedFile> files_;
    Symbolizer symbols_;
    std::map<std::string, std::vector<OwnNames>> own_; // by the file as it is opened
};

} // namespace reap::native
