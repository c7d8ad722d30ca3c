//! The handler of a server in seven ways: what a request allocates, and what each pattern leaves of it.
//! docs/patterns.md explains them; every one gives the same answers.
//!
//!     patterns PATTERN THREADS ROUNDS <requests     answers on standard output, those of the last round
//!
//! SPDX-License-Identifier: MIT

mod reader;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, BufRead, Write as _};
use std::sync::{Mutex, OnceLock};

use bumpalo::{collections, Bump};
use crossbeam_queue::ArrayQueue;
use reader::{Reader, Result};

/// What a request becomes. Kept and filled again, it allocates nothing once it has grown.
#[derive(Default)]
struct Manifest {
    stream: String,
    codec: String,
    segment: i64,
    edges: Vec<(i64, String)>,
    edges_used: usize,
    tags: Vec<String>,
    tags_used: usize,
    order: Vec<usize>,
}

/// The next element of a vector that keeps what it had, so that its strings keep their room.
fn next<'a, T: Default>(items: &'a mut Vec<T>, used: &mut usize) -> &'a mut T {
    if *used == items.len() {
        items.push(T::default());
    }
    *used += 1;
    &mut items[*used - 1]
}

fn set(text: &mut String, view: &str) {
    text.clear();
    text.push_str(view);
}

