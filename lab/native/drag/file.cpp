#include "drag/file.h"

#include <algorithm>
#include <cstring>

#include "drag/reader.h"
#include "files/file.h"

namespace reap::native {

DragBytes::DragBytes(const std::string &path)
    : file_(path), size_(file_.size()), tail_(std::min(size_, kTail)) {
    // Where it was cut off meanwhile, zeros are its end.
    file_.read_at(tail_.data(), tail_.size(), size_ - tail_.size());
}

void DragBytes::read(unsigned char *out, size_t offset, size_t length) const {
    const size_t copied = size_ - tail_.size(); // what lies before is in the file alone
    const size_t before = std::min(length, copied - std::min(copied, offset));
    if (file_.read_at(out, before, offset) != before) throw BadTrace("it was cut short while it was read");
    if (before < length)
        std::memcpy(out + before, tail_.data() + (offset + before - copied), length - before);
}

// The first walk: everything that does not depend on a level.
class DragFile::Survey {
  public:
    Survey(DragFile &file, size_t window) : file_(file), window_(window) {
        file_.windows_.push_back({0, {}});
    }

    void step(const DragStep &step, size_t in_use) {
        const size_t begin = file_.windows_.back().begin;
        if (step.place - begin >= std::max(window_, in_use * 4)) file_.windows_.push_back({step.place, {}});
        if (step.kind != DragKind::Mapping) {
            ++file_.objects_;
            total(DragLevel::Objects) += step.size;
        }
        if (step.kind == DragKind::Block) total(DragLevel::Chunks) += step.size;
        file_.pooled_ = file_.pooled_ || step.kind == DragKind::Pooled;
    }

    void carved(size_t place, DragKind kind, uint64_t size) {
        if (kind == DragKind::Mapping) {
            file_.mappings_[place] = size;
            total(DragLevel::Chunks) += size;
        } else if (kind == DragKind::Block && !file_.carved(place)) {
            if (file_.carved_.size() <= place) file_.carved_.resize(place + 1);
            file_.carved_[place] = true;
            total(DragLevel::Objects) -= size;
        }
    }

    void ended(DragLife life) {
        file_.released_ = file_.released_ || life.used != life.last;
        if (file_.access_ == DragAccess::BeforeFree) life.last = life.used;
        if ((life.flags & REAP_DRAG_CHUNK) != 0 && life.kind == DragKind::Block)
            carved(life.birth, life.kind, life.size);
        std::vector<DragWindow> &windows = file_.windows_;
        if (life.last >= windows.back().begin) return;
        const auto after =
            std::upper_bound(windows.begin(), windows.end(), life.last,
                             [](size_t last, const DragWindow &each) { return last < each.begin; });
        std::prev(after)->late.push_back(life);
    }

    void end(DragEnd how, bool good) {
        if (good) file_.end_ = how;
    }
    void full() { file_.full_ = true; }

    void stack(uint32_t number, std::vector<DragFrame> frames) { file_.stacks_[number] = std::move(frames); }
    void module(uint32_t number, std::string_view path) { file_.modules_[number] = path; }

    // Each word ends with a zero byte; the last one's may be missing.
    void command(std::string_view words) {
        file_.command_.clear();
        while (!words.empty()) {
            const size_t length = std::min(words.find('\0'), words.size());
            file_.command_.emplace_back(words.substr(0, length));
            words.remove_prefix(std::min(length + 1, words.size()));
        }
    }

  private:
    uint64_t &total(DragLevel level) { return file_.bytes_[static_cast<size_t>(level)]; }

    DragFile &file_;
    size_t window_;
};

namespace {

// Later walks: steps and ends alone.
class Again {
  public:
    Again(DragVisitor &visitor, DragAccess access) : visitor_(visitor), access_(access) {}
    void step(const DragStep &step, size_t) { visitor_.step(step); }
    void ended(DragLife life) {
        if (access_ == DragAccess::BeforeFree) life.last = life.used;
        visitor_.ended(life);
    }
    void carved(size_t, DragKind, uint64_t) {}
    void end(DragEnd, bool) {}
    void full() {}
    void stack(uint32_t, const std::vector<DragFrame> &) {}
    void module(uint32_t, std::string_view) {}
    void command(std::string_view) {}

  private:
    DragVisitor &visitor_;
    DragAccess access_;
};

} // namespace

DragFile::DragFile(const std::string &path, size_t window, DragAccess access)
    : file_(std::make_unique<DragBytes>(path)), access_(access) {
    if (file_->size() < sizeof header_) throw BadTrace("it is too short");
    file_->read(reinterpret_cast<unsigned char *>(&header_), 0, sizeof header_);
    if (header_.magic != REAP_DRAG_MAGIC) throw BadTrace("it is no drag recording");
    Survey survey(*this, window);
    DragReader<Survey> reader(*file_, header_.base, survey);
    reader.run();
    steps_ = reader.steps();
    malformed_ = !reader.good();
}

DragFile::~DragFile() = default;

void DragFile::walk(DragVisitor &visitor) const {
    Again again(visitor, access_);
    DragReader<Again>(*file_, header_.base, again).run();
}

bool DragFile::counts(const DragStep &step, DragLevel level) const {
    switch (step.kind) {
    case DragKind::Mapping:
        return level == DragLevel::Chunks && mappings_.contains(step.place);
    case DragKind::Pooled:
        return level == DragLevel::Objects;
    default:
        return level == DragLevel::Chunks || !carved(step.place);
    }
}

uint64_t DragFile::bytes(const DragStep &step, DragLevel level) const {
    if (!counts(step, level)) return 0;
    return step.kind == DragKind::Mapping ? mappings_.at(step.place) : step.size;
}

bool DragFile::counts(const DragLife &life, DragLevel level) const {
    if (life.kind == DragKind::Mapping) return level == DragLevel::Chunks && life.carved;
    return counts(DragStep{life.birth, life.size, life.stack, life.kind}, level);
}

const std::vector<DragFrame> &DragFile::frames(uint32_t stack) const {
    static const std::vector<DragFrame> none;
    const auto found = stacks_.find(stack);
    return found == stacks_.end() ? none : found->second;
}

const std::string &DragFile::module(uint32_t number) const {
    static const std::string none;
    const auto found = modules_.find(number);
    return found == modules_.end() ? none : found->second;
}

} // namespace reap::native
