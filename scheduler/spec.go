package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/internal/cronspec"
)

// ErrSpec is wrapped by every error about a spec that cannot be parsed or would never fire.
var ErrSpec = errors.New("scheduler: bad spec")

// Parse reads a cron spec of at most 256 bytes:
//
//	[CRON_TZ=Zone] [second] minute hour day-of-month month day-of-week
//	[CRON_TZ=Zone] @yearly | @annually | @monthly | @weekly | @daily | @midnight | @hourly
//	@every 1h30m
//	@at 2026-12-01T09:00:00Z
//	[CRON_TZ=Zone] @at 2026-12-01T09:00:00
//
// A field is a list of *, ?, values and ranges, each with an optional /step. Months and weekdays have names, and Sunday is
// 0 or 7. A spec without seconds fires at second 0. TZ= means CRON_TZ=. Lists of days may also have:
//
//	L     in day-of-month, the last day of the month; L-3 is three days before it
//	15W   the day from Monday to Friday that is nearest to the 15th, in the same month; LW is the last one of the month
//	5#2   in day-of-week, the second Friday of the month
//	5L    the last Friday of the month
//
// A day has to match both day fields if one of them is * or ?, or if day-of-week begins with +, as in "0 0 13 * +fri". Otherwise it
// has to match only one of the two. Crontabs disagree on a field such as */2 beside another field that is restricted: it is refused,
// and the error has the specs for both readings. A spec whose date never comes, such as 31 February, is refused too.
//
// loc is the zone of a spec that names none; nil is UTC. The ticks depend on the spec, the zone and the zone data alone, so they are
// the same on every replica with these data. They are returned in UTC:
//
//   - @every d, in whole seconds, fires at the multiples of d since the Unix epoch, in any zone.
//   - @at fires once, at an instant or at a time of the zone's clock. A spec whose instant has passed is no error.
//   - If the zone's clock jumps forward, times that it jumped over fire once, at the first instant after the jump.
//   - If the clock is set back, a spec whose times of day are plain values (no * ? - / in hour, minute and second) fires
//     only the first time that the clock shows them. Any other spec fires both times.
//   - A spec that fires in every hour follows real time through both changes: it adds and omits nothing.
//
// An error wraps ErrSpec and names the spec and every bad field with the rule it breaks.
func Parse(spec string, loc *time.Location) (cron.Schedule, error) {
	schedule, err := cronspec.Parse(spec, loc)
	if err != nil {
		return nil, fmt.Errorf("%w %.64q: %w", ErrSpec, spec, err)
	}
	return schedule, nil
}
