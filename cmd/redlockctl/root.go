package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// streams are the program's input and outputs.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// flags are the flags of all commands.
type flags struct {
	nodes     string // separated by commas; not a list flag, because completion would set it twice
	nodesFile string
	tlsCA     string
	tlsCert   string
	tlsKey    string
	election  string
	prefix    string
	ttl       time.Duration
	maxTTL    time.Duration
	unseen    bool
	timeout   time.Duration
	output    string
	watch     bool
	every     time.Duration
	wait      time.Duration // of trigger --wait
}

// program is what all commands share.
type program struct {
	args []string // as the user gave them
	flags
	streams
}

func newRoot(args []string, s streams) *cobra.Command {
	p := &program{args: args, streams: s}
	root := &cobra.Command{
		Use:           "redlockctl",
		Short:         "Inspect locks, elections and jobs on Redis nodes, and run commands under a lock",
		Version:       versionText(),
		SilenceErrors: true, // main prints them, in one line
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return nil
			}
			var names []string
			for _, c := range cmd.Commands() {
				if !c.Hidden {
					names = append(names, c.Name())
				}
			}
			return unknownCommand(words[0], names)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit{misused, err} })
	p.addFlags(root)
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return p.check() }
	root.AddCommand(p.leaderCommand(), p.nodesCommand(), p.jobsCommand(), p.historyCommand(), p.nextCommand(),
		p.lockCommand(), p.guardCommand(), p.doctorCommand(), p.runCommand())
	root.AddCommand(p.settingCommands()...)
	root.AddCommand(hiddenCommands()...)
	for _, c := range append(root.Commands(), root) {
		args := c.Args
		c.Args = func(cmd *cobra.Command, given []string) error {
			if args == nil {
				return nil
			}
			err := args(cmd, given)
			if err != nil && cmd != root {
				err = fmt.Errorf("%s: %w: usage: %s", cmd.Name(), err, cmd.UseLine())
			}
			if err != nil {
				return exit{misused, err}
			}
			return nil
		}
	}
	return root
}

// addFlags adds the flags of all commands.
func (p *program) addFlags(root *cobra.Command) {
	all := root.PersistentFlags()
	all.StringVarP(&p.nodes, "nodes", "n", "",
		"`host:port`, redis:// or rediss:// URLs of all nodes, separated by commas, without passwords; "+nodesVariable)
	all.StringVar(&p.nodesFile, "nodes-file", "", "`file` with the nodes, and passwords if needed, one per line or separated by commas; "+nodesFileVariable)
	all.StringVar(&p.tlsCA, "tls-ca", "", "`file` with the CAs of the nodes' certificates, for rediss://; default: the system's; "+tlsCAVariable)
	all.StringVar(&p.tlsCert, "tls-cert", "", "`file` with the client certificate; "+tlsCertVariable)
	all.StringVar(&p.tlsKey, "tls-key", "", "`file` with its key; "+tlsKeyVariable)
	all.StringVarP(&p.election, "election", "e", "", "`name` of the election; "+electionVariable)
	all.StringVar(&p.prefix, "prefix", "", "prefix of the keys; "+prefixVariable+`, "redlock" if neither is set`)
	all.DurationVar(&p.ttl, "ttl", 10*time.Second, "TTL of leases, as the services set it")
	all.DurationVar(&p.maxTTL, "max-ttl", 0, "longest TTL of all users of the prefix; 0: the TTL")
	all.BoolVar(&p.unseen, "unseen-restarts", false, "accept nodes whose scripts may not call INFO; set it if the services do")
	all.DurationVar(&p.timeout, "timeout", 5*time.Second, "time limit for calls to the nodes")
	all.StringVarP(&p.output, "output", "o", "table", "`format`: table or json")
	all.BoolVarP(&p.watch, "watch", "w", false, "repeat every --every")
	all.DurationVar(&p.every, "every", 2*time.Second, "interval of --watch")
	_ = root.RegisterFlagCompletionFunc("election", p.completeElections)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// check returns all problems of the flags at once.
func (p *program) check() error {
	var problems []error
	if p.output != "table" && p.output != "json" {
		problems = append(problems, fmt.Errorf("--output %q must be table or json", p.output))
	}
	if p.timeout <= 0 {
		problems = append(problems, fmt.Errorf("--timeout %v must be above 0", p.timeout))
	}
	if p.every < 100*time.Millisecond {
		problems = append(problems, fmt.Errorf("--every %v must be at least 100ms", p.every))
	}
	if len(problems) > 0 {
		return exit{misused, errors.Join(problems...)}
	}
	return nil
}

// withLocker calls fn with a Locker, within the timeout.
func (p *program) withLocker(ctx context.Context, fn func(context.Context, *redlock.Locker) error) (err error) {
	l, err := p.locker()
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.timeout)
		defer cancel()
		err = errors.Join(err, l.Close(closing))
	}()
	if p.watch {
		return fn(ctx, l)
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout+p.wait)
	defer cancel()
	return fn(ctx, l)
}

// withScheduler calls fn with an elector and a scheduler that do not campaign, for the commands about an election and
// its jobs.
func (p *program) withScheduler(
	ctx context.Context, fn func(context.Context, *election.Elector, *scheduler.Scheduler) error,
) error {
	name := or(p.election, electionVariable)
	if name == "" {
		return exit{misused, errors.New("no election: give --election NAME or set " + electionVariable)}
	}
	return p.withLocker(ctx, func(ctx context.Context, l *redlock.Locker) error {
		e, err := election.New(l, name, election.WithIdentity(identity(), ""))
		if err != nil {
			return exit{misused, err}
		}
		s, err := scheduler.New(e)
		if err != nil {
			return err
		}
		return fn(ctx, e, s)
	})
}

// identity names this process to the nodes, for example "redlockctl by ann at host".
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "somewhere"
	}
	return fmt.Sprintf("redlockctl by %s at %s", userName(), host)
}

// osUser names the user who pauses, resumes or triggers a job. "os user" marks it as the machine's claim, which no
// node has checked.
func osUser() string { return "os user " + userName() }

func userName() string {
	u, err := user.Current()
	if err != nil {
		return "somebody"
	}
	return u.Username
}
