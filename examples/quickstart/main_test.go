package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// The whole program, in virtual time.
func TestQuickstart_EndsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := run(t.Context(), "", 14*time.Second); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		time.Sleep(2 * time.Second) // go-redis dials in the background for a second more
	})
}
