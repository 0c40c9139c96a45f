package leaderhttp

// OwnTransport is what a Proxy uses unless it gets another one.
var OwnTransport = newTransport
