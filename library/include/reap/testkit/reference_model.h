#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/testkit/failing_source.h"
#include "reap/testkit/misuse_watch.h"
#include "reap/testkit/operation.h"
#include "reap/testkit/subject.h"

// Any allocator against a model of what an allocator is: objects lie apart from each other, are aligned, and
// keep what is written to them; what cannot be given is refused and changes nothing; memory comes back.
//
//   const auto finding = reap::testkit::check(reap::testkit::factory([](auto &upstream) { ... }), 1, 100000);
//   if (finding) std::puts(finding->to_string().c_str());
//
// What is found has the seed that shows it again and the shortest sequence of operations that still does.

namespace reap::inline REAP_MODE::testkit {

/// Limits of what a model has live at once.
struct ModelOptions {
    std::size_t most_objects = 256;
    std::size_t most_bytes = std::size_t{8} << 20;
};

/// Drives one subject, and says at each step what is wrong; an empty string is nothing.
class ReferenceModel {
  public:
    /// `upstream`: the one that the subject stands on, to let it fail; may be null.
    explicit ReferenceModel(AnySubject &subject, FailingSource<> *upstream = nullptr,
                            const ModelOptions &options = {})
        : subject_(subject), can_(subject.abilities()), upstream_(upstream), options_(options),
          limits_(subject.limits()) {
        objects_.reserve(options.most_objects);
        by_address_.reserve(options.most_objects);
    }

    [[nodiscard]] std::string step(const Operation &operation) {
        ++steps_;
        std::string wrong = perform(operation);
        if (wrong.empty() && MisuseWatch::any()) [[unlikely]]
            wrong = reported();
        return wrong;
    }

    /// The end of it: all is looked at once more; where that can be left to the subject, half of the time,
    /// else always, all objects are freed one by one.
    [[nodiscard]] std::string finish() {
        std::string wrong = look();
        if (steps_ % 2 == 0 || !can_.resets) {
            while (wrong.empty() && !objects_.empty()) wrong = deallocate(objects_.size() - 1);
            if (wrong.empty()) wrong = subject_.inspect({});
        }
        return wrong.empty() && MisuseWatch::any() ? reported() : wrong;
    }

    [[nodiscard]] const std::vector<Object> &live() const noexcept { return objects_; }

    /// Checks the contents of an object that the model filled.
    [[nodiscard]] static bool is_intact(const Object &object) noexcept {
        return is_intact(object, object.usable);
    }
    /// The same of its first bytes, after it was resized. `object` is as it was when it was filled: that says
    /// which of its words were.
    [[nodiscard]] static bool is_intact(const Object &object, std::size_t kept) noexcept {
        return visit(object, [&object, kept](std::byte *at, std::size_t number) {
            if (number * 8 >= kept) return true;
            std::uint64_t found = 0;
            const std::size_t size =
                std::min(sizeof found, static_cast<std::size_t>(object.data + kept - at));
            std::memcpy(&found, at, size);
            const std::uint64_t wanted = word(object.id, number);
            return std::memcmp(&found, &wanted, size) == 0;
        });
    }
    /// Fills an object with what its id gives.
    static void fill(const Object &object) noexcept {
        visit(object, [&object](std::byte *at, std::size_t number) {
            const std::uint64_t value = word(object.id, number);
            std::memcpy(at, &value,
                        std::min(sizeof value, static_cast<std::size_t>(object.data + object.usable - at)));
            return true;
        });
    }

  private:
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    struct Mark {
        std::size_t number; // the subject's
        std::uint64_t next_id;
    };
    struct Place {
        std::uintptr_t data;
        std::uintptr_t end;
    };

    static std::uint64_t word(std::uint64_t id, std::size_t number) noexcept {
        return (id + 1) * 0x9E3779B97F4A7C15U + number * 0xD1B54A32D192ED03U;
    }
    /// Calls `use` for the words of an object, until it returns false: for all, or for the two ends and some
    /// between where it is large.
    template <class Use>
    static bool visit(const Object &object, Use use) noexcept {
        constexpr std::size_t end = 512;    // words
        constexpr std::size_t stride = 509; // a prime, so that all offsets in a page have their turn
        const std::size_t words = (object.usable + 7) / 8;
        for (std::size_t number = 0; number < words; ++number) {
            if (!use(object.data + number * 8, number)) return false;
            if (number >= end && number + end + stride < words) number += stride - 1;
        }
        return true;
    }

