import { expect, test } from "bun:test"
import { message } from "../../../../pkg/netlink/message.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { awaitPort } from "./await-port.ts"

const NEWLINK = 16
const [UP, RUNNING] = [0x01, 0x40]

/** A kernel that notes the carrier of a port only for the look of this number, counted from 1. */
function kernel(running: number): NetlinkFile {
  let looks = 0
  let answer: Buffer | undefined
  return {
    async send() {
      const header = Buffer.alloc(16)
      header.writeUInt32LE(++looks >= running ? UP | RUNNING : UP, 8)
      answer = message(NEWLINK, 0, header)
    },
    async receive() {
      const next = answer
      answer = undefined
      return next
    },
  }
}

test.each<[says: string, running: number, waits: readonly number[]]>([
  ["that is ready at once is not waited for", 1, []],
  ["whose carrier the kernel notes late is waited for", 3, [50, 500]],
  ["that is never ready is given up after two and a half seconds", Infinity, [50, 500, 1000, 1000]],
])("a new port of the bridge %s", async (_, running, expected) => {
  const waits: number[] = []
  await awaitPort(kernel(running), "veth1", async (ms) => void waits.push(ms))
  expect(waits).toEqual([...expected])
})
