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
