// Programs that would notice a guest who does not behave. Each prints what it saw.
//
//     fragile descriptors   which numbers open files get, and after everything has been closed
//     fragile files N       with at most N descriptors, all of them taken
//     fragile fsize         writes up to RLIMIT_FSIZE
//     fragile memory        allocates until RLIMIT_AS
//     fragile stacks [MORE] allocates on 16 KB thread stacks and on an alternate signal stack with 4 KB for
//                           the handler, each with so many bytes more
//     fragile handlers      allocates in signal handlers that interrupt allocation
//     fragile jump          leaves handlers and functions by longjmp
//     fragile signals       uses SIGPROF and every real-time signal, by its own timers
//     fragile resets        a child that sets every signal to its default and works on, after fork and vfork
//     fragile fibers [MORE] allocates on its own stacks of 8 KB, and so many bytes more
//     fragile sandbox HOW  allocates 200,000 blocks of 700 bytes behind a filter without open (HOW is kill or
//     errno),
//                          in strict mode (strict), or where the TSC may not be read (tsc)
//     fragile table        the same where all descriptors were in use for a while
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void work(int times) {
    for (int i = 0; i < times; i++) {
        char *block = malloc((size_t)(i % 900) + 1);
        if (block) block[0] = 1;
        block = realloc(block, (size_t)(i % 7000) + 1);
        free(block);
    }
}

static void descriptors(void) {
    work(10000);
    printf("%d", open("/dev/null", O_RDONLY));
    for (int fd = 3; fd < 1024; fd++) close(fd);
    work(10000);
    const int first = open("/dev/null", O_RDONLY);
    work(10000);
    printf(" %d %d\n", first, open("/dev/null", O_RDONLY));
}

static void files(int most) {
    const struct rlimit limit = {(rlim_t)most, (rlim_t)most};
    work(100);
    setrlimit(RLIMIT_NOFILE, &limit);
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0) count++;
    work(300000);
    printf("%d %d\n", count, errno == EMFILE);
}

static void fsize(void) {
    const struct rlimit limit = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    work(300000);
    puts("not killed");
}

static void memory(void) {
    const struct rlimit limit = {200 << 20, 200 << 20};
    setrlimit(RLIMIT_AS, &limit);
    int count = 0;
    while (count < 1000 && malloc(1 << 20)) count++;
    const int error = errno;
    for (int i = 0; i < 100000; i++)
        if (!malloc(100)) break;
    work(1000);
    printf("%d %d\n", count > 50 && count < 200, error == ENOMEM);
}

static void *small_thread(void *argument) {
    work(2000);
    return argument;
}

static volatile long handled;

static void on_signal(int number) {
    (void)number;
    char *block = malloc(5000);
    block[0] = 1;
    free(block);
    handled++;
}

static size_t whole_pages(size_t bytes) { return (bytes + 4095) & ~(size_t)4095; }

static void stacks(size_t more) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // The least that there may be; a processor with more registers to save asks for more.
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    if (pthread_attr_setstacksize(&attributes, (size_t)(least > 16384 ? least : 16384) + more))
        puts("no such stack");
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, small_thread, NULL)) return;
        pthread_join(thread, NULL);
    }
    // A page below the stack that nobody may touch.
    const size_t size = whole_pages((size_t)sysconf(_SC_MINSIGSTKSZ) + 4096 + more);
    char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, 4096, PROT_NONE);
    const stack_t stack = {.ss_sp = memory + 4096, .ss_size = size};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 500; i++) raise(SIGUSR1);
    printf("%ld\n", handled);
}

static void handlers(void) {
    // A timer whose handler allocates, while the program does something else: then natively nothing can go
    // wrong.
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (volatile long spin = 0; handled < 50; spin++) {
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    work(1000);
    puts("done");
}

static sigjmp_buf out;

static void leave(int number) {
    (void)number;
    free(malloc(10000));
    siglongjmp(out, 1);
}

static void jump(void) {
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGUSR1, &action, NULL);
    volatile int count = 0;
    while (count < 1000) {
        if (sigsetjmp(out, 1) == 0) {
            free(malloc(3000));
            raise(SIGUSR1);
            puts("not reached");
        }
        count++;
        work(3);
    }
    printf("%d\n", count);
}

