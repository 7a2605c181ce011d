import { describe, expect, test } from "bun:test"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseJoinToken } from "../../components/supervisor/join-token.ts"
import { k3ts, startServer } from "./k3ts.ts"

describe("k3ts token", () => {
  test("creates, lists and deletes bootstrap tokens, which are valid until they are deleted", async () => {
    // given
    await using server = await startServer()
    const where = ["--data-dir", server.dataDir]
    // when
    const made = await k3ts([
      "token",
      "create",
      "abcdef.0123456789abcdef",
      ...where,
      "--ttl",
      "2h",
      "--description",
      "rack 7",
    ])
    // then
    expect(made).toMatchObject({ code: 0, stderr: "" })
    expect(parseJoinToken(made.stdout, "").credential).toEqual({
      bootstrapToken: { id: "abcdef", secret: "0123456789abcdef" },
    })
    expect((await server.get("/api/v1/nodes", "abcdef.0123456789abcdef")).body).toContain(
      'User \\"system:bootstrap:abcdef\\" cannot list',
    )
    const { stdout } = await k3ts(["token", "list", ...where])
    expect(stdout).toMatch(
      /^TOKEN +TTL +EXPIRES +USAGES +DESCRIPTION +EXTRA GROUPS\nabcdef +(119m|2h) +\S+Z +signing,authentication +rack 7 +system:bootstrappers:k3ts:default-node-token\n$/,
    )
    expect((await k3ts(["token", "list", ...where, "-o", "json"])).stdout).not.toContain("0123456789abcdef")
    // when it is made again, and deleted
    const again = await k3ts(["token", "create", "abcdef.0123456789abcdef", ...where])
    const deleted = await k3ts(["token", "delete", "abcdef", ...where])
    // then
    expect(again).toMatchObject({ code: 1, stderr: 'k3ts: a token with id "abcdef" already exists\n' })
    expect(deleted).toMatchObject({ code: 0, stdout: 'bootstrap token "abcdef" deleted\n' })
    expect((await server.get("/api/v1/nodes", "abcdef.0123456789abcdef")).status).toBe(401)
  })

  test("rotates the tokens in the files, which only root can read and which a restart keeps", async () => {
    // given
    await using server = await startServer()
    const file = (name: string) => join(server.dataDir, "server", name)
    const before = [readFileSync(file("node-token"), "utf8"), readFileSync(file("agent-token"), "utf8")]
    expect(statSync(file("node-token")).mode & 0o777).toBe(0o600)
    // when
    const rotated = await k3ts(["token", "rotate", "--data-dir", server.dataDir, "--new-token", "chosen"])
    // then
    expect(rotated).toMatchObject({ code: 0, stderr: "" })
    expect(parseJoinToken(readFileSync(file("node-token"), "utf8"), "")).toEqual({
      ...parseJoinToken(before[0]!, ""),
      credential: { user: "server", password: "chosen" },
    })
    expect(readFileSync(file("agent-token"), "utf8")).not.toBe(before[1]!)
  })

  test("reports why a token is invalid, and never prints the token", async () => {
    // given
    await using server = await startServer()
    const where = ["--data-dir", server.dataDir]
    writeFileSync(join(server.dataDir, "given"), "abcdef.0123456789abcdef\n")
    // then
    const wrong = await k3ts(["token", "create", "robot", ...where])
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain("for the token of a service account run k3ts token serviceaccount NAME")
    const rotated = await k3ts(["token", "rotate", ...where, "--new-token", "abcdef.0123456789abcdef"])
    expect(rotated).toMatchObject({
      code: 1,
      stderr: "k3ts: the token of a server must not have the form of a bootstrap token\n",
    })
  })
})
