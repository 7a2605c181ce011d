import { expect, test } from "bun:test"
import { request } from "node:https"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createApiServer } from "../apiserver.ts"

test("without priority and fairness, a request beyond the limit gets Retry-After and plain text, as from upstream", async () => {
  // given a server with room for one read, which is taken
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const { promise: taken, resolve: isTaken } = Promise.withResolvers<void>()
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      listen: { host: "127.0.0.1", port: 0 },
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
      maxInFlight: { reads: 1, writes: 1 },
      priorityAndFairness: false,
      intercept: (pipeline) => ({
        ...pipeline,
        authorize: () => ({ allowed: true, reason: "" }),
        handle: (asked) => {
          isTaken()
          return held.then(() => pipeline.handle(asked))
        },
      }),
    },
  )
  await server.start(new AbortController().signal)
  const ask = () =>
    new Promise<{ readonly code: number | undefined; readonly retryAfter: string | undefined; readonly text: string }>(
      (resolve, reject) => {
        request(
          {
            host: "127.0.0.1",
            port: server.port!,
            path: "/api/v1/namespaces/default/configmaps",
            rejectUnauthorized: false,
            agent: false,
            headers: { authorization: `Bearer ${server.files!.adminToken}`, "impersonate-user": "jane" },
          },
          (res) => {
            let text = ""
            res
              .on("data", (part: Buffer) => (text += part.toString()))
              .on("end", () => resolve({ code: res.statusCode, retryAfter: res.headers["retry-after"], text }))
          },
        )
          .on("error", reject)
          .end()
      },
    )
  const first = ask()
  await taken

  // when another comes
  const second = await ask()

  // then
  expect(second).toEqual({ code: 429, retryAfter: "1", text: "Too many requests, please try again later.\n" })
  letGo()
  expect((await first).code).toBe(200)
  expect((await ask()).code).toBe(200)
  await server.stop()
})
