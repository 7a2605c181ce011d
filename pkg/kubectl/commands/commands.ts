import type { CommandEntry } from "../command/command.ts"
import type { CommandGroup } from "../command/help.ts"

/** A command of the list: its file is loaded when it runs. */
const entry = (
  name: string,
  short: string,
  load: CommandEntry["load"],
  more: Pick<CommandEntry, "aliases" | "suggestFor" | "hidden" | "deprecated"> = {},
): CommandEntry => ({ name, short, load, ...more })

/** Every command. Where a command stands in help and in suggestions is below. */
const ALL: readonly CommandEntry[] = [
  entry("get", "Display one or many resources", () => import("./get/get.ts").then((file) => file.getCommand), {
    suggestFor: ["list", "ls"],
  }),
  entry(
    "describe",
    "Show details of a specific resource or group of resources",
    () => import("./describe.ts").then((file) => file.describeCommand),
    { suggestFor: ["inspect"] },
  ),
  entry("apply", "Apply a configuration to a resource by file or from the input", () =>
    import("./apply/apply.ts").then((file) => file.applyCommand),
  ),
  entry("create", "Create a resource from a file or from the input", () =>
    import("./create/create.ts").then((file) => file.createCommand),
  ),
  entry(
    "expose",
    "Take a replication controller, service, deployment or pod and expose it as a new Kubernetes service",
    () => import("./expose/expose.ts").then((file) => file.exposeCommand),
  ),
  entry("run", "Run a particular image on the cluster", () => import("./run/run.ts").then((file) => file.runCommand)),
  entry("set", "Set specific features on objects", () => import("./set/set.ts").then((file) => file.setCommand)),
  entry("patch", "Update fields of a resource", () => import("./patch.ts").then((file) => file.patchCommand)),
  entry("replace", "Replace a resource by a file or the input", () =>
    import("./replace.ts").then((file) => file.replaceCommand),
  ),
  entry("scale", "Set a new size for a deployment, replica set, or replication controller", () =>
    import("./scale/scale.ts").then((file) => file.scaleCommand),
  ),
  entry("autoscale", "Auto-scale a deployment, replica set, stateful set, or replication controller", () =>
    import("./autoscale/autoscale.ts").then((file) => file.autoscaleCommand),
  ),
  entry("cordon", "Mark node as unschedulable", () => import("./drain/cordon.ts").then((file) => file.cordonCommand)),
  entry("uncordon", "Mark node as schedulable", () => import("./drain/cordon.ts").then((file) => file.uncordonCommand)),
  entry("drain", "Drain node in preparation for maintenance", () =>
    import("./drain/drain.ts").then((file) => file.drainCommand),
  ),
  entry("taint", "Update the taints on one or more nodes", () =>
    import("./taint/taint.ts").then((file) => file.taintCommand),
  ),
  entry("logs", "Print the logs for a container in a pod", () =>
    import("./logs/logs.ts").then((file) => file.logsCommand),
  ),
  entry("exec", "Execute a command in a container", () => import("./exec/exec.ts").then((file) => file.execCommand)),
  entry("attach", "Attach to a running container", () => import("./exec/attach.ts").then((file) => file.attachCommand)),
  entry("port-forward", "Forward one or more local ports to a pod", () =>
    import("./port-forward/port-forward.ts").then((file) => file.portForwardCommand),
  ),
  entry("cp", "Copy files and folders to and from containers", () =>
    import("./cp/cp.ts").then((file) => file.cpCommand),
  ),
  entry("debug", "Create debugging sessions for troubleshooting workloads and nodes", () =>
    import("./debug/debug.ts").then((file) => file.debugCommand),
  ),
  entry("label", "Update the labels on a resource", () =>
    import("./metadata/label.ts").then((file) => file.labelCommand),
  ),
  entry("annotate", "Update the annotations on a resource", () =>
    import("./metadata/annotate.ts").then((file) => file.annotateCommand),
  ),
  entry(
    "delete",
    "Delete resources by files, the input, names, or a selector",
    () => import("./delete/delete.ts").then((file) => file.deleteCommand),
    { suggestFor: ["rm", "remove"] },
  ),
  entry("wait", "Wait for a specific condition on one or many resources", () =>
    import("./wait/wait.ts").then((file) => file.waitCommand),
  ),
  entry("rollout", "Manage the rollout of a resource", () =>
    import("./rollout/rollout.ts").then((file) => file.rolloutCommand),
  ),
  entry("proxy", "Run a proxy to the Kubernetes API server", () =>
    import("./proxy/proxy.ts").then((file) => file.proxyCommand),
  ),
  entry("edit", "Edit a resource on the server", () => import("./edit/edit.ts").then((file) => file.editCommand)),
  entry("certificate", "Modify certificate resources", () =>
    import("./certificate/certificate.ts").then((file) => file.certificateCommand),
  ),
  entry("auth", "Inspect authorization", () => import("./auth/auth.ts").then((file) => file.authCommand)),
  entry("events", "List events", () => import("./events/events.ts").then((file) => file.eventsCommand)),
  entry("why", "Tell why an object is not well", () => import("./why.ts").then((file) => file.whyCommand)),
  entry("top", "Display resource (CPU/memory) usage", () => import("./top/top.ts").then((file) => file.topCommand), {
    suggestFor: ["stats"],
  }),
  entry("config", "Modify kubeconfig files", () => import("./config/config.ts").then((file) => file.configCommand)),
  entry("explain", "Get documentation for a resource", () =>
    import("./explain.ts").then((file) => file.explainCommand),
  ),
  entry("version", "Print the versions of client and server", () =>
    import("./version.ts").then((file) => file.versionCommand),
  ),
  entry("api-versions", 'Print the versions of the API that the server has, as "group/version"', () =>
    import("./api-versions.ts").then((file) => file.apiVersionsCommand),
  ),
  entry("api-resources", "Print the resources that the server has", () =>
    import("./api-resources.ts").then((file) => file.apiResourcesCommand),
  ),
  entry("cluster-info", "Display addresses of the cluster", () =>
    import("./cluster-info.ts").then((file) => file.clusterInfoCommand),
  ),
  entry("plugin", "List plugins, which are further commands", () =>
    import("./plugin.ts").then((file) => file.pluginCommand),
  ),
  entry("diff", "Diff the live version against a would-be applied version", () =>
    import("./diff/diff.ts").then((file) => file.diffCommand),
  ),
  entry("kustomize", "Build a kustomization from a folder or an address", () =>
    import("./kustomize.ts").then((file) => file.kustomizeCommand),
  ),
  entry("completion", "Print a script that completes kubectl in a shell (bash, zsh, fish, or powershell)", () =>
    import("./completion.ts").then((file) => file.completionCommand),
  ),
  entry(
    "history",
    "Show who wrote what to objects, and when",
    () => import("./history/history.ts").then((file) => file.historyCommand),
    { hidden: true },
  ),
  entry(
    "changes",
    "Show what differs between two points of the history",
    () => import("./history/changes.ts").then((file) => file.changesCommand),
    { hidden: true },
  ),
  entry("alpha", "Commands for features in alpha", () => import("./alpha.ts").then((file) => file.alphaCommand), {
    hidden: true,
  }),
  entry("kuberc", "Manage kuberc configuration files", () =>
    import("./kuberc/kuberc.ts").then((file) => file.kubercCommand),
  ),
  entry(
    "timeline",
    "Show what happened to an object and to all that it depends on",
    () => import("./timeline/timeline.ts").then((file) => file.timelineCommand),
    { hidden: true },
  ),
  entry("undo", "Undo writes", () => import("./undo/undo.ts").then((file) => file.undoCommand), { hidden: true }),
  entry(
    "record",
    "Record what a cluster was and what has happened since",
    () => import("./record/record.ts").then((file) => file.recordCommand),
    { hidden: true },
  ),
  entry("options", "List the flags that every command has", () =>
    import("./options.ts").then((file) => file.optionsCommand),
  ),
]

