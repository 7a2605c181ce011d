import { command, type CommandEntry } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"

const entry = (name: string, short: string, load: CommandEntry["load"], aliases?: readonly string[]): CommandEntry => ({
  name,
  short,
  load,
  ...(aliases === undefined ? {} : { aliases }),
})

/** Source of this folder: kubectl pkg/cmd/config. */
export const configCommand = command({
  use: "config SUBCOMMAND",
  noFlagsInUse: true,
  short: "Modify kubeconfig files",
  long: `
Modify kubeconfig files with commands such as "kubectl config set current-context my-context".

 Which files are read:

  1.  With the flag --kubeconfig, that file and no other. The flag may be given once.
  2.  With the variable $KUBECONFIG, the files of this list of paths, merged. A value is changed in the file that has it. A new value goes to the first file that exists, or to the last of the list if none does.
  3.  Otherwise \${HOME}/.kube/config alone.`,
  commands: [
    entry("current-context", "Display the current context", () =>
      import("./contexts.ts").then((file) => file.currentContextCommand),
    ),
    entry("delete-cluster", "Delete a cluster from the kubeconfig", () =>
      import("./delete.ts").then((file) => file.deleteClusterCommand),
    ),
    entry("delete-context", "Delete a context from the kubeconfig", () =>
      import("./delete.ts").then((file) => file.deleteContextCommand),
    ),
    entry("delete-user", "Delete a user from the kubeconfig", () =>
      import("./delete.ts").then((file) => file.deleteUserCommand),
    ),
    entry("get-clusters", "Display the clusters of the kubeconfig", () =>
      import("./names.ts").then((file) => file.getClustersCommand),
    ),
    entry("get-contexts", "Display one or many contexts of the kubeconfig", () =>
      import("./contexts.ts").then((file) => file.getContextsCommand),
    ),
    entry("get-users", "Display the users of the kubeconfig", () =>
      import("./names.ts").then((file) => file.getUsersCommand),
    ),
    entry("rename-context", "Rename a context of the kubeconfig", () =>
      import("./contexts.ts").then((file) => file.renameContextCommand),
    ),
    entry("set", "Set one value in a kubeconfig", () => import("./set.ts").then((file) => file.setCommand)),
    entry("set-cluster", "Set a cluster in the kubeconfig", () =>
      import("./set-cluster.ts").then((file) => file.setClusterCommand),
    ),
    entry("set-context", "Set a context in the kubeconfig", () =>
      import("./set-context.ts").then((file) => file.setContextCommand),
    ),
    entry("set-credentials", "Set a user in the kubeconfig", () =>
      import("./set-credentials.ts").then((file) => file.setCredentialsCommand),
    ),
    entry("unset", "Remove one value from a kubeconfig", () => import("./set.ts").then((file) => file.unsetCommand)),
    entry(
      "use-context",
      "Set the current context in a kubeconfig",
      () => import("./contexts.ts").then((file) => file.useContextCommand),
      ["use"],
    ),
    entry("view", "Display the kubeconfig, merged", () => import("./view.ts").then((file) => file.viewCommand)),
  ],
  run: defaultSubCommand("errOut"),
})
