// Reads messages, walks them, changes them and writes them, again and again. Each batch is on an Arena, the
// region of Protocol Buffers: messages and arrays are never freed one by one. Strings that do not fit into
// themselves are malloc's in both variants: the region is a partial one.
//
// Naive: messages on the heap, each freed with its parent. Scale: how often.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/workload.h"
#include "orders.pb.h"

namespace {

constexpr std::size_t orders_in_a_batch = 12000;

/// What is sent to us.
std::string message() {
    workload::Random random(2008);
    orders::Orders batch;
    for (std::size_t n = 0; n < orders_in_a_batch; ++n) {
        orders::Order &order = *batch.add_orders();
        order.set_id(n);
        order.mutable_to()->set_street("a street of some length, " + std::to_string(random.below(1000)));
        order.mutable_to()->set_number(static_cast<std::uint32_t>(random.below(200)));
        order.mutable_to()->set_region(random.below(50));
        for (std::size_t item = 1 + random.below(8); item > 0; --item) {
            orders::Item &added = *order.add_items();
            added.set_part(random.below(100000));
            added.set_count(static_cast<std::uint32_t>(1 + random.below(20)));
            added.set_price(static_cast<std::uint32_t>(random.below(10000)));
            if (random.percent(70))
                added.set_shelf(static_cast<std::uint32_t>(random.below(900)));
            else
                added.mutable_sender()->set_region(random.below(50));
        }
        for (std::size_t tag = random.below(5); tag > 0; --tag)
            order.add_tags(static_cast<std::uint32_t>(random.below(300)));
    }
    return batch.SerializeAsString();
}

void pass(orders::Orders &batch, const std::string &text, workload::Checksum &checksum) {
    if (!batch.ParseFromString(text)) std::abort(); // the text is ours
    for (orders::Order &order : *batch.mutable_orders()) {
        std::uint64_t total = 0;
        for (const orders::Item &item : order.items()) {
            total += std::uint64_t{item.count()} * item.price();
            checksum.add(item.part() + item.shelf() + item.sender().region());
        }
        checksum.add(order.to().street().size() + order.to().number());
        if (order.id() % 16 == 0) (*batch.mutable_totals())[static_cast<std::uint32_t>(order.id())] = total;
        // What is not in stock is asked for with an order of its own.
        orders::Item &more = *order.add_items();
        more.set_part(total % 100000);
        more.mutable_sender()->CopyFrom(order.to());
    }
    std::string out;
    {
        google::protobuf::io::StringOutputStream stream(&out);
        google::protobuf::io::CodedOutputStream coded(&stream);
        coded.SetSerializationDeterministic(true); // the order of a map is not
        batch.SerializeToCodedStream(&coded);
    }
    for (std::size_t at = 0; at < out.size(); at += 64) checksum.add(static_cast<unsigned char>(out[at]));
    checksum.add(out.size());
}

} // namespace

int main(int count, char **words) {
    workload::Options options{.scale = 20};
    if (!workload::read(count, words, options)) return 2;
    const std::string text = message();
    workload::Checksum checksum;
    for (std::size_t n = 0; n < options.scale; ++n) {
        if (options.naive) {
            const auto batch = std::make_unique<orders::Orders>();
            pass(*batch, text, checksum);
        } else {
            google::protobuf::Arena arena;
            pass(*google::protobuf::Arena::CreateMessage<orders::Orders>(&arena), text, checksum);
        }
    }
    std::printf("%zu passes over %zu bytes\n", options.scale, text.size());
    workload::print(checksum);
    return 0;
}
