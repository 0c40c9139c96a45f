package main

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// facts are the observations of the story.
type facts struct {
	leaders []string // in the order in which they led
	atOnce  []string // moments at which a second replica led or ran

	ticks   int         // from the first to the last that ran
	ran     int         // ticks whose run finished
	late    int         // runs that started late
	twice   []time.Time // ticks with more than one run
	notRun  []string    // ticks that did not run, with the reason that the history gives
	unknown []time.Time // ticks without a run and without a record

	crash, deploy change
}

// change describes how one leader followed another.
type change struct {
	from, to string
	took     time.Duration // from the cut or the request to stop until the next one led
	gap      time.Duration // from the end of all work of the old one until the next one led
	finished bool          // the old one finished a run in between
	cutShort bool          // a run of the old one was stopped in between
}

// sumUp goes through the events. For a tick that did not run, it takes the reason from the job's history.
func sumUp(events []event, history []scheduler.Record) facts {
	var f facts
	f.leadersOf(events)
	f.ticksOf(events, history)
	return f
}

func (f *facts) leadersOf(events []event) {
	busy := make(map[string]int) // callbacks and runs under way, by replica
	var free time.Duration       // when the last busy replica became idle
	var since event              // the cut or the stop before the next leader
	var c change                 // the change that it starts
	for _, e := range events {
		switch e.what {
		case cutOff, stopping:
			since, c = e, change{from: e.who}
		case leads, began:
			for other := range busy {
				if other != e.who {
					f.atOnce = append(f.atOnce, fmt.Sprintf("%s %s beside %s at %.2f s", e.who, e.what, other, e.at.Seconds()))
				}
			}
			busy[e.who]++
		case stopped, ended, cutShort:
			c.finished = c.finished || e.what == ended && e.who == c.from
			c.cutShort = c.cutShort || e.what == cutShort && e.who == c.from
			if busy[e.who]--; busy[e.who] == 0 {
				delete(busy, e.who)
				free = e.at
			}
		}
		if e.what != leads {
			continue
		}
		f.leaders = append(f.leaders, e.who)
		c.to, c.took, c.gap = e.who, e.at-since.at, e.at-free
		switch since.what {
		case cutOff:
			f.crash = c
		case stopping:
			f.deploy = c
		}
		since, c = event{}, change{}
	}
}

func (f *facts) ticksOf(events []event, history []scheduler.Record) {
	runs := make(map[time.Time]int)
	finished := make(map[time.Time]bool)
	for _, e := range events {
		switch e.what {
		case began:
			runs[e.tick]++
			if e.late > punctual {
				f.late++
			}
		case ended:
			finished[e.tick] = true
		}
	}
	if len(runs) == 0 {
		return
	}
	all := slices.SortedFunc(maps.Keys(runs), time.Time.Compare)
	for tick := all[0]; !tick.After(all[len(all)-1]); tick = tick.Add(every) {
		f.ticks++
		if runs[tick] > 1 {
			f.twice = append(f.twice, tick)
		}
		if finished[tick] {
			f.ran++
		} else if why := recorded(history, tick); why != "" {
			f.notRun = append(f.notRun, clock(tick)+":\n  "+why)
		} else {
			f.unknown = append(f.unknown, tick)
		}
	}
}

// recorded returns what the history says about a tick that did not run to its end.
func recorded(history []scheduler.Record, tick time.Time) string {
	for _, r := range history {
		first := r.Tick
		if r.Ticks > 0 { // the row is a range
			first = r.From
		}
		if !tick.Before(first) && !tick.After(r.Tick) && r.State != scheduler.StateOK && r.State != scheduler.StateRunning {
			return strings.TrimSuffix(fmt.Sprintf("%s: %s", r.State, r.Err), ": ")
		}
	}
	return ""
}

// check returns an error for each promise that was broken.
func (f facts) check() error {
	var broken []error
	for _, moment := range f.atOnce {
		broken = append(broken, fmt.Errorf("two leaders at a time: %s", moment))
	}
	for _, tick := range f.twice {
		broken = append(broken, fmt.Errorf("tick %s ran more than once", clock(tick)))
	}
	for _, tick := range f.unknown {
		broken = append(broken, fmt.Errorf("tick %s did not run, and there is no record of why", clock(tick)))
	}
	if f.deploy.cutShort {
		broken = append(broken, fmt.Errorf("%s was asked to stop, and did not finish its run", f.deploy.from))
	}
	return errors.Join(broken...)
}

// print writes the table of promises, at most 80 columns wide.
func (f facts) print(out *log.Logger) {
	row := func(promised, format string, args ...any) {
		out.Printf("%-35s  %s", promised, fmt.Sprintf(format, args...))
	}
	out.Println()
	row("What was promised", "What was seen")
	row(strings.Repeat("-", 35), "%s", strings.Repeat("-", 43))
	row("Never two leaders at a time.", "%d leaders in turn, %d overlaps", len(f.leaders), len(f.atOnce))
	row("No tick runs twice.", "%d ticks: %d ran twice", f.ticks, len(f.twice))
	row("No tick is lost without a record.", "%d ticks: %d ran (%d late), %d did not run", f.ticks, f.ran, f.late, f.ticks-f.ran)
	row("A leader that is cut off stops", "%s stopped by itself,", f.crash.from)
	row("  before another one may lead;", "%v before %s led", short(f.crash.gap), f.crash.to)
	row(fmt.Sprintf("  one does, within about %v.", ttl), "%s led %v after the cut", f.crash.to, short(f.crash.took))
	outcome := "had no run to finish"
	switch {
	case f.deploy.cutShort:
		outcome = "did not finish its run"
	case f.deploy.finished:
		outcome = "finished its run"
	}
	row("A leader that is asked to stop", "%s %s,", f.deploy.from, outcome)
	row("  finishes its run and hands over.", "and %s led %v later", f.deploy.to, short(f.deploy.gap))
	for _, tick := range f.notRun {
		out.Println("Tick", tick)
	}
}

func clock(tick time.Time) string { return tick.Local().Format(time.TimeOnly) }

func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
