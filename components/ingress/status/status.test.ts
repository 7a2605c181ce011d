import { expect, test } from "bun:test"
import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { statusController } from "./status.ts"

/** A controller that serves the Ingress of `stored` at an address. */
function serverAt(address: string, stored: { ingress: Ingress }, clock: VirtualClock) {
  const reportOf = () => ({ addresses: [address], problems: [] })
  const { reconcile } = statusController({ reportOf, turn: { isOurs: true } })
  const context = {
    clock,
    informers: { of: () => ({ get: () => stored.ingress }) },
    client: {
      updateStatus: (_: unknown, ingress: Ingress) => {
        stored.ingress = ingress
        return Promise.resolve(ingress)
      },
    },
  }
  return () => reconcile("default/web", context as never)
}

test("addresses that another client overwrites are written again a minute later, but not for ever", async () => {
  // given an Ingress that two controllers serve
  const stored = { ingress: { metadata: { name: "web", uid: "1" }, status: { loadBalancer: {} } } as Ingress }
  const addresses = () => stored.ingress.status.loadBalancer.ingress?.map(({ ip }) => ip)
  const clock = new VirtualClock(0)
  const [one, two] = [serverAt("192.0.2.1", stored, clock), serverAt("192.0.2.2", stored, clock)]
  // when each has written its own address, then the first one lets it be for a minute
  await one()
  await two()
  expect(await one()).toEqual({ requeueAfter: 60_000 })
  expect(addresses()).toEqual(["192.0.2.2"])
  // and then writes it again, as where the other controller is gone
  await clock.advance(60_000)
  await one()
  expect(addresses()).toEqual(["192.0.2.1"])
  // but an Ingress that was made anew does not wait
  stored.ingress = { metadata: { name: "web", uid: "2" }, status: { loadBalancer: {} } } as Ingress
  await one()
  expect(addresses()).toEqual(["192.0.2.1"])
})
