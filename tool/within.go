package tool

// WithinEnv is a variable in the environment of whatever runs on behalf of a
// model: the commands of exec, MCP servers, plugins. What a person has to decide
// is refused where it is set, so that a model which reads how a call is approved
// does not go and approve it. It is a sign on the door, not a lock: a command
// that means to can take it off.
const WithinEnv = "TOOLSEARCH_WITHIN_TOOL"
