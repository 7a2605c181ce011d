/**
 * One process of the benchmark `dns`, chosen by the first argument: `serve` answers names of 1,000 Services, `echo`
 * sends every packet back, `load PORT SECONDS` sends queries to one of the two. `serve` and `echo` print their port,
 * `load` prints the answers per second.
 */
import { createSocket, type Socket } from "node:dgram"
import { encode } from "dns-packet"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { startCluster } from "../../../components/cluster/testing/cluster.ts"
import { startDns } from "../../../components/dns/dns.fixtures.ts"

const SERVICES = 1000
/** The number of queries that wait for an answer at once. */
const WINDOW = 64
const LOST_AFTER_MS = 200

const [role, ...rest] = process.argv.slice(2)
if (role === "serve") await serve()
else if (role === "echo") await echo()
else console.log(await load(Number(rest[0]), Number(rest[1])))
if (role === "load") process.exit()

async function serve(): Promise<void> {
  const cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
  for (let i = 0; i < SERVICES; i++)
    await cluster.client.create(Service, {
      metadata: { name: `web-${i}`, namespace: "default" },
      spec: { ports: [{ port: 80 }] },
    })
  console.log((await startDns(cluster)).port)
}

async function echo(): Promise<void> {
  const socket = await bound()
  socket.on("message", (bytes, from) => socket.send(bytes, from.port, from.address))
  socket.on("error", () => undefined)
  console.log(socket.address().port)
}

async function load(port: number, seconds: number): Promise<number> {
  const questions = Array.from({ length: SERVICES }, (_, i) =>
    encode({
      type: "query",
      id: i,
      flags: 1 << 8,
      questions: [{ name: `web-${i}.default.svc.cluster.local`, type: "A" }],
    }),
  )
  const socket = await bound()
  let [asked, answered, last] = [0, 0, performance.now()]
  const ask = () => socket.send(questions[asked++ % SERVICES]!, port, "127.0.0.1")
  socket.on("message", () => {
    answered++
    last = performance.now()
    ask()
  })
  // Packets may be lost: when no answer comes for a while, a whole window of queries is sent again.
  const refill = setInterval(() => {
    if (performance.now() - last > LOST_AFTER_MS) for (let i = 0; i < WINDOW; i++) ask()
  }, LOST_AFTER_MS)
  for (let i = 0; i < WINDOW; i++) ask()
  const [began, before] = [performance.now(), answered]
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  clearInterval(refill)
  return ((answered - before) / (performance.now() - began)) * 1000
}

function bound(): Promise<Socket> {
  const socket = createSocket("udp4")
  return new Promise((resolve) => socket.bind(0, "127.0.0.1", () => resolve(socket)))
}
