package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func newDescribe(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "describe ID",
		Short:             "Show one tool and the schema of its parameters",
		Example:           `  toolsearch describe mcp:calendar:create_event`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(app.completeTools),
		RunE: func(cmd *cobra.Command, args []string) error {
			cat, done, err := app.catalogFor(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer done()
			d, err := cat.DescribeShown(args[0])
			if err != nil {
				return err
			}
			raw, err := d.MarshalJSON()
			if err != nil {
				return err
			}
			if asJSON {
				return app.std.printJSON(json.RawMessage(raw))
			}
			s := app.std
			fmt.Fprintf(s.out, "%s  %s\n", s.bold(oneLine(d.Name, 128)), s.dim(oneLine(string(d.ID), 300)))
			fmt.Fprintf(s.out, "%s\n\n", cleanBlock(d.Hit.Description))
			parameters, err := json.MarshalIndent(d.Tool.Input.JSON(), "", "  ")
			if err != nil {
				return fmt.Errorf("print the parameters of %s: %w", d.ID, err)
			}
			fmt.Fprintf(s.out, "parameters %s\n", parameters)
			if d.Tool.Output == nil {
				return nil
			}
			output, err := json.MarshalIndent(d.Tool.Output.JSON(), "", "  ")
			if err != nil {
				return fmt.Errorf("print the output schema of %s: %w", d.ID, err)
			}
			_, err = fmt.Fprintf(s.out, "\nresult %s\n", output)
			return err
		},
	}
	app.catalogFlags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	return c
}
