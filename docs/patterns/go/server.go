// The handler of a server in seven ways: what a request allocates, and what each pattern leaves of it.
// docs/patterns.md explains them; every one gives the same answers.
//
//	server PATTERN THREADS ROUNDS <requests        answers on standard output, those of the last round
//
// SPDX-License-Identifier: MIT
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// Manifest is what a request becomes. Kept and filled again, it allocates nothing once it has grown.
type Manifest struct {
	stream, codec []byte
	segment       int
	edges         []Edge
	tags          [][]byte
	slab          []byte // what the copied texts stand in, one behind the other
	copies        bool   // texts are copied out of the request, each by itself
	inSlab        bool   // or into the slab
}

// Edge is one place that serves the segment.
type Edge struct {
	pop []byte
	lat int
}

// All of it: what a request does not name must not be that of the request before, maybe somebody else's.
func (m *Manifest) clear() {
	m.stream, m.codec, m.segment = nil, nil, 0
	m.edges, m.tags, m.slab = m.edges[:0], m.tags[:0], m.slab[:0]
}

// A text of the manifest's own: the request's buffer belongs to the connection and is filled again.
func (m *Manifest) text(view []byte) []byte {
	switch {
	case m.inSlab:
		start := len(m.slab)
		m.slab = append(m.slab, view...)
		return m.slab[start:len(m.slab):len(m.slab)]
	case m.copies:
		return append([]byte(nil), view...)
	}
	return view
}

// readAll makes all of the request into objects, as a parser that knows nothing of the handler has to.
func (m *Manifest) readAll(request []byte) {
	json := reader{text: request}
	json.object(func(name []byte) {
		switch string(name) { // the compiler makes no string for a comparison
		case "stream_id":
			m.stream = m.text(json.string())
		case "codec":
			m.codec = m.text(json.string())
		case "segment_seq":
			m.segment = json.number()
		case "tags":
			json.array(func() { m.tags = append(m.tags, m.text(json.string())) })
		case "edges":
			json.array(func() { m.edges = append(m.edges, m.edge(&json)) })
		default:
			json.skip(0)
		}
	})
}

// readLess keeps what the answer needs, as views of the request.
func (m *Manifest) readLess(request []byte) {
	json := reader{text: request}
	json.object(func(name []byte) {
		switch string(name) {
		case "segment_seq":
			m.segment = json.number()
		case "edges":
			json.array(func() { m.edges = append(m.edges, m.edge(&json)) })
		default:
			json.skip(0)
		}
	})
}

func (m *Manifest) edge(json *reader) (edge Edge) {
	json.object(func(name []byte) {
		switch string(name) {
		case "pop":
			edge.pop = m.text(json.string())
		case "lat_ms":
			edge.lat = json.number()
		default:
			json.skip(0)
		}
	})
	return edge
}

// answer appends the three nearest edges of the segment, on a line.
func (m *Manifest) answer(out []byte) []byte {
	out = strconv.AppendInt(out, int64(m.segment), 10)
	for i := 0; i < 3 && i < len(m.edges); i++ {
		least := i
		for j := i + 1; j < len(m.edges); j++ {
			a, b := m.edges[j], m.edges[least]
			if a.lat < b.lat || a.lat == b.lat && bytes.Compare(a.pop, b.pop) < 0 {
				least = j
			}
		}
		m.edges[i], m.edges[least] = m.edges[least], m.edges[i]
		out = append(append(out, ' '), m.edges[i].pop...)
		out = strconv.AppendInt(append(out, '='), int64(m.edges[i].lat), 10)
	}
	return append(out, '\n')
}

// --- Pools ------------------------------------------------------------------------------------------------

// sharedPool takes one lock twice a request.
type sharedPool struct {
	lock sync.Mutex
	free []*Manifest
}

func (p *sharedPool) take() *Manifest {
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.free) == 0 {
		return &Manifest{inSlab: true}
	}
	last := len(p.free) - 1
	taken := p.free[last]
	p.free = p.free[:last]
	return taken
}

func (p *sharedPool) give(m *Manifest) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.free = append(p.free, m)
}

