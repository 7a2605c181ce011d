import { describe, expect, test } from "bun:test"
import { PassThrough } from "node:stream"
import { VirtualClock } from "../../../../../pkg/clock/virtual.ts"
import { exitCodeStatus, SUCCESS, type CommandStatus } from "../../../../../pkg/streaming/status.ts"
import { withWholeInput } from "./whole-input.ts"

function running({ hasOutputs = true } = {}) {
  const clock = new VirtualClock(0)
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const held = Promise.withResolvers<boolean>()
  const status = Promise.withResolvers<CommandStatus>()
  const closed = Promise.withResolvers<void>()
  const calls = { dropped: 0, released: 0 }
  const command = withWholeInput(
    {
      protocol: "v4.channel.k8s.io",
      stdin,
      ...(hasOutputs ? { stdout, stderr } : { stdout: undefined, stderr: undefined }),
      status: status.promise,
      closed: closed.promise,
      resize() {},
      close() {},
    },
    {
      isHeld: held.promise,
      dropInput: () => void calls.dropped++,
      release: () => void calls.released++,
    },
    clock,
  )
  stdout.resume()
  stderr.resume()
  return { clock, stdin, stdout, stderr, held, status, closed, calls, command }
}

describe("the input of a command", () => {
  test("waits until its outputs are held", async () => {
    const { clock, stdin, held, command } = running()
    command.stdin!.end("input")
    await clock.settle()
    expect(stdin.readableLength).toBe(0)
    held.resolve(true)
    await clock.settle()
    expect(stdin.read()?.toString()).toBe("input")
    expect(stdin.writableEnded).toBe(true)
  })

  test("waits a second at most", async () => {
    const { clock, stdin, command } = running()
    command.stdin!.write("input")
    await clock.advance(1000)
    expect(stdin.read()?.toString()).toBe("input")
  })

  test("waits 50 ms at most once an output has ended", async () => {
    const { clock, stdin, stdout, command } = running()
    command.stdin!.write("input")
    stdout.end()
    await clock.advance(60)
    expect(stdin.read()?.toString()).toBe("input")
  })

  test("that a process has left unread is dropped until its exit code is there", async () => {
    const { clock, stdout, stderr, held, status, closed, calls, command } = running()
    held.resolve(true)
    stdout.end()
    stderr.end()
    await clock.advance(300)
    expect(calls.dropped).toBe(3)
    status.resolve(SUCCESS)
    closed.resolve()
    expect(await command.status).toEqual(SUCCESS)
    await clock.settle()
    expect(clock.pending).toBe(0)
    expect(calls).toEqual({ dropped: 3, released: 1 })
  })
})

test("the input of a command without outputs is not taken from it", async () => {
  const { clock, held, closed, calls } = running({ hasOutputs: false })
  held.resolve(true)
  await clock.advance(1000)
  expect(calls.dropped).toBe(0)
  closed.resolve()
  await clock.settle()
  expect([calls.released, clock.pending]).toEqual([1, 0])
})

describe("a command whose outputs could not be held", () => {
  test.each([
    { title: "and that closed one of them fails", apart: 500, code: 0, input: "x", expected: "Failure" },
    { title: "and that closed none succeeds", apart: 0, code: 0, input: "x", expected: "Success" },
    { title: "and that had no input succeeds", apart: 500, code: 0, input: "", expected: "Success" },
    { title: "keeps its exit code", apart: 500, code: 3, input: "x", expected: "Failure" },
  ])("$title", async ({ apart, code, input, expected }) => {
    const { clock, stdout, stderr, held, status, command } = running()
    held.resolve(false)
    command.stdin!.end(input)
    stdout.end()
    await clock.advance(apart)
    stderr.end()
    status.resolve(exitCodeStatus(code))
    const ended = await command.status
    expect(ended.status).toBe(expected as "Failure")
    if (code !== 0) expect(ended.reason).toBe("NonZeroExitCode")
    else if (expected === "Failure") expect(ended.message).toContain("closed the command's input before all of it")
  })
})
