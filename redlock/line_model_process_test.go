package redlock_test

import "fmt"

// ask sends the process's request to nodes: to those of the line, or to all that were not asked.
func (w *modelWorld) ask(s *modelState, p int, all bool) {
	q := &s.procs[p]
	q.phase, q.timer = modelAsking, 0
	for i := range w.nodes {
		asks := all || w.lists(p, i)
		if q.one && !all {
			asks = asks && (w.nodes == 1 || q.turn == (i == w.first(p)))
		}
		if q.answers[i].code == modelNotAsked && asks {
			q.answers[i].code = modelPending
			q.send(i, modelRequest{kind: modelAcquire, value: w.value(s, p)})
		}
	}
}

func (w *modelWorld) attempt(s *modelState, p int, all bool) {
	q := &s.procs[p]
	q.answers = [modelNodes]modelAnswer{}
	all = all || q.confirm || !w.has(modelFirst)
	q.one, q.turn = !all && q.known != 0 && w.has(modelAgain), !q.turn
	w.ask(s, p, all)
	q.confirm = false
}

func (q *modelProc) send(i int, r modelRequest) {
	for j := range q.sent[i] {
		if q.sent[i][j].kind == 0 {
			q.sent[i][j] = r
			return
		}
	}
	panic("too many requests under way")
}

func (q *modelProc) count(codes ...modelCode) (n int) {
	for i := range q.answers {
		for _, c := range codes {
			if q.answers[i].code == c {
				n++
			}
		}
	}
	return n
}

// answered goes on with an attempt after an answer.
func (w *modelWorld) answered(s *modelState, p int) {
	q := &s.procs[p]
	switch {
	case q.count(modelGranted) >= w.need():
		w.won(s, p)
	case q.count(modelGranted, modelLost) > 0 && q.count(modelNotAsked) > modelNodes-w.nodes:
		w.ask(s, p, true)
	case q.count(modelPending) == 0:
		w.failed(s, p)
	}
}

func (w *modelWorld) won(s *modelState, p int) {
	q := &s.procs[p]
	q.phase, q.timer, q.woken, q.overtaken, q.known, q.one, q.turn = modelHolding, w.hold, 0, 0, 0, false, false
	q.wants--
	q.answers, q.messages = [modelNodes]modelAnswer{}, [4]modelMessage{}
	for other := range w.procs {
		o := &s.procs[other]
		if other != p && (o.phase == modelAsking || o.phase == modelWaiting) {
			o.overtaken++
		}
	}
}

// clean removes what an attempt has left.
func (w *modelWorld) clean(s *modelState, p int, goesOn bool) {
	q := &s.procs[p]
	tell := q.count(modelGranted, modelLost, modelPending) >= w.need() && w.has(modelFailed)
	for i := range w.nodes {
		switch q.answers[i].code {
		case modelGranted, modelLost, modelPending:
			q.send(i, modelRequest{kind: modelClean, value: w.value(s, p), first: goesOn && w.lists(p, i), tell: tell})
		}
	}
}

// failed decides when to ask again. A process knows the holder, how long the hold lasts, and whether it is confirmed.
func (w *modelWorld) failed(s *modelState, p int) {
	q := &s.procs[p]
	w.clean(s, p, true)
	q.phase, q.timer = modelWaiting, 1 // a short backoff, if it learns nothing
	var holder modelValue
	var left, place int8
	votes := 0
	for i := range w.nodes {
		a := q.answers[i]
		if a.code != modelHeld {
			continue
		}
		n, until, k := 0, int8(0), int8(0)
		for _, b := range q.answers {
			if b.code == modelHeld && b.value == a.value {
				n, until, k = n+1, max(until, b.left), max(k, b.place)
			}
		}
		if n > votes {
			holder, votes, left, place = a.value, n, until, k
		}
	}
	if q.one && holder == q.known {
		votes = min(2, w.need()) // the hold that they confirmed goes on
	}
	if q.known, q.one = 0, false; holder != 0 {
		q.more = [modelNodes]int8{}
	}
	switch {
	case q.count(modelGranted) > 0: // the lock is being released, or others ask for it as well
	case holder != 0 && votes >= min(2, w.need()):
		q.timer, q.known = left+place, holder
	case holder != 0:
		q.timer = left + place
		if w.has(modelAsk) {
			q.timer, q.confirm = min(q.timer, modelConfirm), true
		}
	case q.count(modelQueued) > 0:
		q.timer = modelLong
		for _, a := range q.answers {
			if a.code == modelQueued {
				q.timer = min(q.timer, a.left)
			}
		}
	}
	q.answers = [modelNodes]modelAnswer{}
	if q.woken > 0 {
		woken := q.woken
		q.woken = 0
		w.woken(s, p, woken == 2)
	}
}

