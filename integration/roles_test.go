//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// roleRights returns the rights that docs/operations.md gives to a role.
func roleRights(t *testing.T, role string) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	line := regexp.MustCompile(`(?m)^ +ACL SETUSER ` + role + ` reset on >password (.+)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("docs/operations.md does not say what rights a user %s needs", role)
	}
	return strings.Fields(string(line[1]))
}

// person is a client that people use, like the dashboard or redlockctl.
type person struct {
	locker  *redlock.Locker
	elector *election.Elector
	jobs    *scheduler.Scheduler
}

func newPerson(t *testing.T, nodes *redisproc.Cluster, user string) person {
	t.Helper()
	l := lockerAs(t, user, "pw", nodes)
	e, err := election.New(l, "billing", election.WithHooks(termlog.Hooks()))
	must(t, err)
	s, err := scheduler.New(e)
	must(t, err)
	return person{l, e, s}
}

// look makes every call that reads.
func (p person) look(ctx context.Context) error {
	_, holderErr := p.locker.Holder(ctx, "election:billing")
	_, leaderErr := p.elector.Leader(ctx)
	_, termsErr := termlog.Read(ctx, p.locker, "billing")
	_, jobsErr := p.jobs.Jobs(ctx)
	_, statusErr := p.jobs.Status(ctx, "report")
	_, historyErr := p.jobs.History(ctx, "report", 10)
	_, changesErr := p.jobs.Changes(ctx, "report")
	return errors.Join(holderErr, leaderErr, termsErr, jobsErr, statusErr, historyErr, changesErr, p.locker.Nodes(ctx)[0].Err)
}

// operate asks for everything that a leader does for people.
func (p person) operate(ctx context.Context) error {
	ann := scheduler.By("ann")
	errs := []error{
		p.jobs.Pause(ctx, "report", ann), p.jobs.Resume(ctx, "report", ann), p.jobs.PauseAll(ctx, ann), p.jobs.ResumeAll(ctx, ann),
		p.jobs.Trigger(ctx, "report", ann),
	}
	st, err := p.jobs.Status(ctx, "report")
	if err == nil && !st.LastOK.Manual {
		err = p.jobs.Rerun(ctx, "report", st.LastOK.Tick, ann)
	}
	return errors.Join(append(errs, err)...)
}

// spareForPeople are rights that people can do without. Without them a connection has no name, a script is sent once
// more, or the leader learns of a change only with its next poll.
var spareForPeople = []string{"+client|setname", "+script|load", "+publish", "&{redlock}:*"}

func TestRoles_AreEnoughAndNoneTooMany(t *testing.T) {
	t.Parallel()
	nodes, server, _ := startApplication(t)

	for role, use := range map[string]func(person, context.Context) error{
		"viewer": person.look,
		"operator": func(p person, ctx context.Context) error {
			return errors.Join(p.look(ctx), p.operate(ctx))
		},
	} {
		all := roleRights(t, role)
		for i, right := range append([]string{"none"}, all...) {
			t.Run(role+" without "+right, func(t *testing.T) {
				user := fmt.Sprint(role, i)
				setUser(t, server, user, without(all, right))
				must(t, server.ScriptFlush(t.Context()).Err())
				err := use(newPerson(t, nodes, user), t.Context())
				works := right == "none" || slices.Contains(spareForPeople, right)
				if works && err != nil || !works && (err == nil || !denied.MatchString(err.Error())) {
					t.Errorf("got %v", err)
				}
				if asked := denials(t, server, user) > 0; asked == (right == "none") {
					t.Errorf("it asked for what it may not: %v", asked)
				}
			})
		}
	}
}

// startPeople starts an application, and a viewer and an operator who have the rights of the documents.
func startPeople(t *testing.T) (nodes *redisproc.Cluster, server *redis.Client, viewer, operator person) {
	t.Helper()
	nodes, server, _ = startApplication(t)
	for _, role := range []string{"viewer", "operator"} {
		setUser(t, server, role, roleRights(t, role))
	}
	return nodes, server, newPerson(t, nodes, "viewer"), newPerson(t, nodes, "operator")
}

// The documents give each user enough for all that it does, also the second time: the first change of a job is read in
// another way than those after it.
func TestRoles_AreDeniedNothing(t *testing.T) {
	t.Parallel()
	nodes, server, viewer, operator := startPeople(t)
	var reported complaints
	locker := reported.of(lockerAs(t, "application", "pw", nodes))
	for i := range 2 {
		name := fmt.Sprint("other", i)
		must(t, useAll(t, locker, server, &reported, name), useJobs(t, jobsAs(t, "application", nodes, name)))
		must(t, viewer.look(t.Context()), operator.look(t.Context()), operator.operate(t.Context()))
		poll(t, "triggered run", func() bool {
			rows, err := viewer.jobs.History(t.Context(), "report", 50)
			must(t, err)
			manual := slices.DeleteFunc(rows, func(r scheduler.Record) bool { return !r.Manual })
			return len(manual) > i
		})
		must(t, operator.jobs.Trigger(t.Context(), "endless"))
		poll(t, "end of the endless run", func() bool {
			err := operator.jobs.Cancel(t.Context(), "endless")
			if errors.Is(err, scheduler.ErrNotRunning) {
				err = nil // not yet, or not any more
			}
			must(t, err)
			rows, err := viewer.jobs.History(t.Context(), "endless", 50)
			must(t, err)
			return len(rows) > i && !slices.ContainsFunc(rows, func(r scheduler.Record) bool { return r.State == scheduler.StateRunning })
		})
	}
	entries, err := server.ACLLog(t.Context(), 1000).Result()
	must(t, err)
	for _, e := range entries {
		t.Errorf("%s was denied %s %d times", e.Username, e.Object, e.Count)
	}
	wantReported(t, &reported)
}

// A leader that lacks a right names it until it has it, although everything else works meanwhile.
func TestRoles_ALeaderNamesARightThatItLacks(t *testing.T) {
	t.Parallel()
	_, server, leader := startApplication(t)
	all := append(jobRights(t), termRights(t)...)
	setUser(t, server, "application", without(all, "+hgetall"))
	denied := func() error { return leader.locker.Nodes(t.Context())[0].Denied }
	poll(t, "denial", func() bool { return denied() != nil })
	want.Text(t, denied(), "the user lacks the right +hgetall: script poll")
	setUser(t, server, "application", all)
	poll(t, "end of the denial", func() bool { return denied() == nil })
}

// startApplication starts a node, and a leader with its own user. When it returns, the leader's job has run once.
// Everything ends with the test.
func startApplication(t *testing.T) (nodes *redisproc.Cluster, server *redis.Client, leader person) {
	t.Helper()
	nodes = startNodes(t, 1)
	server = admins(t, nodes.Addrs())[0]
	setUser(t, server, "application", append(jobRights(t), termRights(t)...))
	p := newPerson(t, nodes, "application")
	ran := make(chan struct{}, 1)
	must(t, p.jobs.Add(scheduler.Job{Name: "report", Spec: "* * * * * *", Run: func(context.Context, scheduler.Run) error {
		select {
		case ran <- struct{}{}:
		default:
		}
		return nil
	}}, scheduler.Job{Name: "endless", Spec: "@yearly", Run: func(ctx context.Context, _ scheduler.Run) error {
		<-ctx.Done()
		return nil
	}}))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.elector.Run(ctx) }() // ends with stop, and is received below
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	<-ran
	poll(t, "term", func() bool {
		terms, err := termlog.Read(t.Context(), p.locker, "billing")
		return err == nil && len(terms) == 1
	})
	return nodes, server, p
}

// The test follows the documents on a server that already has users with these names. They have no password, and rights
// for another prefix.
func TestRoles_KeepNothingThatAUserHadBefore(t *testing.T) {
	t.Parallel()
	server := admins(t, startNodes(t, 1).Addrs())[0]
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	lines := regexp.MustCompile(`(?m)^ +(ACL SETUSER (\S+) .+)$`).FindAllStringSubmatch(string(text), -1)
	for _, line := range lines {
		must(t, server.Do(t.Context(), "ACL", "SETUSER", line[2], "on", "nopass", "~other", "&other", "+@all").Err())
	}
	for _, line := range lines {
		var args []any
		for word := range strings.FieldsSeq(line[1]) {
			args = append(args, word)
		}
		must(t, server.Do(t.Context(), args...).Err())
	}
	for _, user := range []string{"locks", "viewer", "operator"} {
		client := clientAs(t, user, "password", server.Options().Addr)
		_, readErr := client.HGet(t.Context(), "other", "x").Result()
		for what, err := range map[string]error{
			"flushes": client.FlushAll(t.Context()).Err(), "reads another prefix": readErr,
			"logs in without a password": clientAs(t, user, "guess", server.Options().Addr).Ping(t.Context()).Err(),
		} {
			if !redis.HasErrorPrefix(err, "NOPERM") && !redis.HasErrorPrefix(err, "WRONGPASS") {
				t.Errorf("%s %s: %v", user, what, err)
			}
		}
	}
}

// An action that a role does not permit fails with the server's error, and changes nothing.
func TestRoles_CanDoNoMore(t *testing.T) {
	t.Parallel()
	_, server, viewer, operator := startPeople(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	_, viewerErr := viewer.locker.Acquire(ctx, "free")
	for what, err := range map[string]error{
		"a viewer pauses": viewer.jobs.Pause(ctx, "report"), "a viewer triggers": viewer.jobs.Trigger(ctx, "report"),
		"a viewer deletes": viewer.jobs.Forget(ctx, "gone"), "an operator deletes": operator.jobs.Forget(ctx, "gone"),
		"a viewer locks": viewerErr,
	} {
		if err == nil || !denied.MatchString(err.Error()) || ctx.Err() != nil {
			t.Errorf("%s: %v (%v)", what, err, ctx.Err())
		}
	}
	for _, role := range []string{"viewer", "operator"} { // with any other program
		client := clientAs(t, role, "pw", server.Options().Addr)
		for _, command := range [][]any{
			{"DEL", "{redlock}:jobs:billing"}, {"HDEL", "{redlock}", "g"}, {"ZREM", "{redlock}:names:billing", "report"},
			{"HSET", "{other}", "g", "x"}, {"HGET", "{other}", "g"}, {"FLUSHALL"}, {"CONFIG", "GET", "*"}, {"KEYS", "*"},
		} {
			if err := client.Do(ctx, command...).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
				t.Errorf("%s, %v: %v", role, command, err)
			}
		}
	}
	if changes, err := viewer.jobs.Changes(ctx, "report"); err != nil || len(changes) > 0 {
		t.Errorf("changes: %v, %v", changes, err)
	}
	if _, err := viewer.locker.Holder(ctx, "free"); !errors.Is(err, redlock.ErrVacant) {
		t.Errorf("a lock that nobody could take: %v", err)
	}
	if took := time.Since(began); took > waitLimit/2 {
		t.Errorf("a denial ended the calls only after %v", took)
	}
}
