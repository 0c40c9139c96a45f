package redlockfx

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/tlsfile"
)

// tls returns the TLS configuration from the fields, or nil if none is set. It reads all files, so that a wrong one
// is an error at the start.
func (c Config) tls() (*tls.Config, error) {
	if c.TLSCAFile+c.TLSCertFile+c.TLSKeyFile+c.TLSServerName == "" {
		return nil, nil
	}
	secure := &tls.Config{ServerName: c.TLSServerName, MinVersion: tls.VersionTLS12}
	var problems []error
	if len(c.Nodes) == 0 {
		problems = append(problems, errors.New("redlockfx: config: the TLS fields apply to Config.Nodes; clients added "+
			"with Node need their own TLS options"))
	}
	if c.TLSCAFile != "" {
		var err error
		if secure.RootCAs, err = tlsfile.CAs(c.TLSCAFile); err != nil {
			problems = append(problems, fmt.Errorf("redlockfx: config: TLS CA file: %w", err))
		}
	}
	if c.TLSCertFile+c.TLSKeyFile != "" {
		var err error
		secure.GetClientCertificate, err = tlsfile.ClientCertificate(c.TLSCertFile, c.TLSKeyFile,
			"redlockfx: config: TLS client certificate, which needs a certificate file and a key file")
		if err != nil {
			problems = append(problems, err)
		}
	}
	return secure, errors.Join(problems...)
}
