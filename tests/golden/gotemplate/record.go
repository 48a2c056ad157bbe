// Fills cases.json with what Go's text/template makes of the cases: go run record.go cases.json
//
// The file is {"data": {NAME: ...}, "cases": [{"template": ..., "data": NAME}]}. Each case gets either "output", or
// "error_line": the line that Go's error names, 0 if it names none. The option missingkey=error is set. Bytes of an output
// that are no UTF-8 become U+FFFD.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"
)

type testCase struct {
	Template  string  `json:"template"`
	Data      string  `json:"data"`
	Output    *string `json:"output,omitempty"`
	ErrorLine *int    `json:"error_line,omitempty"`
}

type testFile struct {
	Data  map[string]json.RawMessage `json:"data"`
	Cases []*testCase                `json:"cases"`
}

const maxOutput = 256 * 1024

var line = regexp.MustCompile(`^template: [^:]*:([0-9]+):`)

// The tests define these functions too.
var functions = template.FuncMap{
	"list": func(values ...any) []any { return values },
	"pair": func(first, second any) []any { return []any{first, second} },
	"none": func() any { return nil },
	"fail": func(message any) (any, error) { return nil, errors.New(fmt.Sprint(message)) },
}

// A page refuses more than maxOutput bytes, and everything once it is closed.
type page struct {
	text   bytes.Buffer
	closed bool
}

func (p *page) Write(piece []byte) (int, error) {
	if p.closed || p.text.Len()+len(piece) > maxOutput {
		return 0, errors.New("too long")
	}
	return p.text.Write(piece)
}

// values reads JSON; numbers with a point or an exponent are float64, others int.
func values(raw []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return numbers(value)
}

func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			float, _ := value.Float64()
			return float
		}
		integer, err := strconv.Atoi(value.String())
		if err != nil {
			panic(err)
		}
		return integer
	case []any:
		for at := range value {
			value[at] = numbers(value[at])
		}
	case map[string]any:
		for key := range value {
			value[key] = numbers(value[key])
		}
	}
	return value
}

func execute(text string, data any, output *page) error {
	parsed, err := template.New("template").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return err
	}
	return parsed.Execute(output, data)
}

func record(each *testCase, data any) {
	each.Output, each.ErrorLine = nil, nil
	output := new(page)
	done := make(chan error, 1)
	go func() { done <- execute(each.Template, data, output) }()
	var err error
	select {
	case err = <-done:
	case <-time.After(5 * time.Second):
		err = errors.New("endless")
		output.closed = true
	}
	if err == nil {
		text := output.text.String()
		each.Output = &text
		return
	}
	number := 0
	if found := line.FindStringSubmatch(err.Error()); found != nil {
		number, _ = strconv.Atoi(found[1])
	}
	each.ErrorLine = &number
}

// shown gives JSON on one line.
func shown(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(text.String())
}

func main() {
	path := os.Args[1]
	content, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	var file testFile
	if err := json.Unmarshal(content, &file); err != nil {
		panic(err)
	}
	var data, cases []string
	for name, value := range file.Data {
		data = append(data, shown(name)+": "+shown(value))
	}
	sort.Strings(data)
	for _, each := range file.Cases {
		value, ok := file.Data[each.Data]
		if !ok {
			panic("no data " + each.Data)
		}
		record(each, values(value))
		cases = append(cases, shown(each))
	}
	text := fmt.Sprintf(
		"{\"data\": {\n%s\n}, \"cases\": [\n%s\n]}\n",
		strings.Join(data, ",\n"), strings.Join(cases, ",\n"),
	)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		panic(err)
	}
}
