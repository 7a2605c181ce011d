import { expect, test } from "bun:test"
import { Duplex } from "node:stream"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { startHttpServer } from "../apiserver/serving/http-server.fixtures.ts"
import { Tunnels } from "../supervisor/tunnel/tunnels.ts"
import { Clients, type Tools } from "./clients.ts"
import { clusterSupervisor } from "./supervisor.ts"

test("tunnels of agents are closed when the server stops, so that the stop does not wait for them", async () => {
  // given
  const tools: Tools = {
    clock: realClock,
    random: systemRandom,
    log: silent,
    spawn: () => undefined,
    tracing: undefined,
  }
  const tunnels = new Tunnels(tools)
  const supervisor = clusterSupervisor(
    tools,
    () => ({ apiServer: host.server, clients: new Clients(tools, (user) => host.server.transportFor(user)), tunnels }),
    {
      dir: "/nonexistent",
      clusterCidrs: ["10.42.0.0/16"],
      serviceCidrs: ["10.43.0.0/16"],
      clusterDns: [],
      clusterDomain: "cluster.local",
      betweenNodes: { backend: "vxlan", external: false, masqueradesIPv6: true },
      disabled: [],
    },
  )
  const host = await startHttpServer({ beside: supervisor })
  const socket = new Duplex({ read: () => undefined, write: () => undefined })
  tunnels.open("n1", socket, new Uint8Array())
  const dialled = tunnels.to("n1")!().catch((err: Error) => err.message)
  // when
  await host.stop()
  // then
  expect(socket.destroyed).toBe(true)
  expect(await dialled).toBe("the agent of n1 has closed its tunnel")
})
