// Package fencehttp makes a net/http service refuse the requests of a deposed leader, or of a lock's earlier holder.
//
// The client sends its fencing token in a header:
//
//	err := fencehttp.Set(request.Header, fenced.Run(run)) // or fenced.Term, fenced.Lease
//
// The service names the resource that a request writes to, and compares the tokens:
//
//	ledger := func(*http.Request) string { return "ledger" }
//	mux.Handle("POST /entries", fencehttp.Tx(db, ledger)(entries))             // db: a fenced.DB
//	mux.Handle("PUT /report", fencehttp.Check(fencehttp.Redis(client), ledger)(report))
//
// # Promise
//
// [Tx] calls the handler within a transaction of package fenced, which the handler gets from [TxFrom]. The handler's
// writes in the transaction are committed only if the resource has seen no larger token, and only once for each key: a
// repeated request with the key of the same run changes nothing. If the handler answers with 400 or more, its
// transaction is rolled back, and the client may try again. The answer is sent after the commit. If a handler passes
// the errors of its statements to [Fail], and the database asks for another attempt, as after a deadlock, the handler
// is called again with the same body.
//
// [Check] compares the token with the largest one that the resource has seen, stores it if it is larger, and then calls
// the handler. The check and the handler are two steps: a slow request that passed the check can still write after the
// next leader's first request has passed it. So Check stops requests that arrive late, but not handlers that are slow.
// Use it where the handler writes to a store without transactions. If that store can compare tokens, let it compare
// them too. Check ignores the key.
//
// A new leader must send a request before it relies on the fence: until then, the service does not know its token.
//
// # Answers
//
//	428 Precondition Required   no token was sent
//	400 Bad Request             the header, the token or the name of the resource is invalid; Tx: the body cannot be read
//	412 Precondition Failed     the resource has seen a larger token: the sender no longer leads, and should stop
//	204 No Content              Tx: the key is recorded, so an earlier request did the work (a success: RFC 9110, section 13.1.1)
//	409 Conflict                Tx: the key is too old to tell whether it was recorded
//	413 Content Too Large       Tx: the body exceeds the limit
//	422 Unprocessable Content   Tx: the key is recorded for a request with another method, path, query or body: give each its own key
//	503 Service Unavailable     the store does not answer, or it is not known whether the transaction was committed: try again
//	500 Internal Server Error   Tx: the handler has ended the transaction itself, or passed an error to Fail
//
// A smaller token gets 412, not 409, because the header is a condition of the request that evaluated to false, and
// repeating the request does not help. A request without a header gets 428, not 400, because the same request with a
// header is good. So a client that knows nothing of tokens gets another answer than one that sends a wrong token.
//
// # The header
//
//	Redlock-Fence: 1795313814812500
//	Redlock-Fence: 1795313814812500;tick=1795313814000000;key=report@1795313814000
//
// The header has the token. For a run it also has the tick, in microseconds since 1970, and the key, percent-encoded.
// Each value has one spelling. The service refuses a token of 0, a token or tick more than an hour ahead of its clock
// (tokens start from clocks), two headers, and a list.
//
// # Security
//
// Anyone who can send the header can shut out the leader with a larger token, so authenticate clients before these
// handlers. Each name of a resource that a request brings is stored permanently, so let requests name only what exists.
// Names have 1 to 200 bytes of UTF-8 without invisible characters. Clients see neither tokens nor errors; [WithLogger]
// logs them.
package fencehttp
