// Package browsertest looks at the dashboard with a real Chromium. It is a module of its own, since it needs a driver
// for that, and takes its pictures for the documentation: go test -run Pictures -args -pictures ../../docs
package browsertest
