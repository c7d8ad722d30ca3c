#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "reap/core/size.h"
#include "reap/testkit/failing_source.h"
#include "reap/testkit/misuse_watch.h"
#include "reap/testkit/operation.h"
#include "reap/testkit/reference_model.h"
#include "reap/testkit/subject.h"

// What random operations may miss is done here one by one: each failure of the upstream, each size and
// alignment at a boundary, each order of allocation and free.

namespace reap::inline REAP_MODE::testkit {

/// What a sweep did, and the first thing that was wrong; an empty string is nothing.
struct SweepResult {
    std::uint64_t cases = 0;
    std::string wrong;
};

/// Runs the life of `seed` again and again, each time with another request of its to the upstream failing:
/// that one alone, and that one with all that follow. Each time contents stay, requests that are refused do
/// nothing, after the failures the subject serves again, and nothing is leaked.
[[nodiscard]] inline SweepResult sweep_failures(const Factory &make, std::uint64_t seed,
                                                std::size_t operations = 200) {
    Operations draw(seed);
    std::vector<Operation> life;
    while (life.size() < operations) {
        const Operation next = draw();
        // The sweep alone says what fails.
        if (next.kind != Operation::fail_upstream) life.push_back(next);
    }

    SweepResult result;
    for (const bool persistently : {false, true}) {
        for (std::uint64_t number = 0;; ++number, ++result.cases) {
            const MisuseWatch watch;
            FailingSource<> upstream;
            const auto where = [&] {
                return std::string("upstream request ") + std::to_string(number) +
                       (persistently ? " and all after it fail: " : " fails: ");
            };
            if (persistently)
                upstream.fail_from(number);
            else
                upstream.fail_once(number);
            {
                std::unique_ptr<AnySubject> subject;
#if __cpp_exceptions
                try {
                    subject = make(upstream);
                } catch (const std::bad_alloc &) {
                    subject = nullptr; // its constructor asks the upstream, and there is nothing to use
                }
#else
                subject = make(upstream);
#endif
                if (subject != nullptr) {
                    ReferenceModel model(*subject, &upstream);
                    for (const Operation &operation : life) {
                        result.wrong = model.step(operation);
                        if (!result.wrong.empty()) break;
                    }
                    upstream.succeed();
                    for (std::uint32_t more = 0; more < 20 && result.wrong.empty(); ++more)
                        result.wrong = model.step({Operation::allocate, more << 8U, more});
                    if (result.wrong.empty()) result.wrong = model.finish();
                }
            }
            if (result.wrong.empty() && MisuseWatch::any())
                result.wrong = "checked mode reports where no misuse was: " + MisuseWatch::take_words();
            if (result.wrong.empty()) result.wrong = upstream.complaint();
            if (result.wrong.empty() && upstream.outstanding() > 0)
                result.wrong = std::to_string(upstream.outstanding()) + " blocks were never returned";
            if (!result.wrong.empty()) {
                result.wrong = where() + result.wrong;
                return result;
            }
            if (upstream.requests() <= number) break;
        }
    }
    return result;
}

/// The sizes at which arithmetic goes wrong: 0, 1, every 2^n and its neighbours, and the last `last` of all.
[[nodiscard]] inline std::vector<std::size_t> boundary_sizes(std::size_t last = 4096) {
    std::set<std::size_t> sizes{0, 1};
    for (unsigned bits = 1; bits < 64; ++bits) {
        const std::size_t power = std::size_t{1} << bits;
        sizes.insert({power - 1, power, power + 1});
    }
    for (std::size_t below = 0; below <= last; ++below)
        sizes.insert(std::numeric_limits<std::size_t>::max() - below);
    return {sizes.begin(), sizes.end()};
}

/// Asks for every boundary size at every alignment from 1 to 2 MiB, by each way there is. What is allocated
/// is aligned, can be written at both ends, and is freed; what cannot be is refused, and so is every
/// alignment that is none. `last`: how many sizes below SIZE_MAX.
[[nodiscard]] inline SweepResult sweep_boundaries(const Factory &make, std::size_t last = 4096) {
    const MisuseWatch watch;
    FailingSource<> upstream;
    // What is larger is there to be refused; a source that has the memory would make this a test of patience.
    upstream.fail_above(std::size_t{3} << 20);
    const auto subject = make(upstream);
    const Limits limits = subject->limits();

    SweepResult result;
    const auto try_one = [&](std::size_t size, std::size_t alignment, bool throws) {
        bool threw = false;
        ++result.cases;
        const std::uint64_t failures = upstream.failures();
        const Allocation got =
            throws ? subject->allocate_or_throw(size, alignment, threw) : subject->allocate(size, alignment);
        const auto complain = [&](const char *what) {
            result.wrong =
                "allocate(" + std::to_string(size) + ", " + std::to_string(alignment) + ") " + what;
        };
        const bool possible = size >= limits.smallest && size <= limits.largest && is_alignment(alignment) &&
                              alignment <= limits.largest_alignment;
        if (got.data == nullptr) {
            if (throws && !threw) complain("returned null, where it has to throw");
            // Larger ones the machine may lack memory for.
            const bool modest = size <= std::size_t{64} << 10 && alignment <= 4096;
            if (possible && modest && upstream.failures() == failures &&
                !subject->may_refuse(size, alignment))
                complain("was refused");
            return;
        }
        if (!possible)
            complain("was met, which cannot be");
        else if (got.size < size)
            complain("returned less than asked for");
        else if (padding_at(got.data, alignment) != 0)
            complain("is misaligned");
        if (!result.wrong.empty()) return;
        if (got.size > 0) {
            auto *const data = static_cast<volatile std::byte *>(got.data);
            data[0] = std::byte{1};
            data[got.size - 1] = std::byte{2};
        }
        subject->deallocate(got.data, size, alignment);
        if (MisuseWatch::any()) complain(("has checked mode report " + MisuseWatch::take_words()).c_str());
    };

    std::vector<std::size_t> alignments;
    for (std::size_t alignment = 1; alignment <= std::size_t{2} << 20; alignment *= 2)
        alignments.push_back(alignment);
    if (limits.checks_alignment) {
        constexpr std::size_t none[] = {0, 3, 6, 24, 4095, std::numeric_limits<std::size_t>::max()};
        alignments.insert(alignments.end(), std::begin(none), std::end(none));
        alignments.push_back(std::size_t{1} << 63U);
    }
    for (const std::size_t size : boundary_sizes(last)) {
        for (const std::size_t alignment : alignments) {
            for (const bool throws : {false, true}) {
                if (throws && !subject->abilities().throws) continue;
                try_one(size, alignment, throws);
                if (!result.wrong.empty()) return result;
            }
        }
        if (result.cases % 4096 < alignments.size()) subject->reset();
    }
    return result;
}

namespace detail {

/// All orders of `left` allocations and of the frees of what is live, from here on.
class Orders {
  public:
    Orders(const Factory &make, std::size_t objects) : make_(make), objects_(objects) {}

