import { afterAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Cell, CellValue } from "../../../pkg/cell/cell.ts"
import { newPrivateKey } from "../../../pkg/pki/certificate.ts"
import { silent } from "../../../pkg/log/log.ts"
import { passwordIn, writeJoinTokens } from "../join-tokens.ts"
import { KEY_FILES, ownKeyFiles } from "./key-files.ts"
import { seal, unseal } from "./seal.ts"
import { reencryptSharedFiles, shareFiles } from "./shared-files.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-shared-files-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A cell in memory. */
class MemoryCell implements Cell {
  stored: CellValue | undefined

  read(): Promise<CellValue | undefined> {
    return Promise.resolve(this.stored)
  }

  write(value: Uint8Array, revision: number): Promise<boolean> {
    if ((this.stored?.revision ?? 0) !== revision) return Promise.resolve(false)
    this.stored = { value, revision: revision + 1 }
    return Promise.resolve(true)
  }
}

let cell: MemoryCell
let servers = 0
beforeEach(() => void (cell = new MemoryCell()))

const newDir = (): string => {
  const dir = join(root, String(servers++))
  mkdirSync(dir)
  return dir
}
const share = (dir: string, serverToken?: string, agentToken?: string) =>
  shareFiles({ dir, cell, now: () => realClock.now(), random: systemRandom, log: silent, serverToken, agentToken })
const write = (dir: string, name: string, text: string) => {
  mkdirSync(join(dir, "tls"), { recursive: true })
  writeFileSync(join(dir, name), text)
}

describe("the files of servers that share a store", () => {
  test("are on every server those of the first server, if the server has its token", async () => {
    // given
    const [first, second] = [newDir(), newDir()]
    await share(first, "secret")
    // when
    await share(second, "K10::server:secret")
    // then
    expect(Object.keys(ownKeyFiles(first))).toEqual([...KEY_FILES])
    expect(ownKeyFiles(second)).toEqual(ownKeyFiles(first))
    expect(passwordIn(second, "agent")).toBe(passwordIn(first, "agent"))
    expect(statSync(join(second, "tls/service.key")).mode & 0o777).toBe(0o600)
  })

  test("are those of one server when several servers start at the same time", async () => {
    const dirs = [newDir(), newDir(), newDir()]
    await Promise.all(dirs.map((dir) => share(dir, "secret")))
    for (const dir of dirs) expect(ownKeyFiles(dir)).toEqual(ownKeyFiles(dirs[0]!))
  })

  test("cannot be read by a user of the store who does not have the token", async () => {
    const dir = newDir()
    await share(dir, "secret")
    const stored = Buffer.from(cell.stored!.value).toString("latin1")
    for (const text of [stored, Buffer.from(stored.split(":")[1]!, "base64").toString("latin1")])
      for (const hidden of ["PRIVATE KEY", "CERTIFICATE", "secret", passwordIn(dir, "agent")!])
        expect(text).not.toContain(hidden)
  })

  test("are those of the server that had files before it shared its store, and missing ones are added", async () => {
    const dir = newDir()
    const key = newPrivateKey()
    write(dir, "tls/service.key", key)
    await share(dir, "secret")
    expect(readFileSync(join(dir, "tls/service.key"), "utf8")).toBe(key)
    const joining = newDir()
    await share(joining, "secret")
    expect(readFileSync(join(joining, "tls/service.key"), "utf8")).toBe(key)
  })

  test("are copied again by a server that was killed while it wrote them", async () => {
    const [first, second] = [newDir(), newDir()]
    await share(first, "secret")
    write(second, "tls/server-ca.key", readFileSync(join(first, "tls/server-ca.key"), "utf8"))
    await share(second, "secret")
    expect(ownKeyFiles(second)).toEqual(ownKeyFiles(first))
  })

  test("are found again without --token, with the token that the first start generated", async () => {
    const dir = newDir()
    await share(dir)
    const before = ownKeyFiles(dir)
    writeJoinTokens({ dir, caPem: before["tls/server-ca.crt"]!, random: systemRandom })
    await share(dir)
    expect(ownKeyFiles(dir)).toEqual(before)
  })

  test("do not replace a certificate that was renewed with the same key", async () => {
    const [first, second] = [newDir(), newDir()]
    await share(first, "secret")
    await share(second, "secret")
    const renewed = `${readFileSync(join(second, "tls/client-ca.crt"), "utf8")}# renewed\n`
    write(second, "tls/client-ca.crt", renewed)
    await share(second, "secret")
    expect(readFileSync(join(second, "tls/client-ca.crt"), "utf8")).toBe(renewed)
  })

  test("include the password for agents, unless the administrator chose another one", async () => {
    const [first, second, chosen] = [newDir(), newDir(), newDir()]
    await share(first, "secret", "for-agents")
    await share(second, "secret")
    await share(chosen, "secret", "own")
    expect([passwordIn(second, "agent"), passwordIn(chosen, "agent")]).toEqual(["for-agents", undefined])
  })
})

