// Held back by Go's collector: a large live heap of small objects, and much that dies young.
//
//	collect [SCALE]
package main

import (
	"fmt"
	"os"
	"strconv"
)

type node struct {
	left, right *node
	number      int
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{number: 1}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	return n.number + n.left.count() + n.right.count()
}

func main() {
	scale := 1.0
	if len(os.Args) > 1 {
		scale, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	living, sum := tree(20), 0
	for turn := 0; turn < int(150*scale); turn++ {
		sum += tree(15).count()
	}
	fmt.Println(sum, living.count())
}
