package main

import "testing"

// A mutation that does not fit the code any more shows nothing, and nobody would know before they are all run.
func TestMutations_FitTheCode(t *testing.T) {
	t.Chdir("../..")
	for _, m := range all() {
		if _, err := m.mutated(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
