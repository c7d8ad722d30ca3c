// A Rust program with an allocator of its own: jemalloc's, by the names that Rust's crate gives it.
use std::alloc::{GlobalAlloc, Layout};

extern "C" {
    fn je_mallocx(size: usize, flags: i32) -> *mut u8;
    fn je_sdallocx(block: *mut u8, size: usize, flags: i32);
}

struct Linked;

fn flags(layout: Layout) -> i32 {
    if layout.align() > 16 {
        layout.align().trailing_zeros() as i32
    } else {
        0
    }
}

unsafe impl GlobalAlloc for Linked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        je_mallocx(layout.size(), flags(layout))
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        je_sdallocx(block, layout.size(), flags(layout))
    }
}

#[global_allocator]
static LINKED: Linked = Linked;

fn next_number(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

// Boxed vectors of random lives. Cured, each is filled again.
fn vectors(scale: f64, cured: bool) -> u64 {
    const VECTORS: u64 = 2000;
    let room = if cured { 528 } else { 16 };
    let mut pool: Vec<Vec<u8>> = (0..VECTORS).map(|_| Vec::with_capacity(room)).collect();
    for place in &mut pool {
        place.push(1);
    }
    let (mut state, mut sum) = (1u64, 0u64);
    for turn in 0..(12e6 * scale) as u64 {
        let place = &mut pool[(next_number(&mut state) % VECTORS) as usize];
        let size = 16 + next_number(&mut state) % 512;
        sum += place[0] as u64;
        if cured {
            place.clear();
        } else {
            *place = Vec::with_capacity(size as usize);
        }
        place.push(turn as u8);
    }
    sum
}

// The syntax tree of a script, built and dropped for each run of it. Cured, its nodes are kept.
fn scripts(scale: f64, cured: bool) -> u64 {
    const NODES: usize = 2000;
    let mut nodes: Vec<Box<(u64, String)>> = Vec::new();
    let mut sum = 0;
    for turn in 0..(6000.0 * scale) as u64 {
        if !cured {
            nodes = Vec::new();
        }
        for at in 0..NODES {
            if nodes.len() <= at {
                nodes.push(Box::new((0, String::new())));
            }
            let node = &mut nodes[at];
            node.0 = turn + at as u64;
            node.1.clear();
            node.1.push_str("an identifier of the script");
        }
        sum += nodes.iter().map(|node| node.0 + node.1.len() as u64).sum::<u64>();
    }
    sum
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let scale = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let cured = words.get(3).is_some_and(|word| word == "cured");
    match words.get(1).map(String::as_str) {
        Some("vectors") => println!("{}", vectors(scale, cured)),
        Some("scripts") => println!("{}", scripts(scale, cured)),
        _ => std::process::exit(2),
    }
}
