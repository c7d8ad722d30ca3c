#include "totals/growing.h"

#include <algorithm>
#include <cstring>

#include "trace/merge.h"
#include "trace/process.h"
#include "trace/writer.h"

namespace reap::native {
namespace {

constexpr double kLagSeconds = 0.05;

} // namespace

Growing::Growing(const std::string &path)
    : file_(path), definitions_(file_, BlockReader::File::Growing), all_(file_, definitions_),
      outside_(file_, BlockReader::File::Growing) {}

bool Growing::update(uint64_t most, bool last) {
    // First what has ended, then the time, then the file: so of what has ended all is read, and of the rest
    // whatever an event up to that time depends on.
    file_.find_new_blocks();
    find_images();
    Images ended = take_ended(last);
    const uint64_t now = ticks_now(file_.header().clock);
    const double lag = kLagSeconds * all_.totals().ticks_per_second; // beyond every integer if it is damaged
    const uint64_t seen = lag < static_cast<double>(now) ? now - static_cast<uint64_t>(lag) : 0;
    const uint64_t horizon = last ? kNoLimit : seen;
    file_.update(ended);
    find_images();
    if (last) ended.merge(take_ended(true));

    definitions_.update();
    for (const uint32_t image : ended) definitions_.close(image);
    sort_blocks();
    for (auto &[who, stream] : streams_) {
        if (ended.contains(who.first)) stream->blocks().close();
    }
    if (last) outside_.close();
    const bool all = take_events(horizon, most);
    read_counts(ended);
    read_outside();
    if (file_.header().attached != 0) measure_resident();

    const reap_file_header &header = file_.header();
    const Summary &totals = all_.totals();
    now_.live_bytes = totals.tree.bytes;
    now_.peak_bytes = totals.tree.max_bytes;
    now_.objects = by_size_.objects();
    now_.bytes = by_size_.bytes();
    now_.samples = totals.samples;
    now_.running = running_.size();
    now_.last_event = seconds(totals.last_ticks);
    now_.seconds = seconds(!all || last ? std::max(totals.last_ticks, header.end_ticks) : horizon);
    return !all;
}

// The launcher's blocks belong to no image.
void Growing::find_images() {
    for (; in_images_ < file_.blocks().size(); ++in_images_) {
        const reap_block_header &head = file_.blocks()[in_images_].head;
        if (head.kind == REAP_BLOCK_OUTSIDE) continue;
        const auto [place, fresh] = latest_.try_emplace(head.pid, head.image);
        if (!fresh && place->second >= head.image) continue;
        place->second = head.image;
        running_.emplace(head.image, Process{head.pid, head.process_start});
        ++now_.processes;
    }
}

Growing::Images Growing::take_ended(bool last) {
    Images ended;
    for (const auto &[image, process] : running_) {
        const bool executed = latest_.at(process.pid) != image; // another program, in the same process
        if (last || executed || !is_running(process.pid, process.start)) ended.insert(image);
    }
    for (const uint32_t image : ended) running_.erase(image);
    return ended;
}

void Growing::sort_blocks() {
    for (; sorted_ < file_.blocks().size(); ++sorted_) {
        const BlockInfo &block = file_.blocks()[sorted_];
        if (block.head.kind == REAP_BLOCK_COUNTS) {
            counts_.push_back(&block);
        } else if (block.head.kind == REAP_BLOCK_OUTSIDE) {
            outside_.add(block);
        } else if (block.head.kind == REAP_BLOCK_EVENTS) {
            auto &stream = streams_[{block.head.image, block.head.thread}];
            if (stream != nullptr) {
                stream->blocks().add(block);
            } else {
                stream = std::make_unique<EventStream>(file_, block, BlockReader::File::Growing);
                all_.begin(*stream);
            }
        }
    }
}

bool Growing::take_events(uint64_t horizon, uint64_t most) {
    std::vector<EventStream *> streams;
    streams.reserve(streams_.size());
    for (const auto &[who, stream] : streams_) streams.push_back(stream.get());
    const bool all = all_.take(streams, horizon, most);
    std::erase_if(streams_, [](const auto &each) { return each.second->ended; });
    return all;
}

void Growing::read_counts(const Images &ended) {
    const bool triage = file_.header().depth == REAP_DEPTH_TRIAGE;
    // In full depth the events say all until they stop at the limit of the file's size.
    if (triage || file_.header().stop_reason != REAP_STOP_NONE) {
        BySize running;
        uint64_t frees = 0;
        std::vector<unsigned char> payload;
        std::erase_if(counts_, [&](const BlockInfo *block) {
            const bool over = ended.contains(block->head.image);
            if (!file_.payload(*block, payload) || payload.size() < sizeof(reap_counts)) return over;
            reap_counts counts;
            std::memcpy(&counts, payload.data(), sizeof counts);
            (over ? ended_by_size_ : running).add(counts);
            (over ? ended_frees_ : frees) += counts.frees;
            return over;
        });
        by_size_ = all_.totals().by_size;
        by_size_.add(ended_by_size_);
        by_size_.add(running);
        now_.frees = all_.totals().frees + ended_frees_ + frees;
    } else {
        std::erase_if(counts_, [&](const BlockInfo *block) { return ended.contains(block->head.image); });
        by_size_ = all_.totals().by_size;
        now_.frees = all_.totals().frees;
    }
}

void Growing::read_outside() {
    while (outside_.next()) {
        const std::vector<unsigned char> &piece = outside_.piece();
        const unsigned char *const end = piece.data() + piece.size();
        RecordReader in(piece.data(), end);
        while (!in.done()) {
            const unsigned char *const begin = in.at();
            auto [tag, fields] = next_long(in);
            if (!in.good() || tag == REAP_TAG_END) {
                // The launcher writes a block's head first, with the rest perhaps not there yet.
                if (outside_.whole()) {
                    ++file_.damage().malformed;
                    outside_.skip_block();
                    break;
                }
                outside_.unread(static_cast<size_t>(end - begin));
                return;
            }
            if (tag != REAP_TAG_RESIDENT) continue;
            fields.varint(); // stamp
            fields.varint(); // process
            const uint64_t bytes = fields.varint();
            if (!fields.good()) continue;
            ++now_.measurements;
            now_.resident = bytes;
            now_.peak_resident = std::max(now_.peak_resident, bytes);
        }
    }
}

// No launcher does it for a process that ran already.
void Growing::measure_resident() {
    uint64_t bytes = 0;
    for (const auto &[image, process] : running_) {
        if (const auto found = stat_of(process.pid)) bytes += found->resident;
    }
    if (bytes == 0) return; // all have ended: what they had last stands
    now_.resident = bytes;
    now_.peak_resident = std::max(now_.peak_resident, bytes);
}

std::vector<Growing::Row> Growing::stacks(size_t most) {
    std::vector<Row> rows;
    all_.each_image([&](uint32_t image, const std::vector<SiteTotals> &sites) {
        if (sites.empty()) return;
        auto &before = before_[image];
        before.resize(sites.size());
        for (uint32_t stack = 0; stack < sites.size(); ++stack) {
            const SiteTotals &site = sites[stack];
            auto &[objects, bytes] = before[stack];
            const Row row{image, stack, site.live_bytes, site.objects - objects, site.bytes - bytes};
            objects = site.objects;
            bytes = site.bytes;
            if (row.live_bytes > 0 || row.objects > 0) rows.push_back(row);
        }
    });
    if (rows.size() > most) {
        const auto middle = rows.begin() + static_cast<long>(most);
        std::nth_element(rows.begin(), middle, rows.end(),
                         [](const Row &a, const Row &b) { return a.live_bytes > b.live_bytes; });
        const auto end = rows.begin() + static_cast<long>(std::min(rows.size(), 2 * most));
        std::partial_sort(middle, end, rows.end(),
                          [](const Row &a, const Row &b) { return a.objects > b.objects; });
        rows.erase(end, rows.end());
    }
    return rows;
}

double Growing::seconds(uint64_t ticks) const noexcept {
    const Summary &totals = all_.totals();
    return ticks > totals.start_ticks
               ? static_cast<double>(ticks - totals.start_ticks) / totals.ticks_per_second
               : 0.0;
}

} // namespace reap::native
