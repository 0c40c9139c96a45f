package leadercron_test

import (
	"context"
	"log"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/adapters/leadercron"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func sendInvoices() {}

func Example() {
	locker, err := redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	if err != nil {
		log.Fatal(err)
	}
	elector, err := election.New(locker, "billing")
	if err != nil {
		log.Fatal(err)
	}
	jobs := cron.New(cron.WithChain(leadercron.OnLeader(elector)))
	if _, err := jobs.AddFunc("0 2 * * *", sendInvoices); err != nil {
		log.Fatal(err)
	}
	jobs.Start() // on each replica; a tick does nothing where the process does not lead
	log.Print(elector.Run(context.Background()))
}
