import { Buffer } from "node:buffer"
import { request } from "node:https"
import { realClock } from "../../pkg/clock/real.ts"
import { adminToken, localServer, openPki } from "./credentials.ts"
import { trustingOnly } from "../../pkg/pki/trust.ts"
import type { ServerFlags } from "./config/server-flags.ts"

/** Longest time for an answer, in milliseconds: that of the server for a request, and a little. */
const LIMIT_MS = 70_000

/**
 * Sends a request without a body to the running server of this machine, as its administrator, and returns the JSON of
 * its answer. @throws Error in the server's words, or that says that no server runs
 */
export async function askServer(
  flags: Pick<ServerFlags, "data-dir" | "bind-address" | "https-listen-port">,
  method: "GET" | "PUT",
  path: string,
): Promise<unknown> {
  const ca = openPki(flags["data-dir"], () => realClock.now()).authorities["server-ca"].certPem
  const server = localServer(flags)
  const headers = { authorization: `Bearer ${adminToken(flags["data-dir"])}`, accept: "application/json" }
  const { code, body } = await new Promise<{ code: number; body: string }>((resolve, reject) => {
    const options = { method, ...trustingOnly(ca), headers, agent: false, timeout: LIMIT_MS }
    const sent = request(new URL(path, server), options, (answer) => {
      const parts: Buffer[] = []
      answer.on("data", (part: Buffer) => parts.push(part))
      answer.on("end", () => resolve({ code: answer.statusCode ?? 0, body: Buffer.concat(parts).toString() }))
      answer.on("error", reject)
    })
    sent.on("timeout", () => sent.destroy(new Error(`${server} does not answer`)))
    sent.on("error", (cause) =>
      reject(new Error(`Cannot reach the server at ${server}: ${cause.message}; start k3ts server`, { cause })),
    )
    sent.end()
  })
  const answer = JSON.parse(body) as { readonly message?: string }
  if (code !== 200) throw new Error(answer.message ?? `${server} answers ${code}`)
  return answer
}
