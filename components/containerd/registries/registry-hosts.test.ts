import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { silent } from "../../../pkg/log/log.ts"
import { parseRegistries } from "./parse-registries.ts"
import { RegistryHosts } from "./registry-hosts.ts"

describe("RegistryHosts", () => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "k3ts-hosts-"))))
  afterEach(() => rmSync(folder, { recursive: true }))

  const hostsOf = (yaml: string) =>
    new RegistryHosts({ folder, registries: parseRegistries(yaml, "r.yaml"), random: systemRandom, log: silent })

  test("removes the files of deleted settings, but no file that a user wrote", async () => {
    // given a file of a user's and one of an earlier start
    mkdirSync(join(folder, "mine.io"))
    writeFileSync(join(folder, "mine.io/hosts.toml"), 'server = "https://mine.io"\n')
    await hostsOf("mirrors: {a.io: {endpoint: [https://m]}}").start()
    expect(readdirSync(folder).sort()).toEqual(["a.io", "mine.io"])
    expect(statSync(join(folder, "a.io/hosts.toml")).mode & 0o777).toBe(0o600)

    // when the settings change
    await hostsOf("mirrors: {b.io: {endpoint: [https://m]}}").start()

    // then
    expect(readdirSync(folder).sort()).toEqual(["b.io", "mine.io"])
  })

  test("refuses a registry for which a user has written a file, and does not change that file", async () => {
    mkdirSync(join(folder, "a.io"))
    writeFileSync(join(folder, "a.io/hosts.toml"), "own\n")
    await expect(hostsOf("mirrors: {a.io: {endpoint: [https://m]}}").start()).rejects.toThrow(
      `Cannot configure the registry a.io: both registries.yaml and ${folder}/a.io/hosts.toml do; remove one of the two`,
    )
    expect(readFileSync(join(folder, "a.io/hosts.toml"), "utf8")).toBe("own\n")
  })

  test("sends endpoints with rewrites through a proxy that has their credentials, until it stops", async () => {
    const hosts = hostsOf(
      "mirrors: {a.io: {endpoint: ['https://m:1'], rewrite: {'^x/': y/}}}\nconfigs: {'m:1': {auth: {username: u}}}",
    )
    const credentials = await hosts.start()
    const written = Bun.TOML.parse(readFileSync(join(folder, "a.io/hosts.toml"), "utf8")) as {
      host: Record<string, { override_path: boolean }>
    }
    const [url] = Object.keys(written.host)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/v2$/)
    expect(written.host[url!]!.override_path).toBe(true)
    expect(credentials[new URL(url!).host]).toEqual({ auth: { username: "u" } })
    expect((await fetch(`http://${new URL(url!).host}/`)).status).toBe(404)

    await hosts.stop()
    await expect(fetch(`http://${new URL(url!).host}/`)).rejects.toThrow()
    expect(existsSync(folder)).toBe(true)
  })
})
