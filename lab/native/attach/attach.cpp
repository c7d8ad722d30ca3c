#include "attach/attach.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "attach/clock.h"
#include "attach/failure.h"
#include "attach/probe/cost.h"
#include "attach/process/linked.h"
#include "attach/process/tree.h"
#include "attach/recording.h"
#include "attach/start.h"
#include "attach/target.h"
#include "attach/watch.h"
#include "trace/process.h"

namespace reap::native {
namespace {

constexpr double kAsk = 0.02;         // seconds between two questions whether to stop
constexpr int kLook = 5;              // questions between two looks for children
constexpr double kSlowest = 1.0;      // seconds between two looks for linked allocators, and at least ...
constexpr double kRest = 50;          // ... so many times as long as the last took
constexpr unsigned kMostWatches = 16; // at a time: each has 8 MB for samples, and a process for each probe
constexpr int kBegins = 40;           // after a program was executed, until its libraries are mapped

class Attachment {
  public:
    Attachment(const std::string &path, const AttachOptions &options,
               const std::function<bool()> &interrupted)
        : path_(path), options_(options), interrupted_(interrupted) {}

    ~Attachment() { finish(); }
    Attachment(const Attachment &) = delete;
    Attachment &operator=(const Attachment &) = delete;

    Attached run() {
        Attached out;
        std::optional<HeldStart> held;
        std::unique_ptr<Watch> root;
        out.executed = beside() ? begin_beside(held, root) : begin_alone(held, root);
        if (!out.executed) return out;
        options_.create();
        const bool from_start = held && (root || !beside());
        file_ = std::make_unique<AttachedFile>(path_, from_start, beside());
        file_->begin();
        const double until = monotonic_seconds() + options_.seconds;
        limits_ = {options_.most_overhead, until, 0, &stop_, &watches_};
        looked_ = monotonic_seconds();
        if (root || !beside()) start({options_.process, 0, start_of(options_.process)}, std::move(root), 0);
        let_go(held);
        for (int asked = 0; !stop_; ++asked) {
            pause_for(kAsk);
            out.interrupted = interrupted_();
            const bool ended = !beside() && watched_.front().done;
            if (out.interrupted || ended || monotonic_seconds() >= until) stop_ = true;
            if (!stop_ && beside()) seek();
            if (!stop_ && !beside() && asked % kLook == 0) follow();
        }
        const double end = std::min(monotonic_seconds(), until);
        finish();
        if (failed_) std::rethrow_exception(failed_);
        file_->end(static_cast<uint64_t>(end * 1e9));
        out.ended = !watched_.empty() && watched_.front().ended;
        for (const Watched &each : watched_) ++(each.was_watched ? out.processes : out.left_out);
        out.left_out += left_out_;
        out.seen = file_->summary();
        out.held = file_->held();
        out.linked.assign(found_.begin(), found_.end());
        if (out.processes == 0) out.refused = refused_;
        if (out.seen.calls > 0)
            out.call_ns = static_cast<double>(out.seen.cost_ns) / static_cast<double>(out.seen.calls);
        return out;
    }

  private:
    // A process, and the thread that watches it.
    struct Watched {
        TreeProcess process;
        const Watched *parent = nullptr;
        std::atomic<uint32_t> image{0}; // its latest, and one more; 0: none yet
        bool was_watched = false;
        bool ended = false;
        double since = 0; // see WatchOptions
        std::atomic<bool> done{false};
        std::thread thread;
    };

    static uint64_t start_of(pid_t process) {
        return stat_of(static_cast<uint32_t>(process)).value_or(ProcessStat{}).start;
    }

    [[nodiscard]] bool beside() const noexcept { return !options_.recorder.empty(); }

    // False where the process has ended before it executed its program.
    bool begin_alone(std::optional<HeldStart> &held, std::unique_ptr<Watch> &root) {
        if (!options_.execute) (void)Target(options_.process); // whether it may be looked at at all
        measure();
        if (options_.execute) {
            held.emplace(options_.process);
            options_.execute();
        }
        if (held && !held->wait(interrupted_)) return false;
        root = make(options_.process);
        return true;
    }

