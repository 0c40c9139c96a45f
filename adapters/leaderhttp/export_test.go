package leaderhttp

// OwnTransport returns the default transport of Proxy.
var OwnTransport = newTransport
