package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redlockfx/redlockfx/internal/plain"
	"github.com/redlockfx/redlockfx/redlock"
)

var errNoNodes = errors.New("no nodes: give --nodes host:port,... or --nodes-file FILE, or set " + nodesVariable + " or " +
	nodesFileVariable)

// addresses returns the addresses of all nodes, from the flags or else from the environment. No error repeats one.
func (p *program) addresses() ([]string, error) {
	list, file := p.nodes, p.nodesFile
	switch {
	case list != "" && file != "":
		return nil, errors.New("the nodes are given twice: use --nodes or --nodes-file")
	case list != "":
		return notSecret(split(list))
	case file == "":
		list, file = os.Getenv(nodesVariable), os.Getenv(nodesFileVariable)
	}
	switch {
	case list != "" && file != "":
		return nil, fmt.Errorf("the nodes are given twice: set %s or %s", nodesVariable, nodesFileVariable)
	case list != "":
		return split(list), nil
	case file != "":
		return readAddresses(file)
	}
	return nil, errNoNodes
}

// notSecret refuses passwords on the command line, which every user of the machine can read.
func notSecret(list []string) ([]string, error) {
	for i, address := range list {
		if o, err := redlock.ClientOptions(address); err == nil && o.Password != "" {
			return nil, fmt.Errorf("node %d of %d of --nodes has a password, and every user of this machine can read the command "+
				"line: use --nodes-file, or set %s or %s", i+1, len(list), nodesFileVariable, nodesVariable)
		}
	}
	return list, nil
}

// split returns the addresses in a text, one per line or separated by commas. A line that starts with # is a comment. A
// line may end with a comma. An empty address elsewhere may come from a variable that is not set, so it is kept and
// later refused.
func split(text string) []string {
	var all []string
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) { // the mark that editors put before UTF-8
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		if line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, strings.Split(line, ",")...)
		}
	}
	return all
}

// readAddresses reads a file of addresses.
func readAddresses(file string) ([]string, error) {
	if strings.ContainsAny(file, "@,") || strings.Contains(file, "://") {
		return nil, fmt.Errorf("--nodes-file and %s must name a file, but the value looks like the nodes themselves",
			nodesFileVariable)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read the nodes: %w", plain.FileError(err))
	}
	if info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("failed to read the nodes: every user of this machine may write %s (%v), and could send the "+
			"password to other servers", file, info.Mode().Perm())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read the nodes: %w", plain.FileError(err))
	}
	all := split(string(text))
	if len(all) == 0 {
		return nil, fmt.Errorf("failed to read the nodes: %s has no node; each line must be host:port or a redis:// URL",
			file)
	}
	return all, nil
}
