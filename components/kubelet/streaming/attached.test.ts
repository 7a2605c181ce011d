import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import { PassThrough } from "node:stream"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { SUCCESS, type CommandStatus } from "../../../pkg/streaming/status.ts"
import { attached } from "./attached.ts"

/** A container to which a client is attached. */
function container({ inputEndsOutput = true, missed = false } = {}) {
  const clock = new VirtualClock(0)
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const status = Promise.withResolvers<CommandStatus>()
  const command = attached(
    {
      protocol: "v4.channel.k8s.io",
      stdin,
      stdout,
      stderr: undefined,
      status: status.promise,
      closed: new Promise(() => {}),
      resize() {},
      close() {},
    },
    { clock, inputEndsOutput, missed: async () => missed },
  )
  let out = ""
  command.stdout!.on("data", (bytes: Buffer) => (out += bytes.toString()))
  return {
    clock,
    command,
    stdin,
    stdout,
    /** The output that the client has received. */
    out: () => out,
    end: async () => {
      stdout.end()
      await once(stdout, "end")
      status.resolve(SUCCESS)
    },
  }
}

describe("closes the container's input once the response was sent", () => {
  test("closes the container's input after the response was sent", async () => {
    // given a container that is asked
    const { command, clock, stdin, stdout, out } = container()
    command.stdin!.end("question\n")
    await clock.advance(400)
    expect(stdin.read()?.toString()).toBe("question\n")

    // when it answers bit by bit
    stdout.write("ans")
    await clock.advance(400)
    stdout.write("wer\n")
    await clock.advance(400)

    // then its input is open, until it has said nothing for a while
    expect([out(), stdin.writableEnded]).toEqual(["answer\n", false])
    await clock.advance(100)
    expect(stdin.writableEnded).toBe(true)
  })

  test("does not wait for a container that has ended", async () => {
    const { command, clock, stdin, end } = container()
    command.stdin!.end("question\n")
    await clock.settle()
    stdin.resume()
    await end()
    await clock.settle()
    expect(stdin.writableEnded).toBe(true)
    expect(await command.status).toEqual(SUCCESS)
  })

  test("closes the container's input at once if the container's output does not depend on it", async () => {
    const { command, clock, stdin } = container({ inputEndsOutput: false })
    command.stdin!.end("question\n")
    await clock.settle()
    expect(stdin.writableEnded).toBe(true)
  })
})

test("a container that had ended before it was attached to is a failure, so that kubectl shows its log", async () => {
  const { command, end } = container({ missed: true })
  await end()
  expect(await command.status).toMatchObject({
    status: "Failure",
    message: "Internal error occurred: the container had ended before it was attached to",
  })
})

test("a container whose output was received counts as attached, although it ended early", async () => {
  const { command, stdout, end } = container({ missed: true })
  stdout.write("seen")
  await end()
  expect(await command.status).toEqual(SUCCESS)
})
