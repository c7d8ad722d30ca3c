// The statistics of allocators that are linked into files of this process, at addresses that the lab found.
//
// The lab reads the symbol tables of the files that the process has mapped, and writes the addresses of their
// statistics functions into the resident file with the token that it read there before. Each dlclose changes
// the token, so that a function is never called whose file may have been unloaded.
#pragma once

#include "reap_resident.h"

namespace reap::preload {

class Linked {
  public:
    // `file` is the process's own. Call before there are threads.
    void start(reap_resident *file) noexcept;

    // Calls the requested functions; false if nothing is requested. For one thread alone. Takes the
    // allocators' own locks, and for a new request the loader's: it waits until a dlopen in progress is over,
    // so that no function of a file without its constructors is called.
    bool read(reap_resident_linked (&values)[REAP_RESIDENT_LINKED]) noexcept;

    // To be called around each dlclose. `before_close` waits, a second at most, until no function is being
    // called.
    void before_close() noexcept;

    // Whether a function was called since the start or the last `forget`: the thread that called it may have
    // data of its own in the function's file.
    [[nodiscard]] bool has_called() const noexcept {
        return __atomic_load_n(&called_, __ATOMIC_SEQ_CST) != 0;
    }
    void after_close() noexcept;

    // To be called when the thread begins.
    void forget() noexcept { __atomic_store_n(&called_, 0, __ATOMIC_SEQ_CST); }

  private:
    bool accept(const reap_resident_request &request) noexcept;

    reap_resident *file_ = nullptr;
    int closing_ = 0;       // calls of dlclose in progress (atomic)
    int calling_ = 0;       // 1: a function is being called (atomic)
    int called_ = 0;        // 1: one was called by the present thread (atomic)
    uint64_t accepted_ = 0; // the token of the last accepted request
    uint32_t sequence_ = 0; // and its sequence
};

} // namespace reap::preload
