// Package browsertest tests the dashboard with a real Chromium. It is a separate module because it needs a browser
// driver. It also takes the pictures of the documentation: go test -run Pictures -args -pictures ../../docs
package browsertest
