// Package dashboard serves a web page for operators of a service: who leads, what ran, and why something did not run.
//
//	mux.Handle("/ops/jobs/", http.StripPrefix("/ops/jobs", dashboard.Handler(elector, scheduler)))
//
// It works on every replica, at any prefix. All replicas show the same data, because they read it from the nodes: the
// leader, its term and the time left on its lease; what needs attention; who led, and how the last runs went, in the
// last hour, day or week; the nodes; and every job that any leader has had, those in trouble first, with its next run,
// its last run, and why a tick did not run. Each job has its own page, with its newest ticks, how long it usually
// takes, and a timeline of a period that has several of its ticks. [JobLink] adds links, for example to a job's logs.
// The page also shows the state of the replica that serves it. The nodes do not know that state.
//
// Times are in UTC, those of a job in its zone. The page's script adds the local time of the browser, if it differs.
// What is not known is called so, and is not a zero. The page changes while you look at it: lists keep their order
// while you point at them or have the focus in them.
//
// # Who may see it, who may act
//
// The handler opens no port and knows no users. Put it behind whatever protects the service's other pages, or see the
// example of basic authentication. The page is read-only unless you pass [AllowActions] a function that decides who
// may act. Only users who may act see the buttons to pause, resume, trigger and cancel jobs. An action must be a POST
// request. A browser can send it only from this page ([http.CrossOriginProtection]).
//
// Each action is logged with its user, their address and the outcome, even if it was refused. The logger is that of
// [WithLogger]; without one, the page logs nothing. The nodes keep the newest changes of each job and who made them,
// and the job's page shows them.
//
// There are no CORS headers. The page loads nothing from other sites, may not be framed, and is not cached. Set
// [Hosts] to the names by which users reach it, above all if authorize decides by the address of a request. The page
// shows what candidates say about themselves ([election.WithIdentity]), the addresses of the nodes, and the first line
// of errors without control characters. It shows no passwords.
//
// # Behind a router or a proxy
//
// The page's links are relative, so any router can serve it at any prefix. page is what [Handler] returns. In echo,
// links to the page need the slash at its end:
//
//	r.Mount("/ops/jobs", http.StripPrefix("/ops/jobs", page))                        // chi
//	r.Any("/ops/jobs/*path", gin.WrapH(http.StripPrefix("/ops/jobs", page)))         // gin
//	e.Any("/ops/jobs/*", echo.WrapHandler(http.StripPrefix("/ops/jobs", page)))      // echo
//
// A proxy should pass on the Host that the browser sends. Over plain http, only the Host shows that an action comes
// from this page; if it differs from the Origin, the answer is 403 and names both. The page does not read
// X-Forwarded-Host, which anybody can send. Nginx replaces the Host by default, Traefik does not:
//
//	location /ops/jobs/ {                          # nginx
//	    proxy_pass http://10.0.0.1:8080;
//	    proxy_set_header Host $http_host;          # with the port, unlike $host
//	}
//
//	loadBalancer:                                  # Traefik
//	  passHostHeader: true
//	  servers: [{url: "http://10.0.0.1:8080"}]
//
// If you cannot change the proxy, list both hosts in [Hosts].
//
// # JSON
//
// The path api returns the same data as JSON. api?name=NAME returns one job, with problems[], and with all of its
// records[] and changes[] that the nodes keep. The fields:
//
//	(itself)    election now problems[] leader replica nodes[] jobs[] runs[] terms[] leaderless[] replicas[]
//	leader      id value term since lease_ms expired
//	replica     id state since stop_ms check[]
//	nodes       addr version latency_ms guard_ms clock_offset_ms error denied
//	jobs        name spec zone next paused pause running last last_ok last_ok_ms failures missed why why_tick waits own long lost words
//	runs        job tick state replica term attempt manual rerun caught_up start end lag_ms took_ms error ticks from
//	terms       term replica since until ended
//	leaderless  from to sure
//	replicas    id here state seen
//	changes     what by reason replica at until tick
//
// Times are in UTC, by the nodes' clock. Fields that end in _ms are milliseconds with up to three decimals. Empty
// fields may be missing, and so are those that are not known. redlockctl -o json has the same names and units.
//
// leader is null if nobody leads or no leader is known. If a part could not be read, problems says so, and how old its
// value is. If the leader's lease has run out since the nodes were read, expired is true: as far as is known, it no
// longer leads. terms is empty if the election does not record them: see package termlog. leaderless has the times
// between the terms without a known leader. If sure is false, the previous leader was killed or cut off, and may have
// led up to [termlog.Every] longer than from says. replica is the one that answers the request, and check has its
// [election.Elector.Problems]. replicas are that one, the leader, and those that led one of the terms or ran one of the
// last runs that the nodes keep: 50 at most.
//
// runs has the last run of each job, 20 at most, the newest first. last, and the records of one job, have the fields of
// runs. Their states are those of [scheduler.State] and one more. That is unknown, for a run without an end whose
// leader is not known to lead any more. A record may stand for several ticks that did not run: ticks is their number,
// from the first of them, tick the last. pause has the fields of changes. last_ok is the start of the last good run,
// last_ok_ms how long it took. usual_ms, only of one job, is the median of the good runs in its records. A job whose
// state cannot be read is listed with why and no why_tick. long says why a run under way takes too long: the job's
// Timeout has passed, its next tick has come, or it takes more than ten times as long as the last good run. Fields may
// be added; existing ones stay.
//
// # What it costs
//
// While any page is open, a replica reads the nodes once every five seconds, however many pages are open. While none
// is open, it does not read them. A hidden tab sends no requests. A read makes five calls to each node, one more per
// 500 jobs, and three more for each job whose page is open. After an action the nodes are read at once. Without
// JavaScript the page reloads itself every five seconds.
//
// A replica streams updates to at most 100 pages at once, and renders pages with the same content only once. It
// refuses further streams with 503; their pages reload their content every ten seconds. It answers a request with 400
// if a parameter is too long or has an invalid value.
//
// If too few nodes answer, the page shows the last known state with its age, and says so.
package dashboard
