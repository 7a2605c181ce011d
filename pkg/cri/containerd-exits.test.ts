import { expect, test } from "bun:test"
import type { Channel } from "./channel.ts"
import { processExits } from "./containerd-exits.ts"
import { Mailbox } from "./mailbox.ts"

/** A connection of which a subscription is never answered, until it is cancelled. */
const channel = {
  stream(_rpc: unknown, _request: unknown, { signal, onSent }: { signal: AbortSignal; onSent: () => void }) {
    const events = new Mailbox<never>()
    signal.addEventListener("abort", () => events.end())
    onSent()
    return events
  },
} as unknown as Channel

test("a subscription ends when it cannot be known that it is active", async () => {
  // given a runtime that does not answer
  const exits = processExits(channel, { version: () => Promise.reject(new Error("DeadlineExceeded")) })
  let isActive = false
  // when, then
  for await (const exit of exits(new AbortController().signal, () => (isActive = true))) expect(exit).toBeUndefined()
  expect(isActive).toBe(false)
})