    [[gnu::noinline]] static std::string name_of(const Object &object) {
        return "object #" + std::to_string(object.id) + " (" + std::to_string(object.size) + " bytes, " +
               std::to_string(object.usable) + " usable, alignment " + std::to_string(object.alignment) +
               ", at address " + std::to_string(reinterpret_cast<std::uintptr_t>(object.data)) + ")";
    }
    [[gnu::noinline]] static std::string request(std::size_t size, std::size_t alignment, const char *what) {
        return "a request for " + std::to_string(size) + " bytes aligned to " + std::to_string(alignment) +
               " was " + what;
    }
    [[gnu::noinline]] static std::string reported() {
        return "checked mode reports where no misuse was: " + MisuseWatch::take_words();
    }

    std::string perform(const Operation &operation) {
        switch (operation.kind) {
        case Operation::allocate:
        case Operation::allocate_or_throw:
            return allocate(operation);
        case Operation::allocate_impossible:
            return allocate_impossible(operation);
        case Operation::deallocate:
            return objects_.empty() ? std::string() : deallocate(choose(operation));
        case Operation::deallocate_null:
            subject_.deallocate(nullptr, size_from(operation.first), 1);
            return {};
        case Operation::resize:
            if (objects_.empty()) return {};
            if (can_.reallocates && operation.second % 2 == 0) return reallocate(operation);
            return can_.resizes ? resize(operation) : std::string();
        case Operation::mark:
            if (can_.marks) {
                const std::size_t number = subject_.mark();
                if (number != no_mark) marks_.push_back({number, next_id_});
            }
            return {};
        case Operation::rewind:
            return marks_.empty() ? std::string() : rewind(operation.first % marks_.size());
        case Operation::reset:
            return can_.resets ? reset() : std::string();
        case Operation::fail_upstream:
            fail_upstream(operation);
            return {};
        case Operation::look:
        case Operation::kinds:
            break;
        }
        return look();
    }

    /// One request soon; or some of all that follow, until it is said again.
    void fail_upstream(const Operation &operation) noexcept {
        if (upstream_ == nullptr) return;
        upstream_->succeed();
        if (operation.second % 4 == 0)
            upstream_->fail_randomly(operation.first, 2 + operation.second / 4 % 8);
        else
            upstream_->fail_once(operation.first % 4);
    }

    /// Small ones most of the time, all magnitudes equally often.
    [[nodiscard]] std::size_t size_from(std::uint32_t drawn) const noexcept {
        const unsigned large = (drawn & 0xFFU) == 0 && spent_ < options_.most_bytes ? 20 : 10;
        const unsigned bits = (drawn >> 8U & 0xFFU) % large;
        const std::size_t size =
            (drawn >> 12U & ((std::size_t{1} << bits) - 1)) + (std::size_t{1} << bits >> 1U);
        return std::clamp(size, limits_.smallest, limits_.largest);
    }
    [[nodiscard]] std::size_t alignment_from(std::uint32_t drawn) const noexcept {
        unsigned bits = (drawn & 7U) != 0 ? (drawn >> 16U) % 5 : (drawn >> 16U) % 13;
        if ((drawn & 0x7FFU) == 0 && spent_ < options_.most_bytes) bits = (drawn >> 16U) % 22;
        return std::min(std::size_t{1} << bits, limits_.largest_alignment);
    }

    std::string allocate(const Operation &operation) {
        if (objects_.size() >= options_.most_objects || live_bytes_ > options_.most_bytes)
            return deallocate(choose(operation));
        const std::size_t size = size_from(operation.first);
        const std::size_t alignment = alignment_from(operation.second);
        const std::uint64_t failures = upstream_ == nullptr ? 0 : upstream_->failures();
        bool threw = false;
        const bool throws = operation.kind == Operation::allocate_or_throw && can_.throws;
        const Allocation got =
            throws ? subject_.allocate_or_throw(size, alignment, threw) : subject_.allocate(size, alignment);
        if (got.data == nullptr) {
            if (throws && !threw) return "allocate returned null, where it has to throw";
            const bool failed = upstream_ != nullptr && upstream_->failures() != failures;
            if (failed || subject_.may_refuse(size, alignment)) return {};
            return request(size, alignment, "refused");
        }
        return admit(got, size, alignment);
    }

