import { connect, type ClientHttp2Session } from "node:http2"
import { startServer, type TestServer } from "../../harness/server.ts"
import type { Benchmark } from "../figure.ts"
import { bareFanOut, rounds } from "../limits.ts"
import { eventsIn, plainWatchers } from "./watchers.ts"

const WATCHERS = 2000
const PATH = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0"

/** Watchers that tell of each event that reaches one of them. */
type Open = (server: TestServer, arrived: (events: number) => void) => Promise<() => void>

/**
 * One change, seen by 2,000 watchers of its kind. The watchers are in this process, so what they cost is part of the
 * figure.
 */
export const watch: Benchmark = {
  name: "watch",
  async *run() {
    const [apart, bytes] = await measure(overHttp1)
    yield {
      name: "one event to 2,000 watchers, a connection each",
      unit: "ms",
      value: apart,
      goal: 25,
      better: "less",
      limit: { what: "a bare TLS server, same bytes to each", value: await bareFanOut(bytes, WATCHERS) },
    }
    const [together] = await measure(overHttp2)
    yield {
      name: "one event to 2,000 watchers, 100 on an HTTP/2 connection",
      unit: "ms",
      value: together,
      goal: 25,
      better: "less",
    }
  },
}

/** Milliseconds from the request until all have it, and the bytes that each gets. */
async function measure(open: Open): Promise<readonly [ms: number, bytes: number]> {
  await using server = await startServer()
  let [arrived, bytes, all] = [0, 0, (): void => undefined]
  const close = await open(server, (events) => {
    arrived += events
    if (arrived === WATCHERS) all()
  })
  const ms = await rounds(async (round) => {
    arrived = 0
    const delivered = new Promise<void>((resolve) => (all = resolve))
    const { body } = await server.send("POST", "/api/v1/namespaces/default/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `event-${round}` },
      data: { text: "x".repeat(500) },
    })
    await delivered
    bytes = body.length + 40 // an event's frame around it
  })
  close()
  return [ms, bytes]
}

const overHttp1: Open = (server, arrived) => plainWatchers(server, WATCHERS, PATH, arrived)

/** As client-go does it: all watches of a process on one connection. */
const overHttp2: Open = async ({ port, token }, arrived) => {
  const sessions: ClientHttp2Session[] = []
  for (let i = 0; i < WATCHERS / 100; i++) {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    sessions.push(session)
    await Promise.all(
      Array.from(
        { length: 100 },
        () =>
          new Promise<void>((resolve, reject) => {
            const stream = session.request({ ":path": PATH, authorization: `Bearer ${token}` })
            stream
              .on("response", () => resolve())
              .on("error", reject)
              .on("data", (chunk: Buffer) => arrived(eventsIn(chunk)))
          }),
      ),
    )
  }
  return () => sessions.forEach((session) => session.destroy())
}
