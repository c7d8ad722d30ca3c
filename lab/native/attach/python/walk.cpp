#include "attach/python/walk.h"

#include <cstddef>

#include "attach/probe/program.h"

namespace reap::native {
namespace {

constexpr uint8_t kShared = BPF_REG_7;
constexpr uint8_t kSample = BPF_REG_8;
constexpr uint8_t kCount = BPF_REG_6;
constexpr uint8_t kAt = BPF_REG_9;

constexpr int32_t kMostSteps = 512; // over interpreters and thread states
constexpr size_t kFrameBytes = 72;

// The program's own stack.
enum Slot : size_t {
    kWord = 8,
    kIds = 16,
    kWanted = 24,
    kInterpreter = 32,
    kNextInterpreter = 40,
    kBegan = 48,
    kDigest = 56,
    kHead = 80, // of a string: its length, its hash, its state
    kFrame = kHead + kFrameBytes,
    kCode = kFrame + kCodeBytes,
    kText = kCode + kTextBytes,
    kState = kText, // the two are never in use together
};

constexpr size_t below(size_t slot) { return 0 - slot; }

class PythonWalk {
  public:
    PythonWalk(Assembler &out, const PythonPlaces &at) : out_(out), at_(at), layout_(at.layout) {}

    void put() {
        out_.call(BPF_FUNC_ktime_get_ns);
        out_.store(BPF_REG_10, below(kBegan), BPF_REG_0);
        out_.store_value(kSample, offsetof(ProbeSample, python_call), 0, BPF_DW);
        out_.store_value(kSample, offsetof(ProbeSample, python_cut), 0, BPF_DW);
        find_thread();
        find_current();
        walk_frames();
        out_.here(none_);
        out_.set(kCount, 0);
        out_.here(done_);
        out_.store(kSample, offsetof(ProbeSample, python_count), kCount, BPF_W);
        out_.call(BPF_FUNC_ktime_get_ns);
        out_.load(BPF_REG_1, BPF_REG_10, below(kBegan));
        out_.operate(BPF_SUB, BPF_REG_0, BPF_REG_1);
        out_.add_to(kShared, offsetof(ProbeState, python_ns), BPF_REG_0);
    }

  private:
    // Reads memory of the process, from register 3 plus `offset` on.
    void read(size_t slot, size_t bytes, size_t offset, Assembler::Label &failed) {
        out_.move(BPF_REG_1, BPF_REG_10);
        out_.plus(BPF_REG_1, -static_cast<int32_t>(slot));
        out_.set(BPF_REG_2, static_cast<int32_t>(bytes));
        out_.plus(BPF_REG_3, static_cast<int32_t>(offset));
        out_.call(BPF_FUNC_probe_read_user);
        out_.jump_if(BPF_JNE, BPF_REG_0, failed);
    }
    void read_at(size_t slot, size_t bytes, size_t offset, Assembler::Label &failed) {
        out_.move(BPF_REG_3, kAt);
        read(slot, bytes, offset, failed);
    }

    // The thread state whose thread this is. Another thread may change the list meanwhile: so a state has to
    // be that of the interpreter, too; and user space checks that its frames are on this thread's stack.
    void find_thread() {
        out_.constant(BPF_REG_1, at_.namespace_device);
        out_.constant(BPF_REG_2, at_.namespace_inode);
        out_.move(BPF_REG_3, BPF_REG_10);
        out_.plus(BPF_REG_3, -static_cast<int32_t>(kIds));
        out_.set(BPF_REG_4, 2 * sizeof(uint32_t));
        out_.call(BPF_FUNC_get_ns_current_pid_tgid);
        out_.jump_if(BPF_JNE, BPF_REG_0, none_);
        Assembler::Label own;
        out_.load(BPF_REG_1, BPF_REG_10, below(kIds), BPF_W);
        out_.load(BPF_REG_2, BPF_REG_10, below(kIds) + sizeof(uint32_t), BPF_W);
        out_.jump_if_pair(BPF_JNE, BPF_REG_1, BPF_REG_2, own);
        out_.load(BPF_REG_2, kShared, offsetof(ProbeState, main_thread));
        out_.jump_if(BPF_JEQ, BPF_REG_2, own);
        out_.move(BPF_REG_1, BPF_REG_2);
        out_.here(own);
        out_.store(BPF_REG_10, below(kWanted), BPF_REG_1);

        out_.constant(BPF_REG_3, at_.interpreters);
        read(kNextInterpreter, sizeof(uint64_t), 0, none_);
        out_.set(kAt, 0);
        out_.set(kCount, 0);
        const size_t again = out_.place();
        Assembler::Label state;
        Assembler::Label another;
        Assembler::Label found;
        out_.jump_if(BPF_JGE, kCount, none_, kMostSteps);
        out_.plus(kCount, 1);
        out_.jump_if(BPF_JNE, kAt, state);
        out_.load(kAt, BPF_REG_10, below(kNextInterpreter));
        out_.jump_if(BPF_JEQ, kAt, none_);
        out_.store(BPF_REG_10, below(kInterpreter), kAt);
        read_at(kNextInterpreter, sizeof(uint64_t), at_.next_interpreter, none_);
        read_at(kWord, sizeof(uint64_t), at_.threads, none_);
        out_.load(kAt, BPF_REG_10, below(kWord));
        out_.jump_back(again);
        out_.here(state);
        const size_t bytes = at_.native_id + sizeof(uint64_t) - at_.next_thread;
        read_at(kState, bytes, at_.next_thread, none_);
        out_.load(BPF_REG_1, BPF_REG_10, below(kState) + at_.native_id - at_.next_thread);
        out_.load(BPF_REG_2, BPF_REG_10, below(kWanted));
        out_.jump_if_pair(BPF_JNE, BPF_REG_1, BPF_REG_2, another);
        out_.load(BPF_REG_1, BPF_REG_10, below(kState) + at_.interpreter - at_.next_thread);
        out_.load(BPF_REG_2, BPF_REG_10, below(kInterpreter));
        out_.jump_if_pair(BPF_JEQ, BPF_REG_1, BPF_REG_2, found);
        out_.here(another);
        out_.load(kAt, BPF_REG_10, below(kState));
        out_.jump_back(again);
        out_.here(found);
    }