// lockFreePool is a stack. A node is allocated for each return, so that the collector, which frees no node
// that somebody still looks at, rules the ABA problem out; that node is its price.
type lockFreePool struct{ head atomic.Pointer[node] }

type node struct {
	manifest *Manifest
	below    *node
}

func (p *lockFreePool) take() *Manifest {
	for {
		top := p.head.Load()
		if top == nil {
			return &Manifest{inSlab: true}
		}
		if p.head.CompareAndSwap(top, top.below) {
			return top.manifest
		}
	}
}

func (p *lockFreePool) give(m *Manifest) {
	top := &node{manifest: m}
	for {
		top.below = p.head.Load()
		if p.head.CompareAndSwap(top.below, top) {
			return
		}
	}
}

// --- The patterns: each makes the handler of one worker ------------------------------------------------------

type handler func(request, out []byte) []byte

var (
	shared   sharedPool
	lockFree lockFreePool
	// Go's own pool: a list for each processor, so that no lock is taken, and emptied by the collector.
	syncPool = sync.Pool{New: func() any { return &Manifest{inSlab: true} }}
)

func handle(m *Manifest, request, out []byte) []byte {
	m.clear()
	m.readAll(request)
	return m.answer(out)
}

var patterns = map[string]func() handler{
	"per-request": func() handler {
		return func(request, out []byte) []byte { return handle(&Manifest{copies: true}, request, out) }
	},
	"pool-shared": func() handler {
		return func(request, out []byte) []byte {
			m := shared.take()
			defer shared.give(m)
			return handle(m, request, out)
		}
	},
	"pool-lock-free": func() handler {
		return func(request, out []byte) []byte {
			m := lockFree.take()
			defer lockFree.give(m)
			return handle(m, request, out)
		}
	},
	"pool-thread": func() handler {
		return func(request, out []byte) []byte {
			m := syncPool.Get().(*Manifest)
			defer syncPool.Put(m)
			return handle(m, request, out)
		}
	},
	// Go has no regions: a worker's own slab and slices, cut back to nothing, are what comes nearest.
	"arena": func() handler {
		m := &Manifest{inSlab: true}
		return func(request, out []byte) []byte { return handle(m, request, out) }
	},
	"less": func() handler {
		return func(request, out []byte) []byte {
			m := &Manifest{}
			m.readLess(request)
			return m.answer(out)
		}
	},
	"less-arena": func() handler {
		m := &Manifest{}
		return func(request, out []byte) []byte {
			m.clear()
			m.readLess(request)
			return m.answer(out)
		}
	},
}

// guarded answers a request that cannot be read with a line that says so.
func guarded(handle handler, request, out []byte) (answered []byte) {
	kept := len(out)
	defer func() {
		if wrong := recover(); wrong != nil {
			answered = append(out[:kept], fmt.Sprintf("error: %v\n", wrong)...)
		}
	}()
	return handle(request, out)
}

func main() {
	threads, rounds := 0, 0
	var pattern func() handler
	if len(os.Args) == 4 {
		pattern = patterns[os.Args[1]]
		threads, _ = strconv.Atoi(os.Args[2])
		rounds, _ = strconv.Atoi(os.Args[3])
	}
	if pattern == nil || threads < 1 || rounds < 1 {
		fmt.Fprint(os.Stderr, "usage: server PATTERN THREADS ROUNDS <requests; the patterns:")
		for name := range patterns {
			fmt.Fprint(os.Stderr, " ", name)
		}
		fmt.Fprintln(os.Stderr)
		os.Exit(2)
	}
	runtime.GOMAXPROCS(threads)
	var requests [][]byte
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		requests = append(requests, append([]byte(nil), lines.Bytes()...))
	}
	answers := make([][]byte, threads)
	var workers sync.WaitGroup
	for worker := 0; worker < threads; worker++ {
		workers.Add(1)
		go func(worker int) {
			defer workers.Done()
			handle := pattern()
			var out []byte
			for round := 0; round < rounds; round++ {
				out = out[:0]
				for _, request := range requests {
					out = guarded(handle, request, out)
				}
			}
			answers[worker] = out
		}(worker)
	}
	workers.Wait()
	os.Stdout.Write(answers[0])
}
