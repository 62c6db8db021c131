package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/internal/config"
)

func newConfig(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Read, change and check the configuration file",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newConfigGet(app), newConfigSet(app), newConfigUnset(app), newConfigValidate(app), newConfigPath(app))
	return c
}

// command is a command line of this program under the configuration it was given.
func (a *app) command(verb string) string {
	if a.configPath == "" {
		return "toolsearch " + verb
	}
	return "toolsearch --config " + config.ShellQuote(a.configPath) + " " + verb
}

// find locates the configuration file of the config verbs.
func (a *app) find() (config.Location, error) {
	return config.Find(config.FindOptions{Explicit: a.configPath})
}

func newConfigGet(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "get [KEY]",
		Short:   "Print what the file says of a key, as JSON",
		Long:    "Get prints the value as the file has it: variables such as ${TOKEN} stay as they are written.",
		Example: "  toolsearch config get mcp.servers.files.args[0]",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := app.find()
			if err != nil {
				return err
			}
			if !at.Exists {
				return hintError{fmt.Errorf("config get: there is no configuration file"), "'" + app.command("config set KEY VALUE") + "' creates " + at.Path}
			}
			raw, err := config.Get(cmd.Context(), at.Path, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return app.std.printJSON(raw)
		},
	}
	c.Flags().Bool("json", false, "print as JSON, which it does anyway")
	return c
}

func newConfigSet(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change one key; comments and formatting stay",
		Long: `Set reads VALUE as JSON5, and as plain text when it is none. The whole result is
checked before the file is replaced: on an error the file is as it was.`,
		Example: `  toolsearch config set tools.toolSearch.mode tools
  toolsearch config set mcp.servers.files '{command: "files-server", args: ["."]}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := byAPerson("set " + oneLine(args[0], 200)); err != nil {
				return err // the file says what may run, and who is asked
			}
			at, err := app.find()
			if err != nil {
				return err
			}
			change, err := config.Set(cmd.Context(), at.Path, args[0], args[1])
			return app.reportChange(change, err)
		},
	}
}

func newConfigUnset(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unset KEY",
		Short: "Remove one key; comments and formatting stay",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := byAPerson("unset " + oneLine(args[0], 200)); err != nil {
				return err
			}
			at, err := app.find()
			if err != nil {
				return err
			}
			if !at.Exists {
				return fmt.Errorf("config unset: there is no configuration file")
			}
			change, err := config.Unset(cmd.Context(), at.Path, args[0])
			return app.reportChange(change, err)
		},
	}
}

func (a *app) reportChange(c config.Change, err error) error {
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(a.std.err, "warning: %s\n", w)
	}
	switch {
	case c.Created:
		fmt.Fprintf(a.std.err, "created %s\n", c.Path)
	case c.Changed:
		fmt.Fprintf(a.std.err, "changed %s\n", c.Path)
	default:
		fmt.Fprintf(a.std.err, "%s was that way already\n", c.Path)
	}
	return nil
}

func newConfigValidate(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration file; every fault is listed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := app.find()
			if err != nil {
				return err
			}
			cfg, err := config.Load(cmd.Context(), at.LoadPath())
			if err != nil {
				return err
			}
			warnings, err := checkPolicies(cfg)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintf(app.std.err, "warning: %s\n", w)
			}
			for _, w := range warnings {
				fmt.Fprintf(app.std.err, "warning: %s\n", w)
			}
			if asJSON {
				return app.std.printJSON(struct {
					Path  string `json:"path,omitempty"`
					Valid bool   `json:"valid"`
				}{cfg.Path, true})
			}
			if cfg.Path == "" {
				fmt.Fprintln(app.std.err, "there is no configuration file; the defaults apply")
				return nil
			}
			fmt.Fprintf(app.std.err, "%s is valid\n", cfg.Path)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the outcome as JSON")
	return c
}

func newConfigPath(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "path",
		Short: "Print which file is used, or would be created",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			at, err := app.find()
			if err != nil {
				return err
			}
			if asJSON {
				return app.std.printJSON(struct {
					Path   string        `json:"path"`
					Origin config.Origin `json:"origin"`
					Exists bool          `json:"exists"`
				}{at.Path, at.Origin, at.Exists})
			}
			fmt.Fprintf(app.std.err, "from %s\n", at.Origin)
			_, err = fmt.Fprintln(app.std.out, at.Path)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}
