import { expect, test } from "bun:test"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { ResourceQuota } from "../../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { resourceQuota } from "./resourcequota.ts"

test("an object counts against the quota while it is being written, and is not counted twice once it is stored", async () => {
  // given room for two ConfigMaps
  const stored: KubeObject[] = []
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q", namespace: "default" },
    spec: { hard: { configmaps: "2" } },
  }
  const objects = { list: (resource: Resource) => (resource.kind === ResourceQuota.kind ? [quota] : stored) }
  const plugin = resourceQuota({ objects, storage: {} } as unknown as AdmissionContext)
  const coming = (name: string): AdmissionAttributes => ({
    operation: "CREATE",
    resource: ConfigMap,
    subresource: undefined,
    namespace: "default",
    name,
    user: { name: "u", groups: [] },
    options: {},
    old: undefined,
    warn() {},
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default", uid: name } },
  })
  const admitted = async (attributes: AdmissionAttributes) => plugin.validate!(attributes)
  // when one is in the store already, and whoever wrote it has not said so yet
  const first = coming("a")
  await admitted(first)
  stored.push(first.object!)
  // then there is room for one more, and no further
  await admitted(coming("b"))
  await expect(admitted(coming("c"))).rejects.toThrow(
    "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2",
  )
})
