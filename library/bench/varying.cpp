// Objects of many sizes that are replaced at random while others live: how much memory that takes.
//
//   varying LEAST MOST LIVE COUNT [rising]    all but the last in bytes; COUNT replacements
//
// With `rising`, sizes are drawn from eight ranges between the two, one after another. Each object is written
// to. Prints the sum of a byte of each at the end.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <vector>

int main(int count, char **words) {
    if (count < 5) return 2;
    const std::size_t least = std::strtoul(words[1], nullptr, 10);
    const std::size_t most = std::strtoul(words[2], nullptr, 10);
    const std::size_t live = std::strtoul(words[3], nullptr, 10);
    const std::size_t replacements = std::strtoul(words[4], nullptr, 10);
    const bool rising = count > 5;
    std::vector<unsigned char *> objects(2 * live / (least + most));
    std::mt19937 random(1);
    for (std::size_t done = 0; done < replacements; ++done) {
        std::size_t from = least;
        std::size_t width = most - least;
        if (rising) {
            from += width * (done * 8 / replacements) / 8;
            width /= 8;
        }
        unsigned char *&object = objects[random() % objects.size()];
        std::free(object);
        const std::size_t size = from + random() % width;
        object = static_cast<unsigned char *>(std::malloc(size));
        if (object == nullptr) return 1;
        std::memset(object, static_cast<int>(done % 256), size);
    }
    std::size_t sum = 0;
    for (const unsigned char *object : objects) sum += object == nullptr ? 0 : *object;
    std::cout << sum << '\n';
}
