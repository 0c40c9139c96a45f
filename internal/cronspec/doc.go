// Package cronspec reads the specs of cron jobs, and computes their ticks in any zone.
//
// [Parse] reads a spec. Everything else follows from the sets of values that it is parsed to: which instants are ticks, how many there
// are in a span of time, and the plan, which is the one text of all specs that mean the same. Ticks depend on the spec, the zone and
// the zone data alone, so they are the same on every replica with these data.
//
// Only the parser of github.com/robfig/cron is used. Its search loses days and months around changes of a zone's clock, and does not
// return for a day that the zone's clock jumped over.
package cronspec
