// Package test is the folder of the tests of the Kubernetes manifests. It is a module of its own, so that the types of
// Kubernetes stay out of the library's go.mod. It has no code of its own.
package test
