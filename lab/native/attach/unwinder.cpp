#include "attach/unwinder.h"

#include <cstring>
#include <elfutils/libdwfl.h>
#include <iterator>
#include <unistd.h>

#include "files/regular.h"

namespace reap::native {
namespace {

constexpr size_t kMostFrames = 256;

// Without files of debug information: the tables to unwind by are in the files themselves.
int find_no_debuginfo(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *, GElf_Word,
                      char **) {
    return -1;
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_no_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

} // namespace

struct Unwinder::Session {
    explicit Session(pid_t pid) : process(pid) {}
    ~Session() { close(); }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    void close() {
        if (dwfl != nullptr) dwfl_end(dwfl);
        dwfl = nullptr;
    }

    static pid_t next_thread(Dwfl *, void *own, void **thread) {
        if (*thread != nullptr) return 0;
        *thread = own;
        return static_cast<Session *>(own)->process;
    }
    static bool get_thread(Dwfl *, pid_t, void *own, void **thread) {
        *thread = own;
        return true;
    }
    static bool read_memory(Dwfl *, Dwarf_Addr address, Dwarf_Word *value, void *own) {
        const ProbeSample &sample = *static_cast<Session *>(own)->sample;
        const uint64_t low = sample.registers[ProbeSample::kSp];
        const uint64_t size = uint64_t{sample.chunks} * kStackChunk;
        if (address < low || address - low > size || size - (address - low) < sizeof *value) return false;
        std::memcpy(value, sample.stack + (address - low), sizeof *value);
        return true;
    }
    static bool set_registers(Dwfl_Thread *thread, void *own) {
        const uint64_t *held = static_cast<Session *>(own)->sample->registers;
        // In the order of DWARF; those that a callee does not have to keep are of no use.
        const Dwarf_Word registers[17] = {0,
                                          held[ProbeSample::kRdx],
                                          0,
                                          held[ProbeSample::kRbx],
                                          held[ProbeSample::kRsi],
                                          held[ProbeSample::kRdi],
                                          held[ProbeSample::kRbp],
                                          held[ProbeSample::kSp] + sizeof(uint64_t),
                                          0,
                                          0,
                                          0,
                                          0,
                                          held[ProbeSample::kR12],
                                          held[ProbeSample::kR13],
                                          held[ProbeSample::kR14],
                                          held[ProbeSample::kR15],
                                          static_cast<Session *>(own)->caller};
        return dwfl_thread_state_registers(thread, 0, std::size(registers), registers);
    }
    static int add_frame(Dwfl_Frame *frame, void *own) {
        constexpr unsigned stack_pointer = 7;
        Stack &stack = static_cast<Session *>(own)->stack;
        Dwarf_Addr pointer = 0;
        Dwarf_Word begin = 0;
        if (!dwfl_frame_pc(frame, &pointer, nullptr) || dwfl_frame_reg(frame, stack_pointer, &begin) != 0)
            return DWARF_CB_ABORT;
        stack.callers.push_back(pointer);
        stack.begins.push_back(begin);
        return stack.callers.size() > kMostFrames ? DWARF_CB_ABORT : DWARF_CB_OK;
    }

    static const Dwfl_Thread_Callbacks &thread_callbacks() {
        static const Dwfl_Thread_Callbacks value = {
            .next_thread = next_thread,
            .get_thread = get_thread,
            .memory_read = read_memory,
            .set_initial_registers = set_registers,
            .detach = nullptr,
            .thread_detach = nullptr,
        };
        return value;
    }

    pid_t process;
    Dwfl *dwfl = nullptr;
    const ProbeSample *sample = nullptr;
    uint64_t caller = 0; // where unwinding begins
    Stack stack;
};

Unwinder::Unwinder(pid_t process) : session_(std::make_unique<Session>(process)) {}
Unwinder::~Unwinder() = default;

void Unwinder::map(const std::vector<MappedFile> &files) {
    session_->close();
    session_->dwfl = dwfl_begin(&kCallbacks);
    if (session_->dwfl == nullptr) return;
    dwfl_report_begin(session_->dwfl);
    const MappedFile *last = nullptr;
    for (const MappedFile &file : files) {
        const bool again = last != nullptr && last->path == file.path && last->bias == file.bias;
        const int opened = again ? -1 : open_regular(file.opened);
        if (opened >= 0 && dwfl_report_elf(session_->dwfl, file.path.c_str(), file.opened.c_str(), opened,
                                           file.bias, true) == nullptr)
            ::close(opened);
        last = &file;
    }
    dwfl_report_end(session_->dwfl, nullptr, nullptr);
    dwfl_attach_state(session_->dwfl, nullptr, session_->process, &Session::thread_callbacks(),
                      session_.get());
}

const Unwinder::Stack &Unwinder::unwind(const ProbeSample &sample) {
    Session &session = *session_;
    session.sample = &sample;
    session.stack.callers.clear();
    session.stack.begins.clear();
    if (sample.chunks == 0) {
        session.stack.whole = false;
        return session.stack;
    }
    // At the function's entry its caller is on top of the stack, whatever tables the allocator has.
    std::memcpy(&session.caller, sample.stack, sizeof session.caller);
    const int end = session.dwfl == nullptr
                        ? -1
                        : dwfl_getthread_frames(session.dwfl, session.process, Session::add_frame, &session);
    session.stack.whole = end == 0;
    return session.stack;
}

} // namespace reap::native
