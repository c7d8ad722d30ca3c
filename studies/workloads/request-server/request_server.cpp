// A server of requests, without the network: many connections are open at once, each with a region, in it one
// for the request, in that one for each part of the page. It stands for Apache, whose pools are nested so:
// what a request made is freed at its end, whatever became of it.
//
// The naive variant has regions whose objects each are a malloc of their own, freed where the region ends or
// is reset (threshold of large objects 0, Table 4 of ISMM 2026). Scale: requests, in thousands.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <reap/layer/region.h>
#include <reap/source/malloc.h>

#include "common/workload.h"
#include "requests.h"

namespace {

// Chunks come from malloc, as Apache's do, so that what serves malloc serves both variants.
using Region = reap::Region<reap::Malloc>;
using Nested = Region::Nested;

/// Text that lives as long as the region.
template <class AnyRegion>
std::string_view copy(AnyRegion &region, std::string_view text) {
    auto *const data = static_cast<char *>(region.allocate(text.size() + 1));
    text.copy(data, text.size());
    data[text.size()] = '\0';
    return {data, text.size()};
}

/// A name and a value, one of a list.
struct Field {
    std::string_view name;
    std::string_view value;
    Field *next;
};

/// Values by name, in the order in which they came: Apache's tables. A name is compared whatever its case.
template <class AnyRegion>
class Table {
  public:
    explicit Table(AnyRegion &region) : region_(region) {}
    void add(std::string_view name, std::string_view value) {
        *last_ = region_.template create<Field>(copy(region_, name), copy(region_, value), nullptr);
        last_ = &(*last_)->next;
    }
    [[nodiscard]] std::string_view find(std::string_view name) const {
        for (const Field *field = first_; field != nullptr; field = field->next)
            if (is_same(field->name, name)) return field->value;
        return {};
    }
    [[nodiscard]] const Field *first() const { return first_; }

  private:
    static bool is_same(std::string_view one, std::string_view two) {
        if (one.size() != two.size()) return false;
        for (std::size_t at = 0; at < one.size(); ++at)
            if (std::tolower(static_cast<unsigned char>(one[at])) !=
                std::tolower(static_cast<unsigned char>(two[at])))
                return false;
        return true;
    }
    AnyRegion &region_;
    Field *first_ = nullptr;
    Field **last_ = &first_;
};

/// Text in pieces, which are put together when it is sent: Apache's brigades.
template <class AnyRegion>
class Pieces {
  public:
    explicit Pieces(AnyRegion &region) : region_(region) {}
    /// Text that lives long enough.
    void refer(std::string_view text) {
        *last_ = region_.template create<Piece>(text, nullptr);
        last_ = &(*last_)->next;
        size_ += text.size();
    }
    void add(std::string_view text) { refer(copy(region_, text)); }
    void add(std::size_t number) {
        std::array<char, 20> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        add({digits.data(), static_cast<std::size_t>(end - digits.data())});
    }
    /// So that nothing of a text from outside is taken for markup.
    void add_escaped(std::string_view text) {
        std::size_t from = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const std::string_view instead = text[at] == '<'   ? "&lt;"
                                             : text[at] == '>' ? "&gt;"
                                             : text[at] == '&' ? "&amp;"
                                                               : "";
            if (instead.empty()) continue;
            add(text.substr(from, at - from));
            refer(instead);
            from = at + 1;
        }
        add(text.substr(from));
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    template <class Send>
    void send(Send send) const {
        for (const Piece *piece = first_; piece != nullptr; piece = piece->next) send(piece->text);
    }
    [[nodiscard]] std::string_view together() const {
        auto *const data = static_cast<char *>(region_.allocate(size_));
        char *to = data;
        send([&to](std::string_view text) { to += text.copy(to, text.size()); });
        return {data, size_};
    }

  private:
    struct Piece {
        std::string_view text;
        Piece *next;
    };
    AnyRegion &region_;
    Piece *first_ = nullptr;
    Piece **last_ = &first_;
    std::size_t size_ = 0;
};

/// Text with %41 and + as they are meant.
template <class AnyRegion>
std::string_view decoded(AnyRegion &region, std::string_view text) {
    auto *const data = static_cast<char *>(region.allocate(text.size() + 1));
    char *to = data;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned code = 0;
        if (text[at] == '%' && at + 2 < text.size() &&
            std::from_chars(&text[at + 1], text.data() + at + 3, code, 16).ptr == text.data() + at + 3) {
            *to++ = static_cast<char>(code);
            at += 2;
        } else {
            *to++ = text[at] == '+' ? ' ' : text[at];
        }
    }
    return {data, static_cast<std::size_t>(to - data)};
}

/// What comes before a separator; `rest` is what comes behind it.
std::string_view next_part(std::string_view &rest, std::string_view separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + separator.size(), rest.size()));
    return part;
}

/// A client that stays for some requests.
class Connection {
  public:
    Connection(std::size_t number, std::size_t requests, const reap::RegionOptions &options)
        : region_(options), options_(options), left_(requests), request_(region_.nest(options)),
          history_(region_) {
        history_.add("connection ");
        history_.add(number);
    }

