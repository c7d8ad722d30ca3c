package main

import "strconv"

// reader reads JSON once from left to right and allocates nothing; it panics where a request is none.
type reader struct {
	text []byte
	at   int
}

const deepest = 64 // a stack is finite

func (r *reader) take(wanted byte) bool {
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
	if r.at == len(r.text) || r.text[r.at] != wanted {
		return false
	}
	r.at++
	return true
}

func (r *reader) expect(wanted byte) {
	if !r.take(wanted) {
		panic("a request lacks " + string(rune(wanted)))
	}
}

// string is a view of the request. Escapes are not decoded: the names in these requests have none.
func (r *reader) string() []byte {
	r.expect('"')
	start := r.at
	for r.at < len(r.text) && r.text[r.at] != '"' {
		if r.text[r.at] == '\\' {
			r.at++
		}
		r.at++
	}
	if r.at >= len(r.text) {
		panic("a string has no end")
	}
	r.at++
	return r.text[start : r.at-1]
}

func (r *reader) bare() []byte {
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
	start := r.at
	for r.at < len(r.text) && r.text[r.at] != ',' && r.text[r.at] != '}' && r.text[r.at] != ']' {
		r.at++
	}
	return r.text[start:r.at]
}

func (r *reader) number() int {
	value, err := strconv.Atoi(string(r.bare())) // short strings stay on the stack
	if err != nil {
		panic("a number was expected")
	}
	return value
}

func (r *reader) object(member func(name []byte)) {
	r.expect('{')
	if r.take('}') {
		return
	}
	for {
		name := r.string()
		r.expect(':')
		member(name)
		if !r.take(',') {
			break
		}
	}
	r.expect('}')
}

func (r *reader) array(element func()) {
	r.expect('[')
	if r.take(']') {
		return
	}
	for {
		element()
		if !r.take(',') {
			break
		}
	}
	r.expect(']')
}

// skip goes over any value.
func (r *reader) skip(depth int) {
	if depth > deepest {
		panic("a request is nested too deeply")
	}
	if r.take('"') {
		r.at--
		r.string()
	} else if r.take('{') {
		r.at--
		r.object(func([]byte) { r.skip(depth + 1) })
	} else if r.take('[') {
		r.at--
		r.array(func() { r.skip(depth + 1) })
	} else {
		r.bare()
	}
}
