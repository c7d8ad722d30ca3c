// Serves requests that each parse a document into an arena, as argv[1] says.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

constexpr size_t kChunk = 64 << 10;

class Arena {
  public:
    void *take(size_t size) {
        if (chunks_.empty() || used_ + size > kChunk) grow();
        void *place = chunks_[at_] + used_;
        used_ += size;
        return place;
    }
    void reset() { at_ = used_ = 0; }

  private:
    __attribute__((noinline)) void grow() {
        if (!chunks_.empty() && at_ + 1 < chunks_.size()) {
            ++at_;
        } else {
            chunks_.push_back(static_cast<char *>(malloc(kChunk)));
            memset(chunks_.back(), 1, kChunk);
            at_ = chunks_.size() - 1;
        }
        used_ = 0;
    }

    std::vector<char *> chunks_;
    size_t at_ = 0;
    size_t used_ = 0;
};

int main(int count, char **arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    const int requests = 2000;
    Arena arena;
    std::vector<std::string> held;
    for (int i = 0; i < requests; ++i) {
        std::vector<std::string> request; // what every request allocates and frees
        if (mode != "load") {
            for (int k = 0; k < 20; ++k) request.emplace_back(200 + k, 'r');
        }
        // "table" is built first and used then.
        const bool parses = mode != "table" || i < requests / 4;
        for (int k = 0; parses && k < 40; ++k) arena.take(200);
        if (mode == "reset") arena.reset();
        usleep(50); // so that requests are spread evenly over the time
        // Everything grows, as in a program that reads its input.
        if (mode == "all") held.insert(held.end(), request.begin(), request.end());
    }
    return 0;
}
