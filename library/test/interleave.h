#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Runs a few threads in every order that their steps can be in, one step at a time: a step begins at each
// operation of an interleave::Atomic. The code under test has that type where it has std::atomic otherwise.
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
    explicit Explorer(std::size_t threads) {
        for (std::size_t number = 0; number < threads; ++number)
            workers_.emplace_back([this, number] { work(number); });
    }
    ~Explorer() {
        stop_ = true;
        for (std::size_t number = 0; number < workers_.size(); ++number) turn_[number].release();
        for (std::thread &worker : workers_) worker.join();
    }
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
            }
            pass_on();
            finished_.acquire();
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
        const std::size_t mine = me_;
        const std::size_t next = running_[choose(running_.size())];
        if (next == mine) return;
        me_ = next;
        turn_[next].release();
        turn_[mine].acquire();
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
    void pass_on() {
        if (running_.empty()) return finished_.release();
        me_ = running_[choose(running_.size())];
        turn_[me_].release();
    }
    void work(std::size_t number) {
        for (;;) {
            turn_[number].acquire();
            if (stop_) return;
            bodies_[number]();
            std::erase(running_, number);
            pass_on();
        }
    }

    std::vector<std::thread> workers_;
    std::vector<std::function<void()>> bodies_;
    std::array<std::binary_semaphore, most_threads> turn_{std::binary_semaphore(0), std::binary_semaphore(0),
                                                          std::binary_semaphore(0), std::binary_semaphore(0)};
    std::binary_semaphore finished_{0};
    std::atomic<bool> stop_{false};
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
