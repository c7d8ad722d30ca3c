// Probes on functions of a running process: uprobes by BPF links, or on older kernels through
// perf_event_open, each with a BPF program.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attach/probe/holder.h"
#include "attach/probe/program.h"

namespace reap::native {

struct ProbePlace {
    int file = -1;       // open
    uint64_t offset = 0; // of the function in it
    ProbeKind kind;
};

// The probes can be set and removed again and again. Every call of such a function costs the process some
// time while its probe is set; nothing else of it changes. They are removed when this process ends, whatever
// ends it.
class Probes {
  public:
    // Loads the programs. `python`: samples have the frames of this interpreter, if the kernel takes the
    // program that reads them; null: they have none. Throws AttachFailure.
    Probes(pid_t process, std::vector<ProbePlace> places, const PythonPlaces *python = nullptr);
    ~Probes();
    Probes(const Probes &) = delete;
    Probes &operator=(const Probes &) = delete;

    // Sets all probes; counting starts when the last is set. Takes some 10 ms. Throws AttachFailure.
    void set();
    // Ends counting and removes all of them. Links take some 20 ms, and then as long again. Events are
    // removed one after another, each in some 100 ms in which the process meets it uncounted: the busiest
    // first, and `removed` is called with each that is gone.
    void remove(const std::function<void(size_t)> &removed = {});

    // Counting begins, or ends, at this moment.
    void count(bool on) noexcept;
    void sample(double chance) noexcept;
    [[nodiscard]] uint64_t calls(size_t probe) const noexcept { return read(state_->calls[probe]); }
    // Calls that met a probe, whether they were counted or not: what the process pays for.
    [[nodiscard]] uint64_t met(size_t probe) const noexcept { return read(state_->met[probe]); }
    [[nodiscard]] uint64_t samples() const noexcept { return read(state_->samples); }
    [[nodiscard]] uint64_t lost() const noexcept { return read(state_->lost); }

    [[nodiscard]] bool reads_python() const noexcept { return reads_python_; }
    // CPU time that reading Python's frames took the process.
    [[nodiscard]] uint64_t python_ns() const noexcept { return read(state_->python_ns); }
    // What Python takes for the id of the first thread, where it is not its own.
    void main_thread(uint64_t id) noexcept;

    // Appends the samples that have been taken since the last call.
    void drain(std::vector<ProbeSample> &to);

  private:
    static uint64_t read(const uint64_t &value) noexcept { return __atomic_load_n(&value, __ATOMIC_RELAXED); }
    void load_sampling(const PythonPlaces *python);
    void close_all();

    std::vector<int> programs_;
    std::vector<std::unique_ptr<Holder>> holders_;
    bool set_ = false;
    bool by_events_ = false;
    bool reads_python_ = false;
    int state_map_ = -1;
    int ring_map_ = -1;
    int sampling_map_ = -1; // has the program that samples
    ProbeState *state_ = nullptr;
    uint64_t *consumed_ = nullptr;      // a page of its own
    unsigned char *produced_ = nullptr; // the page of the producer's position; then the data, twice
};

} // namespace reap::native
