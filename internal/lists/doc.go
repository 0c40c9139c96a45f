// Package lists decides which nodes belong together. A list may change by a deploy, also while processes with an older list
// still run.
//
// A server is one run of data: it has an id, which is lost with the data. So an address may lead to another server than
// before. A list is a set of ids with a turn, which grows from list to list, and a hash of the addresses of the process that made it. Its
// label is a hash of all.
//
// # The promise
//
// Two lists never grant at a time, unless a majority of the one and a majority of the other always share a server that
// remembers. Nothing has to be remembered by people: whatever list of addresses a process has, it uses a list that is safe, or
// waits and says for what.
//
// # What a server remembers
//
// The list in which it is joined, and the lists that it has taken since, which a join forgets. It grants, and serves the leader's
// requests about jobs, only for the label of the joined list, and only while it has taken no other. A server with none is fresh: it is
// new, or has lost its data.
//
//   - look: returns what it remembers.
//   - enter: it gets an id if it has none, or if it is joined in a list that its caller knows to be over. That one it forgets, as if it
//     had lost its data.
//   - take: it no longer serves its list, if it is fresh, or nobody has used that list for the longest lease and a second since it
//     started, and the new list has a larger turn than each list that it remembers, and a majority of it, or the same addresses: then the
//     servers that are missing have lost their data. The same goes for each list to which it owes.
//   - join: a server that has taken a list, and no other since, joins it. A server that was in no list starts its guard. Another one
//     continues its fencing numbers above its clock, because a majority of the new list may lack the largest one of the old list.
//   - swap: a server changes to a list with at most one other server, also while the list is in use.
//   - force: a person decides. Leases may overlap if processes with the old list still run. It owes to no list any more.
//
// # What a server owes
//
// What an election has decided in a list may be on a minority of the next one, and on no server of the one after that. So a server that
// joins another list owes for each election that it knows, to the lists that it comes from, until a leader of that election has written
// all of its jobs in the joined list. Who asks servers to join tells each of them what the others owe: those that were fresh may be the
// only ones which the next list has. A leader hears all servers of its list, unless a majority owes nothing: so it finds what was decided.
// A debt ends after a month, because an election may have been renamed.
// A server that was fresh when a list was made, which has a majority of each list that is owed to, is new: it had nothing to lose, because
// what was decided is on others. It says so while it owes, also in later lists, until it loses something. One that comes in by a swap is
// not new: it takes the place of a server that lost what was decided. A leader opens no tick from before the start of a server that lacks
// the job, unless it is new. spec/changes.pml shows that each of these conditions is needed.
//
// # What a process does
//
// A process adopts a list if a majority of it is joined in it and no other server is heard. If there is none, it makes one: all
// addresses must answer, all servers take the list, and then join it. A majority of two lists in a row shares a server, which has taken
// the new list and so is unused with the old one for longer than a lease.
//
// A process forgets its list if all addresses answer, no majority serves it, and it cannot mend that.
//
// A process that has adopted a list also mends it. A server that is left behind swaps to it, enters again, or takes and joins it. If one
// has gone to a later list that has not come to be, as after a deploy that was rolled back, the others swap to one that is later still,
// with the same servers. A fresh server in the place of a missing one takes the next list, and the others swap. The fresh one joins
// when a majority of the old list has swapped, so that no majority is left there that could extend a lease for longer than the guard of
// the fresh one. Until then any majority of the new list consists of servers of the old list, and shares one with each of its majorities.
//
// # Assumptions
//
// No server gets an older file back while processes with an older list run. Of two lists in a row, a server in both keeps its data while
// they change. A server that comes in by a swap while nothing is owed learns of elections from their next leader: before that, the list
// does not change again. The first leader of a list has all jobs: what was decided about another one stays on the servers that know it. An
// address does not lead to another server while processes still use the one before, at two of three addresses at a time.
package lists
