import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "bun:test"
import { ComponentStatus } from "../../../pkg/api/core/v1/componentstatus.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { registerStorageMetrics } from "./storage-metrics.ts"

test("objects are counted by kind, their changes as they come, and the size is that of the file and its log", async () => {
  // given
  const folder = mkdtempSync(join(tmpdir(), "k3ts-metrics-"))
  const file = join(folder, "state.db")
  writeFileSync(file, "x".repeat(100))
  writeFileSync(`${file}-wal`, "x".repeat(20))
  const registry = new Registry()
  const storage = new MemoryStorage({ clock: realClock, frozen: true })
  const resources = () => [ConfigMap, Deployment, ComponentStatus] as unknown as Resource[]
  const end = registerStorageMetrics(registry, { storage, resources, file })
  // when
  for (const name of ["a", "b"])
    await storage.write({
      key: `/registry/core/configmaps/default/${name}`,
      object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } },
      expected: undefined,
      time: 0,
      author: "x",
    })
  end()
  // then
  const lines = registry.text().split("\n")
  expect(lines.filter((line) => line.startsWith("apiserver_storage"))).toEqual([
    'apiserver_storage_events_received_total{group="",resource="configmaps"} 2',
    'apiserver_storage_objects{resource="configmaps"} 2',
    'apiserver_storage_objects{resource="deployments.apps"} 0',
    'apiserver_storage_size_bytes{storage_cluster_id="0"} 120',
  ])
  rmSync(folder, { recursive: true })
})
