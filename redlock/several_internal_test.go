package redlock

import (
	"fmt"
	"testing"
	"time"
)

// Each digit is an answer of that server, received a second after it was sent. A point is a second without one.
func TestAddress_LeadsToSeveralServers(t *testing.T) {
	for answers, several := range map[string]bool{
		"000": false, "0123": false, "010": true, "0110": true, "0120": true, "0.1.2.1": true, "0123456780": true,
		"010..........0": false, "010.1........0": true, "010.1........1..": true, "010.1..........1": false,
		"010..........1": true, "010..........0.1": false, "010..........0.10": true,
	} {
		var a address
		at := time.Now()
		for _, answer := range answers {
			sent := at
			if at = at.Add(time.Second); answer != '.' {
				a.see(server{identity: uint64(answer), run: string(answer), since: at}, sent, 10*time.Second)
			}
		}
		if got := a.several != ""; got != several {
			t.Errorf("%s: several: %t (%s)", answers, got, a.several)
		}
	}
}

// What was sent before the first answer of the next server may be answered after it.
func TestAddress_MayFailOverWhileAnAnswerIsUnderWay(t *testing.T) {
	began := time.Now()
	for sent, several := range map[time.Duration]bool{0: false, 2 * time.Second: true} {
		t.Run(fmt.Sprint(sent), func(t *testing.T) {
			var a address
			a.see(server{identity: 1, since: began}, began, time.Minute)
			a.see(server{identity: 2, since: began.Add(time.Second)}, began, time.Minute)
			a.see(server{identity: 1, since: began.Add(3 * time.Second)}, began.Add(sent), time.Minute)
			if got := a.several != ""; got != several {
				t.Errorf("several: %t", got)
			}
		})
	}
}
