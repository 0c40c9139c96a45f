package test_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// manifests has the objects of a kustomization, which has at most one of each kind.
type manifests struct {
	set        apps.StatefulSet
	deployment apps.Deployment
	service    core.Service
	budget     policy.PodDisruptionBudget
	config     core.ConfigMap
}

// render returns what "kubectl apply -k" sends for a folder.
func render(t *testing.T, folder string) manifests {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	want.NoError(t, err)
	var texts [][]byte
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		want.NoError(t, err)
		texts = append(texts, text)
	}
	return decode(t, folder, texts)
}

// decode reads objects. It fails the test if the API does not have a field.
func decode(t *testing.T, from string, objects [][]byte) manifests {
	t.Helper()
	var m manifests
	into := map[string]any{
		"StatefulSet": &m.set, "Deployment": &m.deployment, "Service": &m.service, "PodDisruptionBudget": &m.budget,
		"ConfigMap": &m.config,
	}
	for _, text := range objects {
		var object meta.TypeMeta
		want.NoError(t, yaml.Unmarshal(text, &object))
		kind := object.Kind
		if into[kind] == nil {
			t.Fatalf("%s has a second %s, or one that no test knows", from, kind)
		}
		if err := yaml.UnmarshalStrict(text, into[kind]); err != nil {
			t.Fatalf("%s %s: %v", from, kind, err)
		}
		delete(into, kind)
	}
	return m
}

func TestNodes_BelongTogether(t *testing.T) {
	m := render(t, "../nodes")
	labels := m.set.Spec.Template.Labels
	for what, selector := range map[string]map[string]string{
		"set": m.set.Spec.Selector.MatchLabels, "service": m.service.Spec.Selector, "budget": m.budget.Spec.Selector.MatchLabels,
	} {
		if !maps.Equal(selector, labels) {
			t.Errorf("the %s selects %v, but the pods have %v", what, selector, labels)
		}
	}
	pod := m.set.Spec.Template.Spec
	anti := pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if len(anti) != 1 || anti[0].TopologyKey != core.LabelHostname || !maps.Equal(anti[0].LabelSelector.MatchLabels, labels) {
		t.Errorf("the pods may share a machine: %+v", anti)
	}
	if m.set.Spec.ServiceName != m.service.Name || m.service.Spec.ClusterIP != "None" || !m.service.Spec.PublishNotReadyAddresses {
		t.Errorf("the pods have no names while they are not ready: %+v", m.service.Spec)
	}
	if *m.set.Spec.Replicas != 3 || m.budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("%v of %d nodes may be down", m.budget.Spec.MaxUnavailable, *m.set.Spec.Replicas)
	}
	var mounted []string
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil {
			mounted = append(mounted, v.ConfigMap.Name)
		}
	}
	if !slices.Equal(mounted, []string{m.config.Name}) || len(m.config.Data) != 2 {
		t.Errorf("the pods mount %v, the kustomization makes %s with %d files", mounted, m.config.Name, len(m.config.Data))
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		known := slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) ||
			slices.ContainsFunc(m.set.Spec.VolumeClaimTemplates, func(v core.PersistentVolumeClaim) bool { return v.Name == mount.Name })
		if !known {
			t.Errorf("there is no volume %s", mount.Name)
		}
		// A mount within another one works only if the runtime may create a folder in the outer one.
		for _, outer := range pod.Containers[0].VolumeMounts {
			if strings.HasPrefix(mount.MountPath, outer.MountPath+"/") {
				t.Errorf("%s is within %s", mount.MountPath, outer.MountPath)
			}
		}
	}
}

