#include "attach/attach.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "attach/clock.h"
#include "attach/failure.h"
#include "attach/probe/cost.h"
#include "attach/recording.h"
#include "attach/start.h"
#include "attach/target.h"
#include "attach/tree.h"
#include "attach/watch.h"
#include "trace/process.h"

namespace reap::native {
namespace {

constexpr double kAsk = 0.02;         // seconds between two questions whether to stop
constexpr int kLook = 5;              // questions between two looks for children
constexpr double kWait = 0.1;         // seconds between two looks for an allocator that is loaded later
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
        if (!options_.execute) (void)Target(options_.process); // whether it may be looked at at all
        if (options_.execute || reach_ == Reach::All) measure();
        if (options_.execute) {
            held.emplace(options_.process);
            options_.execute();
        }
        std::unique_ptr<Watch> root;
        try {
            if (held && !held->wait(interrupted_)) {
                out.executed = false;
                return out;
            }
            if (held || reach_ == Reach::All) root = make_first();
        } catch (...) {
            if (held && reach_ == Reach::Linked) held->let_go();
            throw;
        }
        options_.create();
        file_ = std::make_unique<AttachedFile>(path_, held.has_value(), reach_ == Reach::Linked);
        file_->begin();
        const double until = monotonic_seconds() + options_.seconds;
        limits_ = {options_.most_overhead, until, &stop_, &watches_};
        start({options_.process, 0, start_of(options_.process)}, std::move(root));
        if (held) held->let_go();
        for (int asked = 0; !stop_; ++asked) {
            pause_for(kAsk);
            out.interrupted = interrupted_();
            if (out.interrupted || watched_.front().done || monotonic_seconds() >= until) stop_ = true;
            if (!stop_ && asked % kLook == 0) follow();
        }
        const double end = std::min(monotonic_seconds(), until);
        finish();
        if (failed_) std::rethrow_exception(failed_);
        file_->end(static_cast<uint64_t>(end * 1e9));
        out.ended = watched_.front().ended;
        for (const Watched &each : watched_) ++(each.was_watched ? out.processes : out.left_out);
        out.left_out += left_out_;
        out.seen = file_->summary();
        out.held = file_->held();
        out.call_ns = static_cast<double>(out.seen.cost_ns) /
                      static_cast<double>(std::max<uint64_t>(out.seen.calls, 1));
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
        std::atomic<bool> done{false};
        std::thread thread;
    };

    static uint64_t start_of(pid_t process) {
        return stat_of(static_cast<uint32_t>(process)).value_or(ProcessStat{}).start;
    }

    void start(const TreeProcess &process, std::unique_ptr<Watch> first) {
        Watched &added = watched_.emplace_back();
        added.process = process;
        for (const Watched &each : watched_) {
            if (each.process.process == process.parent) added.parent = &each;
        }
        ++watches_;
        added.thread = std::thread([this, &added, watch = std::move(first)]() mutable {
            try {
                keep_watching(added, std::move(watch));
            } catch (const AttachFailure &) {
                // A child that cannot be watched is counted; of the process itself this is the end.
                if (added.parent == nullptr) fail();
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

    // One program after another, as the process executes them.
    void keep_watching(Watched &own, std::unique_ptr<Watch> watch) {
        while (!stop_) {
            if (!watch) watch = begin(own.process.process);
            if (!watch) return;
            const uint32_t parent = own.parent != nullptr ? own.parent->image.load() : 0;
            AttachedRecording recording(*file_, own.process.process, watch->provider(), parent);
            own.image = recording.image() + 1;
            own.was_watched = true;
            const Watch::End end = watch->run(recording, limits_);
            own.ended = end == Watch::End::Process;
            if (end != Watch::End::Executed) return;
            watch.reset();
        }
    }

    void measure() {
        std::call_once(measured_, [this] { cost_ = measure_probe_cost(); });
    }

    std::unique_ptr<Watch> make(pid_t process) {
        return std::make_unique<Watch>(process, cost_, options_.python, reach_, options_.recorder);
    }

    // Null where it has nothing to be watched, but may have later.
    std::unique_ptr<Watch> make_first() {
        try {
            return make(options_.process);
        } catch (const AttachFailure &failure) {
            if (reach_ == Reach::All || failure.step() != "symbols") throw;
            return nullptr;
        }
    }

    // Until the process has a linked allocator; false where it ends without. Its mappings are read again and
    // again, its files once.
    bool wait_for_linked(pid_t process) {
        Target target(process);
        const uint64_t began = start_of(process);
        for (bool changed = true; !stop_ && began != 0 && start_of(process) == began;) {
            if (changed && target.has_linked()) return true;
            pause_for(kWait);
            changed = target.update();
        }
        return false;
    }

    // Null where the process has ended meanwhile. A program that was just executed has no libraries yet.
    std::unique_ptr<Watch> begin(pid_t process) {
        if (reach_ == Reach::Linked) {
            if (!wait_for_linked(process)) return nullptr;
            measure();
        }
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
                start(found, nullptr);
            } else {
                ++left_out_;
            }
        }
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
    const Reach reach_ = options_.recorder.empty() ? Reach::All : Reach::Linked;
    std::once_flag measured_;
    ProbeCost cost_;
    std::unique_ptr<AttachedFile> file_;
    WatchOptions limits_;
    std::atomic<bool> stop_{false};
    std::atomic<bool> failing_{false};
    std::exception_ptr failed_;
    std::atomic<unsigned> watches_{0};
    unsigned left_out_ = 0;
    std::list<Watched> watched_; // the process itself is the first
    std::vector<TreeProcess> seen_;
};

} // namespace

Attached attach(const std::string &path, const AttachOptions &options,
                const std::function<bool()> &interrupted) {
    return Attachment(path, options, interrupted).run();
}

} // namespace reap::native
