package main

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/tlsfile"
)

// secure returns the TLS configuration from the files, or nil if none is given. Then rediss:// URLs trust the CAs of
// the system.
func (p *program) secure() (*tls.Config, error) {
	ca, cert, key := or(p.tlsCA, tlsCAVariable), or(p.tlsCert, tlsCertVariable), or(p.tlsKey, tlsKeyVariable)
	if ca+cert+key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var problems []error
	if ca != "" {
		var err error
		if config.RootCAs, err = tlsfile.CAs(ca); err != nil {
			problems = append(problems, fmt.Errorf("--tls-ca: %w", err))
		}
	}
	switch {
	case cert == "" && key == "":
	case cert == "" || key == "":
		problems = append(problems, errors.New("--tls-cert and --tls-key go together: a client certificate needs its key"))
	default:
		var err error
		if config.GetClientCertificate, err = tlsfile.ClientCertificate(cert, key, "--tls-cert, --tls-key"); err != nil {
			problems = append(problems, err)
		}
	}
	return config, errors.Join(problems...)
}