    // The same. A process that may not be held is watched from a little later on, and so is one whose
    // recorder samples by a timer, which it does not where it is traced.
    bool begin_beside(std::optional<HeldStart> &held, std::unique_ptr<Watch> &root) {
        if (!options_.execute) return true;
        try {
            if (!samples_by_timer(path_)) held.emplace(options_.process);
        } catch (const AttachFailure &) { // NOLINT(bugprone-empty-catch): as said
        }
        options_.execute();
        if (!held) return true;
        try {
            if (!held->wait(interrupted_)) return false;
        } catch (const AttachFailure &) {
            let_go(held);
            return true;
        }
        const TreeProcess process{options_.process, 0, start_of(options_.process)};
        const std::vector<LinkedFile> found = linked_.in(process.process);
        if (!found.empty()) {
            note(found);
            try {
                measure();
                root = make(process.process);
            } catch (const AttachFailure &failure) {
                refuse(process, failure);
            }
        }
        if (!root) let_go(held);
        return true;
    }

    static void let_go(std::optional<HeldStart> &held) {
        if (held) held->let_go();
        held.reset();
    }

    void start(const TreeProcess &process, std::unique_ptr<Watch> first, double since) {
        Watched &added = watched_.emplace_back();
        added.process = process;
        added.since = since;
        for (const Watched &each : watched_) {
            if (each.process.process == process.parent) added.parent = &each;
        }
        ++watches_;
        added.thread = std::thread([this, &added, watch = std::move(first)]() mutable {
            try {
                keep_watching(added, std::move(watch));
            } catch (const AttachFailure &failure) {
                // A child that cannot be watched is counted; of the process itself this is the end.
                if (beside())
                    refuse(added.process, failure);
                else if (added.parent == nullptr)
                    fail();
            } catch (const std::exception &) {
                fail();
            }
            --watches_;
            added.done = true;
        });
    }

    void fail() {
        if (!failing_.exchange(true)) failed_ = std::current_exception();
        stop_ = true;
    }

    void note(const std::vector<LinkedFile> &found) {
        const std::scoped_lock held(refusing_);
        found_.insert(found.begin(), found.end());
    }

    // Beside a recorder: such a process, with the files that it has, is not tried again.
    void refuse(const TreeProcess &process, const AttachFailure &failure) {
        const std::scoped_lock held(refusing_);
        const bool there = start_of(process.process) == process.start;
        if (there && failure.step() != "symbols" && !refused_) refused_ = failure;
        tried_[{process.process, process.start}] = linked_.in(process.process);
    }

    bool is_refused(const TreeProcess &process, const std::vector<LinkedFile> &found) {
        const std::scoped_lock held(refusing_);
        const auto tried = tried_.find({process.process, process.start});
        return tried != tried_.end() && tried->second == found;
    }

    // One program after another, as the process executes them.
    void keep_watching(Watched &own, std::unique_ptr<Watch> watch) {
        while (!stop_) {
            if (!watch) watch = begin(own.process.process);
            if (!watch) return;
            file_->mark();
            WatchOptions limits = limits_;
            limits.since = std::exchange(own.since, 0);
            const uint32_t parent = own.parent != nullptr ? own.parent->image.load() : 0;
            AttachedRecording recording(*file_, own.process.process, watch->provider(), parent);
            own.image = recording.image() + 1;
            own.was_watched = true;
            const Watch::End end = watch->run(recording, limits);
            own.ended = end == Watch::End::Process;
            if (end != Watch::End::Executed) return;
            watch.reset();
        }
    }

    void measure() {
        std::call_once(measured_, [this] { cost_ = measure_probe_cost(); });
    }

    std::unique_ptr<Watch> make(pid_t process) {
        return std::make_unique<Watch>(process, cost_, options_.python, beside() ? &linked_ : nullptr,
                                       options_.recorder);
    }

