#include "attach/watch.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <random>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "attach/budget.h"
#include "attach/clock.h"
#include "attach/failure.h"
#include "attach/own_share.h"
#include "attach/probe/own_time.h"
#include "attach/probe/probes.h"
#include "attach/process/waiting.h"
#include "attach/python/stacks.h"
#include "attach/standing.h"
#include "attach/target.h"
#include "attach/unwinder.h"
#include "files/regular.h"

namespace reap::native {
namespace {

constexpr double kMoment = 50e-6;     // seconds
constexpr double kPoll = 0.002;       // seconds
constexpr double kFlush = 0.2;        // seconds; who reads meanwhile looks about once a second
constexpr double kShortest = 0.01;    // a window, in seconds
constexpr double kLongest = 0.2;      // and at most
constexpr double kNeverSleeps = 0.9;  // of a window a process runs, or waits for a core
constexpr double kSamples = 500;      // a second
constexpr double kMostSamples = 1000; // in a window
constexpr double kFirstChance = 1.0 / 16;
constexpr double kLeastChance = 1.0 / 4096;

// A descriptor that can be read when the process has ended.
int open_process(pid_t process) {
    const int found = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (found < 0) throw AttachFailure("process", errno);
    return found;
}

uint64_t nanoseconds(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

} // namespace

class Watch::Windows {
  public:
    Windows(pid_t process, const ProbeCost &cost, bool python, LinkedFiles *linked, std::string recorder)
        : process_(process), linked_(linked), recorder_(std::move(recorder)), alive_(open_process(process)),
          target_(process), functions_(target_.functions(provider_, linked)), unwinder_(process), cost_(cost),
          python_(target_, python), probes_(process, places_.of(functions_), python_.places()),
          own_time_(process, around(functions_)), waiting_(process) {
        if (clock_getcpuclockid(process, &cpu_clock_) != 0) throw AttachFailure("process", ESRCH);
        unwinder_.map(target_.files());
        if (!probes_.reads_python()) python_.refuse(REAP_UNKNOWN_KERNEL);
        probes_.main_thread(python_.main_thread());
        uncounted_.resize(functions_.size());
        chance_ = kFirstChance;
        probes_.sample(chance_);
        probes_.set();
    }

    [[nodiscard]] pid_t process() const noexcept { return process_; }
    [[nodiscard]] const std::string &provider() const noexcept { return provider_; }

    End run(AttachedRecording &recording, const WatchOptions &options) {
        recording_ = &recording;
        options_ = options;
        run_promptly();
        recording_->map(target_.files());
        recording_->flush();
        start_ = last_end_ = reading();
        budget_.begin(options_.most_overhead, options_.until - start_.time, process_time());
        if (linked_ != nullptr) budget_.lend();
        begin_window(start_);
        while (!stopped()) {
            watch();
            const Reading end = reading();
            const ProcessTime now = process_time();
            end_window(end, now.waited);
            if (budget_.settle(now) >= 0) { // go on without a gap
                read_window();
                hold_window(end);
                begin_window(end);
                continue;
            }
            remove_probes(end);
            const double fixed = set_cost_ + spent() - end.spent;
            budget_.ended(end.spent - window_.begin.spent + fixed, fixed);
            read_window();
            recover();
            if (stopped()) break;
            const double before = spent();
            try {
                probes_.set();
            } catch (const AttachFailure &) {
                if (!stopped() || !ended_) throw;
                break;
            }
            const Reading begin = reading();
            set_cost_ = begin.spent - before;
            budget_.settle(process_time());
            hold_window(begin);
            begin_window(begin);
        }
        own_time_.count(false);
        // Removing takes its time: what was asked for is what is recorded.
        const Reading end = at(options_.until, last_end_, reading());
        settle_last(end);
        probes_.remove();
        summarise(end);
        recording_->finish();
        return ended_ ? End::Process : executed_ ? End::Executed : End::Stopped;
    }

