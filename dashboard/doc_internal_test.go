package dashboard

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/ops"
)

// Users write programs by the fields that the documentation of Handler lists.
func TestDoc_ListsTheFieldsOfTheJSON(t *testing.T) {
	source, err := os.ReadFile("handler.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]string)
	for _, row := range regexp.MustCompile(`(?m)^//\t(\(?\w+\)?) {2,}(.+)$`).FindAllStringSubmatch(string(source), -1) {
		listed[row[1]] = row[2]
	}
	for part, value := range map[string]any{
		"(itself)": view{}, "leader": ops.Leader{}, "replica": replica{}, "nodes": ops.Node{}, "jobs": job{}, "runs": ops.Record{},
		"terms": term{}, "changes": ops.Change{}, "leaderless": gap{}, "replicas": seenReplica{},
	} {
		if want := strings.Join(fieldsOf(reflect.TypeOf(value)), " "); listed[part] != want {
			t.Errorf("%s is documented with %q, but has %q", part, listed[part], want)
		}
		delete(listed, part)
	}
	if len(listed) > 0 {
		t.Errorf("documented, but missing: %q", listed)
	}
}

// fieldsOf returns the names of the fields in JSON, with those of embedded structs.
func fieldsOf(of reflect.Type) (fields []string) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			fields = append(fields, fieldsOf(f.Type)...)
		case name == "" || name == "-":
		case f.Type.Kind() == reflect.Slice:
			fields = append(fields, name+"[]")
		default:
			fields = append(fields, name)
		}
	}
	return fields
}
