//go:build unix

package redisproc_test

import (
	"context"
	"fmt"
	"os"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// parentEnv makes the test binary a parent that starts a node, prints its address and waits to
// be killed.
const parentEnv = "REDISPROC_TEST_PARENT"

func beParent() {
	c, err := redisproc.Start(context.Background(), 1)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Node(0).Addr())
	select {}
}
