import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { TokenRenewals, type TokenHolder } from "./token-renewals.ts"

class Holder implements TokenHolder {
  readonly renewed: number[] = []
  nextRenewal: number
  constructor(nextRenewal: number) {
    this.nextRenewal = nextRenewal
  }
  renewDue(now: number): void {
    this.renewed.push(now)
    this.nextRenewal += 1000
  }
}

test("one timer tells each holder when its token is due, also one that comes later and is due before the others", async () => {
  // given
  const clock = new VirtualClock(0)
  clock.exact = true
  const holders = [new Holder(500), new Holder(700)]
  const renewals = new TokenRenewals(clock, () => holders)
  for (const { nextRenewal } of holders) renewals.arm(nextRenewal)
  expect(clock.pending).toBe(1)
  // when
  holders.push(new Holder(300))
  renewals.arm(300)
  await clock.advanceTo(1600)
  // then
  expect(holders.map(({ renewed }) => renewed)).toEqual([[500, 1500], [700], [300, 1300]])
  expect(clock.pending).toBe(1)
  // and none after the end
  renewals.stop()
  expect(clock.pending).toBe(0)
})

test("the timer ends with the last holder", async () => {
  const clock = new VirtualClock(0)
  clock.exact = true
  const holders = [new Holder(500)]
  const renewals = new TokenRenewals(clock, () => holders)
  renewals.arm(500)
  // when the holder is gone
  holders.pop()
  await clock.advanceTo(600)
  // then
  expect(clock.pending).toBe(0)
})

test("an error of one holder is told, delays only its own renewal, and is no end", async () => {
  // given a holder that fails once, before another one
  const clock = new VirtualClock(0)
  clock.exact = true
  const [broken, good] = [new Holder(500), new Holder(500)]
  let fails = 0
  const renewDue = broken.renewDue.bind(broken)
  broken.renewDue = (now) => {
    if (fails++ === 0) throw new Error("a mistake")
    renewDue(now)
  }
  const renewals = new TokenRenewals(clock, () => [broken, good])
  renewals.arm(500)
  // when
  await expect(clock.advanceTo(600)).rejects.toThrow("a mistake")
  await clock.advanceTo(1600)
  // then
  expect(good.renewed).toEqual([500, 1500])
  expect(broken.renewed[0]).toBe(1500)
  renewals.stop()
})
