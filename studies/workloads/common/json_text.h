#pragma once

#include <cstddef>
#include <string>

#include "common/workload.h"

// A text for the programs that parse JSON: a list of orders, the same for each size.

namespace workload {

/// An array of orders, each with a customer, a list of items, and tags.
inline std::string json_text(std::size_t orders) {
    static constexpr const char *names[] = {"bolt",   "washer", "bracket", "hinge",
                                            "spring", "gasket", "rivet"};
    Random random(7159);
    std::string text = "[";
    const auto number = [&text](const char *key, std::size_t value) {
        text += '"';
        text += key;
        text += "\":";
        text += std::to_string(value);
    };
    for (std::size_t order = 0; order < orders; ++order) {
        if (order > 0) text += ",\n";
        text += '{';
        number("id", order);
        text += ",\"customer\":{\"name\":\"customer number " + std::to_string(random.below(5000)) + "\",";
        number("since", 1990 + random.below(30));
        text += ",\"note\":\"" + std::string(random.below(60), 'x') + "\",\"address\":null},\"items\":[";
        const std::size_t items = 1 + random.below(6);
        for (std::size_t item = 0; item < items; ++item) {
            if (item > 0) text += ',';
            text += "{\"part\":\"";
            text += names[random.below(std::size(names))];
            text += " of size " + std::to_string(random.below(400)) + "\",";
            number("count", 1 + random.below(90));
            text += ',';
            number("price", 1 + random.below(100000));
            text += random.percent(50) ? ",\"stocked\":true}" : ",\"stocked\":false}";
        }
        text += "],\"tags\":[";
        const std::size_t tags = random.below(4);
        for (std::size_t tag = 0; tag < tags; ++tag) {
            if (tag > 0) text += ',';
            text += "\"a tag with the number " + std::to_string(random.below(300)) + '"';
        }
        text += "]}";
    }
    return text + "]\n";
}

} // namespace workload
