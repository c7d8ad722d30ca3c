#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define INTERLEAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INTERLEAVE_ASAN 1
#endif
#endif
#ifdef INTERLEAVE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

// Runs a few threads in every order that their steps can be in, one step at a time: a step begins at each
// operation of an interleave::Atomic. The code under test has that type where it has std::atomic otherwise.
// The threads are contexts of one thread of the system's: a turn costs no scheduling.
//
// It also knows, as ThreadSanitizer does, by clocks, which thread has seen what of which other's: from the
// orders that the operations were given. Two accesses to a Plain, one of them a write, that no release and
// acquire puts in order are found in whatever order they happened to run. What it does not try: loads that
// read anything but the newest value. A compare_exchange_weak fails by itself once in a run, at every place.

namespace interleave {

inline constexpr std::size_t most_threads = 4; // the last is the one that begins and ends

/// What of each thread's doings is known.
struct Clock {
    std::array<unsigned, most_threads> at{};
    void join(const Clock &other) {
        for (std::size_t i = 0; i < most_threads; ++i) at[i] = std::max(at[i], other.at[i]);
    }
};

/// All orders of some threads.
class Explorer {
  public:
    explicit Explorer(std::size_t threads) : workers_(threads) {
        for (Worker &worker : workers_) worker.stack = std::make_unique<std::byte[]>(stack_size);
    }
    ~Explorer() = default;
    Explorer(const Explorer &) = delete;
    Explorer &operator=(const Explorer &) = delete;

    /// Has every order begin with begin(), do the steps of each thread's body, and end with end(), until all
    /// were tried or something was found. How many were tried.
    std::size_t run(const std::function<void()> &begin, std::vector<std::function<void()>> bodies,
                    const std::function<void()> &end) {
        bodies_ = std::move(bodies);
        current() = this;
        path_.clear();
        std::size_t orders = 0;
        do {
            depth_ = 0;
            spurious_ = 1;
            me_ = most_threads - 1;
            clocks_ = {};
            clocks_[me_].at[me_] = 1;
            ended_ = {};
            begin();
            for (std::size_t number = 0; number < workers_.size(); ++number) {
                clocks_[number] = clocks_[most_threads - 1];
                clocks_[number].at[number] = 1;
                running_.push_back(number);
                begin_worker(workers_[number]);
            }
            choose_next();
            while (!running_.empty()) {
                me_ = next_;
                enter(workers_[me_]);
            }
            me_ = most_threads - 1;
            for (std::size_t number = 0; number < workers_.size(); ++number)
                clocks_[me_].join(clocks_[number]);
            end();
            ++orders;
        } while (found_.empty() && next_path());
        current() = nullptr;
        return orders;
    }

    /// What was found, or nothing.
    [[nodiscard]] const std::string &found() const { return found_; }
    void report(const char *what) {
        if (found_.empty()) found_ = what;
    }

    /// From here on, until this order ends, no Atomic in this memory may be touched.
    void end_of(const void *memory, std::size_t size) { ended_ = {memory, size}; }

    static Explorer *&current() {
        static Explorer *explorer = nullptr;
        return explorer;
    }
    [[nodiscard]] Clock &clock() { return clocks_[me_]; }
    [[nodiscard]] std::size_t me() const { return me_; }

    /// Before each operation on what lies there: any thread may be the next.
    void step(const void *operand) {
        if (me_ != most_threads - 1) let_any_go_on();
        const auto at = reinterpret_cast<std::uintptr_t>(operand);
        if (at - reinterpret_cast<std::uintptr_t>(ended_.memory) < ended_.size)
            report("an access to what has ended");
    }
    /// Whether a weak operation fails by itself.
    bool fails_by_itself() {
        if (me_ == most_threads - 1 || spurious_ == 0 || choose(2) == 0) return false;
        --spurious_;
        return true;
    }

  private:
    struct Choice {
        std::size_t chosen;
        std::size_t of;
    };
    struct Memory {
        const void *memory = nullptr;
        std::size_t size = 0;
    };

    void let_any_go_on() {
        choose_next();
        if (next_ != me_) leave(workers_[me_]);
    }
    void choose_next() {
        if (!running_.empty()) next_ = running_[choose(running_.size())];
    }

    std::size_t choose(std::size_t of) {
        if (depth_ == path_.size()) path_.push_back({0, of});
        return path_[depth_++].chosen;
    }
    bool next_path() {
        while (!path_.empty() && path_.back().chosen + 1 == path_.back().of) path_.pop_back();
        if (path_.empty()) return false;
        ++path_.back().chosen;
        return true;
    }

    /// A thread: its context, and the stack that it runs on.
    struct Worker {
        ucontext_t context{};
        std::unique_ptr<std::byte[]> stack;
        void *shadow = nullptr; // AddressSanitizer's, of its frames
    };
    static constexpr std::size_t stack_size = 256 << 10;

