package inside

import "time"

// Trouble is why work is not done, and since when. Nil: it is.
type Trouble struct {
	Err   error
	Since time.Time
}

// Next returns the trouble that begins with an error, or goes on with it. It returns nil if err is nil.
func (t *Trouble) Next(err error) *Trouble {
	switch {
	case err == nil:
		return nil
	case t == nil:
		return &Trouble{err, time.Now()}
	}
	return &Trouble{err, t.Since}
}
