// Package once counts the effects of jobs whose processes are killed and stopped at every step of their transaction,
// and whose database is cut off and loses answers. With package fenced, each tick has exactly one effect. Without it,
// some have two.
package once
