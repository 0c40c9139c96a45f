package jobstore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Whatever a node returns is decoded without harm. The result can be encoded as JSON, and stored again.
func FuzzReplies(f *testing.F) {
	const clock, entry = "1700000000 250 0123456789abcde ", "0000000000000000------------0000000000000001000000e6d1" +
		"00000001" + "1795593206000" + "0000000000000000000000" + "o02"
	const setting = "0001700000000000a1b2c3,1,ann,pod"
	f.Add(clock+"p5 v3", "1 0000000000000001 ------------ ", "0", entry+"since=1 mark=1", setting, setting)
	for _, state := range []string{ // times that JSON cannot have
		"mark=253402300800000", "notrun=253402300800000,x", "lost=-99999999999999999", "last=t253402300800000,ok,a",
		"last=t253402300000000,ok,a,,0,x,900000000", "last=m1,ok,a,,0,x,0,0,,,2,253402300800000",
	} {
		f.Add(clock+"p5 v3", "1 0000000000000001 ------------ ", "0", entry+state, setting, setting)
	}
	f.Add(clock+"h5 v0 n0 o2", "", "job", entry+"last=t1,ok,a,1,1,b", "other", setting)
	f.Add(clock+"w5 y l a p", setting, "", "", "", "")
	f.Add(clock+"h5 c2", "", "job", "17", "other", "1e308")
	f.Add(clock+"h5 k3", "", "t1,ok,a", "m1,missed,,,1,x", "t"+setting, "p"+setting)
	f.Add(clock+"h5 o", "", setting, "", "", "")
	f.Add(clock+"r5", "1 0000000000000001 ------------ 0000001700000000000000e6d1 0 0 0 7:pod", "", "", "", "")
	f.Fuzz(func(t *testing.T, line, a, b, c, d, e string) {
		reply := func() *quorum.Reply {
			r, err := quorum.ParseReply([]any{line, a, b, c, d, e})
			if err != nil {
				t.Skip()
			}
			return &r
		}
		now := timeOf(reply().Time)
		if p, err := readerOf(readPrepared)(reply()); err == nil {
			for _, job := range p.Jobs {
				if job.Err == nil {
					storable(t, job.State)
				}
			}
		}
		if p, err := readerOf(readPage)(reply()); err == nil {
			for _, v := range (Page{Now: now, answers: []page{p, p}}).Views() {
				storable(t, v.State)
				storable(t, v.Pause)
			}
		}
		if records, err := readerOf(readRuns)(reply()); err == nil {
			storable(t, records)
		}
		if past, err := readerOf(readPast)(reply()); err == nil {
			storable(t, past)
		}
		_, _ = readerOf(readWritten)(reply())
		if p, err := readerOf(readPolled)(reply()); err == nil {
			storable(t, p.requests)
		}
		_, _ = readerOf(readAsked)(reply())
		_, _ = readerOf(readForgotten)(reply())
	})
}

func storable(t *testing.T, what any) {
	if _, err := json.Marshal(what); err != nil {
		t.Errorf("%+v: %v", what, err)
	}
	s, ok := what.(State)
	if !ok {
		return
	}
	var again State
	err := again.decode(string(s.append(nil)))
	if err != nil || len(again.Open) != len(s.Open) || !again.Mark.Equal(s.Mark.Truncate(time.Millisecond)) {
		t.Errorf("%+v is stored as %+v, %v", s, again, err)
	}
}
