package main

import (
	"strconv"
	"sync/atomic"
)

// lockNames are made before they are needed, so that making them is not measured. Once all were used
// they come again, long after their release.
var (
	lockNames = makeNames("bench-", 1<<17)
	nameUsed  atomic.Uint64
)

func makeNames(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(i)
	}
	return list
}

func nextName() string { return lockNames[nameUsed.Add(1)%uint64(len(lockNames))] }