  private:
    // The files that the kernel finds the functions by stay open, as their names may change meanwhile.
    class Places {
      public:
        std::vector<ProbePlace> of(const std::vector<AllocatorFunction> &functions) {
            std::vector<ProbePlace> places;
            for (const AllocatorFunction &function : functions) {
                std::unique_ptr<Descriptor> &file = files_[function.opened];
                if (!file) file = std::make_unique<Descriptor>(open_regular(function.opened));
                if (file->get() < 0) throw AttachFailure("process", errno);
                places.push_back({file->get(),
                                  function.offset,
                                  {!format::frees(function.call), function.skip_null, function.callers}});
            }
            return places;
        }

      private:
        std::map<std::string, std::unique_ptr<Descriptor>> files_;
    };

    // Returns where user code stands while a probe takes its time.
    static std::vector<AddressRange> around(const std::vector<AllocatorFunction> &functions) {
        std::vector<AddressRange> found;
        for (const AllocatorFunction &each : functions)
            found.insert(found.end(), each.around.begin(), each.around.end());
        return found;
    }

    struct Reading {
        double time = 0;
        double cpu = 0;
        double spent = 0;
        std::vector<uint64_t> calls;
        OwnTime::Count sampled;
    };

    struct Window {
        Reading begin;
        Span counted;      // how long calls were counted; 0: it has not ended yet
        Span before;       // of the time before, what it stands for
        double waited = 0; // of its threads for a core, before the window and then within it
        bool sleeps = false;
        std::vector<uint64_t> calls;
        uint64_t allocations = 0;
        std::vector<std::pair<size_t, SampledCall>> samples; // by function
        std::vector<double> drawn; // by function, how many calls its samples stand for by their chance alone
    };

    bool stopped() {
        if (stopped_) return true;
        pollfd alive{alive_.get(), POLLIN, 0};
        ended_ = ended_ || ::poll(&alive, 1, 0) != 0;
        stopped_ = ended_ || executed_ || *options_.stop || monotonic_seconds() >= options_.until;
        return stopped_;
    }

    // Of the process, with all of its threads.
    double cpu() {
        timespec time{};
        if (clock_gettime(cpu_clock_, &time) == 0)
            last_cpu_ = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
        return last_cpu_; // also when it has ended
    }

    // CPU time that probes have cost it, in seconds.
    [[nodiscard]] double spent() const {
        double cost = static_cast<double>(probes_.samples()) * cost_.sample_ns +
                      static_cast<double>(probes_.python_ns()) +
                      static_cast<double>(own_time_.counted().all) * OwnTime::kSampleNs;
        for (size_t i = 0; i < functions_.size(); ++i) {
            cost += (static_cast<double>(probes_.met(i)) + uncounted_[i]) *
                    (functions_[i].emulated ? cost_.emulated_ns : cost_.stepped_ns);
        }
        return cost * 1e-9;
    }

    // Calls that nobody counts while they are removed are guessed from the calls of the window, by the CPU
    // time.
    void remove_probes(const Reading &end) {
        const double used = end.cpu - window_.begin.cpu;
        probes_.remove([&](size_t function) {
            if (used <= 0) return;
            uncounted_[function] += static_cast<double>(window_.calls[function]) * (cpu() - end.cpu) / used;
        });
    }

    [[nodiscard]] uint64_t met() const {
        uint64_t calls = 0;
        for (size_t i = 0; i < functions_.size(); ++i)
            calls += probes_.met(i) + static_cast<uint64_t>(uncounted_[i]);
        return calls;
    }

    // All counters at one moment: this process may have to wait for a core between two of them.
    Reading reading() {
        Reading out;
        for (int tries = 0; tries < 20; ++tries) {
            out = {monotonic_seconds(), cpu(), spent(), {}, own_time_.counted()};
            for (size_t i = 0; i < functions_.size(); ++i) out.calls.push_back(probes_.calls(i));
            if (monotonic_seconds() - out.time < kMoment) break;
        }
        return out;
    }

