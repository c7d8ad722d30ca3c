#include "drag_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

#include "block_file.h"
#include "record_reader.h"

namespace reap::native {
namespace {

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

// A file's bytes, with readable ones behind them.
class Mapping {
  public:
    explicit Mapping(const std::string &path) {
        const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat status{};
        if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail();
        if (!S_ISREG(status.st_mode)) throw BadTrace("it is no file");
        size_ = static_cast<size_t>(status.st_size);
        room_ = size_ + kReaderPadding;
        begin_ = ::mmap(nullptr, room_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (begin_ == MAP_FAILED) fail();
        if (size_ > 0 &&
            ::mmap(begin_, size_, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.get(), 0) == MAP_FAILED)
            fail();
    }
    ~Mapping() { ::munmap(begin_, room_); }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    [[nodiscard]] const unsigned char *begin() const noexcept {
        return static_cast<const unsigned char *>(begin_);
    }
    [[nodiscard]] size_t size() const noexcept { return size_; }

  private:
    void *begin_ = nullptr;
    size_t size_ = 0;
    size_t room_ = 0;
};

constexpr uint32_t kNotFreed = UINT32_MAX;
// Beyond these a size is damage: no address space has it, no process lives to allocate so much.
constexpr uint64_t kLargest = UINT64_C(1) << 47;
constexpr uint64_t kMostBytes = UINT64_C(1) << 62;

} // namespace

class DragFile::Reader {
  public:
    Reader(DragFile &file, RecordReader in) : file_(file), in_(in) {}

    void run() {
        bool more = true;
        while (more && !in_.done()) more = event();
        file_.malformed_ = !in_.good();
        close();
    }

  private:
    [[nodiscard]] uint32_t now() const {
        return file_.header_.base + static_cast<uint32_t>(file_.objects_.size());
    }

    bool event() {
        const uint8_t tag = in_.byte();
        const auto flags = static_cast<uint8_t>(tag >> REAP_DRAG_KIND_BITS);
        switch (tag & ((1 << REAP_DRAG_KIND_BITS) - 1)) {
        case REAP_DRAG_NOTHING:
            return false;
        case REAP_DRAG_ALLOC:
            allocated(false);
            break;
        case REAP_DRAG_POOLED:
            allocated(true);
            break;
        case REAP_DRAG_FREE:
            freed(flags, false);
            break;
        case REAP_DRAG_LIVE:
            freed(flags, true);
            break;
        case REAP_DRAG_STACK:
            stack();
            break;
        case REAP_DRAG_MODULE:
            module();
            break;
        case REAP_DRAG_COMMAND:
            command();
            break;
        case REAP_DRAG_END:
            ended();
            break;
        case REAP_DRAG_RESUME:
            resume();
            break;
        case REAP_DRAG_FULL:
            file_.full_ = true;
            break;
        default:
            in_.fail();
        }
        return in_.good();
    }

    void allocated(bool pooled) {
        const uint64_t stack = in_.varint();
        const uint64_t size = in_.varint();
        bytes_ += size <= kLargest ? size : kMostBytes;
        if (!in_.good() || now() >= kNotFreed - 1 || bytes_ >= kMostBytes) {
            in_.fail();
            return;
        }
        file_.objects_.push_back({size, static_cast<uint32_t>(stack), 0, kNotFreed, 0, pooled});
        file_.pooled_ = file_.pooled_ || pooled;
    }

    void freed(uint8_t flags, bool live) {
        const uint64_t age = in_.varint();
        const uint64_t since = in_.varint();
        // Its birth is after the file's first clock, and its last access not before its birth.
        if (!in_.good() || age >= file_.objects_.size() || since > age) {
            in_.fail();
            return;
        }
        const size_t place = file_.objects_.size() - 1 - age;
        if (live) in_use_.push_back(place);
        DragObject &object = file_.objects_[place];
        object.freed = now();
        object.last = now() - static_cast<uint32_t>(since);
        object.flags = flags;
    }

    void ended() {
        const uint64_t how = in_.varint();
        if (in_.good()) file_.end_ = how == REAP_DRAG_EXEC ? DragEnd::Exec : DragEnd::Exited;
    }

    // What was said to be in use at an exec that failed goes on being in use.
    void resume() {
        for (const size_t place : in_use_) file_.objects_[place].freed = kNotFreed;
        in_use_.clear();
        file_.end_ = DragEnd::Killed;
    }

    void stack() {
        const uint64_t number = in_.varint();
        const uint64_t depth = in_.varint();
        if (depth > 4096) in_.fail();
        std::vector<DragFrame> frames;
        for (uint64_t i = 0; in_.good() && i < depth; ++i) {
            const uint64_t module = in_.varint();
            frames.push_back({static_cast<uint32_t>(module), in_.varint()});
        }
        if (in_.good()) file_.stacks_[static_cast<uint32_t>(number)] = std::move(frames);
    }

    void module() {
        const uint64_t number = in_.varint();
        const std::string path(in_.string());
        if (in_.good()) file_.modules_[static_cast<uint32_t>(number)] = path;
    }

    void command() {
        const std::string words(in_.string());
        file_.command_.clear();
        for (size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) {
            file_.command_.emplace_back(words.c_str() + at);
            if (words.find('\0', at) == std::string::npos) break;
        }
    }

    // Objects that nothing was said of: the process was killed. They count as needed until then.
    void close() {
        for (DragObject &object : file_.objects_) {
            if (object.freed != kNotFreed) continue;
            object.freed = now();
            object.last = now();
            object.flags = REAP_DRAG_READ | REAP_DRAG_WRITTEN;
        }
        file_.objects_.shrink_to_fit();
    }

    DragFile &file_;
    RecordReader in_;
    std::vector<size_t> in_use_; // when an end was written
    uint64_t bytes_ = 0;
};

DragFile::DragFile(const std::string &path) {
    const Mapping bytes(path);
    if (bytes.size() < sizeof header_) throw BadTrace("it is too short");
    std::memcpy(&header_, bytes.begin(), sizeof header_);
    if (header_.magic != REAP_DRAG_MAGIC) throw BadTrace("it is no drag recording");
    Reader(*this, RecordReader(bytes.begin() + sizeof header_, bytes.begin() + bytes.size())).run();
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
