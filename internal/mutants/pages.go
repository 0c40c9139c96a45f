package main

// ofPages are mutations of what people and browsers meet.
var ofPages = []mutation{
	{
		name:  "another site may act",
		file:  "dashboard/handler.go",
		edits: []edit{{"own.Handler(mux)", "mux"}},
		pkg:   "./dashboard", test: "TestActions_AreRefused",
	},
	{
		name:  "whoever asks may act",
		file:  "dashboard/actions.go",
		edits: []edit{{"	if err := p.authorize(r); err != nil {\n", "	if err := p.authorize(r); err != nil && job == \"\" {\n"}},
		pkg:   "./dashboard", test: "TestActions_AreRefused",
	},
	{
		name:  "a form may be of any size",
		file:  "dashboard/actions.go",
		edits: []edit{{"		r.Body = http.MaxBytesReader(w, r.Body, maxBody)\n", ""}},
		pkg:   "./dashboard", test: "TestActions_AreRefused",
	},
	{
		name:  "a form leads anywhere",
		file:  "dashboard/actions.go",
		edits: []edit{{"			back = \"\"\n", "			_ = back\n"}},
		pkg:   "./dashboard", test: "TestActions_LeadBack",
	},
	{
		name:  "each page reads the nodes",
		file:  "internal/fresh/fresh.go",
		edits: []edit{{"time.Now().Before(until)", "time.Now().Before(until.Add(-v.For))"}},
		pkg:   "./internal/fresh", test: "TestGet_",
	},
	{
		name:  "what cannot be read is forgotten",
		file:  "dashboard/reader.go",
		edits: []edit{{"		p.err = err\n		return p\n", "		return part[T]{err: err}\n"}},
		pkg:   "./dashboard", test: "TestReader_Keeps",
	},
	{
		name:  "the page's streams outlive the server",
		file:  "dashboard/events.go",
		edits: []edit{{"		case <-p.open.Done():\n			return\n", ""}},
		pkg:   "./dashboard", test: "TestEvents_EndWithTheServer",
	},
	{
		name:  "a page shows stacks",
		file:  "dashboard/view.go",
		edits: []edit{{"	line, _, _ := strings.Cut(text, \"\\n\")\n", "	line := text\n"}},
		pkg:   "./dashboard", test: "TestAPI_|TestPage_",
	},
	{
		name:  "requests are sent on for ever",
		file:  "adapters/leaderhttp/middleware.go",
		edits: []edit{{"				if name == elector.Name() {\n", "				if name == \"\" {\n"}},
		pkg:   "./adapters/leaderhttp", test: "TestProxy_RefusesALoop",
	},
	{
		name:  "any text of a leader is a URL",
		file:  "adapters/leaderhttp/leader.go",
		edits: []edit{{" || base.Host == \"\" || base.Scheme != \"http\" && base.Scheme != \"https\" {", " {"}},
		pkg:   "./adapters/leaderhttp", test: "TestRedirect_WithoutAURL",
	},
	{
		name:  "jobs run on every replica",
		file:  "adapters/leadercron/leadercron.go",
		edits: []edit{{"if elector.IsLeader() {", "if elector != nil {"}},
		pkg:   "./adapters/leadercron", test: "TestOnLeader_",
	},
}
