// Package repo is the folder of the tests of the repository as a whole: which package may import which, whether the
// documents are true, whether the examples build when pasted, and whether a test notices each mutant. It is a module
// of its own, so that what these tests need stays out of the library's go.mod. It has no code of its own.
package repo
