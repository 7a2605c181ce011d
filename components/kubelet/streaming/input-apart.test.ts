import { describe, expect, test } from "bun:test"
import { PassThrough } from "node:stream"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import { failureStatus, SUCCESS, type CommandStatus } from "../../../pkg/streaming/status.ts"
import { withInputApart } from "./input-apart.ts"

/** A session that is attached to some streams of a container. */
function session(streams: Partial<Record<"stdin" | "stdout", PassThrough>>) {
  const status = Promise.withResolvers<CommandStatus>()
  const closed = Promise.withResolvers<void>()
  const client: RemoteCommandClient = {
    protocol: "v4.channel.k8s.io",
    stdin: streams.stdin,
    stdout: streams.stdout,
    stderr: undefined,
    status: status.promise,
    closed: closed.promise,
    resize() {},
    close() {
      status.resolve(failureStatus("closed"))
      closed.resolve()
    },
  }
  return { client, status, closed }
}

function attachedTo({ inputEndsOutput = false } = {}) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const [output, input] = [session({ stdout }), session({ stdin })]
  const ended = Promise.withResolvers<boolean>()
  const asked: AbortSignal[] = []
  const hasEnded = async (left: AbortSignal, limitMs?: number) => {
    asked.push(left)
    return limitMs === undefined ? ended.promise : Promise.race([ended.promise, false])
  }
  const command = withInputApart(output.client, input.client, { inputEndsOutput, hasEnded })
  let status: CommandStatus | undefined
  void command.status.then((is) => (status = is))
  return { command, stdin, stdout, output, input, ended, asked, status: () => status }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("a container that had closed its outputs before it was attached to", () => {
  test("gets all its input", async () => {
    // given
    const { command, stdin, output, input, status } = attachedTo()
    output.status.resolve(SUCCESS)
    output.closed.resolve()
    // when
    command.stdin!.end("all of it")
    await turn()
    // then
    expect([stdin.read()?.toString(), stdin.writableEnded, status()]).toEqual(["all of it", true, undefined])
    input.status.resolve(SUCCESS)
    await turn()
    expect(status()).toEqual(SUCCESS)
  })

  test("ends its client with itself, although that could give more", async () => {
    const { output, ended, status } = attachedTo()
    output.status.resolve(SUCCESS)
    await turn()
    expect(status()).toBeUndefined()
    ended.resolve(true)
    await turn()
    expect(status()).toEqual(SUCCESS)
  })

  test("is not followed any more when its client has left", async () => {
    const { command, output, asked } = attachedTo()
    output.status.resolve(SUCCESS)
    await turn()
    expect(asked.map(({ aborted }) => aborted)).toEqual([false])
    command.close()
    expect(asked[0]!.aborted).toBe(true)
  })
})

test("input that the runtime lost is no success while the container runs", async () => {
  const { input, status } = attachedTo()
  input.status.resolve(failureStatus("lost"))
  await turn()
  expect(status()).toEqual(failureStatus("lost"))
})

test("input that nobody was left to read changes nothing", async () => {
  const { output, input, ended, status } = attachedTo()
  ended.resolve(true)
  input.status.resolve(failureStatus("container is in CONTAINER_EXITED state"))
  output.status.resolve(SUCCESS)
  await turn()
  expect(status()).toEqual(SUCCESS)
})

test("the end of the input ends the output only where the runtime does so", async () => {
  for (const inputEndsOutput of [true, false]) {
    const { command, input, status } = attachedTo({ inputEndsOutput })
    command.stdin!.end("go")
    await turn()
    expect(status()).toBeUndefined()
    input.status.resolve(SUCCESS)
    await turn()
    expect(status()).toEqual(inputEndsOutput ? SUCCESS : undefined)
  }
})