    void begin_worker(Worker &worker) {
        getcontext(&worker.context);
        worker.context.uc_stack = {.ss_sp = worker.stack.get(), .ss_flags = 0, .ss_size = stack_size};
        worker.context.uc_link = &scheduler_;
        worker.shadow = nullptr;
        makecontext(&worker.context, [] { current()->work(); }, 0);
    }
    /// Runs a worker until it leaves or ends.
    void enter(Worker &worker) {
#ifdef INTERLEAVE_ASAN
        void *shadow = nullptr;
        __sanitizer_start_switch_fiber(&shadow, worker.stack.get(), stack_size);
#endif
        swapcontext(&scheduler_, &worker.context);
#ifdef INTERLEAVE_ASAN
        __sanitizer_finish_switch_fiber(shadow, nullptr, nullptr);
#endif
    }
    void leave(Worker &worker) {
#ifdef INTERLEAVE_ASAN
        __sanitizer_start_switch_fiber(&worker.shadow, scheduler_stack_, scheduler_stack_size_);
#endif
        swapcontext(&worker.context, &scheduler_);
        resumed(worker);
    }
    void resumed([[maybe_unused]] Worker &worker) {
#ifdef INTERLEAVE_ASAN
        __sanitizer_finish_switch_fiber(worker.shadow, &scheduler_stack_, &scheduler_stack_size_);
#endif
    }
    void work() {
        const std::size_t number = me_;
        resumed(workers_[number]);
        bodies_[number]();
        std::erase(running_, number);
        choose_next();
#ifdef INTERLEAVE_ASAN
        __sanitizer_start_switch_fiber(nullptr, scheduler_stack_, scheduler_stack_size_);
#endif
    }

    std::vector<Worker> workers_;
    ucontext_t scheduler_{};
#ifdef INTERLEAVE_ASAN
    const void *scheduler_stack_ = nullptr;
    std::size_t scheduler_stack_size_ = 0;
#endif
    std::size_t next_ = 0;
    std::vector<std::function<void()>> bodies_;
    std::vector<Choice> path_;
    std::size_t depth_ = 0;
    std::vector<std::size_t> running_;
    std::size_t me_ = most_threads - 1;
    std::array<Clock, most_threads> clocks_{};
    int spurious_ = 0;
    Memory ended_;
    std::string found_;
};

/// What is no atomic: accesses must be ordered.
class Plain {
  public:
    void read() {
        look(written_);
        read_.at[me()] = now();
    }
    void write() {
        look(written_);
        look(read_);
        written_.at[me()] = now();
    }

  private:
    static std::size_t me() { return Explorer::current()->me(); }
    static unsigned now() { return Explorer::current()->clock().at[me()]; }
    static void look(const Clock &before) {
        for (std::size_t i = 0; i < most_threads; ++i)
            if (before.at[i] > Explorer::current()->clock().at[i]) Explorer::current()->report("a data race");
    }
    Clock written_;
    Clock read_;
};

/// In place of std::atomic. Relaxed: whatever order is asked for, it is none.
template <class T, bool Relaxed = false>
class BasicAtomic {
  public:
    BasicAtomic(T value) : value_(value) {}
    BasicAtomic(const BasicAtomic &) = delete;
    BasicAtomic &operator=(const BasicAtomic &) = delete;
    ~BasicAtomic() = default;

    T load(std::memory_order order) {
        step();
        acquire(order);
        return value_;
    }
    void store(T value, std::memory_order order) {
        step();
        value_ = value;
        clock_ = {}; // of what was released before, nothing is seen through this
        release(order);
    }
    T exchange(T value, std::memory_order order) {
        return change(order, [&](T /*old*/) { return value; });
    }
    T fetch_add(T by, std::memory_order order) {
        return change(order, [&](T old) { return static_cast<T>(old + by); });
    }
    T fetch_sub(T by, std::memory_order order) {
        return change(order, [&](T old) { return static_cast<T>(old - by); });
    }
    bool compare_exchange_weak(T &expected, T wanted, std::memory_order success, std::memory_order failure) {
        step();
        if (value_ != expected || Explorer::current()->fails_by_itself()) {
            acquire(failure);
            expected = value_;
            return false;
        }
        acquire(success);
        value_ = wanted;
        release(success);
        return true;
    }

  private:
    template <class Change>
    T change(std::memory_order order, Change to) {
        step();
        acquire(order);
        const T old = value_;
        value_ = to(old);
        release(order);
        return old;
    }
    void step() { Explorer::current()->step(this); }
    void acquire(std::memory_order order) {
        if (!Relaxed && order != std::memory_order_relaxed && order != std::memory_order_release)
            Explorer::current()->clock().join(clock_);
    }
    void release(std::memory_order order) {
        if (Relaxed || order == std::memory_order_relaxed || order == std::memory_order_acquire) return;
        Clock &mine = Explorer::current()->clock();
        clock_.join(mine);
        ++mine.at[Explorer::current()->me()];
    }

    T value_;
    Clock clock_;
};

template <class T>
using Atomic = BasicAtomic<T>;
template <class T>
using Relaxed = BasicAtomic<T, true>;

/// A compare_exchange that is two steps: what the checker has to find.
template <class T>
class Torn : public BasicAtomic<T> {
  public:
    using BasicAtomic<T>::BasicAtomic;
    bool compare_exchange_weak(T &expected, T wanted, std::memory_order success, std::memory_order failure) {
        const T now = this->load(failure);
        if (now != expected) {
            expected = now;
            return false;
        }
        this->store(wanted, success);
        return true;
    }
};

} // namespace interleave
