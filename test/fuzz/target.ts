import { startServer, type Answer, type TestServer } from "../harness/server.ts"

export interface FuzzTarget extends AsyncDisposable {
  readonly server: TestServer
  /**
   * Sends a request as administrator; a wrong answer is kept for `faults`. Undefined when the server's parser cut the
   * connection, which is an answer too.
   */
  send(
    what: string,
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: Uint8Array | string,
  ): Promise<Answer | undefined>
  /** The faults so far, one line for each cause, with the first request that showed it. */
  faults(): readonly string[]
}

/** 501, 503 and 504 are valid answers to odd requests too: not implemented, not available, too slow. */
const ORDERLY = new Set([501, 503, 504])

/** Starts a server for garbage. */
export async function startTarget(): Promise<FuzzTarget> {
  const server = await startServer()
  const faults = new Map<string, string>()
  return {
    server,
    async send(what, method, path, headers = {}, body) {
      const answer = await server
        .raw(method, path, { authorization: `Bearer ${server.token}`, ...headers }, body)
        .catch((err: unknown) => {
          if (!server.alive)
            throw new Error(
              `The server ended at ${what}: ${String(err)}\n${method} ${path}\nsent: ${String(body).slice(0, 2000)}\n${server.output()}`,
            )
          return undefined
        })
      if (answer === undefined || answer.status < 500 || ORDERLY.has(answer.status)) return answer
      const text = answer.body.toString()
      // Upstream answers some faulty requests with 500 and no reason. An unexpected error of k3ts has a reason.
      if (answer.status === 500 && text.includes('"status":"Failure"') && !text.includes('"reason":')) return answer
      const cause = `${answer.status} ${/"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 300)}`
      if (!faults.has(cause))
        faults.set(cause, `${cause}\n  ${what}: ${method} ${path}\n  sent: ${String(body).slice(0, 1500)}`)
      return answer
    },
    faults: () => [
      ...faults.values(),
      ...(/Contained a failure[^\n]*(unhandled rejection|uncaught exception|timer|background work)[^\n]*/.exec(
        server.output(),
      )?.[0] === undefined
        ? []
        : [server.output()]),
    ],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
