import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { realClock } from "../../../pkg/clock/real.ts"
import { processProfiler } from "../../../pkg/runtime/profiler.ts"
import { startHttpServer } from "../serving/http-server.fixtures.ts"

let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => void (server = await startHttpServer({ profiler: processProfiler(realClock) })))
afterAll(() => server.stop())

const get = (path: string) => server.call("GET", path)

describe("/debug/pprof", () => {
  test("lists the available profiles", async () => {
    expect((await get("/debug/pprof/")).text).toContain("heap\nprofile\n")
  })

  test("gives a CPU profile in DevTools' format, and only one at a time", async () => {
    // when
    const [one, other] = await Promise.all([get("/debug/pprof/profile?seconds=1"), get("/debug/pprof/profile")])
    // then
    const profile = JSON.parse(one.text) as { readonly nodes: readonly unknown[]; readonly samples: readonly unknown[] }
    expect(profile.nodes.length).toBeGreaterThan(0)
    expect([one.code, one.headers["content-disposition"]]).toEqual([200, 'attachment; filename="k3ts.cpuprofile"'])
    expect([other.code, other.text]).toEqual([500, "Could not enable profiling: another profile is being made\n"])
  })

  test("gives a heap snapshot in DevTools' format", async () => {
    const { code, text } = await get("/debug/pprof/heap")
    expect(code).toBe(200)
    expect(text.slice(0, 40)).toContain('{"snapshot":')
  }, 60_000)

  const REFUSED = [
    { given: "seconds=0", wants: "must be a whole number from 1 to 50" },
    { given: "seconds=51", wants: "profile duration exceeds server's WriteTimeout" },
    { given: "seconds=ten", wants: "must be a whole number from 1 to 50" },
  ]
  for (const { given, wants } of REFUSED)
    test(`refuses ${given} as the parameters of a CPU profile`, async () => {
      const { code, text } = await get(`/debug/pprof/profile?${given}`)
      expect(code).toBe(400)
      expect(text).toContain(wants)
    })

  test("answers 404 for Go's profiles that JavaScript does not have", async () => {
    expect((await get("/debug/pprof/goroutine")).code).toBe(404)
  })

  test("is refused to anonymous users", async () => {
    const anonymous = await server.call("GET", "/debug/pprof/heap", { token: undefined })
    expect(anonymous.code).toBe(401)
  })
})