func TestNodes_WaitForTwiceTheLongestTTL(t *testing.T) {
	m := render(t, "../nodes")
	node := m.set.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range node.Env {
		env[e.Name] = e.Value
	}
	if want := fmt.Sprint(m.set.Spec.MinReadySeconds / 2); env["REDLOCK_MAX_TTL"] != want || m.set.Spec.MinReadySeconds == 0 {
		t.Errorf("minReadySeconds is %d, REDLOCK_MAX_TTL %s", m.set.Spec.MinReadySeconds, env["REDLOCK_MAX_TTL"])
	}
	probe := node.ReadinessProbe
	if script := probe.Exec.Command[1]; m.config.Data[path.Base(script)] == "" || probe.FailureThreshold != 1 {
		t.Errorf("the probe is %+v, the files are %v", probe, slices.Collect(maps.Keys(m.config.Data)))
	}
}

func TestService_StopsInTimeAndListsTheNodesByTheirNames(t *testing.T) {
	nodes, service := render(t, "../nodes"), render(t, "../service")
	pod := service.deployment.Spec.Template.Spec
	if !maps.Equal(service.deployment.Spec.Selector.MatchLabels, service.deployment.Spec.Template.Labels) {
		t.Error("the deployment does not select its pods")
	}
	env := map[string]string{}
	for _, e := range pod.Containers[0].Env {
		env[e.Name] = e.Value
	}
	const fxStops = 15 * time.Second // fx.DefaultTimeout
	stop := stopTime(t, env["REDLOCK_TTL"])
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; stop >= fxStops || fxStops >= grace {
		t.Errorf("a stop takes %v, fx allows %v, Kubernetes %v", stop, fxStops, grace)
	}
	if said := fmt.Sprintf("= %.1f s", stop.Seconds()); !strings.Contains(read(t, "../service/deployment.yaml"), said) {
		t.Errorf("the manifest does not say %q", said)
	}
	list := strings.Split(env["REDLOCK_NODES"], ",")
	for i := range int(*nodes.set.Spec.Replicas) {
		want := fmt.Sprintf("@%s-%d.%s:%d", nodes.set.Name, i, nodes.service.Name, nodes.service.Spec.Ports[0].Port)
		if i >= len(list) || !strings.HasSuffix(list[i], want) {
			t.Errorf("node %d is not in %v", i, list)
		}
	}
}

// stopTime returns how long a stop takes with the defaults for a TTL, by the rule in docs/operations.md.
func stopTime(t *testing.T, ttl string) time.Duration {
	t.Helper()
	lease, err := time.ParseDuration(ttl)
	want.NoError(t, err)
	l, err := redlock.Open([]string{"127.0.0.1:1"}, redlock.WithTTL(lease))
	want.NoError(t, err)
	defer func() { _ = l.Close(t.Context()) }() // it has sent nothing
	elector, err := election.New(l, "billing")
	want.NoError(t, err)
	s := elector.Settings()
	return s.DrainTimeout + s.StopMargin + 4*l.Settings().NodeTimeout + time.Second
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	want.NoError(t, err)
	return string(text)
}

// The rights are in docs/operations.md. Another test uses them on real servers.
func TestUsers_HaveTheRightsOfTheDocuments(t *testing.T) {
	var rights []string
	lines := regexp.MustCompile(`(?m)^ +ACL SETUSER locks (.+)$`).FindAllStringSubmatch(read(t, "../../../docs/operations.md"), -1)
	for _, line := range lines {
		rights = append(rights, strings.Fields(line[1])...)
	}
	// The pattern for all keys of the prefix covers those of the terms.
	rights = slices.DeleteFunc(rights, func(right string) bool { return right == "~{redlock}:terms:*" })
	_, line, _ := strings.Cut(read(t, "../nodes/users.acl"), "\nuser locks ")
	line, _, _ = strings.Cut(line, "\n")
	got := strings.Fields(strings.Replace(line, ">change-me-locks", ">password", 1))
	slices.Sort(got)
	slices.Sort(rights)
	if want := slices.Compact(rights); !slices.Equal(got, want) {
		t.Errorf("the user has %q, the documents %q", got, want)
	}
}
