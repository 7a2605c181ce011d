/**
 * The flags of `k3ts agent`: those of the server that concern a node, and how it joins. Source: k3s
 * pkg/cli/cmds/agent.go.
 */
import { value, type FlagsOf } from "../cli/flags.ts"
import { serverAddress } from "../etcd/flags.ts"
import { NODE_FLAG_NAMES, serverFlags } from "./server-flags.ts"
import { joinTokenFlags } from "../token/flags.ts"

const nodeFlags = Object.fromEntries(NODE_FLAG_NAMES.map((name) => [name, serverFlags[name]])) as Pick<
  typeof serverFlags,
  (typeof NODE_FLAG_NAMES)[number]
>

export const agentFlags = {
  ...nodeFlags,
  server: value(serverAddress, "Address of a server of the cluster", {
    short: "s",
    variables: ["K3TS_URL"],
    placeholder: "URL",
  }),
  ...joinTokenFlags,
}
export type AgentFlags = FlagsOf<typeof agentFlags>
