import { expect, test } from "bun:test"
import { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { Subject } from "../../../pkg/api/flowcontrol/v1/flowschemaspec.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import type { ResourceAttributes } from "../call/request.ts"
import { Classifier } from "./classifier.ts"
import { createFlowMetrics } from "./flow-metrics.ts"
import type { PriorityLevel } from "./priority-level.ts"

const schema = (name: string, ...subjects: readonly Subject[]) => {
  const resourceRules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }]
  const rules = [{ subjects, resourceRules }]
  return decodeObject(FlowSchema, {
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: "level" }, rules },
  }).object
}

test("of users with the same groups only those that a schema names match it", () => {
  // given
  const classifier = new Classifier(createFlowMetrics(new Registry()))
  const level = { name: "level", configuration: { metadata: {} } } as unknown as PriorityLevel
  classifier.configure(
    [
      schema("alice", { kind: "User", user: { name: "alice" } }),
      schema("team", { kind: "ServiceAccount", serviceAccount: { namespace: "team", name: "*" } }),
      schema("developers", { kind: "Group", group: { name: "developers" } }),
      schema("catch-all", { kind: "User", user: { name: "*" } }),
    ],
    new Map([["level", level]]),
  )
  const schemaOf = (name: string, ...groups: readonly string[]) => {
    const request: ResourceAttributes = {
      user: { name, groups },
      verb: "get",
      group: "",
      version: "v1",
      resource: "nodes",
    }
    return classifier.classify(request.user, request).schema.metadata.name
  }
  // then
  expect(schemaOf("bob", "developers")).toBe("developers")
  expect(schemaOf("alice", "developers")).toBe("alice")
  expect(schemaOf("carol", "developers")).toBe("developers")
  expect(schemaOf("system:serviceaccount:team:bot", "developers")).toBe("team")
  expect(schemaOf("dave", "operators")).toBe("catch-all")
})

test("of users with the same groups each has a flow of its own, where flows are told apart by user", () => {
  // given
  const classifier = new Classifier(createFlowMetrics(new Registry()))
  const level = { name: "level", configuration: { metadata: {} }, queuing: { queues: 2 } } as unknown as PriorityLevel
  const byUser = schema("nodes", { kind: "Group", group: { name: "nodes" } })
  const named = schema("catch-all", { kind: "User", user: { name: "*" } })
  classifier.configure(
    [{ ...byUser, spec: { ...byUser.spec, distinguisherMethod: { type: "ByUser" } } }, named],
    new Map([["level", level]]),
  )
  const flowOf = (name: string, ...groups: readonly string[]) => {
    const user = { name, groups }
    return classifier.classify(user, { user, verb: "get", group: "", version: "v1", resource: "nodes" }).flow()
  }
  // then
  expect(flowOf("node-0", "nodes").distinguisher).toBe("node-0")
  expect(flowOf("node-1", "nodes").distinguisher).toBe("node-1")
  expect(flowOf("node-0", "nodes")).toBe(flowOf("node-0", "nodes"))
  expect(flowOf("alice").distinguisher).toBe("")
})
