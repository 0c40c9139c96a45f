//go:build unix

package test_test

import (
	"context"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// secretOf runs the script that prints the Secret.
func secretOf(t *testing.T, locks, probe string, env ...string) (s core.Secret, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	script := exec.CommandContext(ctx, "sh", "../secret.sh")
	script.Env = append(os.Environ(), "LOCKS_PASSWORD="+locks, "PROBE_PASSWORD="+probe)
	script.Env = append(script.Env, env...)
	text, err := script.Output()
	if err != nil {
		if len(text) > 0 {
			t.Errorf("it fails, and prints %q", text)
		}
		return s, err
	}
	want.NoError(t, yaml.UnmarshalStrict(text, &s))
	return s, nil
}

func TestSecret_HasWhatThePodsTake(t *testing.T) {
	secret, err := secretOf(t, "S3cret", "0042")
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ secret, key string }
	var wanted []key
	for _, pod := range []core.PodSpec{render(t, "../nodes").set.Spec.Template.Spec, render(t, "../service").deployment.Spec.Template.Spec} {
		for _, e := range pod.Containers[0].Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				wanted = append(wanted, key{e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key})
			}
		}
		for _, v := range pod.Volumes {
			if v.Secret != nil {
				wanted = append(wanted, key{v.Secret.SecretName, v.Secret.Items[0].Key})
			}
		}
	}
	if len(wanted) != 3 {
		t.Errorf("the pods take %v", wanted)
	}
	for _, w := range wanted {
		if w.secret != secret.Name || secret.StringData[w.key] == "" {
			t.Errorf("the Secret %s has no %v", secret.Name, w)
		}
	}
	want := strings.NewReplacer(">change-me-locks", ">S3cret", ">change-me-probe", ">0042").Replace(read(t, "../nodes/users.acl"))
	if got := secret.StringData["users.acl"]; got != want || secret.StringData["probe-password"] != "0042" {
		t.Errorf("the users are\n%s\nand the password of the probe is %q", got, secret.StringData["probe-password"])
	}
}

// A space or a line break in a password could add users or rights.
func TestSecret_RefusesWhatIsNoPlainPassword(t *testing.T) {
	for _, password := range []string{"", "a b", "a\nuser x on nopass +@all", `a"b`, "a>b", "ä", "a/b", "a,b"} {
		if _, err := secretOf(t, "a", password); err == nil {
			t.Errorf("%q is accepted for the probe", password)
		}
		if _, err := secretOf(t, "a", "a", "LOCKS_PASSWORD_OTHER="+password); err == nil && password != "" {
			t.Errorf("%q is accepted as the other password of the locks", password)
		}
		if _, err := secretOf(t, password, "a"); err == nil {
			t.Errorf("%q is accepted for the locks", password)
		}
	}
}

// settings returns the manifest's settings as arguments of a server, with the folders of the test, and the path of the
// users file in the pod.
func settings(t *testing.T, folder string) (args []string, users string) {
	t.Helper()
	pod := render(t, "../nodes")
	for line := range strings.Lines(pod.config.Data["redis.conf"]) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		switch words[0] {
		case "port", "dir": // redisproc has its own
			continue
		case "aclfile":
			users = words[1]
			words[1] = path.Join(folder, path.Base(users))
		}
		for i, w := range words {
			words[i] = strings.Trim(w, `"`)
		}
		args = append(append(args, "--"+words[0]), words[1:]...)
	}
	return args, users
}

// The server accepts the settings of the manifest, and finds its users where the pod has them. They have all rights that
// the services and the probe need.
func TestNodes_RunWithTheirSettings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	args, users := settings(t, folder)
	secret, err := secretOf(t, "S3cret", "0042", "LOCKS_PASSWORD_OTHER=n3w")
	if err != nil {
		t.Fatal(err)
	}
	node := render(t, "../nodes").set.Spec.Template.Spec.Containers[0]
	if !slices.ContainsFunc(node.VolumeMounts, func(m core.VolumeMount) bool { return m.Name == "users" && m.MountPath == path.Dir(users) }) {
		t.Errorf("the users are not at %s: %v", users, node.VolumeMounts)
	}
	// redisproc recognizes its server as the default user.
	open := strings.Replace(secret.StringData["users.acl"], "user default off", "user default on nopass ~* &* +@all", 1)
	if err := os.WriteFile(path.Join(folder, path.Base(users)), []byte(open), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := startNodes(t, 1, args...).Node(0).Addr()
	for name, want := range map[string]string{"appendonly": "yes", "save": "", "maxmemory-policy": "noeviction", "maxmemory": "209715200"} {
		if got := client(t, addr).ConfigGet(t.Context(), name).Val()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	as := []string{"REDLOCK_USER=probe", "REDISCLI_AUTH=0042"}
	_, _ = locker(t, second, []string{"redis://locks:S3cret@" + addr}).TryAcquire(t.Context(), "x") // starts the guard, which the probe reads
	awaitReady(t, addr, time.Now(), as...)
	for _, password := range []string{"S3cret", "n3w"} {
		lease, err := locker(t, second, []string{"redis://locks:" + password + "@" + addr}).TryAcquire(t.Context(), "x")
		if err == nil {
			err = lease.Release(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", password, err)
		}
	}
	for _, entry := range client(t, addr).ACLLog(t.Context(), 100).Val() {
		t.Errorf("%s was refused %s", entry.Username, entry.Object)
	}
	as[1] = "REDISCLI_AUTH=wrong"
	if is, why := ready(t.Context(), addr, as...); is || !strings.Contains(why, "not ready: ") {
		t.Errorf("the probe with a wrong password: ready %v, %q", is, why)
	}
	_, err = locker(t, second, []string{"redis://locks:wrong@" + addr}).TryAcquire(t.Context(), "x")
	want.Text(t, err, "WRONGPASS")
}

// Namespaces may enforce the strictest of the Pod Security Standards, "restricted".
func TestPods_AreRestricted(t *testing.T) {
	for name, pod := range map[string]core.PodSpec{
		"nodes": render(t, "../nodes").set.Spec.Template.Spec, "service": render(t, "../service").deployment.Spec.Template.Spec,
	} {
		s := pod.SecurityContext
		if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod has %+v", name, s)
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: the pod gets a token of the API", name)
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil ||
				!*s.ReadOnlyRootFilesystem || s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
				t.Errorf("%s: %s has %+v", name, c.Name, s)
			}
		}
	}
}
