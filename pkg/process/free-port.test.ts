import { expect, test } from "bun:test"
import { createServer, type AddressInfo } from "node:net"
import { once } from "node:events"
import { realClock } from "../clock/real.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { createLogger } from "../log/log.ts"
import { portFault, untilGivenBack, untilPortFree } from "./free-port.ts"

function tools(clock: VirtualClock | typeof realClock) {
  const lines: string[] = []
  const log = createLogger({ clock, format: "text", level: "info", write: (line) => void lines.push(line) })
  return { clock, log, lines }
}

test("a port that another process gives back is waited for, and the log says so", async () => {
  // given
  const holder = createServer().listen(0, "127.0.0.1")
  await once(holder, "listening")
  const { port } = holder.address() as AddressInfo
  expect((await portFault("127.0.0.1", port))?.code).toBe("EADDRINUSE")
  const { lines, ...waiting } = tools(realClock)
  // when
  const free = untilPortFree("127.0.0.1", port, {
    ...waiting,
    log: { ...waiting.log, info: (...args) => (waiting.log.info(...args), void holder.close()) },
  })
  // then
  expect(await free).toBe(true)
  expect(lines.join("")).toContain(`what="port ${port}"`)
})

test("what is never given back is waited for ten seconds", async () => {
  const clock = new VirtualClock(0)
  const { lines, ...waiting } = tools(clock)
  const from = clock.monotonic()
  const waited = untilGivenBack("the lock", () => false, waiting)
  let isOver = false
  void waited.then(() => (isOver = true))
  while (!isOver) await clock.advance(1000)
  expect(await waited).toBe(false)
  expect(clock.monotonic() - from).toBeWithin(10_000, 11_001)
  expect(lines.length).toBe(1)
})
