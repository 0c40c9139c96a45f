package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// recorded is what -record keeps of a row. The figures of the documents are made from it.
type recorded struct {
	Command string
	Machine string
	Date    string
	Failed  int // calls that failed
	Figures []figure
}

// figure is a line of the table.
type figure struct {
	Name   string
	Value  float64
	Beside float64 `json:",omitempty"`
	Ratio  float64 `json:",omitempty"`
	Is     string  `json:",omitempty"` // what Beside is
	Limit  string  `json:",omitempty"` // and whether it was met
}

// record replaces those rows in the file that were measured now, and keeps the others.
func record(file, machine string, now time.Time, rows map[string]recorded) error {
	all := map[string]recorded{}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for name, row := range rows {
		row.Command = "cd bench && go run . -only " + name
		if nodes != five {
			row.Command = fmt.Sprintf("cd bench && go run . -nodes %d -only %s", nodes, name)
			name = fmt.Sprintf("%s, nodes: %d", name, nodes)
		}
		row.Machine, row.Date = machine, now.UTC().Format(time.DateOnly)
		all[name] = row
	}
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetIndent("", "\t")
	lines.SetEscapeHTML(false) // the texts have <= and &&
	if err := lines.Encode(all); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}
