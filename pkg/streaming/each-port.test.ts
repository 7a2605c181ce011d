import { expect, test } from "bun:test"
import { PassThrough } from "node:stream"
import { forwardEach } from "./each-port.ts"
import type { PortForwardClient } from "./port-forward-client.ts"

/** Sessions with a runtime, in the order in which they were opened. */
function runtime() {
  const sessions: ReturnType<typeof session>[] = []
  const dial = async (): Promise<PortForwardClient> => {
    const opened = session()
    sessions.push(opened)
    return opened.client
  }
  return { sessions, dial, isOpen: () => sessions.map(({ state }) => state.isOpen) }
}

function session() {
  const closed = Promise.withResolvers<void>()
  const error = Promise.withResolvers<string>()
  const data = new PassThrough()
  const state = { isOpen: true, ports: [] as number[] }
  const client: PortForwardClient = {
    open(port) {
      state.ports.push(port)
      return { data, error: error.promise }
    },
    closed: closed.promise,
    close() {
      state.isOpen = false
      closed.resolve()
    },
  }
  return { client, state, data, error }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test("each connection has a session of its own, and the first the one that was opened beforehand", async () => {
  const { sessions, dial } = runtime()
  const target = await forwardEach(dial)
  expect(sessions).toHaveLength(1)
  await target.open(80)
  await target.open(81)
  expect(sessions.map(({ state }) => state.ports)).toEqual([[80], [81]])
})

test("a session ends when the other side has ended its connection and said whether it failed", async () => {
  const { sessions, dial, isOpen } = runtime()
  const target = await forwardEach(dial)
  const { data } = await target.open(80)
  await target.open(81)
  data.resume()
  data.end()
  await turn()
  expect(isOpen()).toEqual([true, true])
  sessions[0]!.error.resolve("")
  await turn()
  expect(isOpen()).toEqual([false, true])
})

test("a session ends when this side resets its connection", async () => {
  const { dial, isOpen } = runtime()
  const target = await forwardEach(dial)
  const { data } = await target.open(80)
  await target.open(81)
  data.destroy()
  await turn()
  expect(isOpen()).toEqual([false, true])
})

test("all sessions end with the target: those with connections, the unused one, and one that is being opened", async () => {
  const unused = runtime()
  const other = await forwardEach(unused.dial)
  other.close()
  expect(unused.isOpen()).toEqual([false])

  const { dial, isOpen } = runtime()
  const target = await forwardEach(dial)
  await target.open(80)
  const late = target.open(81)
  target.close()
  await late
  expect(isOpen()).toEqual([false, false])
  await target.closed
})

test("a session that the runtime has closed before the first connection is replaced", async () => {
  const { sessions, dial } = runtime()
  const target = await forwardEach(dial)
  sessions[0]!.client.close()
  await turn()
  await target.open(80)
  expect(sessions.map(({ state }) => state.ports)).toEqual([[], [80]])
})
