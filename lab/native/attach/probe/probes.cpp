#include "attach/probe/probes.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

#include "attach/failure.h"
#include "attach/probe/bpf.h"

namespace reap::native {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kRingBytes = size_t{8} << 20;

// Whether BPF links set the probes. They are there since Linux 6.6, and until 6.10 met one thread alone.
bool by_links() {
    const char *asked = std::getenv("REAP_PROBES");
    if (asked != nullptr && std::strcmp(asked, "events") == 0) return false;
    utsname system{};
    if (::uname(&system) != 0) return false;
    char *end = nullptr;
    const long major = std::strtol(system.release, &end, 10);
    const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
    return major > 6 || (major == 6 && minor >= 10);
}

uint32_t uprobe_type() {
    std::ifstream file("/sys/bus/event_source/devices/uprobe/type");
    uint32_t type = 0;
    if (!(file >> type)) throw AttachFailure("uprobes", 0);
    return type;
}

} // namespace

Probes::Probes(pid_t process, std::vector<ProbePlace> places, const PythonPlaces *python) {
    by_events_ = !by_links();
    const uint32_t type = by_events_ ? uprobe_type() : 0;
    if (places.size() > kMostProbes) places.resize(kMostProbes);
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    (void)::setrlimit(RLIMIT_MEMLOCK, &unlimited); // kernels before 5.11 count maps against it
    try {
        state_map_ = make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(ProbeState), 1, BPF_F_MMAPABLE);
        ring_map_ = make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, kRingBytes, 0);
        state_ = map_memory<ProbeState>(state_map_, kPage, PROT_READ | PROT_WRITE, 0);
        consumed_ = map_memory<uint64_t>(ring_map_, kPage, PROT_READ | PROT_WRITE, 0);
        produced_ = map_memory<unsigned char>(ring_map_, kPage + 2 * kRingBytes, PROT_READ, kPage);
        sampling_map_ = make_map(BPF_MAP_TYPE_PROG_ARRAY, sizeof(uint32_t), sizeof(uint32_t), 1, 0);
        load_sampling(python);
        for (uint32_t probe = 0; probe < places.size(); ++probe) {
            const ProbePlace &place = places[probe];
            const int program = load_program(BPF_PROG_TYPE_KPROBE,
                                             assemble_probe(probe, place.kind, state_map_, sampling_map_));
            if (program < 0) throw AttachFailure("bpf", errno);
            programs_.push_back(program);
            holders_.push_back(std::make_unique<Holder>(
                Holder::Probe{process, type, place.file, place.offset, programs_.back()}));
        }
    } catch (...) {
        close_all();
        throw;
    }
    static_assert(sizeof(ProbeState) <= kPage);
}

// With what reads Python's frames, if the kernel takes that.
void Probes::load_sampling(const PythonPlaces *python) {
    int program = python != nullptr
                      ? load_program(BPF_PROG_TYPE_KPROBE, assemble_sampling(state_map_, ring_map_, python))
                      : -1;
    reads_python_ = program >= 0;
    if (program < 0)
        program = load_program(BPF_PROG_TYPE_KPROBE, assemble_sampling(state_map_, ring_map_, nullptr));
    if (program < 0) throw AttachFailure("bpf", errno);
    programs_.push_back(program);
    uint32_t place = 0;
    bpf_attr attributes{};
    attributes.map_fd = static_cast<uint32_t>(sampling_map_);
    attributes.key = reinterpret_cast<uint64_t>(&place);
    attributes.value = reinterpret_cast<uint64_t>(&program);
    if (bpf(BPF_MAP_UPDATE_ELEM, attributes) != 0) throw AttachFailure("bpf", errno);
}

Probes::~Probes() {
    remove();
    close_all();
}

void Probes::close_all() {
    holders_.clear();
    for (const int program : programs_) ::close(program);
    if (produced_ != nullptr) ::munmap(produced_, kPage + 2 * kRingBytes);
    if (consumed_ != nullptr) ::munmap(consumed_, kPage);
    if (state_ != nullptr) ::munmap(state_, kPage);
    if (sampling_map_ >= 0) ::close(sampling_map_);
    if (ring_map_ >= 0) ::close(ring_map_);
    if (state_map_ >= 0) ::close(state_map_);
}

void Probes::set() {
    count(false);
    set_ = true;
    for (const auto &holder : holders_) holder->ask(true);
    Holder::Answer failed;
    for (const auto &holder : holders_) {
        const Holder::Answer answer = holder->answer();
        if (answer.error != 0) failed = answer;
    }
    if (failed.error != 0) {
        remove();
        throw AttachFailure(failed.by_bpf != 0 ? "bpf" : "perf", failed.error);
    }
    count(true);
}

void Probes::remove(const std::function<void(size_t)> &removed) {
    if (!set_) return;
    count(false);
    set_ = false;
    if (!by_events_) {
        for (const auto &holder : holders_) holder->ask(false);
        for (const auto &holder : holders_) (void)holder->answer();
        return;
    }
    std::vector<size_t> order(holders_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [this](size_t one, size_t other) { return met(one) > met(other); });
    for (const size_t probe : order) {
        holders_[probe]->ask(false);
        (void)holders_[probe]->answer();
        if (removed) removed(probe);
    }
}

void Probes::count(bool on) noexcept { __atomic_store_n(&state_->counting, on ? 1 : 0, __ATOMIC_RELAXED); }

void Probes::sample(double chance) noexcept {
    __atomic_store_n(&state_->chance, static_cast<uint64_t>(chance * 0x1p32), __ATOMIC_RELAXED);
}

void Probes::main_thread(uint64_t id) noexcept {
    __atomic_store_n(&state_->main_thread, id, __ATOMIC_RELAXED);
}

void Probes::drain(std::vector<ProbeSample> &to) {
    const unsigned char *data = produced_ + kPage;
    const uint64_t end = __atomic_load_n(reinterpret_cast<uint64_t *>(produced_), __ATOMIC_ACQUIRE);
    uint64_t at = *consumed_;
    while (at < end) {
        const unsigned char *record = data + at % kRingBytes;
        const uint32_t head = __atomic_load_n(reinterpret_cast<const uint32_t *>(record), __ATOMIC_ACQUIRE);
        if ((head & BPF_RINGBUF_BUSY_BIT) != 0) break; // still being written
        const uint32_t length = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if ((head & BPF_RINGBUF_DISCARD_BIT) == 0 && length >= kPlainSample) {
            std::memcpy(&to.emplace_back(), record + BPF_RINGBUF_HDR_SZ,
                        std::min<size_t>(length, sizeof(ProbeSample)));
        }
        at += (BPF_RINGBUF_HDR_SZ + length + 7) & ~UINT64_C(7);
        __atomic_store_n(consumed_, at, __ATOMIC_RELEASE);
    }
}

} // namespace reap::native
