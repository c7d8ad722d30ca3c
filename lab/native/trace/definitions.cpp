#include "trace/definitions.h"

#include <algorithm>
#include <unordered_map>

#include "trace/record_reader.h"

namespace reap::native {
namespace {

// A frame id beyond this is damage and not a program with that many stacks.
constexpr uint64_t kMostFrames = UINT64_C(1) << 28;

std::vector<std::string> split_command(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const size_t end = text.find('\0');
        words.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return words;
}

} // namespace

Definitions::Definitions(BlockFile &file, BlockReader::File state) : file_(file), state_(state) { update(); }

void Definitions::update() {
    for (; seen_ < file_.blocks().size(); ++seen_) {
        const BlockInfo &block = file_.blocks()[seen_];
        if (block.head.kind != REAP_BLOCK_DEFINITIONS) continue;
        // What the launcher adds when it finishes belongs to images that have ended.
        const bool closed = closed_.contains(block.head.image);
        const BlockReader::File state = closed ? BlockReader::File::Whole : state_;
        unread_.try_emplace(block.head.image, file_, state).first->second.add(block);
    }
    for (auto &[image, blocks] : unread_) read(blocks);
    if (state_ == BlockReader::File::Whole) unread_.clear();
}

void Definitions::close(uint32_t image) {
    closed_.insert(image);
    const auto blocks = unread_.find(image);
    if (blocks == unread_.end()) return;
    blocks->second.close();
    read(blocks->second);
    unread_.erase(blocks);
}

void Definitions::read(BlockReader &blocks) {
    ImageInfo &image = image_of(*blocks.waiting());
    const size_t before = image.compiled.size();
    while (blocks.next()) {
        if (read_piece(image, blocks.piece())) continue;
        ++file_.damage().malformed;
        blocks.skip_block();
    }
    if (image.compiled.size() == before) return;
    // Of code that came to lie where other code was, the map has the later last.
    std::stable_sort(image.compiled.begin(), image.compiled.end(),
                     [](const CompiledCode &a, const CompiledCode &b) { return a.start < b.start; });
}

ImageInfo &Definitions::image_of(const BlockInfo &block) {
    const auto [place, fresh] = places_.emplace(block.head.image, images_.size());
    if (fresh) {
        ImageInfo image;
        image.number = block.head.image;
        image.pid = block.head.pid;
        image.process_start = block.head.process_start;
        image.first_ticks = block.head.base_ticks;
        images_.push_back(image);
    }
    return images_[place->second];
}

bool Definitions::read_piece(ImageInfo &image, const std::vector<unsigned char> &piece) {
    RecordReader in(piece.data(), piece.data() + piece.size());
    while (!in.done()) {
        auto [tag, fields] = next_long(in);
        if (!in.good()) return false;
        if (tag == REAP_TAG_IMAGE) {
            image.parent = static_cast<int64_t>(fields.varint()) - 1;
            image.ppid = static_cast<uint32_t>(fields.varint());
            image.flags = static_cast<uint32_t>(fields.varint());
            image.executable = fields.string();
            image.provider = fields.string();
            image.command = split_command(fields.string());
        } else if (tag == REAP_TAG_UNRECORDED) {
            const auto pid = static_cast<uint32_t>(fields.varint());
            const uint64_t reason = fields.varint();
            const std::string_view executable = fields.string();
            if (fields.good()) note_unrecorded({pid, reason, std::string(executable), image.number});
        } else if (tag == REAP_TAG_MODULE) {
            fields.varint(); // the id is for later versions that refer to modules
            Module module;
            module.start = fields.varint();
            module.end = fields.varint();
            module.bias = fields.varint();
            module.path = fields.string();
            module.identified = !fields.done();
            if (module.identified) module.build_id = fields.string();
            if (!fields.done()) module.own = fields.varint();
            if (fields.good()) image.modules.push_back(module);
        } else if (tag == REAP_TAG_CODE) {
            read_code(image, fields);
        } else if (tag == REAP_TAG_STRING) {
            kept_.read_string(fields);
        } else if (tag == REAP_TAG_NAMES) {
            kept_.read_names(fields);
        } else if (tag == REAP_TAG_FRAME) {
            const uint64_t id = fields.varint();
            Frame frame;
            frame.address = fields.varint();
            frame.parent = static_cast<uint32_t>(fields.varint());
            frame.modules = static_cast<uint32_t>(image.modules.size());
            // A frame is defined after its parent, so ids only grow and chains end.
            if (fields.good() && id > 0 && id < kMostFrames && frame.parent < id) {
                if (image.frames.empty()) image.first_frame = static_cast<uint32_t>(id);
                if (id >= image.first_frame) {
                    const uint64_t at = id - image.first_frame;
                    // Ids of one image are consecutive; a gap of this size can only be damage.
                    if (at > image.frames.size() + 65536) return false;
                    if (at >= image.frames.size()) image.frames.resize(at + 1);
                    image.frames[at] = frame;
                }
            }
        }
        if (!fields.good()) return false;
    }
    return true;
}

void Definitions::note_unrecorded(UnrecordedProcess process) {
    if (process.reason != REAP_UNRECORDED_FAILED) return unrecorded_.push_back(std::move(process));
    const auto last = std::ranges::find_if(unrecorded_.rbegin(), unrecorded_.rend(), [&](const auto &each) {
        return each.pid == process.pid && each.image == process.image;
    });
    if (last != unrecorded_.rend()) unrecorded_.erase(std::next(last).base());
}

std::vector<UnrecordedProcess> Definitions::unrecorded() const {
    std::unordered_map<uint32_t, uint32_t> latest; // by pid: the number of the last image
    for (const ImageInfo &image : images_) {
        uint32_t &number = latest[image.pid];
        number = std::max(number, image.number);
    }
    std::vector<UnrecordedProcess> out;
    for (const UnrecordedProcess &each : unrecorded_) {
        const auto found = latest.find(each.pid);
        const bool came = found != latest.end() && found->second > each.image;
        if (each.reason != REAP_UNRECORDED_EXPECTED || !came) out.push_back(each);
    }
    return out;
}

void Definitions::read_code(ImageInfo &image, RecordReader &fields) {
    const uint64_t kind = fields.varint();
    if (kind == REAP_CODE_PYTHON) {
        const uint64_t number = fields.varint();
        PythonLocation location;
        location.line = static_cast<uint32_t>(fields.varint());
        location.function = fields.string();
        location.file = fields.string();
        // Numbers of one image are consecutive, as those of frames.
        if (!fields.good() || number == 0 || number >= kMostFrames) return;
        if (image.python.empty()) image.first_python = static_cast<uint32_t>(number);
        if (number - image.first_python != image.python.size()) return;
        image.python.push_back(std::move(location));
    } else if (kind == REAP_CODE_COMPILED) {
        CompiledCode code;
        code.start = fields.varint();
        code.end = code.start + fields.varint();
        code.name = fields.string();
        if (fields.good() && code.end > code.start) image.compiled.push_back(std::move(code));
    } else if (kind == REAP_CODE_UNKNOWN) {
        const uint64_t version = fields.varint();
        const uint64_t reason = fields.varint();
        if (fields.good()) unknown_.push_back({image.pid, version, reason});
    } else if (kind == REAP_CODE_REFUSED) {
        const uint64_t reason = fields.varint();
        if (fields.good()) refused_maps_.push_back({image.pid, reason});
    }
}

int64_t Definitions::find(uint32_t number) const noexcept {
    const auto place = places_.find(number);
    return place == places_.end() ? -1 : static_cast<int64_t>(place->second);
}

namespace {

// Of the first `count` modules the latest that covers `address`.
const Module *latest(const ImageInfo &info, uint64_t address, size_t count) noexcept {
    for (size_t at = std::min(count, info.modules.size()); at-- > 0;) {
        const Module &module = info.modules[at];
        if (address >= module.start && address < module.end) return &module;
    }
    return nullptr;
}

} // namespace

const Module *Definitions::module_of(uint32_t image, uint32_t frame) const noexcept {
    const Frame *const found = this->frame(image, frame);
    if (found == nullptr) return nullptr;
    bool own = false; // the frame is of this image, and its parents' modules are all older
    for (int64_t at = find(image); at >= 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        const bool here = !own && !info.frames.empty() && found >= info.frames.data() &&
                          found < info.frames.data() + info.frames.size();
        own = own || here;
        const size_t count = here ? found->modules : info.modules.size();
        if (own) {
            if (const Module *module = latest(info, found->address - 1, count)) return module;
        }
        if (info.parent < 0 || info.parent >= info.number) return nullptr;
        at = find(static_cast<uint32_t>(info.parent));
    }
    return nullptr;
}

const Frame *Definitions::frame(uint32_t image, uint32_t id) const noexcept {
    for (int64_t at = find(image); at >= 0 && id != 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        if (id >= info.first_frame && id - info.first_frame < info.frames.size()) {
            const Frame &frame = info.frames[id - info.first_frame];
            if (frame.address != 0) return &frame;
        }
        if (info.parent < 0 || info.parent >= info.number) return nullptr; // a parent is always older
        at = find(static_cast<uint32_t>(info.parent));
    }
    return nullptr;
}

const PythonLocation *Definitions::python(uint32_t image, uint64_t address) const noexcept {
    if ((address & REAP_PYTHON_FRAME) == 0) return nullptr;
    static const PythonLocation left_out{.function = "(frames left out)", .file = {}};
    if (address == REAP_FRAMES_LEFT_OUT) return &left_out;
    const uint64_t number = address & ~REAP_PYTHON_FRAME;
    for (int64_t at = find(image); at >= 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        if (number >= info.first_python && number - info.first_python < info.python.size())
            return &info.python[number - info.first_python];
        if (info.parent < 0 || info.parent >= info.number) return nullptr; // a parent is always older
        at = find(static_cast<uint32_t>(info.parent));
    }
    return nullptr;
}

const CompiledCode *Definitions::compiled(uint32_t image, uint64_t address) const noexcept {
    for (int64_t at = find(image); at >= 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        const auto behind = [address](const CompiledCode &code) { return code.start <= address; };
        auto next = std::partition_point(info.compiled.begin(), info.compiled.end(), behind);
        if (next != info.compiled.begin()) {
            --next;
            if (address < next->end) return &*next;
        }
        if (info.parent < 0 || info.parent >= info.number) return nullptr;
        at = find(static_cast<uint32_t>(info.parent));
    }
    return nullptr;
}

const Module *Definitions::module(uint32_t image, uint64_t address) const noexcept {
    for (int64_t at = find(image); at >= 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        if (const Module *module = latest(info, address, info.modules.size())) return module;
        if (info.parent < 0 || info.parent >= info.number) return nullptr;
        at = find(static_cast<uint32_t>(info.parent));
    }
    return nullptr;
}

uint32_t Definitions::frame_limit(uint32_t image) const noexcept {
    uint32_t limit = 1;
    for (int64_t at = find(image); at >= 0;) {
        const ImageInfo &info = images_[static_cast<size_t>(at)];
        limit = std::max(limit, info.first_frame + static_cast<uint32_t>(info.frames.size()));
        if (info.parent < 0 || info.parent >= info.number) break;
        at = find(static_cast<uint32_t>(info.parent));
    }
    return limit;
}

} // namespace reap::native
