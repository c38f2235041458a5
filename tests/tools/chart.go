// Executes templates with the parts that helm's engine is made of: Go's text/template, sprig, sigs.k8s.io/yaml.
// Values come as JSON on standard input, templates as arguments; each result follows a line "---".
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run chart.go TEMPLATE... < values.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

func toYaml(v interface{}) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func run() error {
	var values map[string]interface{}
	if err := json.NewDecoder(os.Stdin).Decode(&values); err != nil {
		return err
	}
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = toYaml
	for _, path := range os.Args[1:] {
		t, err := template.New(filepath.Base(path)).Funcs(functions).Option("missingkey=zero").ParseFiles(path)
		if err != nil {
			return err
		}
		fmt.Println("---")
		if err := t.Execute(os.Stdout, values); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
