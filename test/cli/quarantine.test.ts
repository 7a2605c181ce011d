import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sleep } from "../../pkg/clock/clock.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { openQuarantine, quarantineFolder, writeRecord } from "../../pkg/quarantine/quarantine-files.ts"
import { NOTHING_RECORDED } from "../../pkg/quarantine/record.ts"
import { k3ts } from "./k3ts.ts"

let dataDir: string
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), "k3ts-quarantine-"))))
afterEach(() => rmSync(dataDir, { recursive: true }))
const command = (...args: readonly string[]) =>
  k3ts(["quarantine", ...args, "--data-dir", dataDir, "--config", "/dev/null"])
const aside = (place: string, key: string) => ({ place, key, since: "2026-01-01T00:00:00Z", why: "it was slow" })
const setAside = (of: "server" | "agent", ...items: readonly (readonly [string, string])[]) =>
  writeRecord(quarantineFolder(dataDir, of), {
    ...NOTHING_RECORDED,
    setAside: items.map(([place, key]) => aside(place, key)),
  })
/** Returns what is still set aside, as `place key`. */
async function left(): Promise<readonly string[]> {
  const { stdout } = await command("list", "--output", "json")
  return (JSON.parse(stdout) as { place: string; key: string }[]).map(({ place, key }) => `${place} ${key}`)
}

describe("k3ts quarantine free", () => {
  beforeEach(() => {
    setAside("server", ["scheduler", "default/web"], ["job-controller", "default/web"], ["job-controller", "default/x"])
    setAside("agent", ["kubelet", "default/web"])
  })

  test.each([
    [
      ["--key", "default/x"],
      ["scheduler default/web", "job-controller default/web", "kubelet default/web"],
    ],
    [["--key", "default/web"], ["job-controller default/x"]],
    [
      ["--key", "default/web", "--place", "kubelet"],
      ["scheduler default/web", "job-controller default/web", "job-controller default/x"],
    ],
    [["--all"], []],
  ])("%j leaves only the others set aside, of a server and of an agent", async (args, others) => {
    const { code, stdout } = await command("free", ...args)
    expect(code).toBe(0)
    expect(stdout.trim().split("\n")).toHaveLength(4 - others.length)
    expect(await left()).toEqual(others)
  })

  test.each([
    [["--key", "default/other"], "nothing like that is set aside; k3ts quarantine list shows what is"],
    [["--key", "default/x", "--place", "kubelet"], "nothing like that is set aside"],
    [[], "name what to free by --key (and --place), or give --all"],
    [["--place", "kubelet"], "name what to free by --key"],
    [["--all", "--key", "default/x"], "name what to free by --key"],
  ])("%j frees nothing, and says why", async (args, says) => {
    const { code, stderr } = await command("free", ...args)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(says)
    expect(await left()).toHaveLength(4)
  })

  test("has a process that runs work on the object again at once", async () => {
    // given
    const opened = openQuarantine(quarantineFolder(dataDir, "server"), { clock: realClock, log: silent })!
    const fate = (key: string) => opened.quarantine.place("job-controller").fate(key, () => "seen")
    expect(["default/web", "default/x"].map(fate)).toEqual(["skip", "skip"])
    // when
    await command("free", "--key", "default/x")
    // then
    while (fate("default/x") !== "go") await sleep(realClock, 5)
    expect(fate("default/web")).toBe("skip")
    opened.close()
  })
})

test("k3ts quarantine list says when a record is damaged, instead of that nothing is set aside", async () => {
  setAside("server", ["scheduler", "default/web"])
  writeFileSync(join(quarantineFolder(dataDir, "server"), "record.json"), "{")
  const { code, stdout, stderr } = await command("list")
  expect([code, stdout]).toEqual([1, ""])
  expect(stderr).toContain("it is no JSON; remove it")
})
