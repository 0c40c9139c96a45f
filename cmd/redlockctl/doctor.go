package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// mostOff is how far a clock may be off, that of this machine from the nodes'. A service logs a larger difference.
const mostOff = 500 * time.Millisecond

// judgment is what doctor says of one thing, and its JSON.
type judgment struct {
	State string `json:"state"` // ok; note, which needs nobody; or problem
	About string `json:"about"`
	Text  string `json:"text"`
}

// diagnosis is all judgments.
type diagnosis struct{ all []judgment }

func (d *diagnosis) add(state, about, format string, args ...any) {
	d.all = append(d.all, judgment{state, about, fmt.Sprintf(format, args...)})
}

func (d *diagnosis) well(about, format string, args ...any) { d.add("ok", about, format, args...) }
func (d *diagnosis) note(about, format string, args ...any) { d.add("note", about, format, args...) }
func (d *diagnosis) problem(about, format string, args ...any) {
	d.add("problem", about, format, args...)
}

// judge adds the problems about something, or, without any, that it is well.
func (d *diagnosis) judge(about string, problems []string, well string) {
	for _, text := range problems {
		d.problem(about, "%s", text)
	}
	if len(problems) == 0 {
		d.well(about, "%s", well)
	}
}

// patient is what doctor looks at. Without --election there is no elector and no scheduler.
type patient struct {
	locker  *redlock.Locker
	clients []*redis.Client
	elector *election.Elector
	jobs    *scheduler.Scheduler
}

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Ask the nodes and the jobs once, and say what is well and what is not", Args: cobra.NoArgs,
		Long: "Doctor asks the nodes, the election and its jobs once, and prints a judgment for each thing: ok; note, which needs\n" +
			"nobody; or problem. It writes nothing. Without --election it judges only the nodes.\n\n" +
			"It exits with 0 if there is no problem, with 3 if there is one, and with 4 if too few nodes count. It judges the\n" +
			"rights of the user that it logs in as: give it the user of a service to find what that lacks.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if or(p.election, electionVariable) == "" {
				return p.withLocker(cmd.Context(), func(ctx context.Context, l *redlock.Locker) error {
					return p.examine(ctx, patient{locker: l})
				})
			}
			return p.withScheduler(cmd.Context(), func(ctx context.Context, e *election.Elector, s *scheduler.Scheduler) error {
				return p.examine(ctx, patient{locker: e.Locker(), elector: e, jobs: s})
			})
		},
	}
}

func (p *program) examine(ctx context.Context, who patient) error {
	return p.withNodes(ctx, func(ctx context.Context, clients []*redis.Client) error {
		who.clients = clients
		return p.show(ctx, func(ctx context.Context) (any, table, error) { return p.diagnose(ctx, who) })
	})
}

// diagnose judges everything. The error says that something is a problem.
func (p *program) diagnose(ctx context.Context, who patient) (any, table, error) {
	var d diagnosis
	all := who.locker.Nodes(ctx)
	count := d.judgeNodes(all, who.locker, p.unseen)
	p.judgeServers(ctx, &d, all, who.clients)
	need := len(all)/2 + 1
	switch {
	case who.elector == nil:
		d.note("leader", "not asked, and neither are the jobs: give --election NAME or set %s", electionVariable)
	case count < need:
		d.note("leader", "not asked, and neither are the jobs: too few nodes count")
	default:
		p.judgeLeader(ctx, &d, who.elector)
		d.judgeJobs(who.jobs.Jobs(ctx))
	}
	t := table{head: []string{"STATE", "ABOUT", "JUDGMENT"}}
	problems := 0
	for _, j := range d.all {
		t.rows = append(t.rows, []string{j.State, j.About, j.Text})
		if j.State == "problem" {
			problems++
		}
	}
	switch {
	case count < need:
		return d.all, t, exit{unreachable, fmt.Errorf("%d of %d nodes count, %d needed", count, len(all), need)}
	case problems > 0:
		return d.all, t, exit{no, fmt.Errorf("%d of %d judgments are problems", problems, len(d.all))}
	}
	return d.all, t, nil
}

