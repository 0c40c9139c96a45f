// Package repo is the folder of the tests of the repository as a whole: which package may import which, whether the
// documents are true, whether the examples build when pasted, and whether a test notices each mutant. It is a separate
// module, so that the dependencies of these tests stay out of the library's go.mod. The package itself has no code.
package repo
