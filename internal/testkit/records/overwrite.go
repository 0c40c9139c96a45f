package records

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Overwriting is a way to overwrite what a node keeps for one job, for its election and for that election's lock.
type Overwriting struct {
	Name   string
	Shared bool // it overwrites data that all elections of the prefix share

	do func(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error)
}

// Subject identifies what is overwritten.
type Subject struct {
	Prefix
	Election, Job, Lock string
}

// Do overwrites what a node keeps of a subject, and reports whether that changed something. It changes nothing if the
// node has written nothing since the last time.
func (o Overwriting) Do(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error) {
	return o.do(ctx, s, node)
}

const (
	garbage = "garbage"
	far     = "5000000000000000" // an instant in the year 2128

	// The largest numbers of these widths. The library itself reads only smaller ones.
	far13     = "9999999999999"
	far16     = far13 + "999"
	farBallot = far16 + "ffffffffff"
	farSeq    = "99999999"
)

// Overwritten returns the ways to overwrite what a node keeps of locks and jobs, one of each kind. What is far ahead must
// not be believed; what is a little ahead could be true.
func Overwritten() []Overwriting {
	header := func(name string, edit func(header *string, now time.Time)) Overwriting {
		return Overwriting{Name: name, do: edited(func(k *kept, now time.Time) { edit(&k.header, now) })}
	}
	entry := func(name string, edit func(entry *string, now time.Time)) Overwriting {
		return Overwriting{Name: name, do: edited(func(k *kept, now time.Time) { edit(&k.entry, now) })}
	}
	record := func(name string, edit func(record *string, now time.Time)) Overwriting {
		return Overwriting{Name: name, do: edited(func(k *kept, now time.Time) { edit(&k.record, now) })}
	}
	guard := func(name string, edit func(guard *string)) Overwriting {
		return Overwriting{Name: name, Shared: true, do: edited(func(k *kept, _ time.Time) { edit(&k.guard) })}
	}
	return []Overwriting{
		header("promised ballot and term a little ahead", func(h *string, now time.Time) {
			splice(h, 32, micros(now.Add(time.Second))+"ffffffffff")
			*h = (*h)[:min(92, len(*h))] + "9007199254740991:nobody"
		}),
		{Name: "all numbers of the header far ahead", do: edited(func(k *kept, _ time.Time) {
			splice(&k.header, 2, far16)
			splice(&k.header, 32, farBallot+" "+far13+" "+far16)
			splice(&k.marker, 0, far16)
		})},
		entry("mark far ahead", func(e *string, _ time.Time) { setMark(e, far13) }),
		entry("mark a second ahead", func(e *string, now time.Time) { setMark(e, millis(now.Add(time.Second))) }),
		entry("a later state, times of it far ahead", later(func(e *string) {
			*e += " since=" + far16 + " manual=" + far16 + " lost=" + far16 + " notrun=" + far13 + ",nothing"
		})),
		entry("a later state, paused now", later(func(e *string) {
			if !strings.Contains(*e, " pause=") {
				*e += " pause=" + micros(time.Now()) + "ffffff,1,nobody,nowhere"
			}
		})),
		entry("older state of an incarnation before, its ballot far ahead", func(e *string, now time.Time) {
			splice(e, 0, strings.Repeat("0", 28)+farBallot)
			setMark(e, millis(now.Add(-10*time.Second)))
		}),
		{Name: "settings and history far ahead", do: settings},
		{Name: "a pause and a trigger of now", do: settingsOfNow},
		record("token far ahead", func(r *string, _ time.Time) { splice(r, 0, far+" "+far) }),
		record("token half a day ahead", func(r *string, now time.Time) { splice(r, 0, micros(now.Add(12*time.Hour))) }),
		record("deadline far ahead", func(r *string, _ time.Time) { splice(r, 34, far16) }),
		guard("end of the guard far ahead", func(g *string) { splice(g, 60, far16+" "+far13[:12]+" 005 "+far13) }),
		guard("garbage in place of the guard", func(g *string) { *g = garbage }),
		{Name: "garbage in place of all else", do: edited(func(k *kept, _ time.Time) {
			*k = kept{guard: k.guard, marker: garbage, record: garbage, waiting: garbage, header: garbage, entry: garbage}
		})},
		{Name: "keys of another type", do: otherTypes},
	}
}

// splice overwrites a part of a text, if the text is long enough.
func splice(text *string, at int, with string) {
	if end := at + len(with); end <= len(*text) {
		*text = (*text)[:at] + with + (*text)[end:]
	}
}

