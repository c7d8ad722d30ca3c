// Threads whose C frames were deep once and which then wait: MODE [SCALE [cured]]. It then idles for longer.
package main

/*
#include <string.h>
#include <unistd.h>

static int deep(int frames) {
    volatile char frame[4096];
    memset((void *)frame, frames, sizeof frame);
    return frames ? deep(frames - 1) + frame[7] : 0;
}

static int call(int frames) {
    const int sum = deep(frames);
    usleep(300000);
    return sum;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	begin := time.Now()
	scale, frames, threads := 1.0, 800, 40
	if len(os.Args) > 2 {
		scale, _ = strconv.ParseFloat(os.Args[2], 64)
	}
	if len(os.Args) > 3 {
		frames = 1
	}
	var waiting sync.WaitGroup
	for at := 0; at < threads; at++ {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			C.call(C.int(float64(frames) * min(scale, 1)))
		}()
	}
	waiting.Wait()
	fmt.Println(threads)
	time.Sleep(2*time.Since(begin) + time.Duration(3*scale*float64(time.Second)))
}
