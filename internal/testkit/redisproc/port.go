//go:build unix

package redisproc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports are chosen below those that the kernel gives to outgoing connections (Linux: from 32768), so
// that no such connection takes the port of a killed node before its restart. The ports of the cluster
// buses are above those of the nodes.
const (
	lowestPort = 10000
	busOffset  = 10000 // from a node's port to that of its cluster bus
	ports      = 10000 // to choose from; the highest bus is on 29999
)

var errPortTaken = errors.New("port taken by another process")

// port is a port that no other node on this machine has, running or not. As long as it is ours, we listen on it with
// UDP. No server uses UDP, and the kernel refuses the UDP port to a second process. So a killed node finds its port
// free when it restarts.
type port struct {
	addr string // host:port
	ours net.PacketConn
}

// takePort chooses a random port of 127.0.0.1. If that port or the port of its cluster bus is not free, it
// returns errPortTaken.
func takePort() (*port, error) {
	number := lowestPort + rand.IntN(ports)
	addr := loopback(number)
	ours, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, refused(addr, err)
	}
	if err := errors.Join(free(addr), free(loopback(number+busOffset))); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return &port{addr: addr, ours: ours}, nil
}

// give gives the port back.
func (p *port) give() error {
	if err := p.ours.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func free(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return refused(addr, err)
	}
	return l.Close()
}

func refused(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %w", addr, errPortTaken)
	}
	return err
}
