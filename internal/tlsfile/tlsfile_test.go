package tlsfile_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/tlsnode"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/internal/tlsfile"
)

// Editors and tools of Windows begin a file with a mark, and end its lines with two characters.
func TestFiles_AsEditorsLeaveThem(t *testing.T) {
	cert, key := tlsnode.Start(t).Files(t)
	for what, edit := range map[string]func(text string) string{
		"as it was": func(text string) string { return text },
		"a mark":    func(text string) string { return "\ufeff" + text },
		"CRLF":      func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
	} {
		t.Run(what, func(t *testing.T) {
			var edited []string
			for _, file := range []string{cert, key} {
				text, err := os.ReadFile(file)
				want.NoError(t, err)
				edited = append(edited, filepath.Join(t.TempDir(), filepath.Base(file)))
				want.NoError(t, os.WriteFile(edited[len(edited)-1], []byte(edit(string(text))), 0o600))
			}
			plain, err := tlsfile.CAs(cert)
			want.NoError(t, err)
			cas, err := tlsfile.CAs(edited[0])
			want.NoError(t, err)
			if !cas.Equal(plain) {
				t.Error("not all CAs were read")
			}
			load, err := tlsfile.ClientCertificate(edited[0], edited[1], "client")
			want.NoError(t, err)
			if pair, err := load(new(tls.CertificateRequestInfo)); err != nil || len(pair.Certificate) == 0 {
				t.Errorf("%+v, %v", pair, err)
			}
		})
	}
}

func TestFiles_ThatCannotBeRead(t *testing.T) {
	cert, key := tlsnode.Start(t).Files(t)
	_, err := tlsfile.CAs(key)
	want.Text(t, err, "has no certificate in PEM")
	_, err = tlsfile.CAs("ca.pem\n")
	want.Text(t, err, `"ca.pem\n"`)
	for _, files := range [][2]string{{cert, "key.pem "}, {"key.pem ", key}} {
		_, err = tlsfile.ClientCertificate(files[0], files[1], "client")
		want.Text(t, err, "client: ", `"key.pem "`)
	}
	_, err = tlsfile.ClientCertificate(cert, cert, "client")
	want.Text(t, err, "client: tls: ")
}
