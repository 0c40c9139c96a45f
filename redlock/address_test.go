package redlock_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Files, variables and lists leave characters around an address that nobody means.
func TestClientOptions_AcceptAddressesAsPeopleHaveThem(t *testing.T) {
	for _, around := range [][2]string{
		{"", ""}, {"", "\n"}, {"", "\r\n"}, {" ", ""}, {"\t", " \n"}, {"\ufeff", ""}, {"\ufeff ", "\n"}, {"\u00a0", "\u200b"}, {"", "\x00"},
	} {
		for scheme, secure := range map[string]bool{
			"": false, "redis://": false, "REDIS://": false, "rediss://": true, "valkey://": false, "valkeys://": true, "Valkeys://": true,
		} {
			address := around[0] + scheme + "u:p@r1:1" + around[1]
			o, err := redlock.ClientOptions(address)
			if err != nil || o.Addr != "r1:1" || o.Username != "u" || o.Password != "p" || (o.TLSConfig != nil) != secure {
				t.Errorf("%q: got %+v, %v", address, o, err)
			}
		}
	}
	l, err := redlock.Open([]string{"valkeys://r1", " valkeys://r2", "rediss://r3\n"}, redlock.WithTLS(&tls.Config{}))
	want.NoError(t, err)
	want.NoError(t, l.Close(t.Context()))
}

func TestClientOptions_NameWhatIsWrongWithAnAddress(t *testing.T) {
	for address, reason := range map[string]string{
		"": "is empty", " \n": "is empty", "unix:///tmp/redis.sock": "is a unix socket",
		"redis://u:S3cret\n@r1:1": `white space or an invisible character in it, '\n'`, "redis://u:S3cret\r\n@r1:1": `'\r'`,
		"r1: 1": "' '", "redis://u:S3 cret@r1": "%20", "redis://r1\u00a0:1": `'\u00a0'`, "valkey://r1/\u200b0": `'\u200b'`,
		"redis://u:p\t@r1": `'\t'`, "r1:1\nr2:1": `'\n'`, "redis://\ufeffr1": `'\ufeff'`,
		`"redis://u:S3cret@r1:1"`: "quotation mark", "'r1:1'": "quotation mark", `"r1:1`: "quotation mark", "“r1:1”": "quotation mark",
		"\xff\xfer\x001\x00": "not UTF-8", "r1:1, r2:1": "has a comma", "r1:1,": "has a comma",
		"@r1:1": "begins with an @", "redis://u:@r1": "has no password", "redis://:@r1": "has no password", "redis://S3cret@r1": "redis://:password@",
		"redis://u:S3cret%0A@r1": "line break or another control character in its password", "redis://u:S3cret%00@r1": "control character",
		"http://r1": "must be host:port", "valkeyss://r1": "must be host:port", "redis+sentinel://r1": "must be host:port", "::1:6379": "in brackets",
		"redis://u:pä@r1": "reserved characters", "valkeys://u:p@r1?skip_verify=true": "skip_verify", "valkey://r1/x": "number of a database",
	} {
		_, err := redlock.ClientOptions(address)
		want.Text(t, err, reason)
		if !errors.Is(err, redlock.ErrConfig) || err != nil && strings.Contains(err.Error(), "S3") {
			t.Errorf("%q: got %v", address, err)
		}
	}
}
