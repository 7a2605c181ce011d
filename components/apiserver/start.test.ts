import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CustomResourceDefinition } from "../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { Client } from "../../pkg/client/client.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { DEFINITIONS } from "../../pkg/gateway-api/definitions.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { createApiServer } from "./apiserver.ts"

const dataDir = mkdtempSync(join(tmpdir(), "k3ts-start-"))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

test("a start that fails releases the store and the port", async () => {
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

describe("the kinds of Gateway API", () => {
  /** Starts a server on a folder, and gives the names of all definitions once `change` has been made. */
  async function definitionsOf(folder: string, gateway: boolean, change?: (client: Client) => Promise<unknown>) {
    const server = createApiServer(
      { clock: realClock, random: seededRandom(1), log: silent },
      {
        dataDir: join(dataDir, folder),
        advertiseAddress: "127.0.0.1",
        serviceCidrs: ["10.43.0.0/16"],
        nodePorts: { first: 30000, last: 32767 },
        clusterDomain: "cluster.local",
        nodes: new NodeConnectors(),
        gateway,
      },
    )
    await server.start(new AbortController().signal)
    const client = newClient(server.transportFor({ name: "admin", groups: ["system:masters"] }))
    await change?.(client)
    const { items } = await client.list(CustomResourceDefinition)
    await server.stop()
    return items.map(({ metadata }) => metadata.name)
  }

  test("are created by the first start that serves them, and not by later ones", async () => {
    const names = DEFINITIONS.map(({ metadata }) => metadata.name)
    expect(await definitionsOf("own", false)).toEqual([])
    for (const _start of [1, 2]) expect(new Set(await definitionsOf("own", true))).toEqual(new Set(names))
  })

  test("are left alone if another program has created one of them", async () => {
    const [theirs] = DEFINITIONS
    const define = (client: Client) =>
      client.create(CustomResourceDefinition, theirs as unknown as CustomResourceDefinition)
    await definitionsOf("foreign", false, define)
    expect(await definitionsOf("foreign", true)).toEqual([theirs!.metadata.name])
  })
})
