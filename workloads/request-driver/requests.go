// Requests that make objects, in Go, whose runtime has an allocator of its own. The study of the allocator wall runs
// it with another allocator preloaded: it says whether that got in, and the kernel says what it took.
package main

import (
	"os"
	"strings"
)

type object struct {
	next *object
	text [88]byte
}

func answer(objects int) int {
	var list *object
	for n := 0; n < objects; n++ {
		list = &object{next: list}
		list.text[n%88] = 1
	}
	count := 0
	for ; list != nil; list = list.next {
		count++
	}
	return count
}

func main() {
	sum := 0
	for n := 0; n < 20000; n++ {
		sum += answer(100)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || sum != 2000000 {
		os.Exit(1)
	}
	entered := "0"
	if strings.Contains(string(maps), "malloc") {
		entered = "1"
	}
	os.Stderr.WriteString("{\"preloaded\": " + entered + "}\n")
}
