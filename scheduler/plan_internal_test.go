package scheduler

import "testing"

// Replicas of a rolling deploy may write the same spec in two ways. That is no change of the job.
func TestPlan_IsTheSameForSpecsThatMeanTheSame(t *testing.T) {
	for name, specs := range map[string][2]string{
		"names":       {"*/10 * * * JAN,feb MON-sat", "*/10 * * * 1,2 1-6"},
		"lists":       {"20,10 3,5,3 * * * *", "10,20 5,3 * * * *"},
		"seconds":     {"5 3 * * *", "0 5 3 * * *"},
		"marks":       {"5 3 ? * *", "5 3 * * ?"},
		"descriptors": {"@midnight", "@daily"},
		"zones":       {"5 3 * * *", "CRON_TZ=UTC 5 3 * * *"},
	} {
		_, first, err := parse(specs[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, second, err := parse(specs[1], nil); err != nil || first != second {
			t.Errorf("%s: %q has the plan %q, %q has %q, %v", name, specs[0], first, specs[1], second, err)
		}
	}
}
