import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import type { Context } from "../../config/kubeconfig.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"
import { helpError } from "./contexts.ts"

export const setContextCommand = command({
  use: "set-context [NAME | --current] [--cluster=cluster_nickname] [--user=user_nickname] [--namespace=namespace]",
  noFlagsInUse: true,
  short: "Set a context in the kubeconfig",
  long: `
Set a context in the kubeconfig.

 If there is one of this name, it keeps what the flags do not set.`,
  example: "# Set nothing but the user of the context gce\nkubectl config set-context gce --user=cluster-admin",
  flags: {
    cluster: stringFlag("", "The cluster of the context"),
    current: boolFlag(false, "Change the current context"),
    namespace: stringFlag("", "The namespace of the context", { shorthand: "n" }),
    user: stringFlag("", "The user of the context"),
  },
  async run(invocation) {
    const { flags, changed, args, factory, environment, out } = invocation
    if (args.length > 1) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [named = ""] = args
    if (named === "" && !flags.current) throw new Error("you must specify a non-empty context name or --current")
    if (named !== "" && flags.current) throw new Error("you cannot specify both a context name and --current")
    const { rules } = factory.config
    const config = await startingConfig(rules)
    if (flags.current && config.currentContext === "") throw new Error("no current context is set")
    const name = flags.current ? config.currentContext : named
    const existing = config.contexts.get(name)
    const context: Context = { ...existing }
    for (const field of ["cluster", "user", "namespace"] as const) if (changed(field)) context[field] = flags[field]
    config.contexts.set(name, context)
    await modifyConfig(environment, rules, config)
    await out.write(`Context ${goQuoted(name)} ${existing === undefined ? "created" : "modified"}.\n`)
  },
})
