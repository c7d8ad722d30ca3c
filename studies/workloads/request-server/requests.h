#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "common/workload.h"

// What clients send to the request server: drawn by chance, the same in every run.

/// Writes one request after the other, as a few kinds of clients would.
class Requests {
  public:
    explicit Requests(std::uint64_t seed) : random_(seed) {}

    /// The text of a request. It holds until the next call.
    const std::string &next() {
        static constexpr std::array<std::string_view, 6> paths{"/",     "/search",          "/list",
                                                               "/item", "/static/site.css", "/no/such/page"};
        static constexpr std::array<std::string_view, 4> agents{
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Mozilla/5.0 (compatible; a-crawler/2.1; +https://example.org/crawler)", "curl/7.88.1",
            "a-program/0.3 (with a comment (that nests))"};
        text_ = "GET ";
        text_ += paths[random_.below(paths.size())];
        for (std::size_t field = 0, fields = random_.below(6); field < fields; ++field) {
            text_ += field == 0 ? '?' : '&';
            text_ +=
                std::array<std::string_view, 6>{"q", "page", "sort", "lang", "tag", "from"}[random_.below(6)];
            text_ += '=';
            words(1 + random_.below(4), "+");
        }
        text_ += " HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: ";
        text_ += agents[random_.below(agents.size())];
        text_ += "\r\nAccept: text/html, application/xhtml+xml;q=0.9, */*;q=0.8\r\n";
        if (random_.percent(60)) {
            text_ += "Cookie: session=" + std::to_string(random_.below(100'000)) + "; seen=";
            words(1 + random_.below(3), "-");
            text_ += "\r\n";
        }
        for (std::size_t header = 0, headers = random_.below(8); header < headers; ++header) {
            text_ += "X-Note-" + std::to_string(header) + ": ";
            words(1 + random_.below(8), " ");
            text_ += "\r\n";
        }
        text_ += "\r\n";
        return text_;
    }

  private:
    void words(std::size_t count, std::string_view between) {
        static constexpr std::array<std::string_view, 8> some{"region",    "heap", "caf%C3%A9", "%3Cb%3E",
                                                              "allocator", "of",   "pages",     "x%26y"};
        for (std::size_t word = 0; word < count; ++word) {
            if (word > 0) text_ += between;
            text_ += some[random_.below(some.size())];
        }
    }

    workload::Random random_;
    std::string text_;
};