    // Null where the process has ended meanwhile, or has nothing to watch beside a recorder: it is looked at
    // again. A program that was just executed has no libraries yet.
    std::unique_ptr<Watch> begin(pid_t process) {
        if (beside()) {
            const std::vector<LinkedFile> found = linked_.in(process);
            if (found.empty()) return nullptr;
            note(found);
        }
        measure();
        if (beside()) return make(process);
        for (int tries = 1; !stop_; ++tries) {
            try {
                return make(process);
            } catch (const AttachFailure &failure) {
                if (start_of(process) == 0) return nullptr;
                if (failure.step() != "symbols" || tries == kBegins) throw;
            }
            pause_for(kAsk);
        }
        return nullptr;
    }

    // Those that were made since the last call are watched, too.
    void follow() {
        for (const TreeProcess &found : descendants(options_.process)) {
            const bool known = std::any_of(seen_.begin(), seen_.end(), [&found](const TreeProcess &each) {
                return each.process == found.process && each.start == found.start;
            });
            if (known) continue;
            seen_.push_back(found);
            if (watches_ < kMostWatches) {
                start(found, nullptr, 0);
            } else {
                ++left_out_;
            }
        }
    }

    // Processes that have a linked allocator now are watched, too.
    void seek() {
        const double now = monotonic_seconds();
        const uint64_t loads = file_->loads();
        if (loads != loads_) gap_ = kAsk;
        if (now < looked_ + std::max(gap_, took_ * kRest)) return;
        loads_ = loads;
        gap_ = std::min(2 * gap_, kSlowest);
        std::vector<TreeProcess> tree = descendants(options_.process);
        tree.push_back({options_.process, 0, start_of(options_.process)});
        for (const TreeProcess &each : tree) {
            if (!is_watched(each)) consider(each);
        }
        looked_ = monotonic_seconds();
        took_ = looked_ - now;
    }

    [[nodiscard]] bool is_watched(const TreeProcess &process) const {
        return std::ranges::any_of(watched_, [&process](const Watched &each) {
            return !each.done && each.process.process == process.process &&
                   each.process.start == process.start;
        });
    }

    void consider(const TreeProcess &process) {
        const std::vector<LinkedFile> found = linked_.in(process.process);
        if (found.empty()) return;
        note(found);
        if (is_refused(process, found)) return;
        if (watches_ < kMostWatches) return start(process, nullptr, looked_);
        ++left_out_;
        const std::scoped_lock held(refusing_);
        tried_[{process.process, process.start}] = found;
    }

    void finish() {
        stop_ = true;
        for (Watched &each : watched_) {
            if (each.thread.joinable()) each.thread.join();
        }
    }

    const std::string &path_;
    const AttachOptions &options_;
    const std::function<bool()> &interrupted_;
    std::once_flag measured_;
    ProbeCost cost_;
    std::unique_ptr<AttachedFile> file_;
    WatchOptions limits_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> failing_{false};
    std::exception_ptr failed_;
    std::atomic<unsigned> watches_{0};
    unsigned left_out_ = 0;
    std::list<Watched> watched_; // the process itself is the first, but beside a recorder
    std::vector<TreeProcess> seen_;

    // Beside a recorder.
    LinkedFiles linked_;
    uint64_t loads_ = 0;  // when it was looked last, and ...
    double looked_ = 0;   // ... when that was
    double took_ = 0;     // in seconds
    double gap_ = kAsk;   // until the next look
    std::mutex refusing_; // for the others
    std::set<LinkedFile> found_;
    std::optional<AttachFailure> refused_; // the first
    std::map<std::pair<pid_t, uint64_t>, std::vector<LinkedFile>> tried_;
};

} // namespace

Attached attach(const std::string &path, const AttachOptions &options,
                const std::function<bool()> &interrupted) {
    return Attachment(path, options, interrupted).run();
}

} // namespace reap::native
