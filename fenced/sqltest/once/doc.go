// Package once counts the effects of jobs whose processes are killed and stopped at every step of their transaction, and whose
// database is cut off and loses answers: with package fenced each tick has exactly one effect, and without it some have two.
package once
