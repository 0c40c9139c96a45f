// Package leaderhttp has net/http requests answered by the leader, whichever replica they reach.
//
// The value of each candidate is its own base URL, which the others read:
//
//	elector, err := election.New(locker, "billing", election.WithIdentity(pod, "http://"+ip+":8080"))
//	mux.Handle("/orders/", leaderhttp.Redirect(elector)(orders)) // the client follows
//	mux.Handle("/stock/", leaderhttp.Proxy(elector, nil)(stock)) // this replica asks for it
//	mux.Handle("/livez", leaderhttp.Liveness(elector))
//
// A request may reach a leader that is about to be none: what it does belongs under the token of its term. Where
// nobody leads, or the leader says no URL, the answer is 503 with Retry-After. A request that a replica has sent on and
// that meets another one that does not lead is not sent on again: 508. So is none that would be led to where it came.
//
// Who leads is asked of the nodes at most once a second.
package leaderhttp