    /// Answers one request; false after the last.
    bool serve(std::string_view text, workload::Checksum &sent) {
        Table<Nested> headers(request_);
        Table<Nested> query(request_);
        const std::string_view path = parse(text, headers, query);

        Pieces<Nested> page(request_);
        page.refer("<html><body><h1>");
        page.add_escaped(path);
        page.refer("</h1>");
        const unsigned status = answer(path, headers, query, page);
        page.refer("</body></html>\n");

        Pieces<Nested> head(request_);
        head.refer(status == 200 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not Found\r\n");
        head.refer("Content-Type: text/html\r\nContent-Length: ");
        head.add(page.size());
        head.refer("\r\n\r\n");
        for (const Pieces<Nested> *pieces : {&head, &page}) {
            pieces->send([&sent](std::string_view piece) {
                for (const char letter : piece) sent.add(static_cast<std::uint64_t>(letter));
            });
        }
        // Of the request, only this lives on.
        history_.refer(" | ");
        history_.add(path);
        request_.reset();
        return --left_ > 0;
    }
    /// What stands in the log when it is closed.
    [[nodiscard]] std::string_view log() const { return history_.together(); }

  private:
    std::string_view parse(std::string_view text, Table<Nested> &headers, Table<Nested> &query) {
        std::string_view line = next_part(text, "\r\n");
        next_part(line, " ");
        std::string_view target = next_part(line, " ");
        const std::string_view path = copy(request_, next_part(target, "?"));
        while (!target.empty()) {
            std::string_view value = next_part(target, "&");
            const std::string_view name = next_part(value, "=");
            query.add(name, decoded(request_, value));
        }
        for (line = next_part(text, "\r\n"); !line.empty(); line = next_part(text, "\r\n")) {
            const std::string_view name = next_part(line, ": ");
            headers.add(name, line);
        }
        return path;
    }

    unsigned answer(std::string_view path, const Table<Nested> &headers, const Table<Nested> &query,
                    Pieces<Nested> &page) {
        if (path == "/no/such/page") {
            page.refer("<p>There is nothing here.</p>");
            return 404;
        }
        greeting(headers, page);
        if (path == "/search" || path == "/list") {
            for (const Field *field = query.first(); field != nullptr; field = field->next)
                part(*field, page);
        } else if (path == "/item") {
            page.refer("<p>");
            page.add_escaped(query.find("q"));
            page.refer("</p>");
        }
        return 200;
    }
    void greeting(const Table<Nested> &headers, Pieces<Nested> &page) {
        std::string_view cookies = headers.find("cookie");
        while (!cookies.empty()) {
            std::string_view value = next_part(cookies, "; ");
            if (next_part(value, "=") != "session") continue;
            page.refer("<p>Welcome back, ");
            page.add_escaped(value);
            page.refer(", with ");
            page.add_escaped(headers.find("user-agent"));
            page.refer("</p>");
        }
    }

    /// A part of the page that is made as if it were a request of its own: Apache's subrequests. Only its
    /// text lives on.
    void part(const Field &field, Pieces<Nested> &page) {
        Nested &region = request_.nest(options_);
        Pieces<Nested> rows(region);
        rows.refer("<ul title=\"");
        rows.add_escaped(field.name);
        rows.refer("\">");
        std::size_t number = 0;
        for (std::string_view rest = field.value; !rest.empty();) {
            const std::string_view word = next_part(rest, " ");
            for (std::size_t end = 1; end <= word.size(); ++end) {
                rows.refer("<li>");
                rows.add(++number);
                rows.refer(". ");
                rows.add_escaped(word.substr(0, end));
                rows.refer("</li>");
            }
        }
        rows.refer("</ul>");
        page.add(rows.together());
        region.reset(reap::keep_none);
    }

    Region region_; // until the connection is closed
    reap::RegionOptions options_;
    std::size_t left_;
    Nested &request_; // until the request is answered
    Pieces<Region> history_;
};

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 1000};
    if (!workload::read(count, words, options)) return 2;
    const reap::RegionOptions regions =
        options.naive ? reap::RegionOptions{.large_object = 0} : reap::RegionOptions{};
    workload::Random random(1995);
    Requests requests(443);
    workload::Checksum sent;
    std::array<std::unique_ptr<Connection>, 200> open;
    std::size_t connections = 0;
    for (std::size_t request = 0; request < options.scale * 1000; ++request) {
        std::unique_ptr<Connection> &connection = open[random.below(open.size())];
        if (connection == nullptr) {
            const std::size_t stays = 1 + random.below(1 + random.below(60));
            connection = std::make_unique<Connection>(++connections, stays, regions);
        }
        if (connection->serve(requests.next(), sent)) continue;
        for (const char letter : connection->log()) sent.add(static_cast<std::uint64_t>(letter));
        connection.reset();
    }
    std::printf("%zu requests, %zu connections\n", options.scale * 1000, connections);
    workload::print(sent);
}
