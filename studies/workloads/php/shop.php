<?php
// Orders as arrays and objects: grouped, sorted, written as JSON and read again. Prints the same every time.
//
//     php -n shop.php ROUNDS
final class Item {
    public function __construct(public string $part, public int $count, public int $price, public ?Item $next) {}
}

mt_srand(2004, MT_RAND_MT19937);
$crc = 0;
for ($round = 0; $round < (int)$argv[1]; ++$round) {
    $orders = [];
    for ($n = 0; $n < 9000; ++$n) {
        $list = null;
        for ($items = mt_rand(1, 6); $items > 0; --$items) {
            $list = new Item('part ' . mt_rand(0, 3000), mt_rand(1, 20), mt_rand(1, 10000), $list);
        }
        $orders[] = ['id' => $n, 'customer' => 'customer number ' . mt_rand(0, 2000), 'items' => $list,
                     'tags' => array_fill(0, mt_rand(0, 4), "tag $n")];
    }
    $by = [];
    foreach ($orders as $order) {
        $total = 0;
        for ($item = $order['items']; $item !== null; $item = $item->next) {
            $total += $item->count * $item->price;
            $sold[$item->part] = ($sold[$item->part] ?? 0) + $item->count;
        }
        $by[$order['customer']][] = ['id' => $order['id'], 'total' => $total];
    }
    ksort($by);
    foreach ($by as $name => $theirs) {
        usort($theirs, fn($a, $b) => $b['total'] <=> $a['total'] ?: $a['id'] <=> $b['id']);
        $text = json_encode([$name => $theirs]);
        $read = json_decode($text, true);
        $words = preg_split('/[",:{}\[\] ]+/', $text);
        $crc = crc32($crc . count($words) . $read[$name][0]['total'] . implode('-', array_slice($words, 0, 9)));
    }
}
ksort($sold);
printf("%d customers, %d parts, checksum %08x\n", count($by), count($sold), crc32($crc . json_encode($sold)));
