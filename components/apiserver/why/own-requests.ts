import { Buffer } from "node:buffer"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import { InProcessAnswer, InProcessRequest, type InProcessResponse } from "../../../pkg/runtime/http/in-process.ts"
import type { ServerAnswer, ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import type { WhyApi } from "../../../pkg/why/reading/reader.ts"

/** What of a server is asked: it authenticates, authorizes, limits and audits these requests as all others. */
interface AskedServer {
  onRequest(req: ServerRequest, res: ServerAnswer): void
}

/**
 * Headers that are about one request only. All others go on, since which ones name the sender is a matter of the
 * server's flags: those of a front proxy have names of their own.
 */
const OF_REQUEST =
  /^(?::.*|accept.*|audit-id|connection|content-.*|expect|if-.*|keep-alive|te|trailer|transfer-encoding|upgrade)$/i

/**
 * Returns the API as the sender of a request sees it: each question is a request to this server with the same
 * credentials, so that the sender's own rights decide what is read.
 */
export function apiOfSender(req: ServerRequest, server: AskedServer, clock: Clock): WhyApi {
  const headers = ownHeaders(req)
  const { socket } = req as ServerRequest & { readonly socket?: object }
  return {
    now: () => clock.now(),
    turn: () => nextTurn(clock),
    async get(path, accept = "application/json") {
      const response = await new Promise<InProcessResponse>((resolve, reject) => {
        const answer = new InProcessAnswer(resolve)
        answer.once("close", () => reject(new Error("the server did not answer")))
        const inner = new InProcessRequest({
          method: "GET",
          url: path,
          headers: [...headers, ["accept", accept]],
          version: "2.0",
          ...(socket === undefined ? {} : { socket }),
        })
        server.onRequest(inner, answer)
      })
      const parts: Uint8Array[] = []
      for await (const part of response.body) parts.push(part)
      return { code: response.status, text: Buffer.concat(parts).toString() }
    },
  }
}

function ownHeaders({ rawHeaders }: ServerRequest): readonly (readonly [string, string])[] {
  const found: (readonly [string, string])[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!OF_REQUEST.test(rawHeaders[i]!)) found.push([rawHeaders[i]!, rawHeaders[i + 1]!])
  return found
}
