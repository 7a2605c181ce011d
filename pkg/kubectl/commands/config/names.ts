import { command, type Invocation } from "../../command/command.ts"
import { startingConfig } from "../../config/write-kubeconfig.ts"

const printNames =
  (kind: "clusters" | "users") =>
  async ({ factory, out }: Invocation): Promise<void> => {
    const config = await startingConfig(factory.config.rules)
    await out.write(["NAME", ...[...config[kind].keys()].sort()].map((line) => `${line}\n`).join(""))
  }

export const getClustersCommand = command({
  use: "get-clusters",
  short: "Display the clusters of the kubeconfig",
  long: "Display the clusters of the kubeconfig.",
  example: "# List the clusters that kubectl knows\nkubectl config get-clusters",
  run: printNames("clusters"),
})

export const getUsersCommand = command({
  use: "get-users",
  short: "Display the users of the kubeconfig",
  long: "Display the users of the kubeconfig.",
  example: "# List the users that kubectl knows\nkubectl config get-users",
  run: printNames("users"),
})
