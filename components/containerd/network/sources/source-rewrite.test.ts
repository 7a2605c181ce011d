import { expect, test } from "bun:test"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { silent } from "../../../../pkg/log/log.ts"
import type { Host } from "../../../../pkg/netfilter/host.ts"
import { message } from "../../../../pkg/netlink/message.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { SourceGuard } from "./source-guard.ts"
import { TABLE, type PodSource } from "./source-table.ts"

const ENOENT = 2
const pod = (port: string): PodSource => ({ port, mac: "0a:58:0a:00:00:02", addresses: ["10.0.0.2"] })

/**
 * A kernel with at most one table, of whose elements only the ports are kept. `nft` takes as long as the test wants.
 */
function machine() {
  let table: string | undefined
  const writes: (() => void)[] = []
  const host: Host = {
    run: () => Promise.resolve(table === undefined ? "" : `table bridge ${TABLE}\n`),
    feed: (_command, _args, input) =>
      new Promise((resolve) =>
        writes.push(() => {
          table = input
          resolve()
        }),
      ),
  }
  const socket = (): NetlinkFile => {
    const answers: Buffer[] = []
    return {
      async send(bytes) {
        const port = /veth-\w+/.exec(Buffer.from(bytes).toString("latin1"))![0]
        const body = Buffer.alloc(20)
        body.writeInt32LE(table === undefined ? -ENOENT : 0)
        if (table !== undefined) table += `"${port}"`
        answers.push(message(2, 0, body))
      },
      receive: () => Promise.resolve(answers.shift()),
    }
  }
  return {
    host,
    process: { netlink: () => Promise.resolve(socket()) },
    /** Ends the oldest `nft` that is under way, as soon as there is one. */
    async written() {
      while (writes.length === 0) await Promise.resolve()
      writes.shift()!()
    },
    writes,
    flush: () => (table = undefined),
    has: (port: string) => table?.includes(`"${port}"`),
  }
}

async function guarded(kernel: ReturnType<typeof machine>, clock = new VirtualClock(0)): Promise<SourceGuard> {
  const guard = new SourceGuard({ clock, log: silent, pods: () => [], host: kernel.host })
  guard.start()
  await kernel.written()
  return guard
}

test("pods that find the table missing at the same time write it once, with all pods", async () => {
  const kernel = machine()
  const guard = await guarded(kernel)
  const rules = await Promise.all([guard.rules(kernel.process), guard.rules(kernel.process)])
  // given a table that somebody has removed
  kernel.flush()
  // when two pods start
  const admitted = Promise.all(rules.map((one, i) => one.admit(pod(`veth-${i}`))))
  await kernel.written()
  await admitted
  // then nothing that was worked out earlier can replace the table afterwards
  expect(kernel.writes).toEqual([])
  expect([kernel.has("veth-0"), kernel.has("veth-1")]).toEqual([true, true])
})

test("a pod that is added while the table is being replaced is in the new table", async () => {
  const kernel = machine()
  const guard = await guarded(kernel)
  const rules = await guard.rules(kernel.process)
  // given a table that is about to be replaced by one without the pod
  guard.start()
  const admitted = rules.admit(pod("veth-0"))
  // when it is replaced
  await kernel.written()
  await admitted
  // then
  expect(kernel.has("veth-0")).toBe(true)
})

test("a pod starts without rules if the table cannot be written again", async () => {
  const kernel = machine()
  const guard = await guarded(kernel)
  const rules = await guard.rules(kernel.process)
  kernel.flush()
  kernel.host.feed = () => Promise.reject(new Error("nft is gone"))
  await rules.admit(pod("veth-0"))
  expect(kernel.has("veth-0")).toBeUndefined()
})

test("a pod starts without rules if another program removes the table each time after it is written", async () => {
  const kernel = machine()
  const guard = await guarded(kernel)
  const rules = await guard.rules(kernel.process)
  kernel.flush()
  kernel.host.feed = () => Promise.resolve()
  await rules.admit(pod("veth-0"))
  expect(kernel.has("veth-0")).toBeUndefined()
})

test("a table that another program has removed is written again within half a minute, with the pods that run", async () => {
  const [kernel, clock] = [machine(), new VirtualClock(0)]
  const guard = await guarded(kernel, clock)
  await (await guard.rules(kernel.process)).admit(pod("veth-0"))
  kernel.flush()
  // when
  await clock.advance(30_000)
  await kernel.written()
  // then
  expect(kernel.has("veth-0")).toBe(true)
  // and a guard that has been stopped looks no more
  await guard.stop()
  kernel.flush()
  await clock.advance(60_000)
  expect(kernel.writes).toEqual([])
})
