// A heap that has become small, whose pages are returned as GODEBUG says: MODE [SCALE]. It then idles for longer.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
)

func main() {
	begin := time.Now()
	scale := 1.0
	if len(os.Args) > 2 {
		scale, _ = strconv.ParseFloat(os.Args[2], 64)
	}
	blocks := make([][]byte, int(100000*scale)+1)
	for at := range blocks {
		blocks[at] = make([]byte, 1500)
		blocks[at][0], blocks[at][1499] = 1, 1
	}
	fmt.Println(len(blocks))
	blocks = nil
	debug.FreeOSMemory()
	time.Sleep(2*time.Since(begin) + time.Duration(3*scale*float64(time.Second)))
}
