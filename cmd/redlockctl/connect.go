package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// keyPrefix is the prefix of all keys.
func (p *program) keyPrefix() string { return cmp.Or(or(p.prefix, prefixVariable), "redlock") }

// hash is the key of a node's locks and of its guard.
func (p *program) hash() string { return "{" + p.keyPrefix() + "}" }

// settings returns the nodes' URLs and the Locker options that the flags set. secure is the TLS configuration among
// them, or nil.
func (p *program) settings() (urls []string, options []redlock.Option, secure *tls.Config, err error) {
	if urls, err = p.addresses(); err != nil {
		return nil, nil, nil, err
	}
	if secure, err = p.secure(); err != nil {
		return nil, nil, nil, err
	}
	options = []redlock.Option{
		redlock.WithKeyPrefix(p.keyPrefix()), redlock.WithTTL(p.ttl),
		// Longer than the default for short TTLs, because a program that has just started is slow.
		redlock.WithNodeTimeout(min(200*time.Millisecond, p.ttl/10)),
	}
	if p.maxTTL > 0 {
		options = append(options, redlock.WithMaxTTL(p.maxTTL))
	}
	if p.unseen {
		options = append(options, redlock.WithUnseenRestarts())
	}
	if secure != nil {
		options = append(options, redlock.WithTLS(secure))
	}
	return urls, options, secure, nil
}

// locker connects to the nodes. The caller closes it.
func (p *program) locker() (*redlock.Locker, error) {
	urls, options, _, err := p.settings()
	if err != nil {
		return nil, exit{misused, err}
	}
	l, err := redlock.Open(urls, options...)
	if err != nil {
		return nil, exit{misused, err}
	}
	return l, nil
}

// clients returns clients like those of a Locker. The caller closes them.
func (p *program) clients() ([]*redis.Client, error) {
	urls, options, secure, err := p.settings()
	if err != nil {
		return nil, err
	}
	l, err := redlock.Open(urls, options...) // only to check the settings
	if err != nil {
		return nil, err
	}
	_ = l.Close(context.Background()) // it was not used, so there is nothing to wait for
	var all []*redis.Client
	for _, url := range urls {
		o, err := redlock.ClientOptions(url)
		if err != nil {
			return nil, err // none is connected yet
		}
		if secure != nil {
			own := secure.Clone()
			own.ServerName = o.TLSConfig.ServerName // Open has checked that all URLs are rediss://
			o.TLSConfig = own
		}
		o.MaxRetries = -1 // the user repeats the command
		all = append(all, redis.NewClient(o))
	}
	return all, nil
}
