import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { ServiceManager } from "./service-manager.ts"

const PID = 42

function managerOf(env: Record<string, string | undefined>, send: (text: string) => void = () => undefined) {
  const clock = new VirtualClock(0)
  const sent: string[] = []
  const lines: string[] = []
  const log = createLogger({ clock, format: "text", level: "info", write: (line) => void lines.push(line) })
  const sender = {
    send(text: string) {
      send(text)
      sent.push(text.split("\n")[0]!)
    },
    close: () => undefined,
  }
  const manager = new ServiceManager({ env, clock, log, pid: PID, connect: () => Promise.resolve(sender) })
  return { manager, clock, sent, lines }
}

const NOTIFIED = { NOTIFY_SOCKET: "/run/systemd/notify" }

describe("the service manager", () => {
  test("gets a message when the server is ready and when it stops", async () => {
    const { manager, sent } = managerOf({ ...NOTIFIED })
    await manager.ready()
    await manager.stopping()
    expect(sent).toEqual(["READY=1", "STOPPING=1"])
  })

  test("is removed from the environment of the programs that k3ts starts", () => {
    const env = { ...NOTIFIED, WATCHDOG_USEC: "60000000", WATCHDOG_PID: String(PID), HOME: "/root" }
    managerOf(env)
    expect(Object.keys(env)).toEqual(["HOME"])
  })

  test("that does not listen does not prevent the start", async () => {
    const { manager, lines } = managerOf({ ...NOTIFIED }, () => {
      throw new Error("no program receives there")
    })
    await manager.ready()
    expect(lines.join("\n")).toContain("Failed to notify the service manager")
  })
})

describe("the watchdog", () => {
  const pingsAfter = async (env: Record<string, string>, ms: number, problem: () => string | undefined) => {
    const { manager, clock, sent, lines } = managerOf({ ...NOTIFIED, ...env })
    const ending = new AbortController()
    const alive = manager.keepAlive(problem, ending.signal)
    clock.exact = true
    await clock.advance(ms)
    ending.abort()
    await alive
    return { pings: sent.filter((text) => text === "WATCHDOG=1").length, lines }
  }

  test.each([
    { title: "is pinged twice within its timeout", env: { WATCHDOG_USEC: "60000000" }, wants: 4 },
    {
      title: "is pinged by the process that it watches",
      env: { WATCHDOG_USEC: "60000000", WATCHDOG_PID: "42" },
      wants: 4,
    },
    {
      title: "is not pinged by another process",
      env: { WATCHDOG_USEC: "60000000", WATCHDOG_PID: "43" },
      wants: 0,
    },
    { title: "is not pinged if there is none", env: {}, wants: 0 },
    { title: "is not pinged if its timeout is no number", env: { WATCHDOG_USEC: "soon" }, wants: 0 },
  ])("$title", async ({ env, wants }) => {
    expect((await pingsAfter(env as Record<string, string>, 95_000, () => undefined)).pings).toBe(wants)
  })

  test("is not pinged while the program needs a restart, and the log says why", async () => {
    const { pings, lines } = await pingsAfter({ WATCHDOG_USEC: "60000000" }, 95_000, () => "etcd: the file is damaged")
    expect(pings).toBe(0)
    expect(lines[0]).toContain("etcd: the file is damaged")
  })
})