    void find_current() {
        if (layout_.cframe != 0) {
            read_at(kWord, sizeof(uint64_t), layout_.cframe, none_);
            out_.load(kAt, BPF_REG_10, below(kWord));
            out_.store(kSample, offsetof(ProbeSample, python_call), kAt);
        }
        read_at(kWord, sizeof(uint64_t), layout_.current, none_);
        out_.load(kAt, BPF_REG_10, below(kWord));
    }

    void walk_frames() {
        Assembler::Label cut;
        out_.set(kCount, 0);
        const size_t again = out_.place();
        out_.jump_if(BPF_JEQ, kAt, done_);
        out_.jump_if(BPF_JGE, kCount, cut, kMostSampledFrames);
        read_at(kFrame, kFrameBytes, 0, cut);
        point_at_record();
        out_.store(BPF_REG_1, offsetof(SampledFrame, frame), kAt);
        copy(layout_.frame_code, offsetof(SampledFrame, code));
        copy(layout_.frame_instruction, offsetof(SampledFrame, instruction));
        copy(kPythonKind, offsetof(SampledFrame, kind));
        Assembler::Label unread;
        Assembler::Label digested;
        put_digest(unread);
        out_.jump(digested);
        out_.here(unread);
        out_.set(BPF_REG_2, 0);
        out_.here(digested);
        point_at_record();
        out_.store(BPF_REG_1, offsetof(SampledFrame, digest), BPF_REG_2);
        out_.plus(kCount, 1);
        out_.load(kAt, BPF_REG_10, below(kFrame) + layout_.frame_previous);
        out_.jump_back(again);
        out_.here(cut);
        out_.store_value(kSample, offsetof(ProbeSample, python_cut), 1, BPF_DW);
        out_.jump(done_);
    }

    // Register 1 becomes the sampled frame.
    void point_at_record() {
        out_.move(BPF_REG_1, kCount);
        out_.operate_value(BPF_MUL, BPF_REG_1, sizeof(SampledFrame));
        out_.operate(BPF_ADD, BPF_REG_1, kSample);
        out_.plus(BPF_REG_1, offsetof(ProbeSample, python));
    }
    void copy(size_t from, size_t to) {
        out_.load(BPF_REG_2, BPF_REG_10, below(kFrame) + from);
        out_.store(BPF_REG_1, to, BPF_REG_2);
    }

    // Register 2 becomes the digest of the code of the frame that was read.
    void put_digest(Assembler::Label &unread) {
        if (layout_.frame_owner != 0) {
            out_.load(BPF_REG_2, BPF_REG_10, below(kFrame) + layout_.frame_owner, BPF_B);
            out_.jump_if(BPF_JEQ, BPF_REG_2, unread, format::kPythonOwnedByC);
        }
        out_.load(BPF_REG_3, BPF_REG_10, below(kFrame) + layout_.frame_code);
        read(kCode, kCodeBytes, kCodeBegin, unread);
        out_.store_value(BPF_REG_10, below(kDigest), 0, BPF_DW);
        begin_words();
        add_words(kCode, kCodeBytes);
        end_words();
        put_lines(unread);
        put_text(layout_.code_filename, unread);
        put_text(layout_.code_qualname, unread);
        out_.load(BPF_REG_2, BPF_REG_10, below(kDigest));
    }