    std::string admit(const Allocation &got, std::size_t size, std::size_t alignment) {
        const Object object{static_cast<std::byte *>(got.data), size, got.size, alignment, next_id_++};
        if (object.usable < size) return name_of(object) + " is smaller than asked for";
        if (padding_at(object.data, alignment) != 0) return name_of(object) + " is misaligned";
        if (std::string wrong = insert(object); !wrong.empty()) return wrong;
        if (can_.knows_own && object.usable > 0 && !subject_.owns(object.data))
            return name_of(object) + " is said not to be owned";
        fill(object);
        objects_.push_back(object);
        live_bytes_ += object.usable;
        spent_ += object.usable + 2 * alignment;
        return {};
    }

    /// Into the order of addresses, where it may meet nobody.
    std::string insert(const Object &object) {
        const auto data = reinterpret_cast<std::uintptr_t>(object.data);
        const std::uintptr_t end = data + std::max(object.usable, std::size_t{1});
        const auto next = std::ranges::lower_bound(by_address_, data, {}, &Place::data);
        if (end < data || (next != by_address_.end() && next->data < end) ||
            (next != by_address_.begin() && std::prev(next)->end > data)) {
            for (const Object &other : objects_) {
                const auto theirs = reinterpret_cast<std::uintptr_t>(other.data);
                if (theirs < end && data < theirs + std::max(other.usable, std::size_t{1}))
                    return name_of(object) + " overlaps " + name_of(other);
            }
            return name_of(object) + " reaches the end of all addresses";
        }
        by_address_.insert(next, {data, end});
        return {};
    }
    void remove(const Object &object) {
        const auto data = reinterpret_cast<std::uintptr_t>(object.data);
        by_address_.erase(std::ranges::lower_bound(by_address_, data, {}, &Place::data));
    }

    std::string allocate_impossible(const Operation &operation) {
        constexpr std::size_t end = std::numeric_limits<std::size_t>::max();
        std::size_t size = size_from(operation.first);
        std::size_t alignment = alignment_from(operation.second);
        switch (operation.first % 4) {
        case 0:
            size = end - operation.second % 4097;
            break;
        case 1:
            size = end / 2 - operation.second % 4097 + 1;
            break;
        case 2:
            if (limits_.largest >= max_object / 8) return {};
            size = limits_.largest + 1 + operation.second % 4097;
            break;
        default:
            if (!limits_.checks_alignment) return {};
            alignment = operation.second % 2 == 0 ? 0 : 3 * alignment;
        }
        bool threw = false;
        const bool throws = operation.second % 3 == 0 && can_.throws;
        const Allocation got =
            throws ? subject_.allocate_or_throw(size, alignment, threw) : subject_.allocate(size, alignment);
        if (got.data != nullptr) return request(size, alignment, "met, which cannot be");
        return throws && !threw ? "allocate returned null, where it has to throw" : std::string();
    }

    /// The last, the first, or any.
    [[nodiscard]] std::size_t choose(const Operation &operation) const noexcept {
        switch (operation.second % 4) {
        case 0:
            return objects_.size() - 1;
        case 1:
            return 0;
        default:
            return operation.first % objects_.size();
        }
    }

    std::string deallocate(std::size_t number) {
        const Object object = objects_[number];
        if (!is_intact(object)) return changed(object);
        if (can_.frees_younger) {
            if (std::string wrong = end_since(object.id, object.id); !wrong.empty()) return wrong;
            while (!marks_.empty() && marks_.back().next_id > object.id) marks_.pop_back();
        } else {
            forget(number);
        }
        subject_.deallocate(object.data, object.size, object.alignment);
        return {};
    }

    /// Impossible at times.
    [[nodiscard]] std::size_t new_size_from(const Operation &operation) const noexcept {
        return operation.second % 63 == 0 ? std::numeric_limits<std::size_t>::max() - operation.first % 4097
                                          : size_from(operation.second);
    }

