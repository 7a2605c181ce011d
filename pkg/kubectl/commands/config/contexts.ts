import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import { newTabWriter } from "../../printers/tab-writer.ts"

/** The error of wrong arguments, below the help. */
export async function helpError({ out, help }: Pick<Invocation, "out" | "help">, message: string): Promise<Error> {
  await out.write(help())
  return new Error(message)
}

export const currentContextCommand = command({
  use: "current-context",
  short: "Display the current context",
  long: "Display the current context.",
  example: "# Display the name of the current context\nkubectl config current-context",
  async run({ factory, out }) {
    const { currentContext } = await startingConfig(factory.config.rules)
    if (currentContext === "") throw new Error("current-context is not set")
    await out.write(`${currentContext}\n`)
  },
})

export const useContextCommand = command({
  use: "use-context CONTEXT_NAME",
  noFlagsInUse: true,
  short: "Set the current context in a kubeconfig",
  long: "Set the current context in a kubeconfig.",
  example: "# Use the context of the cluster minikube from now on\nkubectl config use-context minikube",
  aliases: ["use"],
  async run(invocation) {
    const { args, factory, environment, out } = invocation
    if (args.length !== 1) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [name = ""] = args
    const config = await startingConfig(factory.config.rules)
    if (name === "") throw new Error("empty context names are not allowed")
    if (!config.contexts.has(name)) throw new Error(`no context exists with the name: ${goQuoted(name)}`)
    config.currentContext = name
    await modifyConfig(environment, factory.config.rules, config)
    await out.write(`Switched to context ${goQuoted(name)}.\n`)
  },
})

export const renameContextCommand = command({
  use: "rename-context CONTEXT_NAME NEW_NAME",
  noFlagsInUse: true,
  short: "Rename a context of the kubeconfig",
  long: `
Rename a context of the kubeconfig.

 CONTEXT_NAME is the name that the context has.

 NEW_NAME is the name that it gets.

 If it is the current context, it stays the current one.`,
  example: "# Give the context 'old-name' the name 'new-name'\nkubectl config rename-context old-name new-name",
  async run(invocation) {
    const { args, factory, environment, out } = invocation
    if (args.length !== 2) throw await helpError(invocation, `Unexpected args: [${args.join(" ")}]`)
    const [name, renamed] = args as [string, string]
    if (renamed === "") throw new Error("You must specify a new non-empty context name")
    const { rules } = factory.config
    const config = await startingConfig(rules)
    const file = await rules.defaultFile()
    const context = config.contexts.get(name)
    if (context === undefined) throw new Error(`cannot rename the context ${goQuoted(name)}, it's not in ${file}`)
    if (config.contexts.has(renamed))
      throw new Error(
        `cannot rename the context ${goQuoted(name)}, the context ${goQuoted(renamed)} already exists in ${file}`,
      )
    config.contexts.set(renamed, context)
    config.contexts.delete(name)
    if (config.currentContext === name) config.currentContext = renamed
    await modifyConfig(environment, rules, config)
    await out.write(`Context ${goQuoted(name)} renamed to ${goQuoted(renamed)}.\n`)
  },
})

export const getContextsCommand = command({
  use: "get-contexts [(-o|--output=)name)]",
  noFlagsInUse: true,
  short: "Display one or many contexts of the kubeconfig",
  long: "Display one or many contexts of the kubeconfig.",
  example: `
# List all contexts of the kubeconfig
kubectl config get-contexts

# Show one context of the kubeconfig
kubectl config get-contexts my-context`,
  flags: {
    "no-headers": boolFlag(false, "Print the table without its header."),
    output: stringFlag("", "Output format. One of: (name).", { shorthand: "o" }),
  },
  async run({ flags, args, factory, out }) {
    if (flags.output !== "" && flags.output !== "name")
      throw new Error(
        `--output ${flags.output} is not available in kubectl config get-contexts; resetting to default output format`,
      )
    const config = await startingConfig(factory.config.rules)
    const names = args.length === 0 ? [...config.contexts.keys()] : args
    const missing = names.filter((name) => !config.contexts.has(name))
    const found = names.filter((name) => config.contexts.has(name)).sort()
    const table = newTabWriter(out)
    if (flags.output === "name") for (const name of found) await table.write(`${name}\n`)
    else {
      if (!flags["no-headers"]) await table.write("CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE\n")
      for (const name of found) {
        const { cluster = "", user = "", namespace = "" } = config.contexts.get(name)!
        await table.write(
          `${[config.currentContext === name ? "*" : " ", name, cluster, user, namespace].join("\t")}\n`,
        )
      }
    }
    await table.flush()
    throwAggregate(missing.map((name) => new Error(`context ${name} not found`)))
  },
})
