// Requests that make objects, in Go, whose runtime has an allocator of its own. The study of the allocator wall runs
// it with another allocator preloaded: it says whether that got in, and the kernel says what it took.
package main

import (
	"os"
	"path/filepath"
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
	// By its own name, as the kernel has it: "malloc" may stand in the name of the folder that this program is in.
	entered := "0"
	for _, file := range strings.FieldsFunc(os.Getenv("LD_PRELOAD"), func(each rune) bool { return each == ':' || each == ' ' }) {
		if real, err := filepath.EvalSymlinks(file); err == nil && strings.Contains(string(maps), real) {
			entered = "1"
		}
	}
	os.Stderr.WriteString("{\"preloaded\": " + entered + "}\n")
}
