// Package fencehttp has a net/http service refuse the requests of a deposed leader, or of a lock's earlier holder.
//
// The client sends its fencing token in a header:
//
//	err := fencehttp.Set(request.Header, fenced.Run(run)) // or fenced.Term, fenced.Lease
//
// The service names what a request writes to, and compares:
//
//	ledger := func(*http.Request) string { return "ledger" }
//	mux.Handle("POST /entries", fencehttp.Tx(db, ledger)(entries))             // db: a fenced.DB
//	mux.Handle("PUT /report", fencehttp.Check(fencehttp.Redis(client), ledger)(report))
//
// # Promise
//
// [Tx] calls the handler within a transaction of package fenced, which the handler gets from [TxFrom]. What the handler writes
// through it is committed only if no larger token has been there, and once for each key: a repeated request with the key of the
// same run changes nothing. If the handler answers with 400 or more, its transaction is rolled back, and the client may try again.
// The answer is sent after the commit. A handler that passes the errors of its statements to [Fail] is called again, with the same
// body, if the database asks for that, as after a deadlock.
//
// [Check] compares the token with the largest one that the resource has seen, stores it if it is larger, and then calls the
// handler. These are two steps. A request that was let in, and is slow, can still write after the next leader's first request was
// let in. So Check refuses what comes late, and not what is late already within the handler. Use it where the handler writes to
// something that has no transactions, and let that something compare too, if it can. It ignores the key.
//
// A new leader must send a request before it relies on anything: until then, nobody knows its token.
//
// # Answers
//
//	428 Precondition Required   no token was sent
//	400 Bad Request             the header, the token or the name of the resource cannot be right; Tx: the body cannot be read
//	412 Precondition Failed     a larger token was here: the sender leads no more, and should stop
//	204 No Content              Tx: the key is recorded, so an earlier request has done it (a success: RFC 9110, section 13.1.1)
//	409 Conflict                Tx: the key is so old that nobody knows whether it was recorded
//	413 Content Too Large       Tx: the body exceeds the limit
//	422 Unprocessable Content   Tx: the key is recorded for a request with another method, path, query or body: give each its own key
//	503 Service Unavailable     the store does not answer, or it is not known whether the transaction was committed: try again
//	500 Internal Server Error   Tx: the handler has ended the transaction itself, or passed an error to Fail
//
// 412 and not 409 for a smaller token, since the header is a condition of the request that was evaluated to false, and repeating
// the request does not help. 428 and not 400 without a header, since the same request with one is good: a client that knows nothing
// of tokens is told apart from one that sends a wrong one.
//
// # The header
//
//	Redlock-Fence: 1795313814812500
//	Redlock-Fence: 1795313814812500;tick=1795313814000000;key=report@1795313814000
//
// It has the token, and for a run its tick in microseconds since 1970 and its key, percent-encoded. Each value has one spelling. A
// token of 0, one of more than an hour ahead of the service's clock (tokens start from clocks), two headers and a list are refused.
//
// # Security
//
// Whoever can send the header can shut out the leader, with a token that is larger than the leader's: authenticate clients before
// these handlers. Each name of a resource that a request brings is stored for good: let requests name only what exists. Names have
// 1 to 200 bytes of UTF-8 without control characters. Clients are told neither tokens nor errors; [WithLogger] is.
package fencehttp
