import { expect, test } from "bun:test"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { TemplateSharing } from "./template-sharing.ts"

const running = (ip: string, owner = "a"): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: ip,
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: owner }],
    managedFields: [
      {
        manager: "kubelet",
        operation: "Update",
        subresource: "status",
        fieldsV1: {
          "f:status": {
            "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {} } },
            "f:podIPs": { [`k:{"ip":"${ip}"}`]: { ".": {}, "f:ip": {} } },
          },
        },
      },
    ],
  },
})
const statusSet = ({ metadata }: KubeObject) =>
  (metadata.managedFields![0]!.fieldsV1 as Record<string, Record<string, object>>)["f:status"]!

test("pods of one template share the parts of the field sets of their statuses that are equal", () => {
  const sharing = new TemplateSharing()
  const [one, two, other] = [running("10.42.0.5"), running("10.42.0.6"), running("10.42.0.7", "b")].map((pod) =>
    sharing.changed(pod, pod),
  )
  expect(two).toEqual(running("10.42.0.6"))
  expect(statusSet(two!)["f:conditions"]).toBe(statusSet(one!)["f:conditions"]!)
  expect(statusSet(two!)["f:podIPs"]).not.toBe(statusSet(one!)["f:podIPs"]!)
  expect(statusSet(other!)["f:conditions"]).not.toBe(statusSet(one!)["f:conditions"]!)
})
