// Records what Sprig answers: reads cases.json, calls each function from a template, writes the answers back.
//
// Recorded with Go 1.26 and github.com/Masterminds/sprig/v3 v3.3.0. To record again, in an empty directory:
//
//	cp .../tests/golden/sprig/record.go main.go
//	go mod init record && go get github.com/Masterminds/sprig/v3@v3.3.0
//	go run . .../tests/golden/sprig
//
// To add a case, add a line such as {"call": ["trunc", 3, "abcdef"]} to cases.json and record again.
//
// A case has the call, a name and its arguments, and what Sprig gave: a result, or the text of an error. If the call
// changed its arguments, "changed" has them as they were then. Where tinkbox differs on purpose, "ours" has its result
// or error, and "why" the reason; both are written by hand. A number with a point or an exponent is a float64, all
// others are int. {"$float": "NaN"} and {"$bytes": "ff"}, in hex, stand for what JSON cannot say.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/semver/v3"
	"github.com/Masterminds/sprig/v3"
)

type answer struct {
	Call    json.RawMessage `json:"call"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *string         `json:"error,omitempty"`
	Changed json.RawMessage `json:"changed,omitempty"`
	Ours    json.RawMessage `json:"ours,omitempty"`
	Why     string          `json:"why,omitempty"`
}

func main() {
	folder := os.Args[1]
	recordNames(filepath.Join(folder, "names.json"))
	path := filepath.Join(folder, "cases.json")
	var cases []answer
	check(json.Unmarshal(read(path), &cases))
	lines := make([]string, len(cases))
	for index, each := range cases {
		lines[index] = plain(record(each))
	}
	check(os.WriteFile(path, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644))
}

func recordNames(path string) {
	hermetic := sprig.HermeticTxtFuncMap()
	names := map[string][]string{"hermetic": {}, "other": {}}
	for name := range sprig.TxtFuncMap() {
		kind := "other"
		if _, ok := hermetic[name]; ok {
			kind = "hermetic"
		}
		names[kind] = append(names[kind], name)
	}
	for _, each := range names {
		sort.Strings(each)
	}
	text, err := json.MarshalIndent(names, "", " ")
	check(err)
	check(os.WriteFile(path, append(text, '\n'), 0o644))
}

func record(given answer) answer {
	call := decode(given.Call).([]any)
	name, arguments := call[0].(string), call[1:]
	before := encode(arguments)
	var result any
	functions := sprig.TxtFuncMap()
	functions["argument"] = func(index int) any { return arguments[index] }
	functions["keep"] = func(value any) string { result = value; return "" }
	source := "{{ keep (" + name
	for index := range arguments {
		source += fmt.Sprintf(" (argument %d)", index)
	}
	parsed := template.Must(template.New("t").Funcs(functions).Parse(source + ") }}"))
	err := parsed.Execute(&bytes.Buffer{}, nil)
	recorded := answer{Call: given.Call, Ours: given.Ours, Why: given.Why}
	if err != nil {
		text := err.Error()
		for _, mark := range []string{"error calling " + name + ": ", ">: "} {
			if _, after, found := strings.Cut(text, mark); found {
				text = after
			}
		}
		recorded.Error = &text
		return recorded
	}
	recorded.Result = json.RawMessage(encode(result))
	if name == "keys" || name == "values" {
		recorded.Result = ordered(result)
	}
	if after := encode(arguments); after != before {
		recorded.Changed = json.RawMessage(after)
	}
	return recorded
}

// ordered sorts what Go gives in no order, by its JSON.
func ordered(result any) json.RawMessage {
	list := reflect.ValueOf(result)
	parts := make([]string, list.Len())
	for index := range parts {
		parts[index] = encode(list.Index(index).Interface())
	}
	sort.Strings(parts)
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

// decode reads JSON as the comment above says.
func decode(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	check(decoder.Decode(&value))
	return goValue(value)
}

func goValue(value any) any {
	switch value := value.(type) {
	case json.Number:
		if number, err := strconv.Atoi(value.String()); err == nil {
			return number
		}
		if number, err := strconv.ParseUint(value.String(), 10, 64); err == nil {
			return number
		}
		number, err := value.Float64()
		check(err)
		return number
	case []any:
		list := make([]any, len(value))
		for index, each := range value {
			list[index] = goValue(each)
		}
		return list
	case map[string]any:
		if text, ok := value["$float"].(string); ok {
			number, err := strconv.ParseFloat(text, 64)
			check(err)
			return number
		}
		if text, ok := value["$bytes"].(string); ok {
			data, err := hex.DecodeString(text)
			check(err)
			return string(data)
		}
		for key, each := range value {
			value[key] = goValue(each)
		}
	}
	return value
}

func encode(value any) string {
	if version, ok := value.(*semver.Version); ok {
		value = map[string]any{
			"Major": version.Major(), "Minor": version.Minor(), "Patch": version.Patch(),
			"Prerelease": version.Prerelease(), "Metadata": version.Metadata(), "Original": version.Original(),
		}
	}
	reflected := reflect.ValueOf(value)
	var parts []string
	switch reflected.Kind() {
	case reflect.Slice:
		for index := range reflected.Len() {
			parts = append(parts, encode(reflected.Index(index).Interface()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		for _, key := range reflected.MapKeys() {
			parts = append(parts, plain(key.String())+":"+encode(reflected.MapIndex(key).Interface()))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case reflect.Float64:
		return encodeFloat(reflected.Float())
	case reflect.String:
		if !utf8.ValidString(reflected.String()) {
			return plain(map[string]string{"$bytes": hex.EncodeToString([]byte(reflected.String()))})
		}
	}
	return plain(value)
}

func encodeFloat(value float64) string {
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return plain(map[string]string{"$float": text})
	}
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func plain(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	return strings.TrimSpace(text.String())
}

func read(path string) []byte {
	text, err := os.ReadFile(path)
	check(err)
	return text
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
