"""A small server and its load, for the tests of servers."""

import functools
from pathlib import Path

from programs import compile_c

# SERVER PORT MODE: answers every byte after 20 ms of CPU time, or 40 ms where Reap's own allocator is
# preloaded, with a byte. The first one takes 50 ms more. In mode "speaks" it says
# on standard error when it listens, in mode "echoes" it answers lines alone, in
# mode "restless" it polls for clients, in
# mode "locks" it does not start twice in a folder, and in
# mode "cools" the first three take 50 ms more; in mode "leaks" each costs 64 KB that stay.
SERVER = r"""
    #include <arpa/inet.h>
    #include <fcntl.h>
    #include <netinet/in.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/file.h>
    #include <sys/socket.h>
    #include <time.h>
    #include <unistd.h>
    static void spin(double seconds) {
        double end = (double)clock() / CLOCKS_PER_SEC + seconds;
        while ((double)clock() / CLOCKS_PER_SEC < end) {}
    }
    int main(int count, char **words) {
        const char *mode = words[2], *preload = getenv("LD_PRELOAD");
        int slow = preload && strstr(preload, "libreap-malloc"), yes = 1, cold = 1, asked = 0;
        const char *tunables = getenv("GLIBC_TUNABLES");
        if (!strcmp(mode, "tuned") && !(tunables && strstr(tunables, "tcache_count"))) slow = 1;
        if (!strcmp(mode, "dies")) { write(2, "no such port", 12); return 3; }
        if (!strcmp(mode, "allergic") && slow) return 7;
        if (!strcmp(mode, "waits")) pause();
        if (!strcmp(mode, "stubborn")) signal(SIGTERM, SIG_IGN);
        int listening = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        struct sockaddr_in at = {AF_INET, htons(atoi(words[1])), {htonl(INADDR_LOOPBACK)}};
        if (bind(listening, (struct sockaddr *)&at, sizeof at) || listen(listening, 9)) return 4;
        if (!strcmp(mode, "daemon") || !strcmp(mode, "lingers")) {
            if (fork()) return usleep(!strcmp(mode, "lingers") * 60000);
            setsid();
        }
        if (!strcmp(mode, "locks") && flock(open("lock", O_CREAT | O_RDWR, 0600), LOCK_EX | LOCK_NB))
            return write(2, "locked", 6) ? 9 : 8;
        if (!strcmp(mode, "restless")) fcntl(listening, F_SETFL, O_NONBLOCK);
        if (!strcmp(mode, "speaks")) write(2, "serving at last\n", 16);
        for (int clients = 0;; ++clients) {
            int client;
            char byte;
            while ((client = accept(listening, 0, 0)) < 0) {}
            while (read(client, &byte, 1) == 1) {
                if (!strcmp(mode, "crashes")) raise(SIGSEGV);
                if (!strcmp(mode, "leaks")) memset(malloc(64000), 1, 64000);
                if (!strcmp(mode, "tires") && clients == 3) raise(SIGSEGV);
                if (strcmp(mode, "echoes") || byte == '\n') spin((slow ? 0.04 : 0.02) + (cold ? 0.05 : 0));
                cold = !strcmp(mode, "cools") && ++asked < 3;
                if (strcmp(mode, "echoes") || byte == '\n') write(client, &byte, 1);
            }
            close(client);
        }
    }"""

# LOAD PORT: burns 40 ms of CPU time of its own, asks once, and fails without an answer.
LOAD = r"""
    #include <arpa/inet.h>
    #include <netinet/in.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <sys/socket.h>
    #include <time.h>
    #include <unistd.h>
    int main(int count, char **words) {
        while (clock() < CLOCKS_PER_SEC * 4 / 100) {}
        int client = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in at = {AF_INET, htons(atoi(words[1])), {htonl(INADDR_LOOPBACK)}};
        char byte = 1;
        signal(SIGPIPE, SIG_IGN);
        if (count > 2 || connect(client, (struct sockaddr *)&at, sizeof at) || write(client, &byte, 1) != 1 ||
            read(client, &byte, 1) != 1)
            return write(2, "no answer", 9) ? 5 : 6;
        return 0;
    }"""


@functools.cache
def server() -> str:
    return compile_c("reap_test_server", SERVER, ["-O1"])


@functools.cache
def load() -> str:
    return compile_c("reap_test_load", LOAD, ["-O1"])


def running() -> list[str]:
    """Processes of our server or load."""
    ours = {server(), load()}
    found = []
    for each in Path("/proc").glob("[0-9]*/exe"):
        try:
            if str(each.readlink()) in ours and "Z" not in (each.parent / "stat").read_text():
                found.append(each.parent.name)
        except OSError:
            continue
    return found
