package dashboard

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Users write programs by the fields that the package documentation lists.
func TestDoc_ListsTheFieldsOfTheJSON(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]string)
	for _, row := range regexp.MustCompile(`(?m)^//\t(\(?\w+\)?) {2,}(.+)$`).FindAllStringSubmatch(string(source), -1) {
		listed[row[1]] = row[2]
	}
	for part, value := range map[string]any{
		"(itself)": view{}, "leader": leader{}, "replica": replica{}, "nodes": node{}, "jobs": job{}, "runs": record{},
		"terms": term{}, "changes": change{}, "leaderless": gap{}, "replicas": seenReplica{},
	} {
		var fields []string
		for f := range reflect.TypeOf(value).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if f.Type.Kind() == reflect.Slice {
				name += "[]"
			}
			fields = append(fields, name)
		}
		if want := strings.Join(fields, " "); listed[part] != want {
			t.Errorf("%s is documented with %q, but has %q", part, listed[part], want)
		}
		delete(listed, part)
	}
	if len(listed) > 0 {
		t.Errorf("documented, but missing: %q", listed)
	}
}
