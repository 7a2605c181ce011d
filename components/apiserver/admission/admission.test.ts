import { expect, test } from "bun:test"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { chainOf, type AdmissionAttributes, type AdmissionPlugin } from "./admission.ts"
import type { Operation } from "../webhooks/review.ts"

test("a plugin is called only for the kinds and operations that it names, and for every kind if it names none", () => {
  // given
  const asked: string[] = []
  const plugin = (name: string, operations: readonly Operation[], kinds?: readonly string[]): AdmissionPlugin => ({
    name,
    operations,
    ...(kinds === undefined ? {} : { kinds }),
    admit: ({ resource }) => void asked.push(`${name} admits ${resource.plural}`),
    validate: ({ resource }) => void asked.push(`${name} validates ${resource.plural}`),
    settled: ({ resource }) => void asked.push(`${name} settles ${resource.plural}`),
  })
  const chain = chainOf([plugin("any", ["DELETE"]), plugin("some", ["CREATE"], ["pods", "leases.coordination.k8s.io"])])
  const go = (operation: Operation, resource: Resource): readonly string[] => {
    const attributes = { operation, resource } as unknown as AdmissionAttributes
    asked.length = 0
    void chain.admit(attributes)
    void chain.validate(attributes)
    chain.settled(attributes, true)
    return [...asked]
  }

  // when, then
  expect(go("CREATE", Pod)).toEqual(["some admits pods", "some validates pods", "some settles pods"])
  expect(go("CREATE", Lease)).toEqual(["some admits leases", "some validates leases", "some settles leases"])
  expect(go("CREATE", ConfigMap)).toEqual([])
  expect(go("UPDATE", Pod)).toEqual([])
  expect(go("DELETE", Pod)).toEqual(["any admits pods", "any validates pods", "any settles pods"])
  expect(go("DELETE", ConfigMap)).toEqual([
    "any admits configmaps",
    "any validates configmaps",
    "any settles configmaps",
  ])
})
