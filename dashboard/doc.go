// Package dashboard is a web page for operators of a service: who leads, what ran, and why something did not.
//
//	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(elector, scheduler)))
//
// It works on every replica, at any prefix. All replicas show the same, because they read it from the nodes: the
// leader, its term and the time left of its lease; who led in the last hour; the nodes; and every job that any leader
// has had, with its next run, its last run, and why a tick did not run. Each job has its own page, with its newest
// ticks and a timeline of the last hour. The page also shows the state of the replica that serves it, which the nodes
// do not know.
//
// # Who may see it, who may act
//
// The handler opens no port and knows no users. Put it behind whatever protects the service's other pages, or see the
// example of basic authentication. It is read-only unless [AllowActions] has a function that decides who may act.
// Then users can pause, resume and trigger jobs, only by POST, and only from this page
// ([http.CrossOriginProtection]). Only users who may act see the buttons.
//
// Each action is logged at [WithLogger], with its user, their address and the outcome, also if it was refused.
// Without a logger the page logs nothing. The nodes keep the newest changes of each job and who made them, and the
// job's page shows them.
//
// There are no CORS headers. The page loads nothing from other sites, may not be framed, and is not cached. Set
// [Hosts] to the names under which users reach it, above all if authorize decides by the address of a request. The
// page shows what candidates say about themselves ([election.WithIdentity]), the addresses of the nodes, and the
// first line of errors without control characters. It shows no passwords.
//
// # JSON
//
// api has the same data as JSON. api?name=NAME has one job, with problems[] and all of its records[] and changes[]
// that the nodes keep:
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
// Times are in UTC, by the nodes' clock. Fields that end in _ms are whole milliseconds. Empty fields may be missing.
//
// leader is null if nobody leads or no leader is known. If a part could not be read, problems says so, and how old
// its value is. If the leader's lease has run out since the nodes were read, expired is true: as far as is known, it
// no longer leads. leaderless has the times between the terms without a known leader. If sure is missing, the
// previous leader was killed or cut off, and may have led up to [election.TermRecordedEvery] longer than from says.
// replica is the one that was asked. replicas are the one that was asked, and those that led one of the terms or ran one of
// the last runs that the nodes keep, 50 at most.
//
// runs has the last run of each job, 20 at most, the newest first. last, and the records of one job, have the fields
// of runs. Their states are those of [scheduler.State], and unknown: the run has no end, and its leader no longer
// leads. pause has the fields of changes. A job whose state the nodes cannot read is listed with why and no why_tick.
// Fields may be added; existing ones stay.
//
// # What it costs
//
// The page reads the nodes once in five seconds while at least one page is open, however many are open, and not at
// all while none is. A hidden tab sends no requests. A read is a call for each job, at each node, and three more for
// each job whose page is open. After an action the nodes are read at once. Without JavaScript the page reloads itself
// every five seconds.
//
// A replica streams updates to 100 pages at once, and renders pages that show the same only once. For further pages,
// events answers with 503, and they reload their content every ten seconds. A request is answered with 400 if its
// parameters are too long, or are not among those in the page's links.
//
// If too few nodes answer, the page shows the last known state with its age, and says so.
package dashboard
