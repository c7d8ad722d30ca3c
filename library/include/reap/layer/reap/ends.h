#pragma once

// Marks, rewinding and the end of objects. Part of layer/reap.h.

#include <cstddef>
#include <new>
#include <utility>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
typename Reap<Upstream, Granule, Window, S>::Mark Reap<Upstream, Granule, Window, S>::mark() {
    mend();
    end_quarantine();
    // Free memory stays free: it is older than the mark, and what comes now is newer.
    struct Undo {
        Reap &reap;
        bool reused = reap.reuse_ != nullptr;
        ~Undo() {
            if (!reused) return;
            reap.begin_reuse();
            reap.sweep();
        }
    };
    Undo undo{*this}; // if there is no room for the record
    forget_free();
    reuse_ = nullptr;
    limit_ = end_;
    void *const data = take<Failure::throws>(sizeof(MarkRecord), unit);
    undo.reused = false;
    if (reuse_ != nullptr) { // a new chunk, and runs
        forget_free();
        reuse_ = nullptr;
        limit_ = end_;
    }
    if constexpr (checked) guard::open(data, sizeof(MarkRecord), name);
    rare().marks = ::new (data) MarkRecord{known().marks,    detail::next_mark(), current_,        end_,
                                           known().cleanups, known().free_bytes,  ledger_.newest()};
    CheckedSeal::set(*rare_->marks);
    Pool::begin_part(rare_->marks);
    Mark mark;
    mark.refer_to(rare_->marks);
    return mark;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::rewind(const Mark &mark) noexcept {
    mend();
    MarkRecord *record = mark.find_in(known().marks);
    if (record == nullptr) {
        if constexpr (checked) report_misuse({Misuse::stale_mark, mark.record_, 0, name});
        return false;
    }
    // A destructor may end what the mark lies in, or rewind further, or reset: then this is done.
    for (const Mark copy = mark; known().cleanups != record->cleanups;) {
        if (!run_cleanup()) return true;
        record = copy.find_in(known().marks);
        if (record == nullptr) return true;
    }
    came_back_since(record);
    out_of_line([record](Reap &reap) { return reap.rewind_slow(record), true; });
    return true;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::rewind_slow(MarkRecord *record) noexcept {
    ledger_.end_newer_than(record->newest, name);
    if constexpr (checked) {
        if (!is_marked()) begin_marks();
    }
    for (Large *large = rare_->large; large != nullptr && large->serial >= record->serial;
         large = rare_->large) {
        detail::Running::freed(object_of(large), large->size);
        free_large(large);
    }
    while (chunk_ != nullptr && chunk_->serial >= record->serial) {
        if constexpr (checked) {
            open_free(chunk_);
            guard::close(start_of(chunk_), chunk_->size - chunk_lead, guard::Fill::rewound);
        }
        detail::Running::freed(chunk_, chunk_->size);
        detail::move_first(chunk_, spare_);
    }
    rare_->marks = record;
    rare_->free_bytes = record->free_bytes;
    current_ = record->current;
    end_ = record->end;
    detail::Running::freed(current_, distance(current_, end_));
    limit_ = end_;
    if constexpr (told) {
        if (rare_->marked) Shadow::clear(current_, distance(current_, end_));
    } else if (current_ != nullptr) {
        shadow_ = Shadow::bias_of(current_);
    }
    if constexpr (checked) {
        if (current_ != end_) guard::close(current_, distance(current_, end_), guard::Fill::rewound);
    }
    seal_chunks();
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::reset_slow(std::size_t keep) noexcept {
    mend();
    end_quarantine();
    ledger_.end_newer_than(nullptr, name);
    if constexpr (checked) {
        forget_free();
        if (!is_marked() && chunk_ != nullptr) begin_marks();
    }
    while (known().large != nullptr) {
        detail::Running::gone(object_of(rare_->large), rare_->large->size);
        free_large(rare_->large);
    }

    reuse_ = nullptr;
    spare_ = detail::oldest_first(std::exchange(chunk_, nullptr), spare_, [this](Chunk *chunk) {
        if constexpr (checked) {
            open_free(chunk);
            guard::close(start_of(chunk), chunk->size - chunk_lead, guard::Fill::reset);
        }
        (void)this;
        detail::Running::freed(chunk, chunk->size);
    });
    rare_ = nullptr; // was in the last of them
    keep_spare(keep);

    current_ = end_ = limit_ = alone_ = nullptr;
    if (spare_ != nullptr) {
        enter(detail::take_off(detail::largest_of(spare_)));
        if (detail::Running::any()) alone_ = nullptr; // its end has more to do
    }
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::trim_slow(std::size_t keep) noexcept {
    mend();
    end_quarantine();
    if (reuse_ != nullptr) sweep();
    keep_spare(keep);
}

/// Takes a cleanup off the list. Passed only the rare state, so that the address of a reap does not escape.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::unlink(Rare &rare, Cleanup *cleanup) noexcept {
    if (cleanup->newer == nullptr) {
        rare.cleanups = cleanup->older;
    } else if (CodeSeal::holds(*cleanup->newer)) {
        cleanup->newer->older = cleanup->older;
        CodeSeal::set(*cleanup->newer);
    }
    set_newer(cleanup->older, cleanup->newer);
    CodeSeal::end(*cleanup);
    for (MarkRecord *record = rare.marks; record != nullptr; record = record->older) {
        if (record->cleanups != cleanup) continue;
        record->cleanups = cleanup->older;
        CheckedSeal::set(*record);
    }
}

} // namespace reap::inline REAP_MODE
