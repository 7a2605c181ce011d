import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"
import { ALL_BASES, nameOf } from "./protobuf/bases.ts"
import { exchangesOf } from "./protobuf/exchanges.ts"
import { readFixture } from "./protobuf/fixture.ts"
import { prepared, serverAt, type Server } from "./protobuf/server.ts"

/**
 * Objects of every stored kind are created, read, listed, patched, applied, scaled, updated, watched and deleted in
 * protobuf. The expected responses are those of a kube-apiserver 1.36.2, which also wrote the bytes that are sent.
 */
let cluster: ConformanceCluster
let server: Server
beforeAll(async () => {
  cluster = await startConformanceCluster()
  server = await prepared(serverAt(`https://127.0.0.1:${cluster.port}`, cluster.token))
})
afterAll(() => cluster.stop())

const METADATA_ALONE = ["its metadata", "metadata of a list", "watched for its metadata"]
/** Answers that differ, with the reasons of docs/compatibility.md: annotations that hold fields, and who owns `[]`. */
const DIFFERENT: Readonly<Record<string, readonly string[]>> = {
  "apps/v1 DaemonSet minimal": METADATA_ALONE,
  "apps/v1 DaemonSet full": METADATA_ALONE,
  "autoscaling/v1 HorizontalPodAutoscaler annotations": METADATA_ALONE,
  "storage.k8s.io/v1 CSINode minimal": ["created from protobuf in our own words"],
  "discovery.k8s.io/v1 EndpointSlice minimal": ["created from JSON"],
  "discovery.k8s.io/v1 EndpointSlice IPv6": ["created from JSON"],
  "discovery.k8s.io/v1 EndpointSlice names": ["created from JSON"],
  "rbac.authorization.k8s.io/v1 ClusterRole aggregated": ["created from JSON"],
}

const recorded = readFixture()
const rows = ALL_BASES.map((base, n) => ({ title: nameOf(base), base, n }))

describe("in protobuf", () => {
  test("every object has recorded responses", () => {
    expect([...recorded.keys()].toSorted()).toEqual(rows.map(({ title }) => title).toSorted())
  })

  test.each(rows)("$title gets the same response as from Kubernetes", async ({ title, base, n }) => {
    const wants = recorded.get(title)!
    const found = await exchangesOf(server, base, n, wants.bytes)
    expect(found.created.toSorted()).toEqual(wants.created.toSorted())
    const differ = Object.keys(wants.verdicts).filter((name) => found.verdicts[name] !== wants.verdicts[name])
    if (differ.join() !== (DIFFERENT[title] ?? []).join())
      for (const name of differ)
        console.error(`${name}\n  wants ${wants.verdicts[name]}\n  found ${found.verdicts[name]}`)
    expect(differ).toEqual([...(DIFFERENT[title] ?? [])])
  })
})