static volatile sig_atomic_t seen[128];
static void note(int number) { seen[number]++; }

static void signals(void) {
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGPROF, &action, NULL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaction(number, &action, NULL);
    const struct itimerval every = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_PROF, &every, NULL);
    struct timespec spent;
    do {
        work(1000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    } while (spent.tv_sec == 0 && spent.tv_nsec < 60000000);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    int strangers = 0;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) strangers += seen[number];
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) raise(number);
    int own = 0;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) own += seen[number];
    printf("%d %d %d\n", seen[SIGPROF] > 3, strangers, own - strangers == SIGRTMAX - SIGRTMIN + 1);
}

static void resets(void) {
    int status = -1;
    for (int i = 0; i < 20; i++) {
        const pid_t child = i % 2 ? vfork() : fork();
        if (child == 0) {
            for (int number = 1; number < 65; number++) signal(number, SIG_DFL);
            if (i % 2) _exit(0);
            work(10000);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0) break;
        work(10000);
    }
    struct sigaction old;
    int handlers = 0;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        handlers += sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_DFL;
    printf("%d %d\n", status, handlers);
}

static ucontext_t back, fiber;
static void on_fiber(void) { work(3000); }

static void fibers(size_t more) {
    const size_t size = 8192 + whole_pages(more);
    char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory, 4096, PROT_NONE);
    for (int i = 0; i < 50; i++) {
        getcontext(&fiber);
        fiber.uc_stack.ss_sp = memory + 4096;
        fiber.uc_stack.ss_size = size;
        fiber.uc_link = &back;
        makecontext(&fiber, on_fiber, 0);
        swapcontext(&back, &fiber);
    }
    puts("fibers");
}

static void sandboxed_work(void) {
    for (int i = 0; i < 200000; i++) free(malloc(700));
}

static void sandbox(const char *how) {
    work(100);
    if (!strcmp(how, "tsc")) {
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    } else if (!strcmp(how, "strict")) {
        free(malloc(700));
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    } else {
        // What opens, asks of files or of the clock, and what maps files.
        const unsigned act = !strcmp(how, "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
        const int refused[] = {SYS_openat,        SYS_open,          SYS_fallocate, SYS_ftruncate,
                               SYS_readlink,      SYS_mremap,        SYS_madvise,   SYS_mincore,
                               SYS_clock_gettime, SYS_timer_settime, SYS_socket,    SYS_connect,
                               SYS_timer_delete,  SYS_pread64};
        enum { most = sizeof refused / sizeof *refused };
        struct sock_filter filter[2 * most + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
        for (int i = 0; i < most; i++) {
            filter[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
            filter[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, act);
        }
        filter[2 * most + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const struct sock_fprog whole = {sizeof filter / sizeof *filter, filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
            puts("no filter");
    }
    sandboxed_work();
    (void)!write(1, "after\n", 6);
    syscall(SYS_exit, 0);
}

static void table(void) {
    const struct rlimit limit = {64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
    int opened[64];
    int count = 0;
    while ((opened[count] = open("/dev/null", O_RDONLY)) >= 0) count++;
    sandboxed_work();
    while (count) close(opened[--count]);
    sandboxed_work();
}

int main(int count, char **words) {
    const char *mode = words[1];
    const size_t more = count > 2 ? strtoul(words[2], NULL, 10) : 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!strcmp(mode, "descriptors"))
        descriptors();
    else if (!strcmp(mode, "files"))
        files(atoi(words[2]));
    else if (!strcmp(mode, "fsize"))
        fsize();
    else if (!strcmp(mode, "memory"))
        memory();
    else if (!strcmp(mode, "stacks"))
        stacks(more);
    else if (!strcmp(mode, "handlers"))
        handlers();
    else if (!strcmp(mode, "jump"))
        jump();
    else if (!strcmp(mode, "signals"))
        signals();
    else if (!strcmp(mode, "resets"))
        resets();
    else if (!strcmp(mode, "sandbox"))
        sandbox(words[2]);
    else if (!strcmp(mode, "table"))
        table();
    else if (!strcmp(mode, "fibers"))
        fibers(more);
    else
        return 2;
    return 0;
}
