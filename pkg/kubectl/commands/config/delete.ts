import { command, type Invocation } from "../../command/command.ts"
import { modifyConfig, startingConfig } from "../../config/write-kubeconfig.ts"

async function remove(
  { args, factory, environment, out, errOut }: Invocation,
  what: "cluster" | "context" | "user",
): Promise<void> {
  const [name = ""] = args
  const { rules } = factory.config
  const config = await startingConfig(rules)
  const file = await rules.defaultFile()
  const entries: Map<string, unknown> = config[`${what}s`]
  if (!entries.has(name)) throw new Error(`cannot delete ${what} ${name}, not in ${file}`)
  if (what === "context" && config.currentContext === name)
    await errOut.write(
      'warning: this removed your active context, use "kubectl config use-context" to select a different one\n',
    )
  entries.delete(name)
  await modifyConfig(environment, rules, config)
  await out.write(`deleted ${what} ${name} from ${file}\n`)
}

/** Clusters and contexts are deleted only by one argument; others get the help. */
const orHelp =
  (what: "cluster" | "context") =>
  (invocation: Invocation): Promise<void> =>
    invocation.args.length === 1 ? remove(invocation, what) : invocation.out.write(invocation.help())

export const deleteClusterCommand = command({
  use: "delete-cluster NAME",
  noFlagsInUse: true,
  short: "Delete a cluster from the kubeconfig",
  long: "Delete a cluster from the kubeconfig.",
  example: "# Delete the cluster minikube\nkubectl config delete-cluster minikube",
  run: orHelp("cluster"),
})

export const deleteContextCommand = command({
  use: "delete-context NAME",
  noFlagsInUse: true,
  short: "Delete a context from the kubeconfig",
  long: "Delete a context from the kubeconfig.",
  example: "# Delete the context of the cluster minikube\nkubectl config delete-context minikube",
  run: orHelp("context"),
})

export const deleteUserCommand = command({
  use: "delete-user NAME",
  noFlagsInUse: true,
  short: "Delete a user from the kubeconfig",
  long: "Delete a user from the kubeconfig.",
  example: "# Delete the user minikube\nkubectl config delete-user minikube",
  run(invocation) {
    if (invocation.args.length !== 1) throw invocation.usageError("user to delete is required")
    return remove(invocation, "user")
  },
})
