import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../pkg/clock/random.ts"
import { parseJoinToken, type JoinCredential } from "./join-token.ts"
import { openClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { JOIN_GROUP, JoinTokens, joinTokenFile, writeJoinTokens } from "./join-tokens.ts"

const NOW = Date.UTC(2026, 0, 1)
const caOf = () => openClusterPki({ now: () => NOW }).authorities["server-ca"].certPem
const caPem = caOf()

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "join-tokens-"))))
afterEach(() => rmSync(dir, { recursive: true }))

const write = (options: Partial<Parameters<typeof writeJoinTokens>[0]> = {}) =>
  writeJoinTokens({ dir, caPem, random: seededRandom(1), ...options })
const written = (joinsAs: "server" | "agent") => readFileSync(joinTokenFile(dir, joinsAs), "utf8")
const credentialIn = (joinsAs: "server" | "agent") => parseJoinToken(written(joinsAs), "").credential

describe("the files of the tokens", () => {
  test("are created once, readable for root only, with different tokens", () => {
    // given
    write()
    const before = [written("server"), written("agent")]
    // when
    write({ random: seededRandom(2) })
    // then
    expect([written("server"), written("agent")]).toEqual(before)
    expect(credentialIn("server")).toMatchObject({ user: "server" })
    expect(credentialIn("agent")).toMatchObject({ user: "node" })
    expect(before[0]!.split(":").at(-1)).not.toBe(before[1]!.split(":").at(-1))
    expect(statSync(joinTokenFile(dir, "server")).mode & 0o777).toBe(0o600)
  })

  test("keep their passwords when the CA changes", () => {
    // given
    write()
    const { caHash: before, credential } = parseJoinToken(written("server"), "")
    // when
    write({ caPem: caOf() })
    // then
    expect(parseJoinToken(written("server"), "").caHash).not.toBe(before)
    expect(credentialIn("server")).toEqual(credential)
  })

  test("contain the token that the administrator chose: a password, or a complete token", () => {
    // when
    write({ serverToken: "chosen", agentToken: "K10::node:other" })
    // then
    expect(credentialIn("server")).toEqual({ user: "server", password: "chosen" })
    expect(credentialIn("agent")).toEqual({ user: "node", password: "other" })
  })

  test.each([
    {
      title: "a bootstrap token",
      given: "abcdef.0123456789abcdef",
      wants: "must not have the form of a bootstrap token",
    },
    { title: "the token of agents", given: "K10::node:x", wants: 'is that of the user "node", not of "server"' },
  ])("cannot contain $title for servers", ({ given, wants }) => {
    expect(() => write({ serverToken: given })).toThrow(wants)
  })
})

describe("a machine joins", () => {
  const bootstrap = { id: "abcdef", secret: "0123456789abcdef" }
  const tokens = (groups: readonly string[] = []) =>
    new JoinTokens(dir, (text) =>
      Promise.resolve(
        text === "abcdef.0123456789abcdef" ? { ...bootstrap, usages: ["authentication"], groups } : undefined,
      ),
    )

  test.each<{ title: string; given: JoinCredential; wants: "server" | "agent" | undefined }>([
    { title: "as a server with the server's password", given: { user: "server", password: "one" }, wants: "server" },
    { title: "as an agent with the agents' password", given: { user: "node", password: "two" }, wants: "agent" },
    { title: "not with a wrong password", given: { user: "server", password: "two" }, wants: undefined },
    { title: "not with the password of another user", given: { user: "node", password: "one" }, wants: undefined },
    { title: "not as an unknown user", given: { user: "admin", password: "one" }, wants: undefined },
  ])("$title", async ({ given, wants }) => {
    write({ serverToken: "one", agentToken: "two" })
    expect(await tokens().verify(given)).toBe(wants)
  })

  test("as an agent with a bootstrap token of the group for it, and with no other bootstrap token", async () => {
    const other = { id: "zzzzzz", secret: bootstrap.secret }
    expect(await tokens([JOIN_GROUP]).verify({ bootstrapToken: bootstrap })).toBe("agent")
    expect(await tokens().verify({ bootstrapToken: bootstrap })).toBeUndefined()
    expect(await tokens([JOIN_GROUP]).verify({ bootstrapToken: other })).toBeUndefined()
  })

  test("never while the file of passwords is empty or missing", async () => {
    write({ serverToken: "one" })
    writeFileSync(joinTokenFile(dir, "server"), "")
    rmSync(joinTokenFile(dir, "agent"))
    expect(await tokens().verify({ user: "server", password: "" })).toBeUndefined()
    expect(await tokens().verify({ user: "node", password: "" })).toBeUndefined()
  })
})

test("a file with other content is named in the error with what to do, and is not overwritten", () => {
  // given
  write()
  const path = joinTokenFile(dir, "agent")
  writeFileSync(path, "two\nlines\n")
  // then
  expect(() => write()).toThrow(
    `Cannot use ${path}: the token is malformed: it must be one line of at most 4096 visible ASCII characters; remove ` +
      "the file, and a new token is made at the next start",
  )
  expect(written("agent")).toBe("two\nlines\n")
})
