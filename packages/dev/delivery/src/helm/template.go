// Renders templates with Go's text/template, the engine of Helm, where Helm itself is not to be had. Only what the generated
// chart needs: the function toJson. Reads {"templates": {path: text}, "data": {"Values": ..., "Release": ...}}.
package main

import (
	"encoding/json"
	"os"
	"text/template"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var input struct {
		Templates map[string]string
		Data      map[string]any
	}
	check(json.NewDecoder(os.Stdin).Decode(&input))
	functions := template.FuncMap{"toJson": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}}
	for path, text := range input.Templates {
		parsed, err := template.New(path).Funcs(functions).Option("missingkey=error").Parse(text)
		check(err)
		check(parsed.Execute(os.Stdout, input.Data))
		os.Stdout.WriteString("\n---\n")
	}
}
