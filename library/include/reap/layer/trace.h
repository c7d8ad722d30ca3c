#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// One call, as recorded by a Trace.
struct TraceEvent {
    enum class Kind : unsigned char { allocate, failure, deallocate };
    Kind kind = Kind::failure;
    void *data = nullptr; ///< null for a failure; must not be accessed for a deallocation
    std::size_t size = 0; ///< as requested or freed, in bytes
    std::size_t alignment = 0;
};

/// The receiver of a Trace's events: `sink(event)`.
template <class T>
concept TraceSink = std::invocable<T &, const TraceEvent &>;

/// Keeps the last Capacity events, in no memory but its own: to inspect in a debugger, or after a failed
/// test.
template <std::size_t Capacity>
class LastEvents {
    static_assert(Capacity > 0);

  public:
    void operator()(const TraceEvent &event) noexcept { events_[told_++ % Capacity] = event; }
    /// The number of events received.
    [[nodiscard]] std::uint64_t told() const noexcept { return told_; }
    /// The number of events kept.
    [[nodiscard]] std::size_t size() const noexcept { return detail::min<std::uint64_t>(told_, Capacity); }
    /// The oldest event kept is number 0; `number` must be below size().
    [[nodiscard]] const TraceEvent &operator[](std::size_t number) const noexcept {
        return events_[(told_ - size() + number) % Capacity];
    }

  private:
    std::array<TraceEvent, Capacity> events_ = {};
    std::uint64_t told_ = 0;
};

/// Reports each call to a source to a sink: after an allocation, before a deallocation.
///
/// The sink is called in the thread of the call, must not throw, and must not use this source. Only the sink
/// stores anything, and nothing is changed: memory larger than requested is passed on, and reported with the
/// requested size. As thread-safe as source and sink. Costs the sink.
template <Source S, TraceSink Sink = LastEvents<64>>
class Trace {
  public:
    Trace()
        requires std::default_initializable<S> && std::default_initializable<Sink>
    = default;
    explicit Trace(Sink sink) noexcept
        requires std::default_initializable<S>
        : sink_(std::move(sink)) {}
    Trace(S source, Sink sink) noexcept
        requires std::copy_constructible<S>
        : source_(source), sink_(std::move(sink)) {}
    Trace(const Trace &) = delete;
    Trace &operator=(const Trace &) = delete;

    /// Throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        Telling telling{sink_, {TraceEvent::Kind::failure, nullptr, size, alignment}};
        return telling.had(obtain<Failure::throws>(source_, size, alignment));
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        Telling telling{sink_, {TraceEvent::Kind::failure, nullptr, size, alignment}};
        return telling.had(source_.try_allocate(size, alignment));
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept
        requires AtLeastSource<S>
    {
        Telling telling{sink_, {TraceEvent::Kind::failure, nullptr, size, alignment}};
        const Allocation got = source_.try_allocate_at_least(size, alignment);
        telling.had(got.data);
        return got;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return;
        sink_(TraceEvent{TraceEvent::Kind::deallocate, data, size, alignment});
        source_.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<S>
    {
        return source_.owns(address);
    }

    [[nodiscard]] Sink &sink() noexcept { return sink_; }
    [[nodiscard]] const S &source() const noexcept { return source_; }

  private:
    /// Reports at its end: the source may throw.
    struct Telling {
        Sink &sink;
        TraceEvent event;
        void *had(void *data) noexcept {
            if (data != nullptr) event.kind = TraceEvent::Kind::allocate;
            event.data = data;
            return data;
        }
        ~Telling() { sink(event); }
    };

    [[no_unique_address]] HeldCopy<S> source_;
    [[no_unique_address]] Sink sink_;
};

template <Source S, TraceSink Sink>
Trace(S &, Sink) -> Trace<Shared<S>, Sink>;

} // namespace reap::inline REAP_MODE
