//go:build unix

package once_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable()                               // go-redis reports each failed dial
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // and this driver each lost connection
	if variable := os.Getenv(settingsVariable); variable != "" {
		if err := beReplica(variable); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
