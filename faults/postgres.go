package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// migrate makes River's tables.
func migrate(ctx context.Context, addr string) error {
	pool, err := pgxpool.New(ctx, postgresURL(addr))
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// riversLeader returns the replica that River's table says leads.
func riversLeader(ctx context.Context, addr string) (number int, err error) {
	pool, err := pgxpool.New(ctx, postgresURL(addr))
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	var id string
	if err := pool.QueryRow(ctx, "SELECT leader_id FROM river_leader").Scan(&id); err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(id, "replica-%d", &number)
	return number, err
}
