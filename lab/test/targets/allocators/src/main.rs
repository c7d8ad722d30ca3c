// Allocates in three functions, for as many rounds as its word says: boxes, zeroed buffers, and one that grows.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "snmalloc")]
#[global_allocator]
static ALLOCATOR: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

use std::hint::black_box;

#[inline(never)]
fn take_box() -> Box<[u8; 1001]> {
    black_box(Box::new([1; 1001]))
}

#[inline(never)]
fn take_zeroed() -> Vec<u8> {
    black_box(vec![0; 2002])
}

#[inline(never)]
fn grow(buffer: &mut Vec<u8>) {
    buffer.reserve_exact(3003);
    black_box(&buffer);
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(1000, |word| word.parse().unwrap());
    for _ in 0..rounds {
        let mut buffer = Vec::with_capacity(black_box(16));
        grow(&mut buffer);
        drop((take_box(), take_zeroed(), buffer));
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    println!("{rounds} rounds");
}