// receive handles a message of a node.
func (w *modelWorld) receive(s *modelState, p int, m modelMessage) {
	q := &s.procs[p]
	if q.phase == modelAsking {
		if q.woken != 1 {
			q.woken = 1
			if m.second {
				q.woken = 2
			}
		}
		return
	}
	w.woken(s, p, m.second)
}

func (w *modelWorld) woken(s *modelState, p int, second bool) {
	if second {
		s.procs[p].timer = min(s.procs[p].timer, 1)
	} else {
		w.attempt(s, p, true)
	}
}

// leave ends the wait of a process.
func (w *modelWorld) leave(s *modelState, p int) {
	q := &s.procs[p]
	if q.phase == modelAsking {
		w.clean(s, p, false)
	}
	for i := range w.nodes {
		q.leaves[i] = w.lists(p, i) && w.has(modelLeave)
	}
	q.phase, q.timer, q.answers, q.messages = modelDone, 0, [modelNodes]modelAnswer{}, [4]modelMessage{}
	q.known, q.one, q.turn = 0, false, false
	if w.again {
		q.phase, q.holds = modelIdle, (q.holds+1)%4
	}
}

func (w *modelWorld) release(s *modelState, p int) {
	q := &s.procs[p]
	for i := range w.nodes {
		q.send(i, modelRequest{kind: modelRelease, value: w.value(s, p)})
	}
	q.holds, q.more = (q.holds+1)%4, [modelNodes]int8{}
	q.phase = modelDone
	if q.wants > 0 {
		q.phase = modelIdle
	}
}

const modelTicks = "a tick passes"

// each visits everything that may happen next.
func (w *modelWorld) each(s modelState, visit func(what string, p, i int, next *modelState) bool) {
	stop := false
	do := func(what string, p, i int, change func(next *modelState)) {
		if !stop {
			next := s
			change(&next)
			stop = !visit(what, p, i, &next)
		}
	}
	still := true // nothing is due: time may pass
	for p := range w.procs {
		q := &s.procs[p]
		alive := q.phase != modelDead && q.phase != modelHung
		for i := range w.nodes {
			r := q.sent[i][0]
			if r.kind == 0 {
				continue
			}
			still = still && w.delay && !r.age
			do("handles", p, i, func(next *modelState) {
				next.procs[p].pop(i)
				a := w.handle(next, i, p, r)
				w.answer(next, p, i, r, a)
			})
			if s.faults.lose > 0 {
				do("handles, but the reply is lost", p, i, func(next *modelState) {
					next.faults.lose--
					next.procs[p].pop(i)
					w.handle(next, i, p, r)
					w.answer(next, p, i, r, modelAnswer{code: modelLost})
				})
				do("never gets it", p, i, func(next *modelState) {
					next.faults.lose--
					next.procs[p].pop(i)
					w.answer(next, p, i, r, modelAnswer{code: modelLost})
				})
			}
		}
		if !alive {
			continue
		}
		for j, m := range q.messages {
			if m.value == 0 {
				break
			}
			still = still && w.delay && !m.age
			do("hears", p, j, func(next *modelState) {
				next.procs[p].drop(j)
				w.receive(next, p, m)
			})
			if s.faults.mute > 0 {
				do("never hears", p, j, func(next *modelState) {
					next.faults.mute--
					next.procs[p].drop(j)
				})
			}
		}
		w.eachOf(&s, p, &still, do)
	}
	for i := range w.nodes {
		w.eachNode(&s, i, do)
	}
	if still {
		do(modelTicks, -1, -1, func(next *modelState) { w.tick(next) })
	}
}