    // The earlier of `time` and `after`; between two readings as if all went on evenly, never before the
    // first.
    static Reading at(double time, const Reading &before, const Reading &after) {
        if (time >= after.time) return after;
        if (time <= before.time) return before;
        const double part = (time - before.time) / (after.time - before.time);
        Reading out = after;
        out.time = time;
        out.cpu = std::lerp(before.cpu, after.cpu, part);
        out.spent = std::lerp(before.spent, after.spent, part);
        return out;
    }

    ProcessTime process_time() {
        ProcessTime out{monotonic_seconds(), cpu(), spent(), waiting_.seconds()};
        if (out.waited < 0) out.waited = out.wall - out.cpu; // not known: take it that it never sleeps
        waited_ = out.waited;
        return out;
    }

    void begin_window(const Reading &begin) {
        window_.begin = begin;
        window_.counted = window_.before = {};
        window_.waited = waited_;
        window_.samples.clear();
        window_.drawn.assign(functions_.size(), 0.0);
        stand_ins_.resize(functions_.size());
        own_time_.count(true);
    }

    void watch() {
        double polled = window_.begin.time;
        const double most = budget_.of_window();
        while (true) {
            pause_for(kPoll);
            drain();
            const double seconds = monotonic_seconds() - window_.begin.time;
            if (seconds >= kLongest || (seconds >= kShortest && spent() - window_.begin.spent >= most))
                return;
            if (monotonic_seconds() - polled < 0.02) continue;
            polled = monotonic_seconds();
            if (stopped()) return;
        }
    }

    void drain() {
        const size_t before = drained_.size();
        probes_.drain(drained_);
        for (size_t at = before; at < drained_.size(); ++at) python_.see(drained_[at]);
    }

    void end_window(const Reading &end, double waited) {
        own_time_.count(false);
        last_end_ = end;
        window_.counted.seconds = end.time - window_.begin.time;
        window_.calls.assign(functions_.size(), 0);
        window_.allocations = 0;
        uint64_t calls = 0;
        for (size_t i = 0; i < functions_.size(); ++i) {
            window_.calls[i] = end.calls[i] - window_.begin.calls[i];
            calls += window_.calls[i];
            if (!format::frees(functions_[i].call)) window_.allocations += window_.calls[i];
        }
        auto &seen = recording_->summary();
        ++seen.windows;
        seen.window_ns += nanoseconds(end.time) - nanoseconds(window_.begin.time);
        seen.window_cpu_ns += nanoseconds(end.cpu) - nanoseconds(window_.begin.cpu);
        const double used = end.cpu - window_.begin.cpu;
        const OwnShare::Own own = own_share_.add(
            {used, end.spent - window_.begin.spent, static_cast<double>(calls),
             end.sampled.all - window_.begin.sampled.all, end.sampled.own - window_.begin.sampled.own});
        window_.counted.cpu = own.seconds;
        window_.sleeps = used + waited - window_.waited < window_.counted.seconds * kNeverSleeps;
        seen.slowed += own.known ? 0 : 1;
        seen.unsampled += own_time_.samples() ? 0 : 1;
        if (!held_) return;
        const auto [first, rest] = share_gap(gap_, held_->counted, window_.counted, is_first_);
        settle(*held_, first);
        is_first_ = false;
        held_.reset();
        window_.before = rest;
    }

    void read_window() {
        try {
            if (target_.update()) {
                executed_ = !target_.has(functions_) || has_others();
                unwinder_.map(target_.files());
                recording_->map(target_.files());
            }
        } catch (const AttachFailure &) { // NOLINT(bugprone-empty-catch): what is known stays
        }
        probes_.main_thread(python_.main_thread());
        drain();
        std::sort(drained_.begin(), drained_.end(),
                  [](const ProbeSample &a, const ProbeSample &b) { return a.time_ns < b.time_ns; });
        for (const ProbeSample &sample : drained_) read(sample);
        drained_.clear();
    }

    // Whether there are linked allocators that were not there when the watch began.
    bool has_others() {
        if (linked_ == nullptr) return false;
        std::string provider;
        return target_.functions(provider, linked_).size() > functions_.size();
    }