describe("a server is refused, and nothing is changed,", () => {
  const cases: { title: string; token: string | undefined; files?: Record<string, string>; wants: RegExp }[] = [
    { title: "with another token", token: "wrong", wants: /encrypted with another token than this server's/ },
    { title: "without a token", token: undefined, wants: /start this server with --token/ },
    {
      title: "with another signing key of tokens",
      token: "secret",
      files: { "tls/service.key": newPrivateKey() },
      wants: /has other files than the cluster in the store: tls\/service\.key in /,
    },
    {
      title: "with another CA",
      token: "secret",
      files: { "tls/server-ca.key": newPrivateKey(), "tls/server-ca.crt": "another" },
      wants: /other files than the cluster in the store: tls\/server-ca\.key, tls\/server-ca\.crt in /,
    },
  ]
  test.each(cases)("$title", async ({ token, files = {}, wants }) => {
    // given
    await share(newDir(), "secret")
    const dir = newDir()
    for (const [name, text] of Object.entries(files)) write(dir, name, text)
    const before = cell.stored
    // when
    await expect(share(dir, token)).rejects.toThrow(wants)
    // then
    expect(ownKeyFiles(dir)).toEqual(files)
    expect(passwordIn(dir, "server")).toBeUndefined()
    expect(cell.stored).toBe(before!)
  })

  test("with a CA certificate without its key", async () => {
    const dir = newDir()
    write(dir, "tls/client-ca.key", newPrivateKey())
    await expect(share(dir, "secret")).rejects.toThrow(/Cannot share tls\/client-ca\.key: the other file of client-ca/)
    expect(cell.stored).toBeUndefined()
  })
})

describe("the rotation of tokens", () => {
  const given = async (): Promise<string> => {
    const dir = newDir()
    await share(dir, "secret")
    writeFileSync(join(dir, "node-token"), "secret\n")
    return dir
  }

  test("lets servers join with the new token only, and keeps the files", async () => {
    const dir = await given()
    await reencryptSharedFiles({ dir, cell, random: systemRandom }, { server: "next", agent: "next-agents" })
    await expect(share(newDir(), "secret")).rejects.toThrow(/another token/)
    const joining = newDir()
    await share(joining, "next")
    expect(ownKeyFiles(joining)).toEqual(ownKeyFiles(dir))
    expect(passwordIn(joining, "agent")).toBe("next-agents")
  })

  test("is refused if another rotation came first", async () => {
    const dir = await given()
    const rotate = (server: string) =>
      reencryptSharedFiles({ dir, cell, random: systemRandom }, { server, agent: "agents" })
    const ended = await Promise.allSettled([rotate("one"), rotate("two")])
    expect(ended.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
  })
})

describe("a sealed text", () => {
  test("can be opened only with its password, and only unchanged", async () => {
    const sealed = await seal("text", "secret", systemRandom)
    expect(await unseal(sealed, "secret")).toBe("text")
    expect(await unseal(sealed, "other")).toBeUndefined()
    const changed = Buffer.from(sealed)
    changed[changed.length - 6]! ^= 1
    expect(await unseal(changed, "secret")).toBeUndefined()
  })

  test.each([
    { title: "of another version", text: "k3ts-sealed-9:AAAA" },
    { title: "truncated", text: "k3ts-sealed-1:AAAA" },
    { title: "empty", text: "" },
  ])("is refused when it is $title", async ({ text }) => {
    await expect(unseal(Buffer.from(text), "secret")).rejects.toThrow(
      /does not begin with k3ts-sealed-1, or is cut off/,
    )
  })
})
