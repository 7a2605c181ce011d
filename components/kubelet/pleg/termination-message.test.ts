import { expect, test } from "bun:test"
import type { ContainerStatus } from "../../../pkg/cri/container.ts"
import { terminationMessage } from "./termination-message.ts"

const LOG = "/var/log/pods/default_web_1/main/0.log"
const HEAD = "2026-01-01T00:00:00.123456789Z stdout"

/** A container that failed with this log, and whose message is the end of it. */
const messageOf = (log: string): Promise<string | undefined> => {
  const status = {
    exitCode: 1,
    reason: "Error",
    mounts: [],
    logPath: LOG,
    annotations: {
      "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
      "io.kubernetes.container.terminationMessagePolicy": "FallbackToLogsOnError",
    },
  } as unknown as ContainerStatus
  const bytes = Buffer.from(log)
  const files = {
    read: (_path: string, tail = Infinity) => Promise.resolve(bytes.subarray(-tail).toString("utf8")),
    size: () => Promise.resolve(bytes.length),
  }
  return terminationMessage(files, status)
}

const line = (text: string, tag = "F") => `${HEAD} ${tag} ${text}\n`

test.each([
  { title: "a log of few lines", log: line("one") + line("two"), message: "one\ntwo\n" },
  { title: "a log that is empty", log: "", message: "" },
  { title: "one line of 6,000 bytes", log: line("z".repeat(6000)), message: `${"z".repeat(2047)}\n` },
  {
    title: "a line that the runtime has broken, after many others",
    log: line("before").repeat(1000) + line("a".repeat(16_384), "P") + line("b".repeat(1000)),
    message: `${"a".repeat(1047)}${"b".repeat(1000)}\n`,
  },
  { title: "more than 80 lines", log: line("before").repeat(9) + line("x").repeat(80), message: "x\n".repeat(80) },
  {
    title: "a line that is longer than any of a runtime",
    log: line("before") + line("y".repeat(1_000_000)) + line("after"),
    message: "after\n",
  },
  { title: "letters of several bytes", log: line("ü".repeat(3000)), message: /^\u{fffd}?ü{1023}\n$/u },
])("the message of a failed container is the end of $title", async ({ log, message }) => {
  const said = await messageOf(log)
  if (typeof message === "string") expect(said).toBe(message)
  else expect(said).toMatch(message)
})