    std::string resize(const Operation &operation) {
        Object &object = objects_[choose({operation.kind, operation.first, operation.first >> 8U})];
        if (!is_intact(object)) return changed(object);
        const std::size_t size = new_size_from(operation);
        if (!subject_.resize(object.data, object.size, size, object.alignment)) {
            return is_intact(object) ? std::string() : changed(object);
        }
        if (size > limits_.largest) return name_of(object) + " was resized to what cannot be";
        Object after = object;
        after.size = size;
        after.usable = std::max(size, std::size_t{1});
        if (!is_intact(object, std::min(object.usable, after.usable)))
            return changed(after) + " by its own resizing";
        live_bytes_ += after.usable - object.usable;
        remove(object);
        object = after;
        fill(object);
        const Object copy = std::exchange(object, Object{});
        std::string wrong = insert(copy);
        object = copy;
        return wrong;
    }

    std::string reallocate(const Operation &operation) {
        const std::size_t number = choose({operation.kind, operation.first, operation.first >> 8U});
        const Object object = objects_[number];
        if (!is_intact(object)) return changed(object);
        const std::size_t size = new_size_from(operation);
        const std::size_t alignment =
            operation.first % 4 == 0 ? alignment_from(operation.first) : object.alignment;
        const std::uint64_t failures = upstream_ == nullptr ? 0 : upstream_->failures();
        const Allocation got = subject_.reallocate(object.data, object.size, size, alignment);
        if (got.data == nullptr) {
            if (!is_intact(object)) return changed(object) + " by a reallocation that failed";
            const bool failed = upstream_ != nullptr && upstream_->failures() != failures;
            if (size > limits_.largest || failed || subject_.may_refuse(size, alignment)) return {};
            return request(size, alignment, "refused a reallocation");
        }
        if (size > limits_.largest) return name_of(object) + " was reallocated to what cannot be";
        Object moved = object;
        moved.data = static_cast<std::byte *>(got.data);
        if (!is_intact(moved, std::min(object.usable, size)))
            return changed(moved) + " by its own reallocation";
        forget(number);
        // To marks it is as old as it was if it stands where it stood.
        const std::uint64_t next_id = next_id_;
        if (got.data == object.data) next_id_ = object.id;
        std::string wrong = admit(got, size, alignment);
        next_id_ = std::max(next_id, next_id_);
        return wrong;
    }

    std::string rewind(std::size_t number) {
        const Mark mark = marks_[number];
        if (std::string wrong = end_since(mark.next_id, none); !wrong.empty()) return wrong;
        if (!subject_.rewind(mark.number)) return "a good mark was refused";
        marks_.resize(number + 1);
        return {};
    }

    std::string reset() {
        if (std::string wrong = look(); !wrong.empty()) return wrong;
        objects_.clear();
        by_address_.clear();
        marks_.clear();
        live_bytes_ = 0;
        spent_ = 0;
        subject_.reset();
        return subject_.inspect({});
    }

    /// Forgets all objects that are not older, after a look at them. `seen` was looked at already.
    std::string end_since(std::uint64_t id, std::uint64_t seen) {
        for (std::size_t number = objects_.size(); number-- > 0;) {
            if (objects_[number].id < id) continue;
            if (objects_[number].id != seen && !is_intact(objects_[number])) return changed(objects_[number]);
            forget(number);
        }
        return {};
    }

    void forget(std::size_t number) {
        remove(objects_[number]);
        live_bytes_ -= objects_[number].usable;
        objects_[number] = objects_.back();
        objects_.pop_back();
    }

    std::string look() {
        for (const Object &object : objects_) {
            if (!is_intact(object)) return changed(object);
            if (can_.knows_own && object.usable > 0 &&
                !(subject_.owns(object.data) && subject_.owns(object.data + object.usable - 1)))
                return name_of(object) + " is said not to be owned";
        }
        if (can_.knows_own && (subject_.owns(this) || subject_.owns(nullptr)))
            return "memory of somebody else is said to be owned";
        return subject_.inspect(objects_);
    }

    [[gnu::noinline]] static std::string changed(const Object &object) {
        return name_of(object) + " has changed its contents";
    }