    // Whether this is code of the recorder in the process, which counts the call itself.
    [[nodiscard]] bool is_recorder(uint64_t address) const {
        if (linked_ == nullptr) return false;
        return std::any_of(target_.files().begin(), target_.files().end(), [&](const MappedFile &file) {
            return file.has(address) && file.path.ends_with('/' + recorder_);
        });
    }

    void read(const ProbeSample &sample) {
        const size_t probe = target_.probed_at(sample.registers[ProbeSample::kIp], functions_);
        if (probe == functions_.size()) return;
        const AllocatorFunction &function = functions_[probe];
        const double weight = 0x1p32 / static_cast<double>(std::max<uint64_t>(sample.chance, 1));
        window_.drawn[probe] += weight;
        uint64_t caller = 0;
        if (sample.chunks > 0) std::memcpy(&caller, sample.stack, sizeof caller);
        // One of the allocator's functions that called another is counted itself.
        const bool inner =
            std::any_of(functions_.begin(), functions_.end(), [caller](const AllocatorFunction &each) {
                return caller > each.begin && caller < each.end;
            });
        if (inner || is_recorder(caller)) return;
        const Unwinder::Stack &stack = unwinder_.unwind(sample);
        if (!stack.whole || sample.python_cut != 0) ++recording_->summary().broken;
        SampledCall call;
        call.call = function.call;
        call.size = size_of(function, sample);
        call.time_ns = sample.time_ns;
        call.stack = recording_->stack(python_.merge(sample, stack, *recording_));
        call.weight = weight;
        call.fresh = format::resizes(call.call) && argument(function, 'p', sample) == 0;
        window_.samples.emplace_back(probe, call);
    }

    // Value that the call passes there; 1 where the function has no such argument.
    static uint64_t argument(const AllocatorFunction &function, char letter, const ProbeSample &sample) {
        constexpr ProbeSample::Register kInOrder[] = {ProbeSample::kRdi, ProbeSample::kRsi, ProbeSample::kRdx,
                                                      ProbeSample::kRcx};
        const int place = format::place_of(function.arguments, letter);
        return place < 0 ? 1 : sample.registers[kInOrder[place]];
    }

    static uint64_t size_of(const AllocatorFunction &function, const ProbeSample &sample) {
        return argument(function, 'n', sample) * argument(function, 's', sample);
    }

    // Time since the window. Calls meet the probes also while they are set and removed, and cost what they
    // did in it.
    [[nodiscard]] Span gap(const Reading &until) const {
        const double used = last_end_.cpu - window_.begin.cpu;
        const double calibrated = last_end_.spent - window_.begin.spent;
        const double dearer = calibrated > 0 ? (used - window_.counted.cpu) / calibrated : 1;
        const double own = until.cpu - last_end_.cpu - (until.spent - last_end_.spent) * dearer;
        return {std::max(until.time - last_end_.time, 0.0), std::max(own, 0.0)};
    }

    // Keeps the window until the next has ended, which begins now: they share the time between them.
    void hold_window(const Reading &until) {
        gap_ = gap(until);
        const double share = 1.0 / std::max(options_.watches->load(), 1U);
        const double period = until.time - window_.begin.time;
        const double wanted = share * std::min(kSamples * period, kMostSamples);
        const auto seen = static_cast<double>(std::max<uint64_t>(window_.allocations, 1));
        chance_ = std::clamp(wanted / seen, kLeastChance, 1.0);
        probes_.sample(chance_);
        held_ = std::move(window_);
        if (until.time - flushed_ >= kFlush) {
            summarise(until);
            recording_->flush();
            flushed_ = until.time;
        }
    }

    // The last window stands for all that comes after it.
    void settle_last(const Reading &until) {
        if (window_.counted.seconds > 0) {
            settle(window_, gap(until));
        } else if (held_) {
            settle(*held_, gap_);
        }
    }