// judgeNodes judges what a Locker says of the nodes, and returns how many of them count.
func (d *diagnosis) judgeNodes(all []redlock.NodeStatus, l *redlock.Locker, unseen bool) (count int) {
	problems := make(map[string][]string)
	var hidden []string
	least, most := time.Duration(0), time.Duration(0)
	for _, n := range all {
		add := func(about, text string) { problems[about] = append(problems[about], n.Addr+": "+text) }
		if n.Err != nil {
			add(aboutOf(n.Err), oneLine(n.Err))
			continue
		}
		count++
		least, most = min(least, n.ClockOffset), max(most, n.ClockOffset)
		if n.Role == "" {
			hidden = append(hidden, n.Addr)
		}
		if n.Eviction != "" && n.Eviction != "noeviction" && !strings.HasPrefix(n.Eviction, "volatile-") {
			add("eviction", fmt.Sprintf("maxmemory-policy is %s: when memory is short, the node may lose all locks at once", n.Eviction))
		}
	}
	if off, skew := most-least, l.Settings().MaxClockSkew; off > skew/4 {
		problems["clock"] = append(problems["clock"], fmt.Sprintf("the nodes' clocks differ by %v; votes need a difference below %v", short(off), skew))
	}
	d.judge("nodes", problems["nodes"], fmt.Sprintf("%d of %d count", count, len(all)))
	if count == 0 && len(problems["nodes"]) == len(all) {
		return 0 // nothing else is known
	}
	d.judge("clock", problems["clock"], fmt.Sprintf("the clocks of %d nodes agree within %v", count, short(most-least)))
	d.judgeThisClock(l)
	d.judge("twins", problems["twins"], "no two addresses lead to one server")
	d.judge("eviction", problems["eviction"], "no node evicts locks")
	switch {
	case len(hidden) > 0 && unseen:
		d.note("identity", "%s: hidden, so a restart is detected only if the data is gone", strings.Join(hidden, ", "))
	default:
		d.judge("identity", problems["identity"], "known of each node that counts, so a restart is detected")
	}
	return count
}

// aboutOf returns which judgment the error of a node belongs to.
func aboutOf(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "it is the same server as"):
		return "twins"
	case strings.Contains(text, "its clock"):
		return "clock"
	case strings.Contains(text, "scripts may not call INFO"):
		return "identity"
	}
	return "nodes"
}

// judgeThisClock judges the clock of this machine.
func (d *diagnosis) judgeThisClock(l *redlock.Locker) {
	now, known := l.Time()
	if !known {
		return // no node has answered
	}
	off := time.Until(now)
	word := "behind"
	if off < 0 {
		word = "ahead of"
	}
	state := "ok"
	if off.Abs() > mostOff {
		state = "problem"
	}
	d.add(state, "clock", "this machine is %v %s the nodes", short(off.Abs()), word)
}

// judgeServers judges what the nodes that answer say themselves: their guards and the rights of the user.
func (p *program) judgeServers(ctx context.Context, d *diagnosis, all []redlock.NodeStatus, clients []*redis.Client) {
	answering := slices.DeleteFunc(slices.Clone(clients), func(c *redis.Client) bool {
		return all[slices.Index(clients, c)].Latency == 0
	})
	if len(answering) == 0 {
		return
	}
	states, _, _ := guards(ctx, answering, p.hash()) // each state has the error of its node
	var running, lists []string
	for _, g := range states.([]guardState) {
		switch {
		case g.Err != "":
			running = append(running, g.Addr+": "+g.Err)
		case g.Since == nil:
			running = append(running, g.Addr+": no guard yet, the node grants nothing for the longest TTL after the first call for a lock")
		case *g.Left > 0:
			running = append(running, fmt.Sprintf("%s: grants nothing until %s, for another %v", g.Addr, at(*g.Until),
				short(time.Duration(*g.Left))))
		}
	}
	newest := slices.MaxFunc(all, func(a, b redlock.NodeStatus) int { return a.List.Turn - b.List.Turn }).List.Turn
	for _, n := range all {
		switch {
		case n.Latency == 0:
		case n.List.State != redlock.ListJoined:
			lists = append(lists, n.Addr+": "+n.List.String()+", so it does not vote")
		case n.List.Nodes != len(all):
			lists = append(lists, fmt.Sprintf("%s: in a list of %d nodes, this one has %d", n.Addr, n.List.Nodes, len(all)))
		case n.List.Turn < newest:
			lists = append(lists, n.Addr+": left behind in an earlier list: "+n.List.String())
		}
	}
	d.judge("guard", running, "no guard is running: each node that answers grants")
	d.judge("list", lists, fmt.Sprintf("all nodes that answer are in one list of %d", len(all)))
	addrs := addrsOf(answering)
	for i, c := range answering {
		lacking, err := p.lacking(ctx, c)
		d.judgeRights(addrs[i], lacking, err)
	}
}

// judgeLeader judges whether somebody leads.
func (p *program) judgeLeader(ctx context.Context, d *diagnosis, e *election.Elector) {
	l, err := e.Leader(ctx)
	if err != nil {
		d.problem("leader", "%s", oneLine(p.nobodyLeads(ctx, e, err)))
		return
	}
	d.well("leader", "%s leads since %s with term %d, until %s at least", l.ID, at(l.Since), l.Token, at(l.Expires))
}
