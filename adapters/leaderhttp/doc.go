// Package leaderhttp makes the leader answer net/http requests, whichever replica they reach.
//
// Each candidate publishes its own base URL as its value, and the others read it:
//
//	elector, err := election.New(locker, "billing", election.WithIdentity(pod, "http://"+ip+":8080"))
//	allow, err := leaderhttp.Hosts("10.0.0.0/8:8080") // the replicas' addresses
//	mux.Handle("/orders/", leaderhttp.Redirect(elector, allow)(orders)) // the client follows the redirect
//	mux.Handle("/stock/", leaderhttp.Proxy(elector, allow)(stock)) // this replica forwards the request
//	mux.Handle("/livez", leaderhttp.Liveness(elector))
//
// A request may reach a leader that is about to lose its term, so use the term's token for its effects. If nobody
// leads, or the leader's URL is missing or not allowed, the answer is 503 with Retry-After. A follower answers 508
// instead of forwarding a request that another replica forwarded, or redirecting one to where it came from.
//
// A follower asks the nodes at most once a second who leads.
//
// # Security
//
// Anybody who can write to the nodes can name any URL as the leader's. Requests of clients go there, with their
// cookies, tokens and body. The required argument allow decides which URLs are permitted; it should name only the
// hosts and the port of the replicas. A URL with user information, query or fragment is refused. Clients see neither
// addresses nor errors; [WithLogger] logs them. Proxy does not use the proxy of the environment (HTTP_PROXY).
//
// Replicas mark forwarded requests with the header Redlock-Forwarded. A client can send it too, and gets 508 from a
// follower. The header proves nothing: do not trust a request because of it.
//
// # What Proxy changes in a request
//
// Path, query, method, body and headers reach the leader as they came, with these exceptions:
//
//   - Headers for one connection are removed, as RFC 9110, section 7.6.1 requires: Connection, the headers it names,
//     and a few more. A client can name any header. A gateway that sets a header must therefore not pass on the client's
//     Connection header; if yours does, name the headers it sets in [WithGateway].
//   - Forwarded and X-Forwarded-For, -Host and -Proto are replaced by what this replica sees, because a client can
//     write anything into them. With [WithGateway] they are kept, and this replica appends to X-Forwarded-For.
//   - Host becomes that of the leader; X-Forwarded-Host has the old one.
//   - Redlock-Forwarded is added, with the name of the election.
//
// An upgraded connection, such as a WebSocket, does not end with the term of its leader, with or without Proxy. The
// handler should close it when the context of [election.Elector.OnLeader] is done. Then Proxy closes the client's
// side too.
//
// Inside an [http.StripPrefix], Redirect and Proxy see the path without the prefix. Put them around it.
package leaderhttp