    // Between these two register 1 has the digest and register 2 the factor.
    void begin_words() {
        out_.load(BPF_REG_1, BPF_REG_10, below(kDigest));
        out_.constant(BPF_REG_2, kDigestFactor);
    }
    void end_words() { out_.store(BPF_REG_10, below(kDigest), BPF_REG_1); }

    // Of the word in register 3.
    void add_word() {
        out_.operate(BPF_XOR, BPF_REG_1, BPF_REG_3);
        out_.operate(BPF_MUL, BPF_REG_1, BPF_REG_2);
        out_.move(BPF_REG_3, BPF_REG_1);
        out_.operate_value(BPF_RSH, BPF_REG_3, 32);
        out_.operate(BPF_XOR, BPF_REG_1, BPF_REG_3);
    }
    void add_words(size_t slot, size_t bytes) {
        for (size_t offset = 0; offset < bytes; offset += sizeof(uint64_t)) {
            out_.load(BPF_REG_3, BPF_REG_10, below(slot) + offset);
            add_word();
        }
    }

    void load_object(uint8_t to, size_t field) {
        out_.load(to, BPF_REG_10, below(kCode) + field - kCodeBegin);
    }

    void put_lines(Assembler::Label &unread) {
        load_object(BPF_REG_3, layout_.code_linetable);
        read(kHead, sizeof(uint64_t), format::kPythonVarSize, unread);
        begin_words();
        out_.load(BPF_REG_3, BPF_REG_10, below(kHead));
        add_word();
        end_words();
        out_.load(BPF_REG_5, BPF_REG_10, below(kHead));
        load_object(BPF_REG_3, layout_.code_linetable);
        out_.plus(BPF_REG_3, format::kPythonBytesText);
        put_end(unread);
    }

    void put_text(size_t field, Assembler::Label &unread) {
        constexpr size_t length = 0; // in the head
        constexpr size_t state = format::kPythonTextState - format::kPythonTextLength;
        load_object(BPF_REG_3, field);
        read(kHead, state + sizeof(uint64_t), format::kPythonTextLength, unread);
        begin_words();
        out_.load(BPF_REG_3, BPF_REG_10, below(kHead) + length);
        add_word();
        end_words();
        // Its bytes, and where they are: see `python_text_width` and `python_text_offset`.
        out_.load(BPF_REG_5, BPF_REG_10, below(kHead) + length);
        out_.load(BPF_REG_1, BPF_REG_10, below(kHead) + state, BPF_W);
        out_.move(BPF_REG_2, BPF_REG_1);
        out_.operate_value(BPF_RSH, BPF_REG_2, 2);
        out_.operate_value(BPF_AND, BPF_REG_2, 7);
        out_.operate(BPF_MUL, BPF_REG_5, BPF_REG_2);
        load_object(BPF_REG_3, field);
        Assembler::Label ascii;
        Assembler::Label text;
        out_.operate_value(BPF_AND, BPF_REG_1, 1 << 6);
        out_.jump_if(BPF_JNE, BPF_REG_1, ascii);
        out_.plus(BPF_REG_3, layout_.other_text);
        out_.jump(text);
        out_.here(ascii);
        out_.plus(BPF_REG_3, layout_.ascii_text);
        out_.here(text);
        put_end(unread);
    }

    // Of the text at register 3, of as many bytes as register 5 says.
    void put_end(Assembler::Label &unread) {
        for (size_t offset = 0; offset < kTextBytes; offset += sizeof(uint64_t))
            out_.store_value(BPF_REG_10, below(kText) + offset, 0, BPF_DW);
        Assembler::Label few;
        out_.move(BPF_REG_2, BPF_REG_5);
        out_.jump_if(BPF_JLE, BPF_REG_2, few, kTextBytes);
        out_.set(BPF_REG_2, kTextBytes);
        out_.here(few);
        out_.operate(BPF_ADD, BPF_REG_3, BPF_REG_5);
        out_.operate(BPF_SUB, BPF_REG_3, BPF_REG_2);
        out_.move(BPF_REG_1, BPF_REG_10);
        out_.plus(BPF_REG_1, -static_cast<int32_t>(kText));
        out_.call(BPF_FUNC_probe_read_user);
        out_.jump_if(BPF_JNE, BPF_REG_0, unread);
        begin_words();
        add_words(kText, kTextBytes);
        end_words();
    }

    Assembler &out_;
    const PythonPlaces &at_;
    const format::PythonLayout &layout_;
    Assembler::Label none_;
    Assembler::Label done_;
};

} // namespace

void put_python(Assembler &out, const PythonPlaces &at) { PythonWalk(out, at).put(); }

} // namespace reap::native
