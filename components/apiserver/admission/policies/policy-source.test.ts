/** An admission policy that fails, or is set aside, is left out alone, and its failurePolicy decides. */
import { expect, test } from "bun:test"
import { ValidatingAdmissionPolicy } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
import { ValidatingAdmissionPolicyBinding } from "../../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { silent } from "../../../../pkg/log/log.ts"
import { InHand, PAGE_BYTES } from "../../../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED, type QuarantineRecord } from "../../../../pkg/quarantine/record.ts"
import { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import { Objects } from "../../cacher/objects.ts"
import { storageKey } from "../../cacher/view.ts"
import { PolicySource } from "./policy-source.ts"

async function stage(record: Partial<QuarantineRecord> = {}) {
  const clock = new VirtualClock(0)
  const storage = new MemoryStorage({ clock, frozen: true })
  const page = new Uint8Array(PAGE_BYTES)
  const before = { ...NOTHING_RECORDED, ...record }
  const quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock, log: silent })
  const write = (resource: Resource, name: string, spec: object) => ({
    key: storageKey(resource, { name }),
    object: {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name, uid: name, generation: 1 },
      spec,
    },
    expected: undefined,
    time: 0,
    author: "x",
  })
  await storage.writeAll(
    ["bad", "good"].flatMap((name) => [
      write(ValidatingAdmissionPolicy as Resource, name, { failurePolicy: "Fail" }),
      write(ValidatingAdmissionPolicyBinding as Resource, name, { policyName: name }),
    ]),
  )
  const fails = new Set<string>()
  const told: string[] = []
  const ending = new AbortController()
  const leftOut = (policy: KubeObject | undefined, reason: string) =>
    void told.push(`${policy?.metadata.name} ${reason}`)
  const source = new PolicySource(
    { storage, objects: new Objects(storage), quarantine, clock, log: silent, leftOut, signal: ending.signal },
    {
      policies: ValidatingAdmissionPolicy,
      bindings: ValidatingAdmissionPolicyBinding,
      compile({ metadata: { name = "" } }) {
        if (fails.has(name)) throw new TypeError("poison")
        return name
      },
    },
  )
  const all = () => source.all().map((one) => [one.policy.metadata.name, "leftOut" in one ? "left out" : "in force"])
  return { clock, page, quarantine, source, fails, all, told, ending }
}

test("a policy that cannot be compiled is left out alone, and is tried again", async () => {
  // given
  const { clock, fails, all, quarantine, told } = await stage()
  fails.add("bad")
  expect(all()).toEqual([
    ["bad", "left out"],
    ["good", "in force"],
  ])
  expect(told).toEqual(["bad SyncFailed"])
  // when
  fails.clear()
  await clock.advance(1000)
  // then
  expect(all()[0]).toEqual(["bad", "in force"])
  quarantine.end()
})

test("no policy is tried again after the server has ended", async () => {
  // given
  const { clock, fails, all, quarantine, ending } = await stage()
  fails.add("bad")
  expect(all()[0]).toEqual(["bad", "left out"])
  // when
  ending.abort()
  fails.clear()
  await clock.advance(60_000)
  // then
  expect(all()[0]).toEqual(["bad", "left out"])
  quarantine.end()
})

test.each(["admission", "admission-evaluation"])(
  "a policy that %s has set aside is left out until it is freed",
  async (place) => {
    // given
    const item = { place, key: "ValidatingAdmissionPolicy/bad", since: "2026-01-01T00:00:00Z", why: "w" }
    const { all, quarantine, told } = await stage({ setAside: [item] })
    expect(all()).toEqual([
      ["bad", "left out"],
      ["good", "in force"],
    ])
    expect(told).toEqual(["bad SetAside"])
    // when
    quarantine.reread(NOTHING_RECORDED)
    // then
    expect(all()[0]).toEqual(["bad", "in force"])
    quarantine.end()
  },
)

test("a policy is in hand while it is evaluated, and one evaluation that did no harm does not acquit it", async () => {
  // given one that was in hand when the process ended
  const suspect = { place: "admission-evaluation", key: "ValidatingAdmissionPolicy/bad" }
  const { clock, source, page, all, quarantine } = await stage({ suspects: [suspect] })
  expect(all()[0]).toEqual(["bad", "left out"])
  await clock.advance(3000)
  expect(all()[0]).toEqual(["bad", "in force"])
  // when
  const { policy } = source.all()[0]!
  source.evaluating(policy, () => undefined)
  // then
  expect(quarantine.concerns("admission-evaluation")).toBe(true)
  source.evaluating(policy, () => expect(InHand.left(page)).toEqual([suspect]))
  // and when it has done none for some seconds, it is suspected no more
  await clock.advance(6000)
  expect(quarantine.concerns("admission-evaluation")).toBe(false)
  quarantine.end()
})
