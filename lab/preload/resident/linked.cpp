#include "linked.h"

#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <sched.h>

#include "statistics.h"

namespace reap::preload {
namespace {

constexpr uint64_t second = 1'000'000'000;

uint64_t now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * second + static_cast<uint64_t>(time.tv_nsec);
}

// False while the lab writes it.
bool copy(const reap_resident_request &shared, reap_resident_request &request) noexcept {
    const uint32_t before = __atomic_load_n(&shared.sequence, __ATOMIC_ACQUIRE);
    memcpy(&request, &shared, sizeof request);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return before % 2 == 0 && before == __atomic_load_n(&shared.sequence, __ATOMIC_RELAXED) &&
           before == request.sequence && request.count <= REAP_RESIDENT_LINKED;
}

} // namespace

void Linked::start(reap_resident *file) noexcept {
    file_ = file;
    __atomic_store_n(&file_->token, now(), __ATOMIC_RELEASE);
}

bool Linked::accept(const reap_resident_request &request) noexcept {
    const uint64_t token = __atomic_load_n(&file_->token, __ATOMIC_ACQUIRE);
    if (token == 0 || request.token != token) return false;
    if (accepted_ == token && sequence_ == request.sequence) return true;
    for (uint32_t i = 0; i < request.count; ++i) {
        Dl_info info{};
        if (dladdr(reinterpret_cast<void *>(request.functions[i]), &info) == 0) return false;
    }
    accepted_ = token;
    sequence_ = request.sequence;
    return true;
}

bool Linked::read(reap_resident_linked (&values)[REAP_RESIDENT_LINKED]) noexcept {
    memset(values, 0, sizeof values);
    reap_resident_request request{};
    if (!copy(file_->request, request) || request.count == 0 || !accept(request)) return false;
    for (uint32_t i = 0; i < request.count; ++i) {
        __atomic_store_n(&calling_, 1, __ATOMIC_SEQ_CST);
        const bool safe = __atomic_load_n(&closing_, __ATOMIC_SEQ_CST) == 0 &&
                          __atomic_load_n(&file_->token, __ATOMIC_SEQ_CST) == request.token;
        if (safe) {
            __atomic_store_n(&called_, 1, __ATOMIC_SEQ_CST);
            values[i].function = request.functions[i];
            values[i].kind = request.kinds[i];
            read_statistics(request.kinds[i], reinterpret_cast<void *>(request.functions[i]),
                            values[i].values);
        }
        __atomic_store_n(&calling_, 0, __ATOMIC_SEQ_CST);
        if (!safe) return false;
    }
    return true;
}

void Linked::before_close() noexcept {
    __atomic_fetch_add(&closing_, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&file_->token, 0, __ATOMIC_SEQ_CST);
    // Not for ever: the caller may hold a lock that the function waits for.
    for (const uint64_t until = now() + second;
         __atomic_load_n(&calling_, __ATOMIC_SEQ_CST) != 0 && now() < until;) {
        sched_yield();
    }
}

void Linked::after_close() noexcept {
    if (__atomic_sub_fetch(&closing_, 1, __ATOMIC_SEQ_CST) == 0) {
        __atomic_store_n(&file_->token, now(), __ATOMIC_SEQ_CST);
    }
}

} // namespace reap::preload
