package gocronlock_test

import (
	"context"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlockfx/redlockfx/adapters/gocronlock"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func sendInvoices() {}

// The leader runs all jobs.
func Example() {
	locker, err := redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	if err != nil {
		log.Fatal(err)
	}
	elector, err := election.New(locker, "billing")
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(gocronlock.Elector(elector)))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := jobs.NewJob(gocron.CronJob("0 2 * * *", false), gocron.NewTask(sendInvoices)); err != nil {
		log.Fatal(err)
	}
	jobs.Start()
	log.Print(elector.Run(context.Background()))
}

// Any replica runs a tick, and the others find the lock held, also if they tick up to five seconds later.
func ExampleLocker() {
	lock, err := redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	if err != nil {
		log.Fatal(err)
	}
	locker, err := gocronlock.Locker(lock, 5*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		log.Fatal(err)
	}
	task := gocron.NewTask(sendInvoices)
	if _, err := jobs.NewJob(gocron.CronJob("0 2 * * *", false), task, gocron.WithName("invoices")); err != nil {
		log.Fatal(err)
	}
	jobs.Start()
}