    // Writes what a window has seen. Its calls are spread over the time that it stands for, and the samples
    // of a function stand together for all of its calls. Those of a function without a sample are left to the
    // next window.
    void settle(Window &window, const Span &after) {
        const Span around = window.before + after;
        const double factor = calls_for_each(window.counted, around, window.sleeps);
        std::vector<double> scale(functions_.size());
        for (size_t i = 0; i < functions_.size(); ++i) {
            stand_ins_[i] += static_cast<double>(window.calls[i]) * factor;
            const bool frees = format::frees(functions_[i].call);
            if (frees) recording_->add_frees(functions_[i].call, stand_ins_[i]);
            if (!frees && window.drawn[i] <= 0) continue;
            scale[i] = frees ? 0 : stand_ins_[i] / window.drawn[i];
            stand_ins_[i] = 0;
        }
        const double by_time = 1 + around.seconds / window.counted.seconds;
        for (auto &[function, call] : window.samples) {
            call.weight *= scale[function];
            const double since = static_cast<double>(call.time_ns) * 1e-9 - window.begin.time;
            call.time_ns = nanoseconds(window.begin.time - window.before.seconds +
                                       std::clamp(since, 0.0, window.counted.seconds) * by_time);
            recording_->add(call);
        }
    }

    // Waits until the process can pay for the next window, and more at random.
    void recover() {
        std::uniform_real_distribution<double> jitter(1.0, 2.0);
        const double times = jitter(random_);
        while (!stopped()) {
            if (budget_.could_pay(times, {monotonic_seconds(), cpu(), spent(), 0})) {
                budget_.settle(process_time());
                if (budget_.pays(times)) return;
            }
            pause_for(kPoll * 5);
        }
    }

    void summarise(const Reading &until) {
        auto &seen = recording_->summary();
        const double since = options_.since > 0 ? std::min(options_.since, start_.time) : start_.time;
        seen.watched_ns = nanoseconds(until.time) - nanoseconds(since);
        seen.watched_cpu_ns = nanoseconds(until.cpu) - nanoseconds(start_.cpu);
        seen.calls = met();
        seen.cost_ns = nanoseconds(until.spent);
        seen.lost = probes_.lost();
    }

    pid_t process_;
    LinkedFiles *linked_;
    std::string recorder_;
    WatchOptions options_;
    Descriptor alive_;
    std::string provider_;
    Target target_;
    std::vector<AllocatorFunction> functions_;
    Unwinder unwinder_;
    ProbeCost cost_;
    Places places_;
    PythonStacks python_;
    Probes probes_;
    OwnTime own_time_;
    OwnShare own_share_;
    Waiting waiting_;
    CostBudget budget_;
    AttachedRecording *recording_ = nullptr;
    clockid_t cpu_clock_{};
    std::mt19937_64 random_{std::random_device{}()};
    std::vector<ProbeSample> drained_;
    Window window_;
    std::optional<Window> held_;    // the one before it, until this one has ended
    Span gap_;                      // between the two
    bool is_first_ = true;          // whether no window was written before that one
    std::vector<double> uncounted_; // by function, calls that met its probe while it was removed
    std::vector<double> stand_ins_; // by function, calls for which the next sample stands
    double chance_ = 0;
    Reading start_;
    Reading last_end_; // of a window; before the first ends as start_
    double last_cpu_ = 0;
    double flushed_ = 0;
    double set_cost_ = 0; // of setting the probes
    double waited_ = 0;   // for a core, when that was read last
    bool ended_ = false;
    bool executed_ = false; // another program: the functions are not mapped any more
    bool stopped_ = false;
};

Watch::Watch(pid_t process, const ProbeCost &cost, bool python, LinkedFiles *linked,
             const std::string &recorder)
    : windows_(std::make_unique<Windows>(process, cost, python, linked, recorder)) {}
Watch::~Watch() = default;
pid_t Watch::process() const noexcept { return windows_->process(); }
const std::string &Watch::provider() const noexcept { return windows_->provider(); }
Watch::End Watch::run(AttachedRecording &recording, const WatchOptions &options) {
    return windows_->run(recording, options);
}

} // namespace reap::native
