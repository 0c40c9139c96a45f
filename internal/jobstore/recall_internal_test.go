package jobstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// What this process knew is used if a majority of nodes has lost it since, and not if somebody has deleted the job.
func TestRecall(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	none := func(began int) Promise {
		return Promise{Time: at(60), Began: at(began), Jobs: []Found{{}}}
	}
	deleted := Promise{Time: at(60), Began: at(51), Floor: at(20), Jobs: []Found{{}}}
	knows := Promise{Time: at(60), Began: at(0), Jobs: []Found{{Kind: Present, Written: Written{At: At{NewBallot(0, at(5)), 1}}}}}
	older := func(written int) Promise { // it has restarted with what it had then
		known := Found{Kind: Stale, Written: Written{At: At{NewBallot(0, at(written)), 1}, State: State{Mark: at(4)}}}
		return Promise{Time: at(60), Began: at(50), Jobs: []Found{known}}
	}
	away := Promise{Err: quorum.ErrNoAnswer}
	s := New(Config{Quorum: quorum.New(make([]redis.UniversalClient, 3), make([]string, 3), quorum.Config{})})
	for name, test := range map[string]struct {
		nodes          []Promise
		written, mark  int
		recalled, lost bool
	}{
		"all lost it":                {[]Promise{none(50), none(51), none(52)}, 10, 20, true, true},
		"a majority lost it":         {[]Promise{none(50), none(0), none(52)}, 10, 20, true, true},
		"two that answer lost it":    {[]Promise{none(50), away, none(52)}, 10, 20, true, true},
		"it was deleted":             {[]Promise{none(0), none(0), none(52)}, 10, 20, false, false},
		"it was written after that":  {[]Promise{none(50), none(51), none(52)}, 55, 56, false, false},
		"a node knows it":            {[]Promise{none(50), knows, none(52)}, 10, 20, false, true},
		"its mark is in the future":  {[]Promise{none(50), none(51), none(52)}, 10, 90, true, true},
		"its write is in the future": {[]Promise{none(50), none(51), none(52)}, 90, 20, true, true},
		"all have older data":        {[]Promise{older(5), older(6), older(7)}, 10, 20, true, true},
		"two that answer have it":    {[]Promise{older(5), away, older(7)}, 10, 20, true, true},
		"all have newer data":        {[]Promise{older(5), older(6), older(11)}, 10, 20, false, false},
		"one did not restart":        {[]Promise{older(5), older(6), knows}, 10, 20, false, false},
		"older data, future mark":    {[]Promise{older(5), older(6), older(7)}, 10, 90, true, true},
		"older data, and deleted":    {[]Promise{older(5), older(6), deleted}, 10, 20, false, false},
		"it was deleted, then lost":  {[]Promise{none(50), deleted, none(52)}, 10, 20, false, false},
	} {
		b, err := s.Decide(test.nodes, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v := &View{At: At{NewBallot(0, at(test.written)), 1}, State: State{Mark: at(test.mark)}}
		got := b.Recall(v, at(60), at(99))
		isAhead := max(test.written, test.mark) > 60
		if got != test.recalled || b.Lost != test.lost || got && (!b.State.Mark.Equal(at(test.mark)) || b.Floor.IsZero() ||
			isAhead != b.Floor.Equal(at(99)) || isAhead != (b.SetBack == 30*time.Minute)) {
			t.Errorf("%s: %v, %+v", name, got, b)
		}
	}
}
