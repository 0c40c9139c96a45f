// Package checkin tells a dead man's switch of the runs of a scheduler, over HTTP. The service alerts somebody when a
// check-in does not come, so it is the alarm that works when all replicas are gone.
//
//	checks, err := checkin.New(checkin.Config{Service: checkin.Healthchecks, URL: func(job string) string { return urls[job] }})
//	jobs, err := scheduler.New(elector, scheduler.WithHooks(checks.Hooks()))
//	defer checks.Close(ctx) // after Run of the elector has returned
//
// A check-in never delays a run. One goroutine sends them in order, each at most three times with a timeout of ten
// seconds. At most 256 wait. If more come, the oldest start is dropped, or the oldest end if no start waits.
//
// A failed or lost run and missed ticks are failures. A tick that was skipped because a run was under way is no failure,
// and neither is a canceled run, or an interrupted one, which the next leader runs again: only Healthchecks has a word for these.
package checkin
