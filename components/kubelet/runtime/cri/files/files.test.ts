import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import type { ContainerStatus } from "../../../../../pkg/cri/container.ts"
import { hostLogs } from "../../../server/host-logs.ts"
import { terminationMessage } from "../../../pleg/termination-message.ts"
import { realClock } from "../../../../../pkg/clock/real.ts"
import { hostFiles } from "./files.ts"

const files = hostFiles(realClock)
let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "k3ts-files-")))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe("a file that a container can replace", () => {
  test.each([
    ["a named pipe, on which reading would wait for ever", (path: string) => void execFileSync("mkfifo", [path])],
    ["a device of the machine", (path: string) => symlinkSync("/dev/zero", path)],
    ["a folder", (path: string) => mkdirSync(path)],
    ["nothing", () => undefined],
  ])("is not read when there is %s", async (_title, make) => {
    const path = join(folder, "file")
    make(path)
    expect(await files.read(path, 4096)).toBeUndefined()
    expect(await files.read(path)).toBeUndefined()
    expect(await files.open(path)).toBeUndefined()
  })

  test("gives a termination message only from a regular file, and only its end, however large it is", async () => {
    // given containers whose file for last words is a pipe, and one of 1 GB
    const pipe = join(folder, "pipe")
    const large = join(folder, "large")
    execFileSync("mkfifo", [pipe])
    writeFileSync(large, "")
    truncateSync(large, 2 ** 30)
    writeFileSync(large, "last words", { flag: "a" })
    const ended = (hostPath: string) =>
      ({
        annotations: { "io.kubernetes.container.terminationMessagePath": "/dev/termination-log" },
        mounts: [{ containerPath: "/dev/termination-log", hostPath }],
        logPath: join(folder, "none"),
        exitCode: 1,
        reason: "Error",
      }) as unknown as ContainerStatus
    // then
    expect(await terminationMessage(files, ended(pipe))).toBeUndefined()
    const message = await terminationMessage(files, ended(large))
    expect(message).toHaveLength(4096)
    expect(message).toEndWith("last words")
  })
})

describe("a log that is compressed", () => {
  const from = () => join(folder, "0.log.1")
  const to = () => join(folder, "0.log.1.gz")

  test("is there compressed, and nothing else", async () => {
    writeFileSync(from(), "hello\n".repeat(1000))
    await files.compress(from(), to())
    expect(gunzipSync(readFileSync(to())).toString()).toBe("hello\n".repeat(1000))
    expect(readdirSync(folder)).toEqual(["0.log.1.gz"])
  })

  test.each([
    ["a link to a file of the node", (path: string) => symlinkSync("/etc/hostname", path)],
    ["a named pipe, on which reading would wait for ever", (path: string) => void execFileSync("mkfifo", [path])],
  ])("is not read when it is %s", async (_title, make) => {
    make(from())
    await expect(files.compress(from(), to())).rejects.toThrow("is no regular file")
    expect(readdirSync(folder)).toEqual(["0.log.1"])
  })

  test("changes no file of the node to which a pod has linked the place where it is written", async () => {
    // given
    writeFileSync(join(folder, "secret"), "secret\n")
    symlinkSync(join(folder, "secret"), `${to()}.tmp`)
    writeFileSync(from(), "hello\n")
    // when
    await files.compress(from(), to())
    // then
    expect(readFileSync(join(folder, "secret"), "utf8")).toBe("secret\n")
    expect(gunzipSync(readFileSync(to())).toString()).toBe("hello\n")
  })
})

describe("the files of the folder of logs", () => {
  const ask = async (path: string) => {
    const answer = await hostLogs(
      files,
      join(folder, "log/pods"),
      new URL(`http://node${path}`),
      new AbortController().signal,
    ).catch((err: unknown) => err as Error)
    return answer instanceof Error ? answer.message : answer.text()
  }

  test("are served, also through links inside the folder, but never outside of it", async () => {
    // given links that a pod has made which may write to the folder
    mkdirSync(join(folder, "log/pods"), { recursive: true })
    writeFileSync(join(folder, "log/messages"), "hello\n")
    writeFileSync(join(folder, "secret"), "secret\n")
    mkdirSync(join(folder, "log/empty"))
    symlinkSync("messages", join(folder, "log/inside"))
    symlinkSync(join(folder, "secret"), join(folder, "log/outside"))
    symlinkSync(folder, join(folder, "log/up"))
    execFileSync("mkfifo", [join(folder, "log/pipe")])
    // then
    expect(await ask("/logs/inside")).toBe("hello\n")
    expect(await ask("/logs/")).toContain('<a href="messages">messages</a>')
    expect(await ask("/logs/empty/")).toContain("<pre>")
    for (const path of ["/logs/outside", "/logs/up", "/logs/up/secret", "/logs/none"])
      expect(await ask(path)).toBe(`there is no ${path}`)
    expect(await ask("/logs/pipe")).toContain("<pre>")
  })
})
