// Says what sigs.k8s.io/yaml makes of values and of texts: reads {"write": VALUE} or {"read": TEXT} from each line of its
// input, and answers each with the same line and what came of it: the "output", which is YAML or else the JSON of what
// was read, or the "error". toYaml and fromYaml of Tinkerbell do nothing else. Whatever is not ASCII is escaped.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

type exchange struct {
	Write  json.RawMessage `json:"write,omitempty"`
	Read   *string         `json:"read,omitempty"`
	Output *string         `json:"output,omitempty"`
	Error  *string         `json:"error,omitempty"`
}

func told(asked exchange) (output string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	var value any
	if asked.Read == nil {
		check(json.Unmarshal(asked.Write, &value))
		text, err := yaml.Marshal(value)
		return string(text), err
	}
	if err := yaml.Unmarshal([]byte(*asked.Read), &value); err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func ascii(text []byte) []byte {
	var written []byte
	for _, character := range string(text) {
		if character < 0x7f {
			written = append(written, byte(character))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, character) {
			written = fmt.Appendf(written, "\\u%04x", unit)
		}
	}
	return written
}

func main() {
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	writer := bufio.NewWriter(os.Stdout)
	decoder := json.NewDecoder(reader)
	for decoder.More() {
		var asked exchange
		check(decoder.Decode(&asked))
		output, err := told(asked)
		asked.Output, asked.Error = &output, nil
		if err != nil {
			problem := err.Error()
			asked.Output, asked.Error = nil, &problem
		}
		line, err := json.Marshal(asked)
		check(err)
		_, err = writer.Write(append(ascii(line), '\n'))
		check(err)
		check(writer.Flush())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
