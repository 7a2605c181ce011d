import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { DeviceHealths } from "./device-health.ts"
import type { ReportedHealth } from "./dra-health-service.ts"

const DRIVER = "gpu.example.com"

const reported = (deviceName: string, more: Partial<ReportedHealth> = {}): ReportedHealth => ({
  device: { poolName: "pool", deviceName },
  health: "Healthy",
  healthCheckTimeoutSeconds: 0,
  message: "",
  ...more,
})

function healthsOfDriver() {
  const clock = new VirtualClock(0)
  const healths = new DeviceHealths(clock)
  const changes: string[] = []
  healths.onChanged((driver, devices) => changes.push(`${clock.now()} ${driver}: ${[...devices].join(" ")}`))
  return { clock, healths, changes, of: (deviceName: string) => healths.of(DRIVER, { poolName: "pool", deviceName }) }
}

describe("a report of the health of devices", () => {
  test.each([
    { title: "without a timeout is valid for 30 seconds", seconds: 0, wants: 30_000 },
    { title: "with a negative timeout is valid for 30 seconds", seconds: -5, wants: 30_000 },
    { title: "with a timeout is valid for that time", seconds: 90, wants: 90_000 },
  ])("$title, and then the health is Unknown", async ({ seconds, wants }) => {
    const { clock, healths, changes, of } = healthsOfDriver()
    healths.report(DRIVER, [reported("a", { healthCheckTimeoutSeconds: seconds, message: "fine" })])
    await clock.advance(wants - 1)
    expect(of("a")).toMatchObject({ health: "Healthy", message: "fine" })
    await clock.advance(1)
    expect(of("a")).toEqual({ health: "Unknown", message: "" })
    expect(changes).toEqual([`0 ${DRIVER}: pool/a`, `${wants} ${DRIVER}: pool/a`])
  })

  test("reports only devices whose health or message changed", () => {
    const { healths, changes } = healthsOfDriver()
    healths.report(DRIVER, [reported("a"), reported("b"), reported("c", { health: "Unknown" })])
    healths.report(DRIVER, [reported("a"), reported("b", { message: "warm" })])
    healths.report(DRIVER, [reported("a", { health: "Unhealthy" }), reported("b", { message: "warm" })])
    expect(changes).toEqual([`0 ${DRIVER}: pool/a pool/b`, `0 ${DRIVER}: pool/b`, `0 ${DRIVER}: pool/a`])
  })

  test("keeps the health of devices that it does not name, until that is too old", async () => {
    const { clock, healths, of } = healthsOfDriver()
    healths.report(DRIVER, [reported("a"), reported("b")])
    await clock.advance(20_000)
    healths.report(DRIVER, [reported("a")])
    expect(of("b").health).toBe("Healthy")
    await clock.advance(10_000)
    expect([of("a").health, of("b").health]).toEqual(["Healthy", "Unknown"])
  })

  test("is forgotten with its driver, and leaves no timer behind", async () => {
    const { clock, healths, changes, of } = healthsOfDriver()
    healths.report(DRIVER, [reported("a")])
    healths.forget(DRIVER)
    await clock.advance(60_000)
    expect(of("a").health).toBe("Unknown")
    expect(changes).toEqual([`0 ${DRIVER}: pool/a`, `0 ${DRIVER}: pool/a`])
  })

  test("of too many devices keeps the most recently reported ones", () => {
    const { healths, of } = healthsOfDriver()
    healths.report(DRIVER, [reported("old"), reported("kept")])
    healths.report(DRIVER, [reported("kept"), ...Array.from({ length: 9999 }, (_, i) => reported(`gpu-${i}`))])
    expect([of("old").health, of("kept").health, of("gpu-9998").health]).toEqual(["Unknown", "Healthy", "Healthy"])
  })

  test.each([
    { title: "of the greatest length is kept", message: "x".repeat(1024), wants: "x".repeat(1024) },
    { title: "that is too long is truncated", message: "x".repeat(1025), wants: `${"x".repeat(1021)}...` },
    { title: "is truncated between characters", message: "ä".repeat(600), wants: `${"ä".repeat(510)}...` },
  ])("with a message that $title", ({ message, wants }) => {
    const { healths, of } = healthsOfDriver()
    healths.report(DRIVER, [reported("a", { message })])
    expect(of("a").message).toBe(wants)
  })
})
