package nodetest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// SetInfo makes node i report value in a field of INFO, whether or not it is true: redis_version,
// run_id, role, maxmemory_policy and so on. With an empty value, the node reports the truth again. A field
// that the nodes do not have is added to the section Server.
func (c *Cluster) SetInfo(i int, field, value string) {
	c.change(i, func(s *state) {
		s.said = slices.DeleteFunc(slices.Clone(s.said), func(p param) bool { return p.name == field })
		if value != "" {
			s.said = append(s.said, param{field, value})
		}
	})
}

// renew makes the node another server process. A master starts with a replication id of its own.
func (s *state) renew() { s.runID, s.replID = newID(), newID() }

func newID() string {
	id := make([]byte, 20)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// param is a field of INFO.
type param struct{ name, value string }

// section is a section of INFO.
type section struct {
	name   string
	fields []param
}

// sections returns everything that the node reports about itself.
func (s state) sections() []section {
	all := []section{
		{"Server", []param{
			{"redis_version", "7.0.15"},
			{"redis_mode", "standalone"},
			{"run_id", s.runID},
		}},
		{"Memory", []param{
			{"maxmemory", "0"},
			{"maxmemory_policy", "noeviction"},
		}},
		{"Replication", []param{
			{"role", "master"},
			{"connected_slaves", "0"},
			{"master_replid", s.replID},
		}},
	}
	for _, said := range s.said {
		if field := find(all, said.name); field != nil {
			field.value = said.value
		} else {
			all[0].fields = append(all[0].fields, said)
		}
	}
	return all
}

// find returns the field of that name, or nil if there is none.
func find(sections []section, name string) *param {
	for _, s := range sections {
		for i := range s.fields {
			if s.fields[i].name == name {
				return &s.fields[i]
			}
		}
	}
	return nil
}

// info returns what INFO answers for the named sections, or for all sections if none is named.
func (s state) info(names []string) string {
	asked := func(section string) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			switch name = strings.ToLower(name); name {
			case "all", "default", "everything", strings.ToLower(section):
				return true
			}
			return false
		})
	}
	text := new(strings.Builder)
	for _, section := range s.sections() {
		if !asked(section.name) {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\r\n")
		}
		fmt.Fprintf(text, "# %s\r\n", section.name)
		for _, field := range section.fields {
			fmt.Fprintf(text, "%s:%s\r\n", field.name, field.value)
		}
	}
	return text.String()
}
