package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolsearch/toolsearch/source/plugin"
)

func newPlugins(app *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "plugins",
		Short: "List, add and remove installed plugins",
		Long: `A plugin is a folder with a manifest, plugin.json5: tools, hooks, and how to start
the process behind the tools. Installing one means trusting it: its process runs
as you, and its hooks see and may change the calls they match.

Plugins live in toolsearch/plugins under the user's data folder (XDG_DATA_HOME).`,
		Example: `  toolsearch plugins add ./examples/plugins/crm
  toolsearch plugins list
  toolsearch plugins remove crm`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPluginsList(app), newPluginsAdd(app), newPluginsRemove(app))
	return c
}

func newPluginsList(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the installed plugins",
		Long:  "List shows the installed plugins. The exit code is 1 when one of them is faulty.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := plugin.DefaultRoot()
			if err != nil {
				return err
			}
			plugins, problems := plugin.Installed(cmd.Context(), root)
			if asJSON {
				err = printPluginsJSON(app.std, plugins, problems)
			} else {
				err = printPlugins(app.std, plugins, problems)
			}
			if err != nil {
				return err
			}
			if len(problems) > 0 {
				return silentError{ExitFailed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func printPlugins(s *streams, plugins []*plugin.Plugin, problems []plugin.Problem) error {
	for _, p := range problems {
		fmt.Fprintf(s.err, "warning: left out: %s\n", cleanBlock(p.Error()))
	}
	if len(plugins) == 0 {
		if len(problems) == 0 {
			fmt.Fprintln(s.err, "no plugin is installed: add one with 'toolsearch plugins add FOLDER'")
		}
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PLUGIN\tVERSION\tTOOLS\tHOOKS\tDESCRIPTION")
	for _, p := range plugins {
		about := p.Description
		if about == "" {
			about = p.Name
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", p.ID, oneLine(p.Version, 40), len(p.Tools), len(p.Hooks), oneLine(about, 120))
	}
	return w.Flush()
}

func newPluginsAdd(app *app) *cobra.Command {
	var opt pluginAdd
	c := &cobra.Command{
		Use:   "add FOLDER",
		Short: "Install the plugin in a folder",
		Long: `Add copies the folder (without .git) into the user's data folder, reads the copy,
shows what it will be trusted with, and asks before it is installed. Symbolic
links may only lead to something inside the folder.`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opt.from = args[0]
			return addPlugin(cmd.Context(), app, opt)
		},
	}
	c.Flags().BoolVar(&opt.yes, "yes", false, "do not ask; needed where nobody can be asked")
	c.Flags().BoolVar(&opt.replace, "replace", false, "replace the installed plugin of the same id")
	c.Flags().BoolVar(&opt.json, "json", false, "print the installed plugin as JSON")
	return c
}

type pluginAdd struct {
	from               string
	yes, replace, json bool
}

func addPlugin(ctx context.Context, app *app, opt pluginAdd) error {
	root, err := plugin.DefaultRoot()
	if err != nil {
		return err
	}
	staged, err := plugin.Stage(ctx, root, opt.from)
	if err != nil {
		return notAPlugin(err)
	}
	if err := agreed(ctx, app, staged, opt); err != nil {
		return errors.Join(err, staged.Discard())
	}
	if err := staged.Commit(ctx, opt.replace); err != nil {
		return installedHint(err)
	}
	if opt.json {
		return app.std.printJSON(pluginJSONOf(staged.Plugin))
	}
	_, err = fmt.Fprintf(app.std.out, "installed %s in %s\n", staged.Plugin.ID, staged.Plugin.Dir)
	return err
}

// agreed returns nil when the plugin may be installed.
func agreed(ctx context.Context, app *app, staged *plugin.Staged, opt pluginAdd) error {
	if staged.Replaces && !opt.replace {
		return installedHint(fmt.Errorf("add plugin %q: %w", staged.Plugin.ID, plugin.ErrInstalled))
	}
	printTrust(app.std, staged.Plugin)
	if err := askable(ctx, opt.from); err != nil {
		return err
	}
	if err := app.printDoubts(ctx, opt.from); err != nil {
		return err
	}
	if err := byAPerson(fmt.Sprintf("add plugin %q", staged.Plugin.ID)); err != nil {
		return err
	}
	if opt.yes {
		return nil
	}
	if !app.std.interactive() {
		return hintError{usagef("add plugin %q: it was not confirmed, and nobody can be asked here", staged.Plugin.ID), "read the above, and repeat the command with --yes"}
	}
	question := "Install it"
	if staged.Replaces {
		question = "Replace the installed one"
	}
	yes, err := app.std.confirm(ctx, question+" and trust it with that?")
	switch {
	case err != nil:
		return fmt.Errorf("add plugin %q: %w", staged.Plugin.ID, err)
	case !yes:
		fmt.Fprintln(app.std.err, "nothing was installed")
		return silentError{ExitRefused}
	}
	return nil
}

// installedHint adds what to do about an id that is taken.
func installedHint(err error) error {
	if errors.Is(err, plugin.ErrInstalled) {
		return hintError{err, "repeat the command with --replace to install it all the same"}
	}
	return err
}

func newPluginsRemove(app *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "remove ID",
		Short:             "Delete an installed plugin",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFirst(completePlugins),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Its hooks may be what a model wants out of its way.
			if err := byAPerson("remove plugin " + oneLine(args[0], 100)); err != nil {
				return err
			}
			root, err := plugin.DefaultRoot()
			if err != nil {
				return err
			}
			if err := plugin.Remove(cmd.Context(), root, args[0]); err != nil {
				if errors.Is(err, plugin.ErrNotInstalled) {
					return hintError{err, "list what is installed with 'toolsearch plugins list'"}
				}
				return err
			}
			if asJSON {
				return app.std.printJSON(struct {
					Removed string `json:"removed"`
				}{args[0]})
			}
			_, err = fmt.Fprintf(app.std.out, "removed %s\n", args[0])
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

// completePlugins completes the ids of installed plugins.
func completePlugins(ctx context.Context) []string {
	root, err := plugin.DefaultRoot()
	if err != nil {
		return nil
	}
	plugins, _ := plugin.Installed(ctx, root) // no completions for what is faulty
	ids := make([]string, 0, len(plugins))
	for _, p := range plugins {
		ids = append(ids, fmt.Sprintf("%s\t%s", p.ID, oneLine(p.Name, 60)))
	}
	return ids
}