/** The headings of the list of commands in `kubectl --help`. */
export const GROUPS: readonly CommandGroup[] = [
  { title: "Basic Commands (Beginner):", commands: ["create", "expose", "run", "set"] },
  { title: "Basic Commands (Intermediate):", commands: ["explain", "get", "edit", "delete"] },
  { title: "Deploy Commands:", commands: ["rollout", "scale", "autoscale"] },
  {
    title: "Cluster Management Commands:",
    commands: ["certificate", "cluster-info", "top", "cordon", "uncordon", "drain", "taint"],
  },
  {
    title: "Troubleshooting and Debugging Commands:",
    commands: ["describe", "logs", "attach", "exec", "port-forward", "proxy", "cp", "auth", "debug", "events", "why"],
  },
  { title: "Advanced Commands:", commands: ["diff", "apply", "patch", "replace", "wait", "kustomize"] },
  { title: "Settings Commands:", commands: ["label", "annotate", "completion"] },
  { title: "Subcommands provided by plugins:", commands: [] },
]

/** The commands that are under no heading, in the order in which they are suggested. */
const OTHERS = [
  "alpha",
  "config",
  "plugin",
  "version",
  "api-versions",
  "api-resources",
  "options",
  "kuberc",
  "history",
  "changes",
]

const ORDER = [...GROUPS.flatMap(({ commands }) => commands), ...OTHERS]

/** Every command, in the order in which similar names are suggested. */
export const COMMANDS: readonly CommandEntry[] = ALL.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name))
