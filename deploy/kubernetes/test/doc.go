// Package test has the tests of the Kubernetes manifests, and no other code. It is a separate module, so that the types
// of Kubernetes stay out of the library's go.mod.
package test