    AnySubject &subject_;
    AnySubject::Abilities can_;
    FailingSource<> *upstream_;
    ModelOptions options_;
    Limits limits_;
    std::vector<Object> objects_;
    std::vector<Place> by_address_;
    std::vector<Mark> marks_;
    std::uint64_t next_id_ = 0;
    std::uint64_t steps_ = 0;
    std::size_t live_bytes_ = 0;
    std::size_t spent_ = 0; // since the last reset, alignments included
};

/// Something that is wrong with a subject.
struct Finding {
    std::string what;
    std::uint64_t seed = 0;            ///< of the life in which it was seen
    std::size_t step = 0;              ///< the operation at which it was
    std::vector<Operation> operations; ///< that show it again

    [[nodiscard]] std::string to_string() const {
        std::string all = what + "\n  seed " + std::to_string(seed) + ", step " + std::to_string(step) +
                          "; these operations show it:\n";
        for (const auto &operation : operations) all += "    " + testkit::to_string(operation) + "\n";
        return all;
    }
};

/// The life of one subject: made, driven by operations, ended; then nothing of its upstream may be out.
/// Returns what is wrong, and in `step` at which operation; empty: nothing.
[[nodiscard]] inline std::string live_through(const Factory &make, const std::vector<Operation> &operations,
                                              std::size_t &step, const ModelOptions &options = {}) {
    const MisuseWatch watch;
    FailingSource<> upstream;
    std::string wrong;
    step = 0;
    {
        const auto subject = make(upstream);
        ReferenceModel model(*subject, &upstream, options);
        for (; step < operations.size() && wrong.empty(); ++step) wrong = model.step(operations[step]);
        if (wrong.empty()) wrong = model.finish();
    }
    if (wrong.empty() && MisuseWatch::any())
        wrong = "checked mode reports at its end where no misuse was: " + MisuseWatch::take_words();
    if (wrong.empty()) wrong = upstream.complaint();
    if (wrong.empty() && upstream.outstanding() > 0) {
        wrong = std::to_string(upstream.outstanding()) + " blocks of " +
                std::to_string(upstream.outstanding_bytes()) + " bytes were never returned to the source";
    }
    return wrong;
}

/// The operations of the life that a seed stands for; lives are of all lengths up to some thousands.
[[nodiscard]] inline std::vector<Operation> life_of(std::uint64_t seed) {
    constexpr std::size_t lengths[] = {16, 200, 1000, 4000};
    Random random(seed);
    std::vector<Operation> operations(1 + random.below(lengths[random.below(4)]));
    Operations draw(random());
    for (auto &operation : operations) operation = draw();
    return operations;
}

/// The shortest sequence that is found by leaving operations out while it still shows something wrong: halves
/// first, then ever smaller parts (Zeller's delta debugging, without the complements).
[[nodiscard]] inline std::vector<Operation> minimise(const Factory &make, std::vector<Operation> operations,
                                                     const ModelOptions &options = {}) {
    std::size_t tries = 5000;
    for (std::size_t part = (operations.size() + 1) / 2; part > 0; part /= 2) {
        for (std::size_t at = 0; at < operations.size() && tries > 0;) {
            auto fewer = operations;
            const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
            fewer.erase(first, first + static_cast<std::ptrdiff_t>(std::min(part, fewer.size() - at)));
            std::size_t step = 0;
            --tries;
            if (live_through(make, fewer, step, options).empty()) {
                at += part;
            } else {
                operations = std::move(fewer);
            }
        }
    }
    return operations;
}

/// Lives of the seeds from `seed` on, until so many operations were done or something is wrong. What is found
/// is shown again by check(make, finding.seed, 1).
[[nodiscard]] inline std::optional<Finding>
check(const Factory &make, std::uint64_t seed, std::uint64_t operations, const ModelOptions &options = {}) {
    for (std::uint64_t done = 0; done < operations; ++seed) {
        const std::vector<Operation> life = life_of(seed);
        std::size_t step = 0;
        const std::string what = live_through(make, life, step, options);
        if (!what.empty()) return Finding{what, seed, step, minimise(make, life, options)};
        done += life.size();
    }
    return std::nullopt;
}

} // namespace reap::inline REAP_MODE::testkit
