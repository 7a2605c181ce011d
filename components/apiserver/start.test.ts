import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { createApiServer } from "./apiserver.ts"

const dataDir = mkdtempSync(join(tmpdir(), "k3ts-start-"))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

test("a start that fails leaves neither the store nor the port taken", async () => {
  // given a port that is taken
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
  const { port } = other.address() as AddressInfo
  const server = createApiServer(
    { clock: realClock, random: seededRandom(1), log: silent },
    {
      dataDir,
      listen: { host: "127.0.0.1", port },
      advertiseAddress: "127.0.0.1",
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
    },
  )
  await expect(server.start(new AbortController().signal)).rejects.toThrow()
  // when it is free
  await new Promise((resolve) => other.close(resolve))
  // then the server starts on the same folder
  await server.start(new AbortController().signal)
  expect(server.port).toBe(port)
  await server.stop()
})
