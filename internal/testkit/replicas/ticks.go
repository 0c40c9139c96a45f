//go:build unix

package replicas

import (
	"fmt"
	"strconv"
	"strings"
)

// Judge checks how often the ticks of jobs that tick once a second have taken effect. counts has the number of effects
// by the key of the run, and until is a Unix time in seconds. Judge returns how many ticks there are from the first one
// of each job up to until, how many of them had no effect, and the keys with more than one effect.
func Judge(counts map[string]int, until int64) (ticks, missing int, repeated []string, err error) {
	first := map[string]int64{}
	for key, n := range counts {
		job, tick, err := parse(key)
		if err != nil {
			return 0, 0, nil, err
		}
		if seen, ok := first[job]; !ok || tick < seen {
			first[job] = tick
		}
		if n > 1 {
			repeated = append(repeated, key)
		}
	}
	for job, tick := range first {
		for ; tick <= until; tick++ {
			ticks++
			if counts[fmt.Sprintf("%s@%d", job, tick*1000)] == 0 {
				missing++
			}
		}
	}
	return ticks, missing, repeated, nil
}

func parse(key string) (job string, tick int64, err error) {
	job, millis, _ := strings.Cut(key, "@")
	tick, err = strconv.ParseInt(millis, 10, 64)
	if err != nil || tick%1000 != 0 {
		return "", 0, fmt.Errorf("%q is not a key of a job that ticks once a second", key)
	}
	return job, tick / 1000, nil
}
