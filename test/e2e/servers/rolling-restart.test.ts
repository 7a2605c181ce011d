import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { createHttpsTransport } from "../../../pkg/client/https.ts"
import { loadKubeconfig } from "../../../pkg/client/kubeconfig.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { AlternatingClient } from "../../harness/alternating-client.ts"
import { hasEtcd, startEtcd } from "../../harness/etcd.ts"
import { startServer, type TestServer } from "../../harness/server.ts"

const WORKERS = 6
/** The number of requests before, between and after the restarts, besides those during them. */
const REQUESTS = 60

describe.skipIf(!hasEtcd)("two servers that are restarted one after the other", () => {
  test("fail no request of a client that knows both, and end its watches in order", async () => {
    // given
    await using etcd = await startEtcd()
    const ports = [await freePort(), await freePort()]
    const start = (place: number, dataDir?: string) =>
      startServer({
        port: ports[place]!,
        ...(dataDir === undefined ? {} : { dataDir }),
        flags: [
          "--datastore-endpoint",
          etcd.endpoint,
          "--token",
          "rolling",
          "--advertise-address",
          `192.0.2.${place + 1}`,
        ],
      })
    const first = await start(0)
    const second = await start(1)
    const servers: TestServer[] = [first, second]
    const client = new AlternatingClient(
      ports.map((port) => ({ host: "127.0.0.1", port })),
      first.token,
    )
    const ending = new AbortController()
    const working = Array.from({ length: WORKERS }, (_, i) => client.run(`worker-${i}`, ending.signal))
    try {
      await client.untilAnswered(REQUESTS)
      for (const place of [0, 1]) {
        // when
        const { dataDir, kubeconfig } = servers[place]!
        const transport = createHttpsTransport({ config: loadKubeconfig(kubeconfig), userAgent: "k3ts-test/1" })
        const watched = new Promise<string>((resolve) => {
          newClient(transport).watch(
            ConfigMap,
            { namespace: "default" },
            { onEvent: () => undefined, onEnd: (err) => resolve(err?.message ?? "in order") },
          )
        })
        expect(await servers[place]!.kill("SIGTERM")).toBe(0)
        // then
        expect(await watched).toBe("in order")
        transport.close()
        servers[place] = await start(place, dataDir)
        await client.untilAnswered(client.answered + REQUESTS)
      }
    } finally {
      ending.abort()
      await Promise.all(working)
      client.close()
      for (const server of [...servers, first, second]) await server[Symbol.asyncDispose]()
    }
    expect(client.failures).toEqual([])
  }, 60_000)
})