// later makes an edited state look as if its leader wrote it later than all others. It leaves states with an open run
// alone, because no leader believes in a run that a majority does not have open.
func later(edit func(entry *string)) func(*string, time.Time) {
	return func(e *string, _ time.Time) {
		if strings.Contains(*e, " last=") && !strings.Contains(*e, " open=") && !strings.Contains(*e, far13) {
			edit(e)
			splice(e, 54, farSeq)
		}
	}
}

var markOfState = regexp.MustCompile(` mark=\d+`)

// setMark overwrites both places where an entry has the high-water mark.
func setMark(entry *string, mark string) {
	splice(entry, 62, mark)
	*entry = markOfState.ReplaceAllString(*entry, " mark="+mark)
}

func micros(t time.Time) string { return fmt.Sprintf("%016d", t.UnixMicro()) }
func millis(t time.Time) string { return fmt.Sprintf("%013d", t.UnixMilli()) }

// kept has the texts that a node keeps of a subject. A text is empty if the node has none.
type kept struct {
	guard, marker, record, waiting string // in the hash of the locks
	header, entry                  string // in the hash of the jobs
}

// spot is the place of one of these texts.
type spot struct {
	key, field string
	of         func(*kept) *string
}

func (s Subject) spots() []spot {
	jobs := s.job("jobs", s.Election)
	return []spot{
		{s.Hash(), guardField, func(k *kept) *string { return &k.guard }},
		{s.Hash(), "j:" + s.Election, func(k *kept) *string { return &k.marker }},
		{s.Hash(), field(s.Lock), func(k *kept) *string { return &k.record }},
		{s.Hash(), "w:" + s.Lock, func(k *kept) *string { return &k.waiting }},
		{jobs, "", func(k *kept) *string { return &k.header }},
		{jobs, s.Job, func(k *kept) *string { return &k.entry }},
	}
}

// edited applies an edit to the texts that a node has now, and overwrites those that it changes.
func edited(edit func(k *kept, now time.Time)) func(context.Context, Subject, *redis.Client) (bool, error) {
	return func(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error) {
		now, err := node.Time(ctx).Result()
		if err != nil {
			return false, err
		}
		var was kept
		for _, t := range s.spots() {
			if *t.of(&was), err = node.HGet(ctx, t.key, t.field).Result(); err != nil && !errors.Is(err, redis.Nil) {
				return false, err
			}
		}
		is := was
		edit(&is, now)
		for _, t := range s.spots() {
			if text := *t.of(&is); text != *t.of(&was) {
				changed = true
				if err := node.HSet(ctx, t.key, t.field, text).Err(); err != nil {
					return changed, err
				}
			}
		}
		return changed, nil
	}
}

// settings writes a pause and a trigger of the future, and rows of the history that are of the future or cannot be
// read.
func settings(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error) {
	const setting = far + "ffffff,1,nobody"
	set := node.HSet(ctx, s.job("settings", s.Election), "p:"+s.Job, setting, "t:"+s.Job, setting)
	added := node.ZAdd(ctx, s.job("changes", s.Election), redis.Z{Score: 1 << 53, Member: s.Job})
	pushed := node.LPush(ctx, s.job("runs", s.Election)+":"+s.Job, garbage, "t"+far13+",missed,,,1,nobody,0,0,,garbage")
	return set.Val()+added.Val() > 0, errors.Join(set.Err(), added.Err(), pushed.Err())
}

// settingsOfNow writes and publishes a pause and a trigger that look as if somebody had just set them.
func settingsOfNow(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error) {
	now := time.Now()
	setting := micros(now) + "ffffff,1,nobody,nowhere"
	return true, errors.Join(
		node.HSet(ctx, s.job("settings", s.Election), "p:"+s.Job, setting, "t:"+s.Job, setting).Err(),
		node.ZAdd(ctx, s.job("changes", s.Election), redis.Z{Score: float64(now.UnixMicro()), Member: s.Job}).Err(),
		node.Publish(ctx, s.job("jobs", s.Election), "p "+setting).Err(),
	)
}

// otherTypes replaces keys of other types with strings.
func otherTypes(ctx context.Context, s Subject, node *redis.Client) (changed bool, err error) {
	for _, key := range []string{
		s.job("jobs", s.Election), s.job("settings", s.Election), s.job("runs", s.Election) + ":" + s.Job, s.job("changes", s.Election),
	} {
		kind, err := node.Type(ctx, key).Result()
		if err != nil {
			return changed, err
		}
		if kind != "string" {
			changed = true
			if err := node.Set(ctx, key, garbage, 0).Err(); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}