// eachOf visits what the process itself may do.
func (w *modelWorld) eachOf(s *modelState, p int, still *bool, do func(string, int, int, func(*modelState))) {
	q := &s.procs[p]
	asks := q.phase == modelAsking || q.phase == modelWaiting
	switch {
	case q.phase == modelIdle:
		do("wants the lock", p, -1, func(next *modelState) {
			hint := next.procs[p].hint
			next.procs[p].hint = false
			w.attempt(next, p, !hint)
		})
	case q.phase == modelWaiting && q.timer <= 0:
		*still = false
		do("asks", p, -1, func(next *modelState) { w.attempt(next, p, false) })
	case q.phase == modelHolding && q.timer <= 0:
		*still = false
		do("releases", p, -1, func(next *modelState) { w.release(next, p) })
	}
	for i, leaves := range q.leaves {
		if leaves {
			*still = false
			do("leaves", p, i, func(next *modelState) {
				n := &next.procs[p]
				n.leaves[i] = false
				if !asks || !w.has(modelKeep) {
					n.send(i, modelRequest{kind: modelLeaves, value: w.value(next, p)})
				}
			})
		}
	}
	for i, after := range q.more {
		if after == 1 {
			*still = false
			do("tells more", p, i, func(next *modelState) {
				n := &next.procs[p]
				n.more[i] = 0
				n.send(i, modelRequest{kind: modelTellsMore, value: n.over})
			})
		}
	}
	if asks && s.faults.reset > 0 {
		do("may have missed messages", p, -1, func(next *modelState) {
			next.faults.reset--
			n := &next.procs[p]
			n.messages = [4]modelMessage{}
			if n.phase == modelWaiting && w.has(modelMissed) {
				n.timer = min(n.timer, 1)
			} else if w.has(modelMissed) {
				n.woken = max(n.woken, 2)
			}
		})
	}
	if asks && s.faults.end > 0 {
		do("waits no more", p, -1, func(next *modelState) {
			next.faults.end--
			w.leave(next, p)
		})
	}
	stop := func(phase modelPhase) func(*modelState) {
		return func(next *modelState) {
			n := &next.procs[p]
			n.phase, n.timer, n.woken, n.messages = phase, 0, 0, [4]modelMessage{}
			n.known, n.one, n.turn, n.more = 0, false, false, [modelNodes]int8{}
			n.answers, n.overtaken = [modelNodes]modelAnswer{}, 0
		}
	}
	if (asks || q.phase == modelHolding) && s.faults.crash > 0 {
		do("crashes", p, -1, func(next *modelState) { next.faults.crash--; stop(modelDead)(next) })
	}
	if asks && s.faults.hang > 0 {
		do("hangs", p, -1, func(next *modelState) { next.faults.hang--; stop(modelHung)(next) })
	}
}

// eachNode visits what may happen to the node.
func (w *modelWorld) eachNode(s *modelState, i int, do func(string, int, int, func(*modelState))) {
	if s.faults.flush > 0 && s.nodes[i].n > 0 {
		do("loses its line", -1, i, func(next *modelState) {
			next.faults.flush--
			next.nodes[i].n, next.nodes[i].line = 0, [modelProcs]modelEntry{}
		})
	}
	for _, by := range []int8{-4, 4} {
		if s.faults.step > 0 {
			do(fmt.Sprintf("clock is stepped by %d", by), -1, i, func(next *modelState) {
				next.faults.step--
				n := &next.nodes[i]
				n.left -= by
				for k := range n.n {
					n.line[k].until -= by
				}
			})
		}
	}
}

func (q *modelProc) pop(i int) {
	copy(q.sent[i][:], q.sent[i][1:])
	q.sent[i][len(q.sent[i])-1] = modelRequest{}
}

func (q *modelProc) drop(j int) {
	copy(q.messages[j:], q.messages[j+1:])
	q.messages[len(q.messages)-1] = modelMessage{}
}

// answer gives the process the reply of a node, if it still waits for it.
func (w *modelWorld) answer(s *modelState, p, i int, r modelRequest, a modelAnswer) {
	q := &s.procs[p]
	if r.kind == modelAcquire && r.value == w.value(s, p) && q.phase == modelAsking && q.answers[i].code == modelPending {
		q.answers[i] = a
		w.answered(s, p)
	}
}
