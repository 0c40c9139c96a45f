// Package dashboard is a page for people who operate a service: who leads, what ran, and why something did not.
//
//	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(elector, scheduler)))
//
// It works on every replica, at any prefix, and shows the same on each, since it reads what the nodes know: the leader,
// its term and what is left of its lease; who led in the last hour; the nodes; and every job that any leader has had, with
// its next run, its last one, and why a tick was not run. Each job has a page of its own, with its newest ticks and a
// timeline of the last hour. The page also shows what this replica itself does, which the others cannot tell.
//
// # Who may see it, who may act
//
// The handler listens to nothing by itself and knows no users: put it behind what protects the service's other pages, or see
// the example of basic authentication.
// It changes nothing, unless [AllowActions] is given a function that decides who may; then jobs can be paused, resumed
// and triggered, by POST alone, from this page alone ([http.CrossOriginProtection]). The buttons are shown only to those
// who may use them.
//
// Each action is logged at [WithLogger], with who took it, from which address, and what came of it; those that were refused
// are logged as well. Without a logger the page logs nothing. The nodes keep the newest changes of each job, with who
// made them, and the job's page shows them.
//
// There are no CORS headers, the page loads nothing from elsewhere and may not be framed, and nothing of it is stored.
// Give [Hosts] the names under which people reach it, above all where authorize goes by the address of a request. The page
// shows what candidates say of themselves ([election.WithIdentity]), the addresses of the nodes, no passwords, and of errors
// the first line, without control characters.
//
// # JSON
//
// The same is at api, and one of the jobs at api?name=NAME, which also has its records[] and changes[], all that
// are kept, and problems[]:
//
//	(itself)    election now problems[] leader replica nodes[] jobs[] runs[] terms[] leaderless[] replicas[]
//	leader      id value term since lease_ms expired
//	replica     id state since stop_ms check
//	nodes       addr version latency_ms guard_ms clock_offset_ms error
//	jobs        name spec words zone next paused pause running last last_ok failures missed why why_tick own long lost
//	runs        job tick state replica term attempt manual caught_up start lag_ms took_ms error left_out
//	terms       term replica since until ended
//	leaderless  from to sure
//	replicas    id here state seen
//	changes     what by reason replica at
//
// Times are in UTC, by the nodes' clock; what ends in _ms is in whole milliseconds. What is empty may be left out.
// leader is null where nobody leads, or none is known: of a part that could not be read problems says so, and how old
// it is. If the leader's lease has run out since the nodes were read, expired is true: it leads no more, as far as is
// known. leaderless has the times between the terms when nobody is known to have led; if sure is missing, the leader
// before was killed or cut off, and may have led up to [election.TermRecordedEvery] longer than from says. The replica
// at the top is the one that was asked. runs has the last run of each job, 20 at most, the newest first. last, and the
// records of one job, are as runs are, with the states of [scheduler.State], and unknown: the run has no end, and its
// leader leads no more. pause is as changes are. replicas are those that have led or run a job, 50 at most, and the one
// that was asked: the nodes know no others. Fields may be added; those that are there stay. A job whose state the nodes
// cannot tell is listed with why and no why_tick.
//
// # What it costs
//
// One read of the nodes in five seconds while at least one page is open, however many there are, and nothing while
// none is: a hidden tab asks for nothing. A read is a call for each job, at each node, and three more for each job whose page
// is open; one that follows an action is made at once. Without JavaScript the page loads itself again every five seconds.
//
// A replica keeps 100 pages up to date at once; those that show the same are rendered together. Further ones are answered with
// 503 at events, and read themselves every ten seconds. A request whose parameters are too long, or none of those that
// the page has in its links, is answered with 400.
//
// Where too few nodes answer, the page shows what it last knew, with its age, and says so.
package dashboard
