// One process of the littered tree: who of it litters, how much, and what it says of it.
#pragma once

#include <cstdint>

#include "litter_file.h"
#include "provider.h"

namespace reap::preload {

class Process {
  public:
    // Litters the first thread's heap. Called once, before anything of the program runs.
    void start(char **environment) noexcept;

    // The number of a thread that is about to be created, if it has a share of the litter; else 0. `caller`
    // is who creates it: an allocator's own threads are left alone.
    uint32_t next_thread(const void *caller) noexcept;

    // Litters the calling thread's heap with the share of that number. Null if nobody will read its report.
    reap_litter_report *litter_thread(uint32_t number) noexcept;

    // Whether the creator of the thread of that report waited until all of it was laid.
    static void waited_for(reap_litter_report *report, bool so) noexcept;

    // No further thread litters.
    void leave_threads_alone() noexcept;

    // Something is opened whose malloc is bound past all preloads.
    void deepbind_seen() const noexcept;

  private:
    // Whether this is the program that the litter is for, and not one that will execute it.
    [[nodiscard]] bool is_meant() const noexcept;

    LitterFile file_;
    Provider provider_;    // of malloc
    bool glibc_ = false;   // it is the C library, or passes on to it
    uint32_t threads_ = 1; // created so far, with the first
};

extern Process process;

} // namespace reap::preload