fn edge<'a>(json: &mut Reader<'a>) -> Result<(i64, &'a str)> {
    let mut edge = (0, "");
    json.object(|json, name| {
        match name {
            "pop" => edge.1 = json.string()?,
            "lat_ms" => edge.0 = json.number()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(edge)
}

impl Manifest {
    /// All of the request as objects, as a parser that knows nothing of the handler has to.
    fn read(&mut self, request: &str) -> Result<()> {
        self.edges_used = 0;
        self.tags_used = 0;
        let mut json = Reader::new(request);
        json.object(|json, name| {
            match name {
                "stream_id" => set(&mut self.stream, json.string()?),
                "codec" => set(&mut self.codec, json.string()?),
                "segment_seq" => self.segment = json.number()?,
                "tags" => json.array(|json| {
                    set(next(&mut self.tags, &mut self.tags_used), json.string()?);
                    Ok(())
                })?,
                "edges" => json.array(|json| {
                    let (lat, pop) = edge(json)?;
                    let into = next(&mut self.edges, &mut self.edges_used);
                    into.0 = lat;
                    set(&mut into.1, pop);
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    fn answer(&mut self, out: &mut String) {
        // Ordered by number, so that no string moves.
        let Manifest { edges, order, .. } = self;
        order.clear();
        order.extend(0..self.edges_used);
        order.sort_unstable_by(|&a, &b| edges[a].cmp(&edges[b]));
        line(
            self.segment,
            order.iter().map(|&i| (edges[i].0, edges[i].1.as_str())),
            out,
        );
    }
}

/// The three nearest edges of the segment, on a line.
fn line<'a>(segment: i64, nearest: impl Iterator<Item = (i64, &'a str)>, out: &mut String) {
    let _ = write!(out, "{segment}"); // a String takes all that is written
    for (lat, pop) in nearest.take(3) {
        let _ = write!(out, " {pop}={lat}");
    }
    out.push('\n');
}

fn per_request(request: &str, out: &mut String) -> Result<()> {
    let mut manifest = Manifest::default();
    manifest.read(request)?;
    manifest.answer(out);
    Ok(())
}

static SHARED: Mutex<Vec<Manifest>> = Mutex::new(Vec::new());

/// One lock, taken twice a request.
fn pool_shared(request: &str, out: &mut String) -> Result<()> {
    let taken = SHARED.lock().expect("nobody panics with the lock").pop();
    let mut manifest = taken.unwrap_or_default();
    let read = manifest.read(request);
    if read.is_ok() {
        manifest.answer(out);
    }
    SHARED
        .lock()
        .expect("nobody panics with the lock")
        .push(manifest);
    read
}

thread_local! {
    static OWN: RefCell<Manifest> = RefCell::default();
    static REGION: RefCell<Bump> = RefCell::default();
}

fn pool_thread(request: &str, out: &mut String) -> Result<()> {
    OWN.with_borrow_mut(|manifest| {
        manifest.read(request)?;
        manifest.answer(out);
        Ok(())
    })
}

static LOCK_FREE: OnceLock<ArrayQueue<Manifest>> = OnceLock::new();

fn pool_lock_free(request: &str, out: &mut String) -> Result<()> {
    let pool = LOCK_FREE.get_or_init(|| ArrayQueue::new(1024));
    let mut manifest = pool.pop().unwrap_or_default();
    let read = manifest.read(request);
    if read.is_ok() {
        manifest.answer(out);
    }
    drop(pool.push(manifest)); // one too many for the queue is freed
    read
}

/// Everything in the thread's region, which keeps its chunk between requests.
fn arena(request: &str, out: &mut String) -> Result<()> {
    in_region(|region| {
        let copy = |view: &str| collections::String::from_str_in(view, region);
        let (mut stream, mut codec) = (copy(""), copy(""));
        let mut segment = 0;
        let mut tags = collections::Vec::new_in(region);
        let mut edges = collections::Vec::new_in(region);
        Reader::new(request).object(|json, name| {
            match name {
                "stream_id" => stream = copy(json.string()?),
                "codec" => codec = copy(json.string()?),
                "segment_seq" => segment = json.number()?,
                "tags" => json.array(|json| {
                    tags.push(copy(json.string()?));
                    Ok(())
                })?,
                "edges" => json.array(|json| {
                    let (lat, pop) = edge(json)?;
                    edges.push((lat, copy(pop)));
                    Ok(())
                })?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        edges.sort_unstable();
        line(
            segment,
            edges.iter().map(|(lat, pop)| (*lat, pop.as_str())),
            out,
        );
        Ok(())
    })
}

fn in_region(handle: impl FnOnce(&Bump) -> Result<()>) -> Result<()> {
    REGION.with_borrow_mut(|region| {
        let done = handle(region);
        region.reset();
        done
    })
}

/// What the answer needs, as views of the request, in a vector of whoever calls.
fn read_less<'a>(request: &'a str, mut keep: impl FnMut((i64, &'a str))) -> Result<i64> {
    let mut segment = 0;
    Reader::new(request).object(|json, name| {
        match name {
            "segment_seq" => segment = json.number()?,
            "edges" => json.array(|json| {
                keep(edge(json)?);
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(segment)
}

fn less(request: &str, out: &mut String) -> Result<()> {
    let mut edges = Vec::new();
    let segment = read_less(request, |edge| edges.push(edge))?;
    edges.sort_unstable();
    line(segment, edges.into_iter(), out);
    Ok(())
}

fn less_arena(request: &str, out: &mut String) -> Result<()> {
    in_region(|region| {
        let mut edges = collections::Vec::new_in(region);
        let segment = read_less(request, |edge| edges.push(edge))?;
        edges.sort_unstable();
        line(segment, edges.into_iter(), out);
        Ok(())
    })
}

type Pattern = fn(&str, &mut String) -> Result<()>;

const PATTERNS: [(&str, Pattern); 7] = [
    ("per-request", per_request),
    ("pool-shared", pool_shared),
    ("pool-thread", pool_thread),
    ("pool-lock-free", pool_lock_free),
    ("arena", arena),
    ("less", less),
    ("less-arena", less_arena),
];

fn work(handle: Pattern, requests: &[String], rounds: usize) -> String {
    let mut out = String::new();
    for _ in 0..rounds {
        out.clear();
        for request in requests {
            let kept = out.len();
            if let Err(wrong) = handle(request, &mut out) {
                out.truncate(kept);
                let _ = writeln!(out, "error: {wrong}");
            }
        }
    }
    out
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse::<usize>().ok())
            .unwrap_or(0)
    };
    let (threads, rounds) = (number(1), number(2));
    let named = words
        .first()
        .and_then(|name| PATTERNS.iter().find(|(known, _)| known == name));
    let Some((_, handle)) = named.filter(|_| words.len() == 3 && threads > 0 && rounds > 0) else {
        let known: Vec<&str> = PATTERNS.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "usage: patterns {} THREADS ROUNDS <requests",
            known.join("|")
        );
        std::process::exit(2);
    };
    let requests = io::stdin()
        .lock()
        .lines()
        .collect::<io::Result<Vec<String>>>()?;
    let answers = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(*handle, &requests, rounds)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no handler panics"))
            .collect::<Vec<_>>()
    });
    io::stdout().write_all(answers[0].as_bytes())
}