    SweepResult run() {
        continue_with(0, {});
        return std::move(result_);
    }

  private:
    /// An order is the numbers of the objects: negative where it is freed.
    void continue_with(std::size_t allocated, std::vector<std::size_t> live) {
        if (!result_.wrong.empty()) return;
        if (allocated == objects_ && live.empty()) return check();
        if (allocated < objects_) {
            order_.push_back(static_cast<int>(allocated) + 1);
            auto more = live;
            more.push_back(allocated);
            continue_with(allocated + 1, std::move(more));
            order_.pop_back();
        }
        for (std::size_t at = 0; at < live.size(); ++at) {
            order_.push_back(-static_cast<int>(live[at]) - 1);
            auto fewer = live;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
            continue_with(allocated, std::move(fewer));
            order_.pop_back();
        }
    }

    void check() {
        ++result_.cases;
        FailingSource<> upstream;
        {
            const auto subject = make_(upstream);
            const bool frees_younger = subject->abilities().frees_younger;
            const Limits limits = subject->limits();
            std::vector<Object> live(objects_);
            for (const int number : order_) {
                const auto at = static_cast<std::size_t>(number > 0 ? number : -number) - 1;
                Object &object = live[at];
                if (number > 0) {
                    // Of different sizes and alignments, so that neighbours differ.
                    constexpr std::size_t sizes[] = {16, 200, 1, 40, 3000, 64, 24, 500};
                    constexpr std::size_t alignments[] = {8, 16, 1, 64, 16, 4, 16, 128};
                    object.size = std::clamp(sizes[at % 8], limits.smallest, limits.largest);
                    object.alignment = std::min(alignments[at % 8], limits.largest_alignment);
                    const Allocation got = subject->allocate(object.size, object.alignment);
                    if (got.data == nullptr) return complain("refused");
                    object.data = static_cast<std::byte *>(got.data);
                    object.usable = got.size;
                    object.id = at;
                    ReferenceModel::fill(object);
                } else if (object.data != nullptr) {
                    if (!ReferenceModel::is_intact(object)) return complain("contents changed");
                    subject->deallocate(object.data, object.size, object.alignment);
                    object.data = nullptr;
                    if (frees_younger) {
                        for (std::size_t later = at + 1; later < objects_; ++later)
                            live[later].data = nullptr;
                    }
                }
                if (MisuseWatch::any()) return complain(MisuseWatch::take_words());
            }
        }
        if (MisuseWatch::any()) return complain(MisuseWatch::take_words());
        if (!upstream.complaint().empty()) return complain(upstream.complaint());
        if (upstream.outstanding() > 0) complain("leaked");
    }

    void complain(const std::string &what) {
        result_.wrong = what + ", in the order";
        for (const int number : order_) result_.wrong += ' ' + std::to_string(number);
    }

    const Factory &make_;
    std::size_t objects_;
    std::vector<int> order_;
    SweepResult result_;
    MisuseWatch watch_;
};

} // namespace detail

/// Allocates and frees so many objects in every order there is, each time with a new subject: 1, 3, 15, 105,
/// 945, 10395 and 135135 orders for 1 to 7 objects.
[[nodiscard]] inline SweepResult sweep_orders(const Factory &make, std::size_t objects) {
    return detail::Orders(make, objects).run();
}

} // namespace reap::inline REAP_MODE::testkit
