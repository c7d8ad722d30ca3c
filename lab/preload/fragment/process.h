// One process of the littered tree: which threads litter, how much, and their reports.
#pragma once

#include <cstdint>

#include "litter_file.h"
#include "provider.h"

namespace reap::preload {

class Process {
  public:
    // Litters the first thread's heap. Called once, before any code of the program runs.
    void start(char **environment) noexcept;

    // The number of a thread that is about to be created if it has a share of the litter, else 0. `caller` is
    // the code that creates it: an allocator's own threads do not litter.
    uint32_t next_thread(const void *caller) noexcept;

    // Litters the calling thread's heap with the share of that number. Null if there was no slot for its
    // report.
    reap_litter_report *litter_thread(uint32_t number) noexcept;

    // Records in a thread's report whether its creator waited until the littering was complete.
    static void set_creator_waited(reap_litter_report *report, bool waited) noexcept;

    // No further thread litters.
    void stop_littering_threads() noexcept;

    // A library is opened with RTLD_DEEPBIND: its malloc bypasses all preloads.
    void count_deepbind() const noexcept;

  private:
    // Whether this is the program to litter, and not one that will execute it.
    [[nodiscard]] bool is_target() const noexcept;

    LitterFile file_;
    Provider provider_;    // of malloc
    bool glibc_ = false;   // the provider is the C library, or forwards to it
    uint32_t threads_ = 1; // created so far, including the first
};

extern Process process;

} // namespace reap::preload
