// Says what Go makes of templates: reads {"template": ..., "data": ...} from each line of its input, and answers each with a line
// that has either "output" or "error". A template at which Go ends the whole program gets no answer.
//
// The templates are executed by text/template with all functions of Sprig and the option missingkey=error, as Tinkerbell
// does it; with "functions": "few" with Go's own functions and some that the tests define too. Numbers of the data with a point or an exponent are float64, all others int; the data "structs" are what the
// function of that name gives. Bytes of an output that are no UTF-8 become U+FFFD.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

type question struct {
	Template  string          `json:"template"`
	Data      json.RawMessage `json:"data"`
	Functions string          `json:"functions"`
}

type answer struct {
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// Types such as those of Tinkerbell's hardware; snippets.py has the same values.
type address struct {
	Address string `json:"address,omitempty"`
	Netmask string `json:"netmask,omitempty"`
	Family  int64  `json:"family,omitempty"`
}

type dhcp struct {
	MAC         string   `json:"mac,omitempty"`
	Hostname    string   `json:"hostname,omitempty"`
	LeaseTime   int64    `json:"lease_time,omitempty"`
	NameServers []string `json:"name_servers,omitempty"`
	UEFI        bool     `json:"uefi"`
	IP          *address `json:"ip,omitempty"`
}

type card struct {
	DHCP        *dhcp `json:"dhcp,omitempty"`
	DisableDhcp bool  `json:"disableDhcp,omitempty"`
}

type metadata struct {
	State    string   `json:"state,omitempty"`
	Instance *address `json:"instance,omitempty"`
}

type hardware struct {
	Disks      []string
	Interfaces []card
	Metadata   metadata
	UserData   string
	VendorData *string
}

func structs() any {
	return map[string]any{
		"device_1": "08:00:27:00:00:01",
		"Hardware": hardware{
			Disks: []string{"/dev/sda", "/dev/nvme0n1"},
			Interfaces: []card{
				{DHCP: &dhcp{
					MAC: "08:00:27:00:00:01", Hostname: "one", LeaseTime: 86400, NameServers: []string{"1.1.1.1"},
					IP: &address{Address: "192.168.56.43", Netmask: "255.255.255.0", Family: 4},
				}},
				{DHCP: &dhcp{UEFI: true}, DisableDhcp: true},
				{},
			},
		},
	}
}

var functions = map[string]template.FuncMap{
	"": sprig.TxtFuncMap(),
	"few": {
		"list": func(values ...any) []any { return values },
		"pair": func(first, second any) []any { return []any{first, second} },
		"none": func() any { return nil },
		"fail": func(message any) (any, error) { return nil, errors.New(fmt.Sprint(message)) },
	},
}

const maxOutput = 256 * 1024

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

func execute(text string, known template.FuncMap, data any, output *page) (err error) {
	// Go itself ends some functions with a panic, which text/template does not catch everywhere.
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	parsed, err := template.New("template").Option("missingkey=error").Funcs(known).Parse(text)
	if err != nil {
		return err
	}
	return parsed.Execute(output, data)
}

func tell(asked question) answer {
	output := new(page)
	done := make(chan error, 1)
	data := values(asked.Data)
	go func() { done <- execute(asked.Template, functions[asked.Functions], data, output) }()
	var err error
	select {
	case err = <-done:
	case <-time.After(10 * time.Second):
		output.closed = true
		err = errors.New("endless")
	}
	if err != nil {
		text := err.Error()
		return answer{Error: &text}
	}
	text := output.text.String()
	return answer{Output: &text}
}

func values(raw []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	check(decoder.Decode(&value))
	if value == "structs" {
		return structs()
	}
	return numbers(value)
}

func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			float, err := value.Float64()
			check(err)
			return float
		}
		integer, err := strconv.Atoi(value.String())
		check(err)
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

func main() {
	// A map that contains itself ends the program when it is shown, and this sooner.
	debug.SetMaxStack(64 << 20)
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	writer := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	decoder := json.NewDecoder(reader)
	for decoder.More() {
		var asked question
		check(decoder.Decode(&asked))
		check(encoder.Encode(tell(asked)))
		check(writer.Flush())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
