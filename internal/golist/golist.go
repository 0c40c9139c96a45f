// Package golist asks the go command about packages, for tests of the module as a whole.
package golist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Packages are what go list -json says of packages, in its order. P has the fields that are wanted, which args name
// too: -json=ImportPath,Dir. What go list complains of goes to standard error.
func Packages[P any](dir string, args ...string) ([]P, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []P
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p P
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
}
