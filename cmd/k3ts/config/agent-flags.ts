/**
 * The flags of `k3ts agent`: those of the server that concern a node, and how it joins. Source: k3s
 * pkg/cli/cmds/agent.go.
 */
import { z } from "zod"
import { value, type FlagsOf } from "../cli/flags.ts"
import { NODE_FLAG_NAMES, serverFlags } from "./server-flags.ts"
import { joinTokenFlags } from "../token/flags.ts"

/** `https://host:port`; as in any URL the port is 443 where none is named. */
const serverAddress = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === "https:" && url.pathname === "/" && url.search === "" && url.username === "")
    return `https://${url.hostname}:${url.port === "" ? "443" : url.port}`
  context.issues.push({ code: "custom", input: text, message: "must be https://HOST:PORT" })
  return z.NEVER
})

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
