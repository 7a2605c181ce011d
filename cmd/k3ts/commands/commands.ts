import type { Command, CommandGroup } from "../cli/command.ts"

/**
 * A command by its name. It is loaded when it is called, so that `k3ts version` does not load a whole cluster's code.
 */
export interface Entry {
  readonly name: string
  readonly summary: string
  load(): Promise<{ readonly default: Command | CommandGroup }>
}

/** What a user is told of commands that are not here: nothing, unlike in `package-commands.ts`. */
export const WHERE_OTHERS_ARE: string = ""

/** The commands for the history of a cluster. */
const PAST = {
  get: "Show objects, as they are or as they were",
  history: "Show who wrote what to objects, and when",
  diff: "Show what differs between two points of the history",
  timeline: "Show what happened to an object and to all that it depends on",
  undo: "Undo writes, also deletions",
  record: "Record what a cluster was and what has happened since, to play it in a test",
} as const

/** Every command, in the order of the help. */
export const COMMANDS: readonly Entry[] = [
  { name: "server", summary: "Run a cluster", load: () => import("./server.ts") },
  { name: "agent", summary: "Run a node of a cluster of other machines", load: () => import("./agent.ts") },
  {
    name: "kubectl",
    summary: "Run kubectl, for this cluster or any other",
    load: () => import("./kubectl.ts"),
  },
  ...(["get", "history", "diff", "timeline", "undo", "record"] as const).map((name) => ({
    name,
    summary: PAST[name],
    load: async () => ({ default: (await import("./kubectl-commands.ts")).KUBECTL_COMMANDS[name] }),
  })),
  {
    name: "why",
    summary: "Tell why an object is not well, or what in the cluster is not",
    load: () => import("./why.ts"),
  },
  {
    name: "what-if",
    summary: "Tell what a change would do, by making it in a copy of the cluster",
    load: () => import("./what-if.ts"),
  },
  {
    name: "fork",
    summary: "Run a command beside a copy of the cluster in memory",
    load: () => import("./fork.ts"),
  },
  {
    name: "test-cluster",
    summary: "Run a command beside a cluster in memory",
    load: () => import("./test-cluster.ts"),
  },
  {
    name: "test-assets",
    summary: "Make etcd and kube-apiserver for suites on envtest",
    load: () => import("./test-assets.ts"),
  },
  {
    name: "check-config",
    summary: "Check whether this machine has what k3ts needs",
    load: () => import("./check-config.ts"),
  },
  {
    name: "check-data",
    summary: "Check whether a cluster's stored data are whole",
    load: () => import("./check-data.ts"),
  },
  {
    name: "quarantine",
    summary: "Show and free what is skipped because it has ended the server",
    load: () => import("./quarantine.ts"),
  },
  {
    name: "snapshot",
    summary: "Save, list and restore snapshots of the cluster",
    load: () => import("./snapshot.ts"),
  },
  {
    name: "kubeconfig",
    summary: "Print a kubeconfig, of the administrator or of another user",
    load: () => import("./kubeconfig.ts"),
  },
  {
    name: "token",
    summary: "Tokens by which machines join, and tokens of the administrator and of service accounts",
    load: () => import("./token.ts"),
  },
  {
    name: "certificate",
    summary: "Show certificates and when they end, and replace them",
    load: () => import("./certificate.ts"),
  },
  {
    name: "secrets-encrypt",
    summary: "Encrypt Secrets on the disk, and change the keys",
    load: () => import("./secrets-encrypt.ts"),
  },
  { name: "images", summary: "Import, list and remove images of this node", load: () => import("./images.ts") },
  {
    name: "killall",
    summary: "Stop the server and its containers, and remove what they left on the host",
    load: () => import("./killall.ts"),
  },
  {
    name: "uninstall",
    summary: "Do what killall does, and remove the cluster's data",
    load: () => import("./uninstall.ts"),
  },
  {
    name: "completion",
    summary: "Print a script that completes commands and flags in a shell",
    load: () => import("./completion.ts"),
  },
  { name: "version", summary: "Show the version", load: () => import("./version.ts") },
]
