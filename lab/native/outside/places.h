// Which file and which function an address of a process lies in, and whether that is the allocator's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "outside/code.h"
#include "symbols/symbols.h"
#include "trace/definitions.h"

namespace reap::native {

struct Mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // in the file, of `start`
    std::string path;
};

struct Place {
    std::string path;
    uint64_t address; // in the file, as symbols have it
    uint64_t offset;  // in the file, as it is read; kNoOffset where that is not known
};

inline constexpr uint64_t kNoOffset = UINT64_MAX;

// What a reader knows of the allocators that a trace does not say itself.
struct Allocators {
    // Files that serve malloc, as a whole, beside those that images name; a last * stands for any end.
    std::vector<std::string> files;
    std::vector<std::string> functions; // names elsewhere, as symbols have them, the same
};

class Places {
  public:
    Places(const Definitions &definitions, Symbolizer &symbols, const Allocators &allocators);

    void map(uint32_t pid, Mapping mapping);
    // A process that began as another's copy has its mappings.
    void fork(uint32_t child, uint32_t parent) { parents_.emplace(child, parent); }

    std::optional<Place> find(uint32_t pid, uint64_t pointer);

    // glibc's malloc.c, the operators of C++ runtimes, files that are allocators, functions by name.
    bool in_allocator(const Place &place);

    // Whether a call that was made at `place` was made by the allocator: system calls are made through small
    // wrappers in libc, and then the caller's return address lies near the top of the stack.
    bool called_by_allocator(uint32_t pid, const Place &place, const std::vector<uint64_t> &stack);

    // Whether `place` is a function that clears or copies a block for the allocator. The first word of the
    // stack is then its return address: into the allocator, into the recorder before it, or behind a call of
    // calloc, which glibc leaves by a jump to memset.
    bool fills_for_allocator(uint32_t pid, const Place &place, const std::vector<uint64_t> &stack,
                             const std::string &recorder);

    // The files that were mapped, each once.
    [[nodiscard]] std::set<std::string> files() const;

  private:
    const Mapping *mapping(uint32_t pid, uint64_t pointer) const;
    bool serves_malloc(uint32_t pid, const Mapping &mapping) const;
    std::vector<AddressRange> ranges_of(const std::string &path);

    const Definitions &definitions_;
    Symbolizer &symbols_;
    Code code_;
    std::set<std::string> providers_;
    std::vector<std::string> functions_;
    std::map<uint32_t, std::vector<uint32_t>> images_by_pid_;
    std::map<uint32_t, std::vector<Mapping>> mappings_;
    std::map<uint32_t, uint32_t> parents_;
    std::map<std::string, std::vector<AddressRange>> ranges_;
};

std::string base_name(const std::string &path);

} // namespace reap::native
