package cronspec

import (
	"strings"
	"testing"
	"time"
)

// Replicas of a rolling deploy may write the same spec in two ways. That is no change of the job.
func TestPlan_IsTheSameForSpecsThatMeanTheSame(t *testing.T) {
	for _, same := range [][]string{
		{"*/10 * * * JAN,feb MON-sat", "*/10 * * * 1,2 1-6", "0,10,20,30,40,50 * * ? 2,1 1,2,3-4,5,6"},
		{"20,10 3,5,3 * * * *", "10,20 5,3 * * * *"},
		{"5 3 ? * *", "0 5 3 * * ?", "CRON_TZ=UTC 5 3 * * *", "CRON_TZ=Etc/UTC 5 3 * * *", "5 3 1-31 * *", "5 3 * * 0-6", "5 3 7 * 1-7"},
		{"@yearly", "@annually", "0 0 1 1 *"},
		{"@monthly", "0 0 1 * *"},
		{"@weekly", "0 0 * * 0", "0 0 * * sun", "0 0 * * 7"},
		{"@daily", "@midnight", "0 0 * * *", "0,0 0 * * *"},
		{"0 6 */2 * *", "0 6 1-31/2 * *", "0 6 1,3,5,7,9,11-31/2 * ?"},
		{"@hourly", "0 * * * *", "0 0-23 * * *", "0-0 */1 * * *"},
		{"* * * * *", "*/1 * * * *", "0-59 * * * *"},
		{"0/15 * * * *", "*/15 * * * *", "0,15,30,45 * * * *"},
		{"0 6-6 * * *", "0 6/24 * * *", "0-0 6 * * *"},
		{"0 9-17/2 * * *", "0-0 9,11,13,15,17 * * *"},
		{"CRON_TZ=Europe/Rome 0 6 * * 1-3,4-5", "CRON_TZ=Europe/Rome 0 6 * * 1-5", "CRON_TZ=Europe/Rome 0 6 * * 5,4,3,2,1"},
		{"0 0 L,15,lw,L-3,10W * *", "0 0 10W,L-3,LW,15,L,L * ?"},
		{"0 0 * * 5#2,friL,1", "0 0 ? * MON,1#3,Fri#2,5l,1L"},
		{"0 0 * * 1#1,1#2,1#3,1#4,1#5", "0 0 * * 1"},
		{"0 0 5 * +1", "0 0 5 * +mon"},
		{"0 0 L,1-31 * +5", "0 0 * * +5", "0 0 * * 5"},
		{"0 0 L * +*", "0 0 L * *", "0 0 L * +0-6,5#2"},
		{"0 0 L,1-31 * 5L", "0 0 * * *"},
		{"@at 2026-12-01T09:00:00Z", "@at 2026-12-01T10:00:00+01:00", "CRON_TZ=Europe/Rome @at 2026-12-01T09:00:00Z",
			"@at 2026-12-01T09:00:00", "CRON_TZ=Etc/UTC @at 2026-12-01T09:00:00"},
		{"CRON_TZ=Europe/Rome @at 2026-12-01T09:00:00"},
		{"@every 1h", "@every 60m", "CRON_TZ=Europe/Rome @every 1h"},
	} {
		plan := planIn(t, same[0])
		for _, spec := range append(same, plan) {
			if got := planIn(t, spec); got != plan {
				t.Errorf("%q has the plan %q, %q has %q", same[0], plan, spec, got)
			}
		}
	}
}

// The specs of a pair have different ticks on some day.
func TestPlan_DiffersForSpecsThatMeanDifferentThings(t *testing.T) {
	for _, specs := range [][2]string{
		{"0 6 * * *", "0 6-6 * * *"}, // when the clock is set back
		{"0,30 6 * * *", "*/30 6 * * *"},
		{"0 9,11,13,15,17 * * *", "0 9-17/2 * * *"},
		{"0 6 1-31/2 * 1", "0 6 * * 1"},
		{"0 6 1-31/2 * 1", "0 6 1-31/2 * +1"},
		{"0 6 1-31/2 * *", "0 6 1-31/2 * 1"},
		{"0 6 L * *", "0 6 LW * *"},
		{"0 6 L-1 * *", "0 6 L * *"},
		{"0 6 1W * *", "0 6 1 * *"},
		{"0 6 * * 5L", "0 6 * * 5#4"},
		{"0 6 * * 5#1", "0 6 * * 6#1"},
		{"@at 2026-12-01T09:00:00Z", "@at 2026-12-01T09:00:01Z"},
		{"@at 2026-12-01T09:00:00Z", "CRON_TZ=Europe/London @at 2026-12-01T09:00:00"}, // if Britain moves its clock
		{"0 6 1-31 * 1", "0 6 * * 1"},
		{"0 0 * * *", "0 0,12 * * *"},
		{"0 6 * * *", "CRON_TZ=Europe/London 0 6 * * *"},
		{"0 * * * *", "@every 1h"}, // in zones that are half an hour off
	} {
		if plan := planIn(t, specs[0]); plan == planIn(t, specs[1]) {
			t.Errorf("%q and %q have the plan %q", specs[0], specs[1], plan)
		}
	}
}

// The plan of each spec is again a spec with the same ticks, however long it gets.
func FuzzPlan(f *testing.F) {
	for _, spec := range []string{
		"1-59/2,2 1-59/2,2 1-23/2,2 1-31/2,2 * *", "*/7,3 */20,41 6-6,9,20 */10 */6 0,6", strings.Repeat("5,4,", 60) + "3 0 * * *",
		"CRON_TZ=GMT 0,30 2-2 29 2 ?", "CRON_TZ=Europe/Rome 30-30 2 * * *", "CRON_TZ=Europe/Rome 0,30 2 1-31 * 1",
		"0 2 L,L-3,15W,LW * 5#2,5L,1", "0 2 13,LW * +5,1#2", "CRON_TZ=Europe/Rome @at 2026-10-25T02:30:00", "0 0 1,L * ?",
		"0 2 1-31/2 * 1", "0 2 1 * 0-6/2", "0 2 1-31/2 * +0-6/3", "0 2 */2 * *", "0 2 * * */2",
	} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		schedule, err := Parse(spec, nil)
		if err != nil {
			t.Skip(err)
		}
		plan := schedule.Plan()
		planned, err := ParsePlan(plan)
		if err != nil || planned.Plan() != plan {
			t.Fatalf("%q has the plan %q, which has the plan %v, %v", spec, plan, planned, err)
		}
		tick := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC) // clocks are set back in the night
		for range 200 {
			want := schedule.Next(tick)
			if tick = planned.Next(tick); !tick.Equal(want) {
				t.Fatalf("%q has a tick at %v, its plan %q has %v", spec, want, plan, tick)
			}
			if tick.IsZero() {
				break
			}
		}
	})
}

func planIn(t *testing.T, spec string) string {
	t.Helper()
	schedule, err := ParsePlan(spec)
	if err != nil {
		t.Fatal(err)
	}
	return schedule.Plan()
}
