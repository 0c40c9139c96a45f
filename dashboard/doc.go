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
// The path api returns the same data as JSON: see [Handler].
package dashboard
