// Package redlocktest is for tests of services that use redlockfx: Redis nodes in memory that can be cut off, hang,
// lose replies or forget, and processes that lead.
//
// In a bubble of testing/synctest time is virtual, and a day of cron takes a moment:
//
//	func TestReport_IsMadeOnceAnHour(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			nodes := redlocktest.New(t, 3, redlock.WithTTL(time.Hour))
//			var made atomic.Int64
//			var replicas []*redlocktest.Replica
//			for range 3 {
//				r := nodes.Replica()
//				err := r.Scheduler.Add(scheduler.Job{Name: "report", Spec: "0 * * * *",
//					Run: func(context.Context, scheduler.Run) error {
//						made.Add(1)
//						return nil
//					}})
//				if err != nil {
//					t.Fatal(err)
//				}
//				r.Run()
//				replicas = append(replicas, r)
//			}
//			time.Sleep(6*time.Hour - time.Minute)
//			nodes.Stop(0) // a node dies
//			time.Sleep(10 * time.Minute)
//			nodes.Restart(0)
//			time.Sleep(6*time.Hour - 9*time.Minute - time.Second)
//			for _, r := range replicas {
//				if r.Elector.IsLeader() { // its pod is replaced, a second before a tick
//					if err := r.Stop(); err != nil {
//						t.Error(err)
//					}
//				}
//			}
//			time.Sleep(12*time.Hour + 2*time.Second)
//			if made.Load() != 24 {
//				t.Errorf("%d reports were made in a day", made.Load())
//			}
//		})
//	}
//
// A process that leads at once is [Leader]; its context ends as it would in production:
//
//	r := redlocktest.Leader(t)
//	r.Elector.OnLeader(func(ctx context.Context) { ... })
//	r.Cut()
//
// Everything works outside of a bubble as well, in real time. A mistake, as a fault of a node that is not there or
// that is stopped, ends the test and says why; after the end of the test it panics.
//
// The nodes are miniredis servers. They lack what those lack, replication and eviction for example: a last test
// against servers is none too many. The import silences go-redis's own log, which would tell of each failed dial.
package redlocktest
