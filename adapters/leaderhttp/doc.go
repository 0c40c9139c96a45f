// Package leaderhttp has net/http requests answered by the leader, whichever replica they reach.
//
// The value of each candidate is its own base URL, which the others read:
//
//	elector, err := election.New(locker, "billing", election.WithIdentity(pod, "http://"+ip+":8080"))
//	allow, err := leaderhttp.Hosts("10.0.0.0/8:8080") // where replicas are
//	mux.Handle("/orders/", leaderhttp.Redirect(elector, allow)(orders)) // the client follows
//	mux.Handle("/stock/", leaderhttp.Proxy(elector, allow)(stock)) // this replica asks for it
//	mux.Handle("/livez", leaderhttp.Liveness(elector))
//
// A request may reach a leader that is about to be none: what it does belongs under the token of its term. If nobody
// leads, or the leader has no URL that is allowed, the answer is 503 with Retry-After. A follower does not forward a
// request that another replica forwarded, nor redirect one to where it came from: it answers 508.
//
// A follower asks the nodes at most once a second who leads.
//
// # Security
//
// Whoever can write to the nodes can name any URL. What a client sends goes there, with its cookies, tokens and body: the
// required argument allow decides where that may be, and should name the hosts and the port of the replicas alone. A URL
// with user information, query or fragment is refused. Clients are told neither addresses nor errors; [WithLogger] is.
// Proxy does not use the proxy of the environment (HTTP_PROXY).
//
// A client can send the header Redlock-Forwarded, by which replicas know a forwarded request. It gets 508 from a follower.
// The header proves nothing: do not trust a request for it.
//
// # What Proxy changes in a request
//
// Path, query, method, body and headers reach the leader as they came, with these exceptions:
//
//   - Headers that are for one connection are removed, as RFC 9110, section 7.6.1 demands: Connection, what it names, and a
//     few more. A client can name any header. A gateway that sets a header must therefore not pass on the client's
//     Connection header; if yours does, name the headers it sets in [WithGateway].
//   - Forwarded and X-Forwarded-For, -Host and -Proto are replaced by what this replica sees, as a client can write anything
//     into them. With [WithGateway] they are kept, and this replica appends to X-Forwarded-For.
//   - Host becomes that of the leader; X-Forwarded-Host has the old one.
//   - Redlock-Forwarded is added, with the name of the election.
//
// A connection that was upgraded, to a WebSocket say, does not end with the term of its leader, whether it came through
// Proxy or not. The handler should close it when the context of [election.Elector.OnLeader] is done. Then Proxy closes the
// client's side too.
//
// Inside an [http.StripPrefix], Redirect and Proxy see the path without the prefix. Put them around it.
package leaderhttp
