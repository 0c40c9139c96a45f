package test_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	core "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// install returns what "helm install" sends for the chart of the nodes.
func install(t *testing.T, values map[string]any) (manifests, error) {
	t.Helper()
	chart, err := loader.Load("../nodes")
	want.NoError(t, err)
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "redlock"}, nil)
	if err != nil {
		return manifests{}, err
	}
	files, err := engine.Render(chart, all)
	want.NoError(t, err)
	var rendered [][]byte
	docs := kube.NewYAMLReader(bufio.NewReader(strings.NewReader(files["redlock-nodes/templates/nodes.yaml"])))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return decode(t, "chart", rendered), nil
		}
		want.NoError(t, err)
		if len(bytes.TrimSpace(doc)) > 0 {
			rendered = append(rendered, doc)
		}
	}
}

// The chart and the kustomization send the same, but for the name of the files and the note that restarts the pods when they change.
func TestChart_IsTheKustomization(t *testing.T) {
	chart, err := install(t, nil)
	want.NoError(t, err)
	applied := render(t, "../nodes")
	pod := &chart.set.Spec.Template
	if pod.Annotations["redlock/files"] == "" {
		t.Error("a change to the files would not restart the pods")
	}
	pod.Annotations = nil
	node := &pod.Spec.Containers[0]
	node.Env = slices.DeleteFunc(node.Env, func(e core.EnvVar) bool { return e.Name == "REDLOCK_PREFIX" && e.Value == "redlock" }) // its default
	for i := range pod.Spec.Volumes {
		if files := pod.Spec.Volumes[i].ConfigMap; files != nil && files.Name == chart.config.Name {
			files.Name = applied.config.Name
		}
	}
	chart.config.Name = applied.config.Name
	if !reflect.DeepEqual(chart, applied) {
		t.Errorf("the chart has\n%+v\nthe kustomization\n%+v", chart, applied)
	}
}

func TestChart_HasTheValues(t *testing.T) {
	m, err := install(t, map[string]any{
		"maxTTL": 30, "prefix": "billing", "image": "redis:7.2", "storage": "5Gi",
		"statefulSet": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"priorityClassName": "high"}}}},
	})
	want.NoError(t, err)
	pod := m.set.Spec.Template.Spec
	env := map[string]string{}
	for _, e := range pod.Containers[0].Env {
		env[e.Name] = e.Value
	}
	size := m.set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage()
	got := fmt.Sprintf("%d %s %s %s %s %v %s", m.set.Spec.MinReadySeconds, env["REDLOCK_MAX_TTL"], env["REDLOCK_PREFIX"],
		env["REDLOCK_USER"], pod.Containers[0].Image, size, pod.PriorityClassName)
	if wanted := "60 30 billing probe redis:7.2 5Gi high"; got != wanted {
		t.Errorf("got %s, want %s", got, wanted)
	}
}

func TestChart_RefusesValuesThatMeanNothing(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"replicas": {"replicas": 5}, "a duration": {"maxTTL": "10s"}, "zero": {"maxTTL": 0}, "a prefix with a space": {"prefix": "a b"},
	} {
		if _, err := install(t, values); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMonitoring_AsksEachReplicaAndHasTheAlerts(t *testing.T) {
	var monitor monitoring.PodMonitor
	want.NoError(t, yaml.UnmarshalStrict([]byte(read(t, "../monitoring/monitor.yaml")), &monitor))
	service := render(t, "../service").deployment.Spec.Template
	if got := monitor.Spec.Selector.MatchLabels; len(got) == 0 || got["app.kubernetes.io/name"] != service.Labels["app.kubernetes.io/name"] {
		t.Errorf("the monitor selects %v, the pods have %v", got, service.Labels)
	}
	if port := *monitor.Spec.PodMetricsEndpoints[0].Port; port != service.Spec.Containers[0].Ports[0].Name {
		t.Errorf("the pods have no port %s", port)
	}
	var rule monitoring.PrometheusRule
	want.NoError(t, yaml.UnmarshalStrict([]byte(read(t, "../monitoring/rule.yaml")), &rule))
	var alerts monitoring.PrometheusRuleSpec
	want.NoError(t, yaml.UnmarshalStrict([]byte(read(t, "../../../otelredlock/prometheus/alerts.yaml")), &alerts))
	got, err := yaml.Marshal(rule.Spec)
	want.NoError(t, err)
	as, err := yaml.Marshal(alerts)
	want.NoError(t, err)
	if !bytes.Equal(got, as) || len(alerts.Groups) == 0 {
		t.Errorf("the rule has\n%s\notelredlock\n%s", got, as)
	}
}
